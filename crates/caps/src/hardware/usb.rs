//! USB devices: what they say of themselves, and transfers. Each transfer opens the device and claims the interface it needs, and
//! gives both back when it is done, so that nothing is held while nobody uses it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drawbridge_core::hardware::{Device, DeviceId, HardwareOutcome, UsbAct, UsbData};
use drawbridge_core::{DeviceFault, OpError};
use drawbridge_os::hardware::usb::guard::{self, Allowed};
use drawbridge_os::hardware::usb::{Moved, Setup, UsbConnection, UsbDevice, UsbDevices};
use drawbridge_os::hardware::{HardwareFault, Stop};

use super::holding::{Holding, Open};
use super::{bad_field, device_error};
use crate::RunCtx;

/// The most that one control transfer carries, in bytes.
const MAX_CONTROL: usize = u16::MAX as usize;
/// The most that another transfer carries, in bytes.
const MAX_TRANSFER: usize = 1024 * 1024;
/// The longest that one may take.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub(super) struct Usb {
    system: Arc<dyn UsbDevices>,
    holding: Holding,
}

/// A transfer that somebody wants.
enum Wanted {
    Control { setup: Setup, data: UsbData, timeout: Duration },
    Transfer { endpoint: u8, data: UsbData, timeout: Duration },
}

impl Usb {
    pub(super) fn new(system: Arc<dyn UsbDevices>, holding: Holding) -> Self {
        Self { system, holding }
    }

    pub(super) fn look(&self) -> Vec<Device> {
        self.system.list()
    }

    pub(super) async fn run(&self, device: &DeviceId, act: UsbAct, ctx: &RunCtx) -> Result<HardwareOutcome, OpError> {
        match act {
            UsbAct::Describe => self.describe(device).await,
            UsbAct::Control { request_type, request, value, index, data, timeout } => {
                check(&data, MAX_CONTROL, timeout)?;
                let setup = Setup { request_type, request, value, index };
                self.ask(device, Wanted::Control { setup, data, timeout }, ctx).await
            }
            UsbAct::Transfer { endpoint, data, timeout } => {
                check(&data, MAX_TRANSFER, timeout)?;
                if data == UsbData::In(0) {
                    return Err(bad_field("data", "must let at least 1 byte in"));
                }
                self.ask(device, Wanted::Transfer { endpoint, data, timeout }, ctx).await
            }
        }
    }

    async fn describe(&self, device: &DeviceId) -> Result<HardwareOutcome, OpError> {
        let (system, name) = (Arc::clone(&self.system), device.clone());
        let found = tokio::task::spawn_blocking(move || system.find(&name)).await.map_err(broke_off)?;
        let found = found.map_err(|fault| device_error(device, &fault))?;
        Ok(HardwareOutcome::Described(found.description()))
    }

    async fn ask(&self, device: &DeviceId, wanted: Wanted, ctx: &RunCtx) -> Result<HardwareOutcome, OpError> {
        let stop = Stop::new().map_err(|fault| OpError::Internal(format!("no handles are left: {fault}")))?;
        let (system, name, its_stop) = (Arc::clone(&self.system), device.clone(), stop.clone());
        let wanted = Arc::new(wanted);
        let its_wanted = Arc::clone(&wanted);
        let opened = self.holding.open(device, ctx.holder, move || {
            // Judged before it is opened: nobody should be told how to get at a device that is refused then.
            its_wanted.judge(&system.find(&name)?)?;
            Ok(InUse::new(system.open(&name)?, its_stop))
        });
        let in_use = opened.await.map_err(|fault| one_at_a_time(device, fault))?;
        let _dropped = SayWhenDropped(stop.clone());
        let holding = self.holding.clone();
        let mut work = tokio::task::spawn_blocking(move || {
            let told = in_use.carry_out(&wanted);
            let stopped = in_use.stop.is_said();
            in_use.close();
            holding.forget_ended();
            (told, stopped)
        });
        let (told, stopped) = tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => {
                stop.say();
                // It ends within moments, and then the device is free again.
                let _ = work.await;
                return Err(OpError::Cancelled);
            }
            told = &mut work => told.map_err(broke_off)?,
        };
        if stopped {
            return Err(OpError::Cancelled);
        }
        told.map(outcome).map_err(|fault| device_error(device, &fault))
    }
}

fn outcome(moved: Option<Moved>) -> HardwareOutcome {
    match moved {
        None => HardwareOutcome::Done,
        Some(Moved::Out(bytes)) => HardwareOutcome::Written { bytes: bytes as u64 },
        Some(Moved::In(bytes)) => HardwareOutcome::Received(bytes),
    }
}

