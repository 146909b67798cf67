/** The check-up. */
export const doctor = {
  'nav.doctor': 'Prüfung',
};
