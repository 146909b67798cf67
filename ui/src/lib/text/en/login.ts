/** Start at login. */
export const login = {
};
