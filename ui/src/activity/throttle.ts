/** Runs something at most so often, and once more at the end. */
export function throttled(every: number, run: () => void): { call: () => void; stop: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  const call = () => {
    if (timer !== undefined) {
      again = true;
      return;
    }
    run();
    timer = setTimeout(() => {
      timer = undefined;
      if (again) {
        again = false;
        call();
      }
    }, every);
  };
  return { call, stop: () => clearTimeout(timer) };
}
