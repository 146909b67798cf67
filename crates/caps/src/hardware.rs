//! Devices on the desk: what is there, who holds it, and using it (spec 12).
//!
//! A device is used by one holder at a time. Everything is closed when the holder goes, when a person stops everything, and when
//! the device is no longer shared. Whether a device is shared is not asked here: `policy` gives no permit for one that is not.

mod gpio;
mod holding;
mod serial;
mod usb;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_core::hardware::{Device, DeviceId, HardwareAct};
use drawbridge_core::{
    Clock, LinkId, OpError, Operation, Outcome, PayloadFault, Power, SystemClock, escape_outside_text,
};
use drawbridge_os::hardware::gpio::GpioChips;
use drawbridge_os::hardware::serial::SerialPorts;
use drawbridge_os::hardware::usb::UsbDevices;
use drawbridge_os::hardware::watch::Watch;
use drawbridge_os::hardware::{self, HardwareFault};
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::{Capability, RunCtx};

/// What devices a system has.
#[derive(Clone)]
pub struct System {
    /// Its serial ports.
    pub serial: Arc<dyn SerialPorts>,
    /// Its USB devices.
    pub usb: Arc<dyn UsbDevices>,
    /// Its GPIO chips.
    pub gpio: Arc<dyn GpioChips>,
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("System(..)")
    }
}

impl System {
    /// Returns this machine's.
    #[must_use]
    pub fn real() -> Self {
        Self {
            serial: hardware::serial::of_system(),
            usb: hardware::usb::of_system(),
            gpio: hardware::gpio::of_system(),
        }
    }
}

/// The capability. Cheap to clone: all clones are one.
#[derive(Clone)]
pub struct Hardware {
    holding: holding::Holding,
    serial: serial::Serial,
    usb: usb::Usb,
    gpio: gpio::Gpio,
    /// The ports that the person named, as of the last look.
    added: Arc<Mutex<Vec<String>>>,
}

/// Who has a device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The device.
    pub device: DeviceId,
    /// By whom.
    pub holder: LinkId,
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
    /// In words: "9600 8N1", "lines 4, 17".
    pub how: String,
}

impl From<System> for Hardware {
    /// These devices, on the system's clock.
    fn from(system: System) -> Self {
        Self::with(Arc::new(SystemClock), system)
    }
}

impl fmt::Debug for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hardware(..)")
    }
}

impl Hardware {
    /// Makes the capability for this machine's devices. Opens nothing and looks at nothing yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with(clock, System::real())
    }

    /// Makes the capability for these devices.
    #[must_use]
    pub fn with(clock: Arc<dyn Clock>, system: System) -> Self {
        let holding = holding::Holding::new(clock);
        Self {
            serial: serial::Serial::new(system.serial, holding.clone()),
            usb: usb::Usb::new(system.usb, holding.clone()),
            gpio: gpio::Gpio::new(system.gpio, holding.clone()),
            holding,
            added: Arc::default(),
        }
    }

    /// Looks which devices are there, in the order of their names. Blocks, a moment. `ports` are serial ports that the person named by
    /// path: from now on they, and no others, can be opened beside those that are found.
    #[must_use]
    pub fn look(&self, ports: &[String]) -> Vec<Device> {
        ports.clone_into(&mut self.added.lock().unwrap_or_else(PoisonError::into_inner));
        let mut found = self.serial.look(ports);
        found.extend(self.usb.look());
        found.extend(self.gpio.look());
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found
    }

    /// Begins to tell when devices come and go; dropping what it returns ends that. `ports` as for [`look`](Self::look).
    ///
    /// # Errors
    /// The system has no more handles or threads.
    pub fn watch(&self, ports: &[String]) -> io::Result<DeviceWatch> {
        let (say, changed) = watch::channel(());
        let paths: Vec<PathBuf> = ports.iter().map(PathBuf::from).collect();
        let watch = Watch::start(
            &paths,
            Box::new(move || {
                // Nobody left to hear it is fine.
                let _ = say.send(());
            }),
        )?;
        Ok(DeviceWatch { changed, _watch: watch })
    }

    /// Returns what is open.
    #[must_use]
    pub fn held(&self) -> Vec<Held> {
        self.holding.held()
    }

    /// Tells whether a holder has something open, or is opening it.
    #[must_use]
    pub fn holds(&self, holder: LinkId) -> bool {
        self.holding.holds(holder)
    }

    /// Closes what a device has open: it is no longer shared. Blocks, a moment.
    pub fn close(&self, device: &DeviceId) {
        self.holding.close(device);
    }

    /// Closes what a holder has open: it is gone. Blocks, a moment.
    pub fn close_of(&self, holder: LinkId) {
        self.holding.close_of(holder);
    }

    /// Closes everything: stop, end, power off. What waits for a device ends at once. Blocks, a moment.
    pub fn close_all(&self) {
        self.holding.close_all();
    }
}

impl Capability for Hardware {
    fn power(&self) -> Power {
        Power::Hardware
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            let Operation::Hardware(op) = permit.into_operation() else {
                return Err(OpError::Internal("the devices were asked for something else".to_owned()));
            };
            let outcome = match op.act {
                HardwareAct::Serial(act) => {
                    let added = self.added.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    self.serial.run(&op.device, act, op.hold, added, &ctx).await
                }
                HardwareAct::Usb(act) => self.usb.run(&op.device, act, &ctx).await,
                HardwareAct::Gpio(act) => self.gpio.run(&op.device, act, op.hold, &ctx).await,
            };
            outcome.map(Outcome::Hardware)
        })
    }
}

/// Tells when devices come and go, as long as it lives.
#[derive(Debug)]
pub struct DeviceWatch {
    changed: watch::Receiver<()>,
    _watch: Watch,
}

impl DeviceWatch {
    /// Waits until something may have come or gone since the last call. Many changes at once are told once. Waits for ever when
    /// watching broke off.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Says what is wrong with a device, safe to show.
fn device_error(device: &DeviceId, fault: &HardwareFault) -> OpError {
    OpError::Device { device: device.to_string(), fault: fault.fault, message: escape_outside_text(&fault.message) }
}

/// Says that a field of what was asked is wrong.
fn bad_field(field: &str, why: impl Into<String>) -> OpError {
    OpError::InvalidPayload(PayloadFault { field: field.to_owned(), why: why.into() })
}
