//! Who has what open. One holder a device; what is not used for a while is closed.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use drawbridge_core::hardware::DeviceId;
use drawbridge_core::{Clock, DeviceFault, LinkId, OpError};
use drawbridge_os::hardware::HardwareFault;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Held, device_error};

/// Devices open at once, over all holders.
pub(super) const MOST: usize = 16;
/// A device that its holder does not use for so long is closed.
pub(super) const UNUSED: Duration = Duration::from_secs(10 * 60);
/// The command line of this computer, which comes by no link.
const COMMAND_LINE: LinkId = LinkId::new(0);

/// A device that is open. Closed by [`close`](Self::close) and with its last owner.
pub(super) trait Open: Any + Send + Sync {
    /// In words: "9600 8N1", "lines 4, 17".
    fn how(&self) -> String;

    /// It is no longer open, for a reason of its own: it was unplugged.
    fn has_ended(&self) -> bool {
        false
    }

    /// It may be closed when it is not used for a while.
    fn may_close_unused(&self) -> bool {
        true
    }

    /// Ends what waits for it and gives it back. Returns when that is so, which takes a moment. Closing twice is fine.
    fn close(&self);
}

/// All that is open. Cheap to clone: all clones are one.
#[derive(Clone)]
pub(super) struct Holding(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: BTreeMap<DeviceId, Entry>,
    /// Counts openings, so that one that comes too late is known.
    openings: u64,
    /// A task closes what is not used.
    tidied: bool,
}

struct Entry {
    opening: u64,
    holder: LinkId,
    /// The hold under which it was opened.
    hold: Option<u64>,
    since_ms: i64,
    used: Instant,
    /// None as long as it is being opened.
    what: Option<Arc<dyn Open>>,
}

impl Holding {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { clock, state: Mutex::default() }))
    }

    /// Returns what the holder has open of a device, which counts as using it.
    ///
    /// # Errors
    /// `NotOpen`; `Busy` when somebody else has it.
    pub(super) fn of<T: Open>(&self, device: &DeviceId, holder: LinkId) -> Result<Arc<T>, OpError> {
        let mut state = self.0.lock();
        let Some(entry) = state.open.get_mut(device) else { return Err(not_open(device)) };
        if entry.holder != holder {
            return Err(held_by(device, entry.holder));
        }
        let what: Option<Arc<dyn Any + Send + Sync>> = entry.what.clone().map(|what| what as _);
        let Some(what) = what.and_then(|what| what.downcast::<T>().ok()) else { return Err(not_open(device)) };
        entry.used = Instant::now();
        Ok(what)
    }

    /// Opens a device for a holder alone. `open` runs on a thread that may block; what it opened is closed again when the device was
    /// closed meanwhile.
    ///
    /// # Errors
    /// `Busy` when somebody else has it, `AlreadyOpen`, too many open, [`OpError::Cancelled`] when it was closed meanwhile, and what
    /// `open` says.
    pub(super) async fn open<T: Open>(
        &self,
        device: &DeviceId,
        holder: LinkId,
        open: impl FnOnce() -> Result<T, HardwareFault> + Send + 'static,
    ) -> Result<Arc<T>, OpError> {
        let opening = self.reserve(device, holder, None)?;
        self.carry_out(device, opening, open).await
    }

    /// As [`open`](Self::open), under a hold or none. Given up as soon as `cancel` fires: what this opened is closed then, and nothing
    /// that somebody else opened.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(super) async fn open_until<T: Open>(
        &self,
        cancel: &CancellationToken,
        device: &DeviceId,
        holder: LinkId,
        hold: Option<u64>,
        open: impl FnOnce() -> Result<T, HardwareFault> + Send + 'static,
    ) -> Result<Arc<T>, OpError> {
        let opening = self.reserve(device, holder, hold)?;
        tokio::select! {
            opened = self.carry_out(device, opening, open) => opened,
            () = cancel.cancelled() => {
                let own = self.clone();
                // What is opened too late is closed where it is opened.
                let closed =
                    tokio::task::spawn_blocking(move || own.close_where(|_, entry| entry.opening == opening)).await;
                closed.map_err(|fault| OpError::Internal(format!("closing a device broke off: {fault}")))?;
                Err(OpError::Cancelled)
            }
        }
    }

    async fn carry_out<T: Open>(
        &self,
        device: &DeviceId,
        opening: u64,
        open: impl FnOnce() -> Result<T, HardwareFault> + Send + 'static,
    ) -> Result<Arc<T>, OpError> {
        let (own, name) = (self.clone(), device.clone());
        // What was opened is entered there: nobody may be waiting for it any more when it is.
        let opened = tokio::task::spawn_blocking(move || {
            let reserved = Reserved { holding: &own, device: &name, opening };
            let what = Arc::new(open().map_err(|fault| device_error(&name, &fault))?);
            reserved.fill(what)
        });
        opened.await.unwrap_or_else(|fault| Err(OpError::Internal(format!("opening a device broke off: {fault}"))))
    }

    fn reserve(&self, device: &DeviceId, holder: LinkId, hold: Option<u64>) -> Result<u64, OpError> {
        self.forget_ended();
        let mut state = self.0.lock();
        if let Some(entry) = state.open.get(device) {
            return Err(if entry.holder == holder { already_open(device) } else { held_by(device, entry.holder) });
        }
        if state.open.len() >= MOST {
            let max = u32::try_from(MOST).unwrap_or(u32::MAX);
            return Err(OpError::Overloaded { what: "open devices", reason: "open_devices", max });
        }
        state.openings += 1;
        let (opening, since_ms) = (state.openings, self.0.clock.wall().0);
        let entry = Entry { opening, holder, hold, since_ms, used: Instant::now(), what: None };
        state.open.insert(device.clone(), entry);
        if !state.tidied {
            state.tidied = true;
            tokio::spawn(tidy(Arc::downgrade(&self.0)));
        }
        Ok(opening)
    }

    /// Returns what is open.
    pub(super) fn held(&self) -> Vec<Held> {
        self.forget_ended();
        let state = self.0.lock();
        let open = state.open.iter().filter_map(|(device, entry)| Some((device, entry, entry.what.as_ref()?)));
        open.map(|(device, entry, what)| Held {
            device: device.clone(),
            holder: entry.holder,
            since_ms: entry.since_ms,
            how: what.how(),
        })
        .collect()
    }

    /// Tells whether a holder has something open, or is opening it.
    pub(super) fn holds(&self, holder: LinkId) -> bool {
        self.0.lock().open.values().any(|entry| entry.holder == holder)
    }

    /// Closes a device, whoever has it. Blocks, a moment.
    pub(super) fn close(&self, device: &DeviceId) {
        self.close_where(|name, _| name == device);
    }

    /// Closes a device if the holder has it, and tells whether. Under a hold alone what was opened under the same one. Blocks, a moment.
    ///
    /// # Errors
    /// `Busy` when somebody else has it.
    pub(super) fn close_by(&self, device: &DeviceId, holder: LinkId, hold: Option<u64>) -> Result<bool, OpError> {
        match self.0.lock().open.get(device) {
            Some(entry) if entry.holder != holder => return Err(held_by(device, entry.holder)),
            Some(_) => {}
            None => return Ok(false),
        }
        let meant = |entry: &Entry| entry.holder == holder && (hold.is_none() || entry.hold == hold);
        Ok(self.close_where(|name, entry| name == device && meant(entry)))
    }

    /// Closes what a holder has. Blocks, a moment.
    pub(super) fn close_of(&self, holder: LinkId) {
        self.close_where(|_, entry| entry.holder == holder);
    }

    /// Closes everything. Blocks, a moment.
    pub(super) fn close_all(&self) {
        self.close_where(|_, _| true);
    }

    /// Forgets what has ended by itself.
    pub(super) fn forget_ended(&self) {
        self.close_where(|_, entry| entry.what.as_ref().is_some_and(|what| what.has_ended()));
    }

    fn close_where(&self, which: impl Fn(&DeviceId, &Entry) -> bool) -> bool {
        let taken: Vec<Entry> = {
            let mut state = self.0.lock();
            let meant = state.open.iter().filter(|(device, entry)| which(device, entry));
            let meant: Vec<DeviceId> = meant.map(|(device, _)| device.clone()).collect();
            meant.iter().filter_map(|device| state.open.remove(device)).collect()
        };
        // All at once: one that takes its time must not keep the others open.
        std::thread::scope(|threads| {
            let mut what = taken.iter().filter_map(|entry| entry.what.as_ref());
            let last = what.next_back();
            for what in what {
                threads.spawn(|| what.close());
            }
            if let Some(what) = last {
                what.close();
            }
        });
        !taken.is_empty()
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a device that is being opened. It is free again unless it is filled.
struct Reserved<'a> {
    holding: &'a Holding,
    device: &'a DeviceId,
    opening: u64,
}

