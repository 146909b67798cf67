export const firstrun = {} as const;
