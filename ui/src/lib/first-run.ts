/** The way through the first steps. What is remembered is the step that comes next; the number of steps means done. */
export const FIRST_RUN_STEPS = 4;

export const firstRunDone = (remembered: number): boolean => remembered >= FIRST_RUN_STEPS;

/** The step to show for what is remembered, also for a number that makes no sense. */
export const stepAt = (remembered: number): number => Math.min(FIRST_RUN_STEPS - 1, Math.max(0, Math.trunc(remembered) || 0));

/** The step after or before one; past the last it is done. */
export const turned = (step: number, by: 1 | -1): number => Math.min(FIRST_RUN_STEPS, Math.max(0, step + by));
