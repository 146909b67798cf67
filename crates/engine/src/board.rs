//! The notice board: wakes whoever composes the picture when anything changed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::view::{ActivityRow, LinkState, LinkView, Notice, TrayState};

/// Rows of activity kept for the window. The audit log has them all.
const ROWS: usize = 200;

struct Inner {
    rows: VecDeque<ActivityRow>,
    counted: u64,
    trouble: Option<Notice>,
    link: LinkView,
    tray: TrayState,
    window_wanted: u64,
}

/// What only the window needs: the latest acts, the state of the main link, and the trouble that stops everything.
pub(crate) struct Board {
    changed: Notify,
    inner: Mutex<Inner>,
}

impl Board {
    pub(crate) fn new() -> Self {
        let link = LinkView { state: LinkState::Off, reason: None };
        let inner = Inner {
            rows: VecDeque::with_capacity(ROWS),
            counted: 0,
            trouble: None,
            link,
            tray: TrayState::Unknown,
            window_wanted: 0,
        };
        Self { changed: Notify::new(), inner: Mutex::new(inner) }
    }

    /// Says that something changed.
    pub(crate) fn touch(&self) {
        self.changed.notify_one();
    }

    /// Waits until something changed since the last wait.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Adds an act; its number is given here.
    pub(crate) fn act(&self, mut row: ActivityRow) {
        let mut inner = self.lock();
        inner.counted += 1;
        row.number = inner.counted;
        if inner.rows.len() == ROWS {
            inner.rows.pop_back();
        }
        inner.rows.push_front(row);
        drop(inner);
        self.touch();
    }

    /// Shows or clears the trouble that stops everything.
    pub(crate) fn set_trouble(&self, trouble: Option<Notice>) {
        self.lock().trouble = trouble;
        self.touch();
    }

    /// Shows the state of the main link.
    pub(crate) fn set_link(&self, link: LinkView) {
        self.lock().link = link;
        self.touch();
    }

    /// Returns the acts, newest first.
    pub(crate) fn rows(&self) -> Vec<ActivityRow> {
        self.lock().rows.iter().cloned().collect()
    }

    /// Notes whether the tray icon is shown.
    pub(crate) fn set_tray(&self, tray: TrayState) {
        self.lock().tray = tray;
        self.touch();
    }

    /// Notes that somebody wants to see the window.
    pub(crate) fn want_window(&self) {
        self.lock().window_wanted += 1;
        self.touch();
    }

    pub(crate) fn tray(&self) -> TrayState {
        self.lock().tray
    }

    pub(crate) fn window_wanted(&self) -> u64 {
        self.lock().window_wanted
    }

    pub(crate) fn trouble(&self) -> Option<Notice> {
        self.lock().trouble.clone()
    }

    pub(crate) fn link(&self) -> LinkView {
        self.lock().link.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
