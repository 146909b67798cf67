/** Updates. */
export const updates = {
};
