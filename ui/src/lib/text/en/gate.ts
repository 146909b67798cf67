/** The page of an engine that has not started. */
export const gate = {
  'gate.title': 'Drawbridge has not started',
};