impl Reserved<'_> {
    fn fill<T: Open>(self, what: Arc<T>) -> Result<Arc<T>, OpError> {
        let mut state = self.holding.0.lock();
        match state.open.get_mut(self.device) {
            Some(entry) if entry.opening == self.opening => entry.what = Some(what.clone()),
            Some(_) | None => {
                drop(state);
                what.close();
                return Err(OpError::Cancelled);
            }
        }
        Ok(what)
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut state = self.holding.0.lock();
        if state.open.get(self.device).is_some_and(|entry| entry.opening == self.opening && entry.what.is_none()) {
            state.open.remove(self.device);
        }
    }
}

/// Closes what is not used for long, as long as something is open.
async fn tidy(holding: Weak<Inner>) {
    loop {
        let next = {
            let Some(inner) = holding.upgrade() else { return };
            let mut state = inner.lock();
            let Some(next) = state.open.values().map(Entry::closes_at).min() else {
                state.tidied = false;
                return;
            };
            next
        };
        tokio::time::sleep_until(next).await;
        let Some(inner) = holding.upgrade() else { return };
        let now = Instant::now();
        let closed = tokio::task::spawn_blocking(move || {
            Holding(inner).close_where(|_, entry| entry.is_closable() && entry.closes_at() <= now)
        });
        if closed.await.is_ok_and(|closed| closed) {
            tracing::info!("a device was closed that nobody had used for a while");
        }
    }
}

impl Entry {
    /// What is held stays open until the end of the hold.
    fn is_closable(&self) -> bool {
        self.hold.is_none() && self.what.as_ref().is_some_and(|what| what.may_close_unused())
    }

    /// When to look at it again.
    fn closes_at(&self) -> Instant {
        if self.is_closable() { self.used + UNUSED } else { Instant::now() + UNUSED }
    }
}

pub(super) fn not_open(device: &DeviceId) -> OpError {
    device_error(device, &HardwareFault::new(DeviceFault::NotOpen, "it is not open; open it first"))
}

fn already_open(device: &DeviceId) -> OpError {
    let message = "it is open already; close it first to open it with other settings";
    device_error(device, &HardwareFault::new(DeviceFault::AlreadyOpen, message))
}

fn held_by(device: &DeviceId, holder: LinkId) -> OpError {
    let who = if holder == COMMAND_LINE { "the command line of this computer" } else { "another chat" };
    let message = format!("it is held by {who}; try again when it has been closed there");
    device_error(device, &HardwareFault::new(DeviceFault::Busy, message))
}

#[cfg(test)]
#[path = "holding_tests.rs"]
mod tests;