/// What a wanted transfer needs.
enum Way {
    Control(Allowed),
    Transfer(u8, drawbridge_core::hardware::UsbEndpoint),
}

impl Wanted {
    fn judge(&self, device: &UsbDevice) -> Result<Way, HardwareFault> {
        let goes_in = |data: &UsbData| matches!(data, UsbData::In(_));
        match self {
            Self::Control { setup, data, .. } => guard::control(device, *setup, goes_in(data)).map(Way::Control),
            Self::Transfer { endpoint, data, .. } => guard::transfer(device, *endpoint, goes_in(data))
                .map(|(interface, endpoint)| Way::Transfer(interface, endpoint)),
        }
    }
}

/// A device while a transfer is under way.
struct InUse {
    connection: Mutex<Option<Box<dyn UsbConnection>>>,
    stop: Stop,
    ended: AtomicBool,
}

impl InUse {
    fn new(connection: Box<dyn UsbConnection>, stop: Stop) -> Self {
        Self { connection: Mutex::new(Some(connection)), stop, ended: AtomicBool::new(false) }
    }

    /// Judges once more, by the device that was opened, and does it.
    fn carry_out(&self, wanted: &Wanted) -> Result<Option<Moved>, HardwareFault> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connection) = connection.as_mut() else { return Err(closed()) };
        let way = wanted.judge(connection.device())?;
        let interface = match &way {
            Way::Control(Allowed::Control(interface)) => *interface,
            Way::Control(Allowed::ClearHalt { interface, .. }) | Way::Transfer(interface, _) => Some(*interface),
        };
        if let Some(interface) = interface {
            connection.claim(interface)?;
        }
        let told = match (way, wanted) {
            _ if self.stop.is_said() => Err(closed()),
            (Way::Control(Allowed::ClearHalt { endpoint, .. }), _) => connection.clear_halt(endpoint).map(|()| None),
            (_, Wanted::Control { setup, data, timeout }) => {
                connection.control(*setup, data, *timeout, &self.stop).map(|moved| told_of(data, moved))
            }
            (Way::Transfer(_, endpoint), Wanted::Transfer { data, timeout, .. }) => {
                connection.transfer(&endpoint, data, *timeout, &self.stop).map(Some)
            }
            (Way::Control(_), Wanted::Transfer { .. }) => Err(closed()),
        };
        if let Some(interface) = interface {
            connection.release(interface);
        }
        told
    }
}

/// A control transfer without data has nothing to tell.
fn told_of(data: &UsbData, moved: Moved) -> Option<Moved> {
    let without = match data {
        UsbData::Out(bytes) => bytes.is_empty(),
        UsbData::In(most) => *most == 0,
    };
    if without { None } else { Some(moved) }
}

impl Open for InUse {
    fn how(&self) -> String {
        "a transfer".to_owned()
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn close(&self) {
        self.stop.say();
        // Waits for the transfer, which ends within moments once it is stopped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// Ends the transfer of a request that nobody waits for any more.
struct SayWhenDropped(Stop);

impl Drop for SayWhenDropped {
    fn drop(&mut self) {
        self.0.say();
    }
}

fn check(data: &UsbData, most: usize, timeout: Duration) -> Result<(), OpError> {
    let length = match data {
        UsbData::Out(bytes) => bytes.len(),
        UsbData::In(bytes) => usize::try_from(*bytes).unwrap_or(usize::MAX),
    };
    if length > most {
        return Err(bad_field("data", format!("has {length} bytes, and one transfer carries {most} at most")));
    }
    if timeout.is_zero() || timeout > MAX_TIMEOUT {
        return Err(bad_field("timeout", format!("must be 1 millisecond to {} seconds", MAX_TIMEOUT.as_secs())));
    }
    Ok(())
}

/// Nobody opens a device by hand, so an open one is one in use.
fn one_at_a_time(device: &DeviceId, fault: OpError) -> OpError {
    if !matches!(fault, OpError::Device { fault: DeviceFault::AlreadyOpen, .. }) {
        return fault;
    }
    let message = "another request to it is under way; wait until it is done";
    device_error(device, &HardwareFault::new(DeviceFault::Busy, message))
}

fn closed() -> HardwareFault {
    HardwareFault::new(DeviceFault::NotOpen, "it was closed from here")
}

fn broke_off(fault: tokio::task::JoinError) -> OpError {
    OpError::Internal(format!("using a device broke off: {fault}"))
}
