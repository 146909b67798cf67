/** A press of a button that does the same once, however fast it is pressed. */

/**
 * Hears the first press alone. The second of a double click may come to a button that was not there at the first: what
 * is shown has changed meanwhile. Keys have no count and always go through.
 */
export const once =
  (act: () => unknown) =>
  (event: MouseEvent): void => {
    if (event.detail <= 1) act();
  };
