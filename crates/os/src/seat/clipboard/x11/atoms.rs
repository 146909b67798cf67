//! Names that X clients exchange as numbers.

use x11rb::atom_manager;

atom_manager! {
    /// The ones that selections need.
    pub(super) Atoms: AtomsCookie {
        CLIPBOARD,
        CLIPBOARD_MANAGER,
        TARGETS,
        TIMESTAMP,
        MULTIPLE,
        SAVE_TARGETS,
        ATOM_PAIR,
        INCR,
        NULL,
        // Where content comes in, on a window made for one conversion.
        DRAWBRIDGE_RECEIVED,
        // On our own window: changed to learn the server's time.
        DRAWBRIDGE_TIME,
    }
}

/// Targets that are questions or acts and no formats. DELETE and the INSERT ones would even change what the owner holds.
pub(super) const NO_FORMATS: [&str; 7] =
    ["TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "DELETE", "INSERT_SELECTION", "INSERT_PROPERTY"];
