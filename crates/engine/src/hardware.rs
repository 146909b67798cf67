//! Devices as the engine sees them: which are there, which the person shared, what HELLO tells of them. Decides nothing: `policy` does.
//!
//! Nobody looks for devices while their power is off, unless the person asks. While it is on, what comes and goes is followed in the
//! background: no HELLO waits for a look, and one that said less than what was found is said again.

mod acts;
mod holder;
mod pace;
mod rows;
mod sharing;
mod shown;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_caps::hardware::{DeviceWatch, Hardware};
use drawbridge_core::hardware::{Device, DeviceId, DevicePlace};
use drawbridge_core::{Clock, LinkId, Power, SessionId, SystemClock};
use drawbridge_policy::{MAX_DEVICES, PolicyState, SharedDevice};
use drawbridge_proto::executor::wire::HardwareDevice;
use drawbridge_store::config::DeviceMatch;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::policy_cell::PolicyCell;

use acts::Acts;
pub(crate) use acts::Running;
use pace::Pace;
use rows::kind_of;
pub use rows::{device_rows, label_of};
use sharing::{entry_for, in_hello, place_of};

/// The holder that stands for the command line: no link has this number.
pub(crate) const COMMAND_LINE: LinkId = LinkId::new(0);
/// Listing what is there takes a moment, unless a driver hangs.
const LOOK_WITHIN: Duration = Duration::from_secs(5);
/// Acts end in a moment once they are told to, unless a driver hangs.
const ACTS_END_WITHIN: Duration = Duration::from_millis(200);
/// Closing takes a moment, unless a driver hangs. Both together stay within what a raise may take.
const CLOSE_WITHIN: Duration = Duration::from_millis(200);

/// What a look found.
#[derive(Default)]
struct Found {
    devices: Vec<Device>,
    /// Where the paths of serial ports lead to.
    ends: BTreeMap<DeviceId, String>,
    looked: bool,
}

/// Devices. One for the whole engine.
pub(crate) struct Devices {
    pub(crate) hardware: Hardware,
    policy: Arc<PolicyCell>,
    board: Arc<Board>,
    clock: Arc<dyn Clock>,
    /// What the configuration shares.
    configured: Vec<DeviceMatch>,
    found: Mutex<Found>,
    /// One look at a time: a driver that hangs must not collect threads.
    looking: Arc<tokio::sync::Mutex<()>>,
    /// Every list that a HELLO said since links were told to say it again.
    said: Mutex<Vec<Vec<HardwareDevice>>>,
    differs: Notify,
    /// The power was switched, or a HELLO wants to know.
    wake: Notify,
    acts: Arc<Acts>,
    /// By which entry of the configuration a device came to be shared in this run.
    entries: Mutex<BTreeMap<DeviceId, String>>,
    /// What holders are called.
    holders: Mutex<BTreeMap<LinkId, String>>,
    /// Something was open at the last round.
    was_open: AtomicBool,
    ended: CancellationToken,
}

