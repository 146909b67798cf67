/** The log and diagnostics. */
export const logs = {
};
