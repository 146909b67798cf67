//! WINDOW_LIST and WINDOW_FOCUS, and the identifiers of windows (spec 10.6).
//!
//! An identifier means one window of one process: its handle, the process, when that started, and the class. If any of them
//! differs at use, the identifier is forgotten and never means anything again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use drawbridge_core::computer::{WindowFacts, WindowListOp};
use drawbridge_core::{OpError, Outcome, SessionId};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::window::{Owner, SeatWindow, WindowHandle};

use super::guard::{self, Known};
use super::space::Space;
use super::{Inner, Job, faults};

/// Identifiers that a chat has at most; the ones that were used longest ago go.
const MAX_IDS: usize = 4096;

/// Chats whose identifiers are kept.
const MAX_CHATS: usize = 64;

/// Windows in one list.
const MAX_LISTED: usize = 500;

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 512;

/// What makes a window the same one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    handle: WindowHandle,
    pid: Option<u32>,
    started: Option<u64>,
    class: String,
}

impl Identity {
    fn of(handle: WindowHandle, owner: &Owner) -> Self {
        Self { handle, pid: owner.pid, started: owner.started, class: owner.class.clone() }
    }
}

#[derive(Debug, Default)]
struct Table {
    windows: HashMap<String, (Identity, u64)>,
    ids: HashMap<Identity, String>,
    /// Counts uses.
    clock: u64,
    /// When the chat last used any of them, in the registry's count.
    used: u64,
}

#[derive(Debug, Default)]
struct Tables {
    chats: HashMap<Option<SessionId>, Table>,
    clock: u64,
}

/// The windows that each chat was told about.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<Tables>);

impl Registry {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the windows of a chat.
    pub(super) fn forget(&self, session: &SessionId) {
        self.tables().chats.remove(&Some(session.clone()));
    }

    /// Returns the identifier of a window for a chat.
    fn id(&self, session: Option<&SessionId>, identity: Identity) -> Result<String, OpError> {
        let mut tables = self.tables();
        let table = tables.of(session);
        table.clock += 1;
        let now = table.clock;
        if let Some(id) = table.ids.get(&identity).cloned() {
            table.windows.insert(id.clone(), (identity, now));
            return Ok(id);
        }
        let id = new_id()?;
        table.windows.insert(id.clone(), (identity.clone(), now));
        table.ids.insert(identity, id.clone());
        if table.windows.len() > MAX_IDS {
            let oldest = table.windows.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone());
            oldest.iter().for_each(|id| table.drop_id(id));
        }
        Ok(id)
    }

    fn identity(&self, session: Option<&SessionId>, id: &str) -> Option<Identity> {
        let tables = self.tables();
        let table = tables.chats.get(&session.cloned())?;
        table.windows.get(id).map(|(identity, _)| identity.clone())
    }

    fn drop_id(&self, session: Option<&SessionId>, id: &str) {
        if let Some(table) = self.tables().chats.get_mut(&session.cloned()) {
            table.drop_id(id);
        }
    }
}

impl Tables {
    fn of(&mut self, session: Option<&SessionId>) -> &mut Table {
        self.clock += 1;
        let (now, session) = (self.clock, session.cloned());
        if self.chats.len() >= MAX_CHATS && !self.chats.contains_key(&session) {
            let oldest = self.chats.iter().min_by_key(|(_, table)| table.used).map(|(chat, _)| chat.clone());
            oldest.iter().for_each(|chat| drop(self.chats.remove(chat)));
        }
        let table = self.chats.entry(session).or_default();
        table.used = now;
        table
    }
}

impl Table {
    fn drop_id(&mut self, id: &str) {
        if let Some((identity, _)) = self.windows.remove(id) {
            self.ids.remove(&identity);
        }
    }
}

