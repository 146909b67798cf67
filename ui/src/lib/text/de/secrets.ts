/** The place for secrets. */
export const secrets = {
};
