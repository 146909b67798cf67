//! The notice board: wakes whoever composes the picture when anything changed, and holds what only the picture needs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::{Power, SessionId};
use tokio::sync::Notify;

use crate::view::{ActivityRow, LinkState, LinkView, Notice, RaiseView, TrayState};

/// Rows of activity kept for the picture. The audit log has them all, and pages of it can be asked for.
const ROWS: usize = 50;
/// Chats whose doings of this run are remembered; the one that acted longest ago goes first.
const CHATS: usize = 128;
/// Notices shown at once.
const NOTICES: usize = 16;

/// What a chat did in this run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Doings {
    /// Name of the last operation.
    pub(crate) last_operation: Option<String>,
    /// Powers that were used, also by operations that failed. A refused one used none.
    pub(crate) powers: BTreeSet<Power>,
    /// When it acted last, counted in acts.
    at: u64,
}

#[derive(Default)]
struct Inner {
    rows: VecDeque<ActivityRow>,
    counted: u64,
    chats: BTreeMap<String, Doings>,
    running: BTreeMap<Power, u32>,
    trouble: Option<Notice>,
    notices: Vec<Notice>,
    last_raise: Option<RaiseView>,
    link: LinkView,
    tray: TrayState,
    window_wanted: u64,
}

/// What only the window needs: the latest acts, the state of the main link, and the trouble that stops everything.
pub(crate) struct Board {
    changed: Notify,
    inner: Mutex<Inner>,
}

/// An operation that runs now. Counted until this is dropped, also when its task is given up or ends in a fault.
pub(crate) struct Running {
    board: Arc<Board>,
    power: Option<Power>,
}

impl Board {
    pub(crate) fn new() -> Self {
        let link = LinkView { state: LinkState::Off, ..LinkView::default() };
        Self { changed: Notify::new(), inner: Mutex::new(Inner { link, ..Inner::default() }) }
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
        if let Some(session) = &row.session_id {
            inner.doings(session).last_operation = Some(row.operation.clone());
        }
        if inner.rows.len() == ROWS {
            inner.rows.pop_back();
        }
        inner.rows.push_front(row);
        drop(inner);
        self.touch();
    }

    /// Notes that an operation of a power begins, until what is returned is dropped.
    pub(crate) fn running(self: &Arc<Self>, power: Option<Power>, chat: Option<&SessionId>) -> Running {
        if let Some(power) = power {
            let mut inner = self.lock();
            *inner.running.entry(power).or_default() += 1;
            if let Some(chat) = chat {
                inner.doings(chat.as_str()).powers.insert(power);
            }
            drop(inner);
            self.touch();
        }
        Running { board: self.clone(), power }
    }

    /// Returns how many operations of a power run now.
    pub(crate) fn running_now(&self, power: Power) -> u32 {
        self.lock().running.get(&power).copied().unwrap_or(0)
    }

    /// Returns what a chat did in this run.
    pub(crate) fn doings(&self, session: &str) -> Doings {
        self.lock().chats.get(session).cloned().unwrap_or_default()
    }

    /// Shows or clears the trouble that stops everything.
    pub(crate) fn set_trouble(&self, trouble: Option<Notice>) {
        self.lock().trouble = trouble;
        self.touch();
    }

    /// Shows something that the person should know and that stops nothing. One notice of each code; the newest holds.
    pub(crate) fn add_notice(&self, notice: Notice) {
        let mut inner = self.lock();
        inner.notices.retain(|other| other.code != notice.code);
        inner.notices.push(notice);
        if inner.notices.len() > NOTICES {
            inner.notices.remove(0);
        }
        drop(inner);
        self.touch();
    }

    /// Shows how long a raise took.
    pub(crate) fn set_last_raise(&self, raise: RaiseView) {
        self.lock().last_raise = Some(raise);
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

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.lock().notices.clone()
    }

    pub(crate) fn last_raise(&self) -> Option<RaiseView> {
        self.lock().last_raise
    }

    pub(crate) fn link(&self) -> LinkView {
        self.lock().link.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Returns the place for what a chat does, making room for it.
    fn doings(&mut self, session: &str) -> &mut Doings {
        if self.chats.len() >= CHATS && !self.chats.contains_key(session) {
            let oldest = self.chats.iter().min_by_key(|(_, doings)| doings.at).map(|(session, _)| session.clone());
            if let Some(oldest) = oldest {
                self.chats.remove(&oldest);
            }
        }
        let doings = self.chats.entry(session.to_owned()).or_default();
        doings.at = self.counted;
        doings
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(power) = self.power else { return };
        if let Some(count) = self.board.lock().running.get_mut(&power) {
            *count = count.saturating_sub(1);
        }
        self.board.touch();
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
