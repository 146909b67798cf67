/** What an organisation has fixed. */
export const managed = {
};