impl Devices {
    /// Looks at nothing yet.
    pub(crate) fn new(
        hardware: Hardware,
        policy: Arc<PolicyCell>,
        board: Arc<Board>,
        clock: Arc<dyn Clock>,
        configured: Vec<DeviceMatch>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hardware,
            policy,
            board,
            clock,
            configured,
            found: Mutex::default(),
            looking: Arc::default(),
            said: Mutex::default(),
            differs: Notify::new(),
            wake: Notify::new(),
            acts: Arc::default(),
            entries: Mutex::default(),
            holders: Mutex::default(),
            was_open: AtomicBool::new(false),
            ended: CancellationToken::new(),
        })
    }

    /// Follows what comes and goes as long as the power is on, until [`Devices::end`].
    pub(crate) fn keep(self: &Arc<Self>) {
        let me = self.clone();
        tokio::spawn(async move {
            let ended = me.ended.clone();
            let _ = ended.run_until_cancelled(me.follow_the_power()).await;
        });
    }

    async fn follow_the_power(self: Arc<Self>) {
        let mut pace = Pace::default();
        loop {
            if !self.is_on() {
                self.wake.notified().await;
                continue;
            }
            // Before the look, so that nothing that comes meanwhile is missed.
            let mut watch = self.watch().await;
            self.look().await;
            loop {
                tokio::select! {
                    // Switched, or with other ports to follow.
                    () = self.wake.notified() => break,
                    () = came_or_went(&mut watch) => drop(self.look().await),
                }
                tokio::select! {
                    () = self.wake.notified() => break,
                    () = tokio::time::sleep(pace.rest(tokio::time::Instant::now())) => {}
                }
            }
        }
    }

    /// Begins to follow what comes and goes. A folder of a port that the person named may be slow to look at.
    async fn watch(&self) -> Option<DeviceWatch> {
        let (hardware, ports) = (self.hardware.clone(), self.policy.get().added_ports.clone());
        let watch = tokio::task::spawn_blocking(move || hardware.watch(&ports)).await;
        match watch.unwrap_or_else(|fault| Err(std::io::Error::other(fault))) {
            Ok(watch) => Some(watch),
            Err(fault) => {
                tracing::warn!(%fault, "devices that come and go cannot be followed; the list shows them after a look");
                None
            }
        }
    }

    /// Looks what is there. False when the system did not tell in time.
    pub(crate) async fn look(self: &Arc<Self>) -> bool {
        let me = self.clone();
        let look = async {
            let turn = self.looking.clone().lock_owned().await;
            let look = move || {
                let _turn = turn;
                let devices = me.hardware.look(&me.policy.get().added_ports);
                me.take(devices);
            };
            tokio::task::spawn_blocking(look).await.is_ok()
        };
        let looked = tokio::time::timeout(LOOK_WITHIN, look).await.unwrap_or(false);
        if !looked {
            tracing::warn!("the system did not tell in time which devices are there");
        }
        looked
    }

    fn take(&self, devices: Vec<Device>) {
        let ends = devices.iter().filter_map(end_of).collect();
        *self.found() = Found { devices, ends, looked: true };
        self.share_what_is_configured();
        self.tell();
    }

    /// Shares what the configuration names, for this run alone.
    fn share_what_is_configured(&self) {
        let state = self.policy.get();
        let entry = |device: &Device| Some((device.id.clone(), entry_for(&self.configured, device)?));
        let by_entry: Vec<(DeviceId, String)> = self.found().devices.iter().filter_map(entry).collect();
        self.entries().extend(by_entry);
        let new: Vec<(DeviceId, SharedDevice)> = self
            .found()
            .devices
            .iter()
            .filter(|device| self.is_configured(device) && !state.devices.contains_key(&device.id))
            .map(|device| (device.id.clone(), self.shared(device)))
            .collect();
        if new.is_empty() {
            return;
        }
        self.policy.hold(|state| {
            for (id, shared) in &new {
                state.devices.entry(id.clone()).or_insert_with(|| shared.clone());
            }
        });
    }

    /// Says what is kept of a device that is shared now.
    pub(crate) fn shared(&self, device: &Device) -> SharedDevice {
        SharedDevice { label: label_of(device), at_ms: self.clock.wall().0 }
    }

    /// Follows a change of policy. Off closes everything.
    pub(crate) async fn follow(&self, before: &PolicyState, after: &PolicyState) {
        let (was, is) = (before.offers(Power::Hardware), after.offers(Power::Hardware));
        if was && !is {
            self.stop().await;
            *self.found() = Found::default();
        }
        if was != is {
            self.wake();
        }
    }

    /// Looks anew at whether the power is on, and then for devices.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Asks links to say HELLO again where they would say something else now, and shows it.
    pub(crate) fn tell(&self) {
        let mut said = self.said();
        let now = self.would_say();
        if said.iter().any(|said| *said != now) {
            said.clear();
            self.differs.notify_one();
        }
        drop(said);
        self.board.touch();
    }

    /// Waits until other devices are there than the last HELLO said.
    pub(crate) async fn changed(&self) {
        self.differs.notified().await;
    }

    /// Returns the shared devices that are there and can be used, for HELLO to a chat or on the control link.
    pub(crate) fn offer(&self, session: Option<&SessionId>) -> Vec<HardwareDevice> {
        if !self.policy.get().offers_in(Power::Hardware, session) {
            return Vec::new();
        }
        if !self.found().looked {
            // What is found is said in the next HELLO.
            self.wake();
        }
        let mut said = self.said();
        let now = self.would_say();
        if !said.contains(&now) {
            said.push(now.clone());
        }
        now
    }

    /// Returns what a link would say while the power is on: nothing of devices that would refuse every act.
    fn would_say(&self) -> Vec<HardwareDevice> {
        let state = self.policy.get();
        if !state.offers(Power::Hardware) {
            return Vec::new();
        }
        let found = self.found();
        let usable = |device: &&Device| device.denied.is_none() && state.devices.contains_key(&device.id);
        let shared = found.devices.iter().filter(usable);
        shared
            .take(MAX_DEVICES)
            .map(|device| in_hello(device, found.ends.get(&device.id).map(String::as_str)))
            .collect()
    }

    /// Notes an act that begins; it ends with everything that is stopped.
    pub(crate) fn begin(&self, device: &DeviceId) -> Running {
        Acts::begin(&self.acts, device)
    }

    /// Closes everything: raise, power off, end.
    pub(crate) async fn stop(&self) {
        self.acts.end_all();
        let hardware = self.hardware.clone();
        close("everything", move || hardware.close_all()).await;
        if !self.acts.none_left(ACTS_END_WITHIN).await {
            tracing::warn!("an act on a device does not end; its driver may hang");
        }
    }

    /// Closes what a device has open: it is no longer shared.
    pub(crate) async fn close(&self, device: &DeviceId) {
        self.acts.end_of(device);
        let (hardware, device) = (self.hardware.clone(), device.clone());
        close("a device", move || hardware.close(&device)).await;
    }

    /// The engine ends: closes everything and follows nothing any more.
    pub(crate) async fn end(&self) {
        self.ended.cancel();
        self.stop().await;
    }

    /// Returns a device that is there.
    pub(crate) fn find(&self, id: &DeviceId) -> Option<Device> {
        self.found().devices.iter().find(|device| device.id == *id).cloned()
    }

    /// Returns the device at a serial port.
    pub(crate) fn at_port(&self, path: &str) -> Option<Device> {
        let at = |device: &&Device| matches!(&device.place, DevicePlace::Serial { port } if port == path);
        self.found().devices.iter().find(at).cloned()
    }

    /// Tells whether the power is on.
    pub(crate) fn is_on(&self) -> bool {
        self.policy.get().offers(Power::Hardware)
    }

    /// Tells whether the configuration shares a device.
    pub(crate) fn is_configured(&self, device: &Device) -> bool {
        sharing::is_configured(&self.configured, device)
    }

    /// Tells whether the configuration names a serial port.
    pub(crate) fn is_configured_port(&self, path: &str) -> bool {
        sharing::is_configured_port(&self.configured, path)
    }

    /// Returns what is known of a device for the audit log and for questions: its kind, where it is, what it is called.
    pub(crate) fn facts(&self, id: &DeviceId) -> Map<String, Value> {
        let found = self.find(id);
        let label = found
            .as_ref()
            .map(label_of)
            .or_else(|| self.policy.get().devices.get(id).map(|shared| shared.label.clone()));
        let facts = [
            ("kind", kind_of(id).map(|kind| json!(kind.name()))),
            ("place", found.map(|device| json!(place_of(&device.place)))),
            ("label", label.map(Value::from)),
        ];
        facts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<DeviceId, String>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holders(&self) -> MutexGuard<'_, BTreeMap<LinkId, String>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn said(&self) -> MutexGuard<'_, Vec<Vec<HardwareDevice>>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until something may have come or gone; for ever where that is not told.
async fn came_or_went(watch: &mut Option<DeviceWatch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

/// Returns where the path of a serial port leads to. Blocks, a moment.
fn end_of(device: &Device) -> Option<(DeviceId, String)> {
    let DevicePlace::Serial { port } = &device.place else { return None };
    let end = drawbridge_os::hardware::port::end_of(Path::new(port));
    Some((device.id.clone(), end.to_string_lossy().into_owned()))
}

/// Closes within a bound.
async fn close(what: &'static str, work: impl FnOnce() + Send + 'static) {
    if tokio::time::timeout(CLOSE_WITHIN, tokio::task::spawn_blocking(work)).await.is_err() {
        tracing::warn!(what, "closing devices takes long; a driver may hang");
    }
}

/// Looks which devices are there, for when no engine runs. Blocks, a moment. `ports` are serial ports that the person added.
#[must_use]
pub fn devices_here(ports: &[String]) -> Vec<Device> {
    Hardware::new(Arc::new(SystemClock)).look(ports)
}

#[cfg(test)]
#[path = "hardware/hardware_tests.rs"]
mod tests;
