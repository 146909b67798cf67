//! Using serial ports: what may be asked for, and who does it.

mod inbox;
mod port;

use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::OpError;
use drawbridge_core::hardware::{Device, DeviceId, HardwareOutcome, LineChange, SerialAct, SerialRead, SerialSettings};
use drawbridge_os::hardware::serial::SerialPorts;

use self::port::{Failed, Port};
use super::holding::{Holding, not_open};
use super::{bad_field, device_error};
use crate::RunCtx;

/// Bytes of one write or read at most.
const MOST_BYTES: usize = 1024 * 1024;
/// The longest wait for bytes.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The longest break.
const LONGEST_BREAK: Duration = Duration::from_secs(5);
/// The longest pattern in bytes.
const LONGEST_PATTERN: usize = 1024;

/// Serial ports. Cheap to clone: all clones are one.
#[derive(Clone)]
pub(super) struct Serial {
    system: Arc<dyn SerialPorts>,
    holding: Holding,
}

impl Serial {
    pub(super) fn new(system: Arc<dyn SerialPorts>, holding: Holding) -> Self {
        Self { system, holding }
    }

    /// Looks which are there. Blocks, a moment.
    pub(super) fn look(&self, added: &[String]) -> Vec<Device> {
        self.system.list(added)
    }

    /// Does what was permitted. `added` are the ports that the person named by path.
    ///
    /// # Errors
    /// Fields that are wrong, and what is wrong with the device.
    pub(super) async fn run(
        &self,
        device: &DeviceId,
        act: SerialAct,
        hold: Option<u64>,
        added: Vec<String>,
        ctx: &RunCtx,
    ) -> Result<HardwareOutcome, OpError> {
        match act {
            SerialAct::Open(settings) => self.open(device, settings, hold, added, ctx).await,
            SerialAct::Close => self.close(device, hold, ctx).await,
            SerialAct::Write { bytes } => {
                check_write(&bytes)?;
                let port = self.holding.of::<Port>(device, ctx.holder)?;
                self.told(device, port.write(bytes, &ctx.cancel).await)
            }
            SerialAct::Read(read) => {
                check_read(&read)?;
                let port = self.holding.of::<Port>(device, ctx.holder)?;
                self.told(device, port.read(&read, &ctx.cancel).await)
            }
            SerialAct::Lines(change) => {
                check_lines(&change)?;
                let port = self.holding.of::<Port>(device, ctx.holder)?;
                self.told(device, port.lines(change, &ctx.cancel).await)
            }
        }
    }

    async fn open(
        &self,
        device: &DeviceId,
        settings: SerialSettings,
        hold: Option<u64>,
        added: Vec<String>,
        ctx: &RunCtx,
    ) -> Result<HardwareOutcome, OpError> {
        check_settings(&settings)?;
        let (system, name) = (self.system.clone(), device.clone());
        let open = move || Port::start(system.open(&name, &added, &settings)?, settings);
        let opened = self.holding.open_until(&ctx.cancel, device, ctx.holder, hold, open).await;
        opened.map(|_| HardwareOutcome::Done)
    }

    async fn close(&self, device: &DeviceId, hold: Option<u64>, ctx: &RunCtx) -> Result<HardwareOutcome, OpError> {
        let (holding, name, holder) = (self.holding.clone(), device.clone(), ctx.holder);
        let closed = tokio::task::spawn_blocking(move || holding.close_by(&name, holder, hold)).await;
        match closed {
            Ok(Ok(true)) => Ok(HardwareOutcome::Done),
            Ok(Ok(false)) => Err(not_open(device)),
            Ok(Err(fault)) => Err(fault),
            Err(fault) => Err(OpError::Internal(format!("closing a port broke off: {fault}"))),
        }
    }

    /// Says what came of an act. A port that ended is forgotten with the first one that finds it so.
    fn told(&self, device: &DeviceId, result: Result<HardwareOutcome, Failed>) -> Result<HardwareOutcome, OpError> {
        result.map_err(|failed| match failed {
            Failed::Cancelled => OpError::Cancelled,
            Failed::Device(fault) => {
                self.holding.forget_ended();
                device_error(device, &fault)
            }
        })
    }
}

fn check_settings(settings: &SerialSettings) -> Result<(), OpError> {
    if !(50..=4_000_000).contains(&settings.baud) {
        return Err(bad_field("baud", "must be 50 to 4000000"));
    }
    if !(5..=8).contains(&settings.data_bits) {
        return Err(bad_field("data_bits", "must be 5, 6, 7 or 8"));
    }
    if !(1..=2).contains(&settings.stop_bits) {
        return Err(bad_field("stop_bits", "must be 1 or 2"));
    }
    Ok(())
}

fn check_write(bytes: &[u8]) -> Result<(), OpError> {
    if bytes.is_empty() {
        return Err(bad_field("bytes", "must hold at least one byte"));
    }
    if bytes.len() > MOST_BYTES {
        return Err(bad_field("bytes", format!("must hold at most {MOST_BYTES} bytes, and there are {}", bytes.len())));
    }
    Ok(())
}

fn check_read(read: &SerialRead) -> Result<(), OpError> {
    if read.max_bytes == 0 || usize::try_from(read.max_bytes).is_ok_and(|most| most > MOST_BYTES) {
        return Err(bad_field("max_bytes", format!("must be 1 to {MOST_BYTES}")));
    }
    if read.timeout > LONGEST_WAIT {
        return Err(bad_field("timeout", format!("must be at most {} seconds", LONGEST_WAIT.as_secs())));
    }
    if read.until.as_ref().is_some_and(|until| until.is_empty() || until.len() > LONGEST_PATTERN) {
        return Err(bad_field("until", format!("must hold 1 to {LONGEST_PATTERN} bytes")));
    }
    Ok(())
}

fn check_lines(change: &LineChange) -> Result<(), OpError> {
    if change.send_break.is_some_and(|long| long.is_zero() || long > LONGEST_BREAK) {
        return Err(bad_field(
            "send_break",
            format!("must be more than 0 and at most {} seconds", LONGEST_BREAK.as_secs()),
        ));
    }
    Ok(())
}
