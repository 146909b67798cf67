/** Several accounts and platforms. */
export const accounts = {
};
