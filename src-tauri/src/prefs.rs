//! What the window remembers, while the program runs. How it is stored is in `drawbridge_engine::prefs`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use drawbridge_engine::CommandError;
use drawbridge_engine::prefs::{Prefs, PrefsFile};
use drawbridge_engine::updates::Channel;
use drawbridge_store::state_dir::StateDir;
use tokio::sync::watch;

/// The one holder of the preferences.
pub(crate) struct PrefsDesk {
    state: PathBuf,
    now: watch::Sender<Prefs>,
    /// One save at a time, so that an older state cannot replace a newer one.
    saving: Mutex<()>,
}

impl PrefsDesk {
    /// Reads what a state folder remembers.
    pub(crate) fn open(state: &Path) -> Self {
        let prefs = PrefsFile::of(state).load();
        Self { state: state.to_owned(), now: watch::Sender::new(prefs), saving: Mutex::new(()) }
    }

    /// Returns them as they are now.
    pub(crate) fn get(&self) -> Prefs {
        self.now.borrow().clone()
    }

    /// Returns a receiver that always holds the newest ones.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Prefs> {
        self.now.subscribe()
    }

    /// Changes them and stores that. What cannot be stored holds until the program ends.
    ///
    /// # Errors
    /// `not_stored`.
    pub(crate) fn change(&self, edit: impl FnOnce(&mut Prefs)) -> Result<(), CommandError> {
        let _one = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = self.get();
        edit(&mut next);
        if next == *self.now.borrow() {
            return Ok(());
        }
        self.now.send_replace(next.clone());
        let saved = StateDir::open(&self.state)
            .map_err(|fault| fault.to_string())
            .and_then(|folder| PrefsFile::of(folder.path()).save(&next).map_err(|fault| fault.to_string()));
        saved.map_err(|why| {
            tracing::warn!(why, "what the window remembers cannot be stored");
            let message = format!("This holds until Drawbridge ends, since it could not be stored ({why}).");
            CommandError::new("not_stored", message)
        })
    }
}

/// Says what is remembered when a page wants this. What the program itself finds out is not for a page to say.
///
/// # Errors
/// `bad_prefs` for what no page of ours says.
pub(crate) fn from_page(now: &Prefs, wanted: Prefs) -> Result<Prefs, CommandError> {
    let bad = |what: &str| CommandError::new("bad_prefs", format!("The window asked for {what} that does not exist."));
    if !matches!(wanted.theme.as_str(), "system" | "light" | "dark") {
        return Err(bad("a look"));
    }
    let tag = |text: &str| {
        (2..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
    };
    if !tag(&wanted.language) {
        return Err(bad("a language"));
    }
    if Channel::from_name(&wanted.update_channel).is_none() {
        return Err(bad("a kind of updates"));
    }
    Ok(Prefs {
        zoom: wanted.zoom.clamp(50, 300),
        first_run: wanted.first_run.min(Prefs::FIRST_RUN_STEPS),
        size: now.size,
        plain_drawing: now.plain_drawing,
        practice: now.practice,
        ..wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_sets_the_look_and_nothing_that_the_program_found_out() {
        let now = Prefs { size: Some((900, 700)), plain_drawing: true, practice: true, ..Prefs::default() };
        let wanted = Prefs { theme: "dark".to_owned(), zoom: 9_000, first_run: 70, ..Prefs::default() };

        let next = from_page(&now, wanted).unwrap();

        assert_eq!((next.theme.as_str(), next.zoom, next.first_run), ("dark", 300, Prefs::FIRST_RUN_STEPS));
        assert_eq!((next.size, next.plain_drawing, next.practice), (Some((900, 700)), true, true));
    }

    #[test]
    fn looks_and_languages_that_cannot_be_are_refused() {
        for (theme, language) in
            [("pink", "en"), ("", "en"), ("dark", ""), ("dark", "../../x"), ("dark", "a-very-long-tag")]
        {
            let wanted = Prefs { theme: theme.to_owned(), language: language.to_owned(), ..Prefs::default() };
            assert_eq!(from_page(&Prefs::default(), wanted).unwrap_err().code, "bad_prefs", "{theme} {language}");
        }
    }

    #[test]
    fn kinds_of_updates_that_cannot_be_are_refused() {
        let with = |channel: &str| Prefs { update_channel: channel.to_owned(), ..Prefs::default() };
        assert_eq!(from_page(&Prefs::default(), with("beta")).unwrap().update_channel, "beta");
        for bad in ["", "nightly", "https://evil.example"] {
            assert_eq!(from_page(&Prefs::default(), with(bad)).unwrap_err().code, "bad_prefs", "{bad}");
        }
    }

    #[test]
    fn a_change_makes_the_folder_is_stored_and_seen() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let desk = PrefsDesk::open(&state);
        let seen = desk.subscribe();

        desk.change(|prefs| prefs.size = Some((640, 480))).unwrap();

        assert_eq!(seen.borrow().size, Some((640, 480)));
        assert_eq!(PrefsDesk::open(&state).get().size, Some((640, 480)));
    }

    #[test]
    fn what_cannot_be_stored_holds_all_the_same_and_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        std::fs::write(&state, "not a folder").unwrap();
        let desk = PrefsDesk::open(&state);

        assert_eq!(desk.change(|prefs| prefs.zoom = 150).unwrap_err().code, "not_stored");
        assert_eq!(desk.get().zoom, 150);
    }
}
