/** The person's own try of a model. It outlives its page: whoever comes back finds the answer that came meanwhile. */
import type { CommandError, TrialView } from '../generated/types';
import * as bridge from './bridge';

/** How often a running answer is asked for. */
const EVERY_MS = 150;

export interface Try {
  id: number;
  model: string;
  /** Nothing until the engine has told. */
  view: TrialView | null;
}

export const trial = $state<{ now: Try | null; asking: boolean; error: CommandError | null; model: string; text: string }>({
  now: null,
  asking: false,
  error: null,
  model: '',
  text: '',
});

/** An answer is on its way. */
export const isRunning = (): boolean => trial.now !== null && trial.error === null && (trial.now.view === null || trial.now.view.state === 'running');

/** Asks a model. */
export async function ask(model: string, text: string): Promise<void> {
  if (trial.asking || isRunning()) return;
  trial.asking = true;
  trial.error = null;
  try {
    const reply = await bridge.send({ command: 'try_model', model, text });
    if (reply.reply === 'trial') trial.now = { id: reply.id, model, view: null };
  } catch (thrown) {
    trial.now = null;
    trial.error = bridge.asError(thrown);
  } finally {
    trial.asking = false;
  }
}

/** Ends the try. What came so far stays. */
export async function stop(): Promise<void> {
  if (trial.now === null) return;
  try {
    await bridge.send({ command: 'stop_trial', id: trial.now.id });
    await look(trial.now.id);
  } catch (thrown) {
    trial.error = bridge.asError(thrown);
  }
}

async function look(id: number): Promise<void> {
  const reply = await bridge.send({ command: 'trial_text', id });
  // Another try may have begun meanwhile.
  if (reply.reply === 'trial_text' && trial.now?.id === id) trial.now.view = reply.trial;
}

/** Follows the running answer as long as the page can be seen. Returns how to end that. */
export function followTrial(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const next = () => {
    clearTimeout(timer);
    if (!ended && !document.hidden && isRunning()) timer = setTimeout(step, EVERY_MS);
  };
  async function step() {
    const id = trial.now?.id;
    if (id === undefined) return;
    try {
      await look(id);
    } catch (thrown) {
      if (trial.now?.id === id) trial.error = bridge.asError(thrown);
    }
    next();
  }
  const seen = () => (document.hidden ? clearTimeout(timer) : next());
  document.addEventListener('visibilitychange', seen);
  next();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', seen);
  };
}
