//! How the window looks and what it remembers: `window.json` in the state folder. Nothing here decides what may happen.
//!
//! A file that cannot be read costs a person their window size and no more, so it is set aside and the defaults hold.

use std::path::{Path, PathBuf};

use drawbridge_os::private;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What the window remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Prefs {
    /// "system", "light" or "dark".
    pub theme: String,
    /// "system", or the tag of a language: "en", "de".
    pub language: String,
    /// Size of everything, in percent: 50 to 300.
    pub zoom: u32,
    /// Step of the first run that comes next, from 0; [`Prefs::FIRST_RUN_STEPS`] when it is done.
    pub first_run: u32,
    /// Raising by a key from anywhere.
    pub hot_key: bool,
    /// Notifications of the desktop.
    pub notifications: bool,
    /// Inner width and height of the window, in logical pixels.
    pub size: Option<(u32, u32)>,
    /// The window stayed blank on this machine until drawing by DMA-BUF was switched off.
    pub plain_drawing: bool,
    /// The practice platform inside the program is the platform.
    pub practice: bool,
    /// Which updates are offered: "stable" or "beta".
    pub update_channel: String,
    /// Looks for updates by itself.
    pub check_updates: bool,
}

impl Prefs {
    /// Number of steps of the first run.
    pub const FIRST_RUN_STEPS: u32 = 4;
}

impl Default for Prefs {
    fn default() -> Self {
        Self {
            theme: "system".to_owned(),
            language: "system".to_owned(),
            zoom: 100,
            first_run: 0,
            hot_key: true,
            notifications: true,
            size: None,
            plain_drawing: false,
            practice: false,
            update_channel: "stable".to_owned(),
            check_updates: true,
        }
    }
}

/// The file of a state folder.
#[derive(Debug, Clone)]
pub struct PrefsFile(PathBuf);

impl PrefsFile {
    /// Names the file of a state folder. Touches nothing.
    #[must_use]
    pub fn of(state_dir: &Path) -> Self {
        Self(state_dir.join("window.json"))
    }

    /// Reads what is remembered; the defaults when there is nothing. A file that cannot be understood is set aside.
    #[must_use]
    pub fn load(&self) -> Prefs {
        let Ok(bytes) = private::read(&self.0) else { return Prefs::default() };
        serde_json::from_slice(&bytes).unwrap_or_else(|fault| {
            tracing::warn!(%fault, file = %self.0.display(), "what the window remembers cannot be read; it is set aside");
            let _ = private::set_aside(&self.0);
            Prefs::default()
        })
    }

    /// Remembers, whole and durably.
    ///
    /// # Errors
    /// What the system says.
    pub fn save(&self, prefs: &Prefs) -> std::io::Result<()> {
        let bytes = serde_json::to_vec_pretty(prefs).map_err(std::io::Error::other)?;
        private::replace(&self.0, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_comes_back_and_a_broken_file_costs_nothing_but_itself() {
        let dir = tempfile::tempdir().unwrap();
        let file = PrefsFile::of(dir.path());
        let prefs = Prefs { zoom: 200, language: "de".to_owned(), size: Some((800, 600)), ..Prefs::default() };
        assert_eq!(file.load(), Prefs::default());

        file.save(&prefs).unwrap();
        assert_eq!(file.load(), prefs);

        std::fs::write(dir.path().join("window.json"), "{\"zoom\":").unwrap();
        assert_eq!(file.load(), Prefs::default());
        assert!(dir.path().join("window.json.broken-1").exists());
    }
}
