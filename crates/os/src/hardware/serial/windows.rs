//! An open serial port of Windows, by the library, which takes it for this program alone.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Flow, LineStates, Parity, SerialSettings};
use serialport::{ClearBuffer, SerialPort};

use super::SerialLink;
use crate::hardware::{HardwareFault, Stop};

/// Reads and writes wait so long at once, since nothing else can end them.
const STEP: Duration = Duration::from_millis(100);

/// An open port.
pub(super) struct Com {
    reader: Mutex<Option<Box<dyn SerialPort>>>,
    writer: Mutex<Option<Box<dyn SerialPort>>>,
    closed: Stop,
}

impl Com {
    /// Opens a port by its name.
    pub(super) fn open(name: &str, settings: &SerialSettings) -> Result<Self, HardwareFault> {
        let builder = serialport::new(name, settings.baud)
            .data_bits(match settings.data_bits {
                5 => serialport::DataBits::Five,
                6 => serialport::DataBits::Six,
                7 => serialport::DataBits::Seven,
                _ => serialport::DataBits::Eight,
            })
            .parity(match settings.parity {
                Parity::None => serialport::Parity::None,
                Parity::Even => serialport::Parity::Even,
                Parity::Odd => serialport::Parity::Odd,
            })
            .stop_bits(if settings.stop_bits == 2 { serialport::StopBits::Two } else { serialport::StopBits::One })
            .flow_control(match settings.flow {
                Flow::None => serialport::FlowControl::None,
                Flow::Software => serialport::FlowControl::Software,
                Flow::Hardware => serialport::FlowControl::Hardware,
            })
            .timeout(STEP);
        let writer = builder.open().map_err(|fault| opening_fault(name, &fault))?;
        let reader = writer.try_clone().map_err(|fault| fault_of(&fault))?;
        let closed = Stop::new().map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        Ok(Self { reader: Mutex::new(Some(reader)), writer: Mutex::new(Some(writer)), closed })
    }

    fn with<T>(&self, act: impl FnOnce(&mut dyn SerialPort) -> serialport::Result<T>) -> Result<T, HardwareFault> {
        match lock(&self.writer).as_mut() {
            Some(port) => act(port.as_mut()).map_err(|fault| fault_of(&fault)),
            None => Err(closed()),
        }
    }
}

impl SerialLink for Com {
    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, HardwareFault> {
        let mut reader = lock(&self.reader);
        let Some(reader) = reader.as_mut() else { return Ok(None) };
        while !self.closed.is_said() {
            match reader.read(into) {
                Ok(0) => {}
                Ok(read) => return Ok(Some(read)),
                Err(fault) if matches!(fault.kind(), ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(fault) => return Err(gone(&fault)),
            }
        }
        Ok(None)
    }

    fn write(&self, bytes: &[u8], deadline: Instant, stop: &Stop) -> Result<(), HardwareFault> {
        let mut writer = lock(&self.writer);
        let Some(writer) = writer.as_mut() else { return Err(closed()) };
        let mut rest = bytes;
        loop {
            let queued = writer.bytes_to_write().map_err(|fault| fault_of(&fault))?;
            if rest.is_empty() && queued == 0 {
                return Ok(());
            }
            let stopped = stop.is_said() || self.closed.is_said();
            if stopped || Instant::now() >= deadline {
                // It would leave later, unasked.
                let _ = writer.clear(ClearBuffer::Output);
                let left = rest.len() as u64 + u64::from(queued);
                let late = || {
                    format!("the other side did not take all in time: {left} of {} bytes did not leave", bytes.len())
                };
                return Err(if stopped { closed() } else { HardwareFault::new(DeviceFault::Timeout, late()) });
            }
            if rest.is_empty() {
                let _ = stop.wait(Duration::from_millis(5));
                continue;
            }
            match writer.write(rest) {
                Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
                Err(fault) if matches!(fault.kind(), ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(fault) => return Err(gone(&fault)),
            }
        }
    }

    fn set_lines(&self, dtr: Option<bool>, rts: Option<bool>) -> Result<(), HardwareFault> {
        self.with(|port| {
            dtr.map_or(Ok(()), |high| port.write_data_terminal_ready(high))?;
            rts.map_or(Ok(()), |high| port.write_request_to_send(high))
        })
    }

    fn lines(&self) -> Result<LineStates, HardwareFault> {
        self.with(|port| {
            Ok(LineStates {
                cts: port.read_clear_to_send()?,
                dsr: port.read_data_set_ready()?,
                ring: port.read_ring_indicator()?,
                carrier: port.read_carrier_detect()?,
            })
        })
    }

    fn set_break(&self, on: bool) -> Result<(), HardwareFault> {
        self.with(|port| if on { port.set_break() } else { port.clear_break() })
    }

    fn close(&self) {
        self.closed.say();
        *lock(&self.reader) = None;
        *lock(&self.writer) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> HardwareFault {
    HardwareFault::new(DeviceFault::NotOpen, "it was closed meanwhile")
}

fn gone(fault: &std::io::Error) -> HardwareFault {
    let message = format!("it was unplugged, or its other end is gone, and has been closed ({fault}); open it again");
    HardwareFault::new(DeviceFault::Unplugged, message)
}

fn fault_of(fault: &serialport::Error) -> HardwareFault {
    HardwareFault::new(DeviceFault::Io, format!("the system says: {fault}"))
}

fn opening_fault(name: &str, fault: &serialport::Error) -> HardwareFault {
    match fault.kind() {
        serialport::ErrorKind::NoDevice | serialport::ErrorKind::Io(ErrorKind::NotFound) => {
            HardwareFault::new(DeviceFault::Absent, format!("there is no {name} now; plug it in and try again"))
        }
        serialport::ErrorKind::Io(ErrorKind::PermissionDenied) => {
            // Windows says the same of a port that another program has.
            HardwareFault::new(
                DeviceFault::Busy,
                format!("{name} is held by another program; close it there and try again"),
            )
        }
        serialport::ErrorKind::InvalidInput => {
            HardwareFault::new(DeviceFault::Unsupported, format!("{name} does not take these settings: {fault}"))
        }
        serialport::ErrorKind::Io(_) | serialport::ErrorKind::Unknown => fault_of(fault),
    }
}