/// `win_` and a UUID of version 4.
fn new_id() -> Result<String, OpError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| OpError::Internal("the system gives no random numbers".to_owned()))?;
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | (4 << 76);
    let number = number & !(0b11 << 62) | (0b10 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Ok(format!("win_{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)))
}

pub(super) fn list(inner: &Inner, op: &WindowListOp, job: &Job) -> Result<Outcome, OpError> {
    const FEATURE: &str = "window.list";
    let told = |fault| faults::met(&inner.seats, FEATURE, fault);
    guard::unlocked(inner, FEATURE)?;
    let windows = managed(inner, FEATURE)?;
    let space = Space::of(inner.seats.screen().and_then(|screen| screen.monitors()).map_err(told)?);
    let (drawn, elsewhere): (Vec<_>, Vec<_>) =
        windows.all().map_err(told)?.into_iter().partition(|window| window.visible);
    let mut listed = Vec::new();
    let mut truncated = false;
    for window in drawn.into_iter().rev().chain(elsewhere) {
        job.go_on()?;
        let monitor = space.display_of(window.bounds);
        let off_screen = !window.minimized && (!window.visible || monitor.is_none());
        if window.auxiliary || (window.minimized && !op.include_minimized) || (off_screen && !op.include_offscreen) {
            continue;
        }
        let known = guard::known(inner, window);
        let wanted = op.app.as_deref().is_none_or(|app| known.app.is(app));
        if !wanted || known.app.may_see(&job.rules).is_err() {
            continue;
        }
        if listed.len() == MAX_LISTED {
            truncated = true;
            break;
        }
        listed.push(facts(inner, known, monitor.unwrap_or(0), job)?);
    }
    Ok(Outcome::Windows { windows: listed, truncated })
}

fn facts(inner: &Inner, known: Known, monitor: i32, job: &Job) -> Result<WindowFacts, OpError> {
    let Known { window, installed, .. } = known;
    let id = inner.windows.id(job.session.as_ref(), Identity::of(window.handle, &window.owner))?;
    let (name, app_id) = match installed {
        Some(app) => (Some(app.name), Some(app.id)),
        None => (None, Some(window.owner.class.clone()).filter(|class| !class.is_empty())),
    };
    let program = window.owner.program.as_deref().and_then(|path| path.file_name()?.to_str());
    Ok(WindowFacts {
        window_id: id,
        pid: window.owner.pid.unwrap_or(0),
        app_name: name.or_else(|| app_id.clone()).or_else(|| program.map(str::to_owned)).unwrap_or_default(),
        app_bundle_id: app_id,
        title: window.title.chars().take(MAX_TITLE_CHARS).collect(),
        bounds: window.bounds,
        monitor,
        is_focused: window.focused,
        is_minimized: window.minimized,
        is_fullscreen: window.fullscreen,
    })
}

pub(super) fn focus(inner: &Inner, window_id: &str, raise: bool, job: &Job) -> Result<Outcome, OpError> {
    const FEATURE: &str = "window.focus";
    guard::unlocked(inner, FEATURE)?;
    let windows = managed(inner, FEATURE)?;
    let known = verified(inner, window_id, job, FEATURE)?;
    known.app.may_use(&job.rules)?;
    match windows.focus(known.window.handle, raise) {
        Ok(()) => Ok(Outcome::Done),
        Err(SeatFault::Gone) => Err(stale(inner, window_id, job)),
        Err(fault) => Err(faults::met(&inner.seats, FEATURE, fault)),
    }
}

/// Finds the window behind an identifier, for a picture: where it lies and whether it can be seen.
///
/// # Errors
/// [`OpError::WindowStale`] when it is gone or another one by now; [`OpError::ProtectedApp`] when it may not be seen.
pub(super) fn bounds_of(inner: &Inner, window_id: &str, job: &Job) -> Result<SeatWindow, OpError> {
    let known = verified(inner, window_id, job, "screenshot.window")?;
    known.app.may_see(&job.rules)?;
    Ok(known.window)
}

/// The window behind an identifier, if it is the same one as when it was listed.
fn verified(inner: &Inner, window_id: &str, job: &Job, feature: &str) -> Result<Known, OpError> {
    let identity = inner.windows.identity(job.session.as_ref(), window_id);
    let identity = identity.ok_or_else(|| stale(inner, window_id, job))?;
    let told = |fault| faults::met(&inner.seats, feature, fault);
    match inner.seats.windows().map_err(told)?.one(identity.handle) {
        Ok(window) if Identity::of(window.handle, &window.owner) == identity => Ok(guard::known(inner, window)),
        Ok(_) | Err(SeatFault::Gone) => Err(stale(inner, window_id, job)),
        Err(fault) => Err(told(fault)),
    }
}

fn stale(inner: &Inner, window_id: &str, job: &Job) -> OpError {
    inner.windows.drop_id(job.session.as_ref(), window_id);
    OpError::WindowStale { window_id: window_id.to_owned() }
}

/// The windows, if somebody here manages them.
fn managed(inner: &Inner, feature: &str) -> Result<std::sync::Arc<dyn drawbridge_os::seat::window::Windows>, OpError> {
    let windows = inner.seats.windows().map_err(|fault| faults::met(&inner.seats, feature, fault))?;
    if windows.managed() {
        return Ok(windows);
    }
    Err(OpError::Unsupported { feature: feature.to_owned(), why: UNMANAGED.to_owned() })
}

/// Why windows cannot be listed where nobody manages them.
pub(super) const UNMANAGED: &str =
    "no window manager runs here that tells its windows; start one that follows the standard EWMH";

#[cfg(test)]
#[path = "windows_tests.rs"]
pub(super) mod tests;
