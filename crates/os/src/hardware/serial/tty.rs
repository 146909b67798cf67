//! An open terminal device. Reads and writes never block in the kernel: they wait for the device and for being closed at once.

#![expect(unsafe_code, reason = "the library takes a handle as a number alone")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, IntoRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Flow, LineStates, Parity, SerialSettings};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::termios::{ControlModes, OptionalActions, QueueSelector, Termios, tcdrain, tcflush, tcgetattr, tcsetattr};
use serialport::{SerialPort as _, TTYPort};

use super::{SerialLink, lines};
use crate::hardware::{HardwareFault, Stop, access};

/// Bits a byte takes on the wire at most: a start, eight, parity, two stops.
const BITS: u64 = 12;
/// The longest time between two looks whether bytes have left.
const LOOK_MOST: Duration = Duration::from_millis(50);
/// How far the speed may be from what was asked, in percent: dividers are coarse, and receivers bear so much.
const SPEED_PERCENT: u64 = 3;

/// What the lock file of a port is held by, on systems that have one.
#[cfg(target_os = "linux")]
pub(super) type PortLock = super::lock::PortLock;
#[cfg(not(target_os = "linux"))]
pub(super) type PortLock = ();

/// A terminal that was opened and not changed yet.
#[derive(Debug)]
pub(super) struct Opened {
    port: OwnedFd,
}

impl Opened {
    /// Opens a path without making it our own terminal and without waiting for a carrier.
    pub(super) fn open(path: &Path) -> Result<Self, HardwareFault> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let port = rustix::fs::open(path, flags, Mode::empty());
        let port = port.map_err(|fault| opening_fault(path, Some(fault.raw_os_error())))?;
        if tcgetattr(&port).is_err() {
            let message = format!("{} is no serial port", path.display());
            return Err(HardwareFault::new(DeviceFault::Unsupported, message));
        }
        Ok(Self { port })
    }

    /// Returns the kernel's number of the device.
    pub(super) fn number(&self) -> Option<u64> {
        number_of(&self.port)
    }

    /// Asks for it alone, in the ways that other programs heed.
    pub(super) fn lock(&self, path: &Path) -> Result<(), HardwareFault> {
        let locked = flock(&self.port, FlockOperation::NonBlockingLockExclusive);
        #[cfg(target_os = "linux")]
        let locked = locked.and(if lines::is_exclusive(self.port.as_fd()) { Err(Errno::BUSY) } else { Ok(()) });
        locked.map_err(|fault| match fault {
            // The same number on some systems.
            fault if fault == Errno::WOULDBLOCK || fault == Errno::BUSY => {
                opening_fault(path, Some(Errno::BUSY.raw_os_error()))
            }
            other => io_fault(other),
        })
    }
}

fn number_of(port: &OwnedFd) -> Option<u64> {
    let file = File::from(port.try_clone().ok()?);
    #[allow(clippy::useless_conversion, reason = "wide on some systems only")]
    file.metadata().ok().map(|facts| u64::from(facts.rdev()))
}

/// Says why a port could not be opened.
pub(super) fn opening_fault(path: &Path, number: Option<i32>) -> HardwareFault {
    let shown = path.display();
    let errno = number.map(Errno::from_raw_os_error);
    let (fault, message) = match errno {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NODEV | Errno::IO) => {
            (DeviceFault::Absent, format!("there is no device at {shown} now; plug it in and try again"))
        }
        Some(Errno::BUSY) => {
            (DeviceFault::Busy, format!("{shown} is held by another program; close it there and try again"))
        }
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            let why = access::denied(path).unwrap_or_else(|| format!("the system does not let this user open {shown}"));
            (DeviceFault::Denied, why)
        }
        Some(other) => (DeviceFault::Io, format!("{shown} could not be opened: {}", io::Error::from(other))),
        None => (DeviceFault::Io, format!("{shown} could not be opened")),
    };
    HardwareFault::new(fault, message)
}

/// An open serial port.
pub(super) struct Tty {
    port: RwLock<Option<Port>>,
    closed: Stop,
    settings: SerialSettings,
}

struct Port {
    handle: OwnedFd,
    /// The same handle, for settings and for giving up its exclusive use at the end.
    library: Mutex<TTYPort>,
    /// As it was found.
    before: Termios,
    _lock: Option<PortLock>,
}

impl Tty {
    /// Takes a port that is ours alone into use.
    ///
    /// # Errors
    /// `Unsupported` when the port does not take the settings; `Unplugged`, `Io`.
    pub(super) fn begin(
        opened: Opened,
        path: &Path,
        settings: &SerialSettings,
        lock: Option<PortLock>,
    ) -> Result<Self, HardwareFault> {
        let handle = opened.port;
        let before = tcgetattr(&handle).map_err(io_fault)?;
        let twin = handle.try_clone().map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        // SAFETY: the handle is open and nobody else has this one. It takes it for itself alone and closes it.
        let library = unsafe { TTYPort::from_raw_fd(twin.into_raw_fd()) };
        // The library asks for it alone. A pseudo-terminal remembers that as long as its server has it open: after a crash here
        // nobody could open it any more. Its lock stays, which goes with us.
        #[cfg(target_os = "linux")]
        if super::holders::is_near_end(number_of(&handle).unwrap_or_default()) {
            let _ = rustix::termios::ioctl_tiocnxcl(&handle);
        }
        let port = Port { handle, library: Mutex::new(library), before, _lock: lock };
        let closed = Stop::new().map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        // From here on dropping it leaves the port as it was found.
        let tty = Self { port: RwLock::new(Some(port)), closed, settings: *settings };
        tty.with(|port| {
            port.make_raw()?;
            port.apply(settings, path)?;
            // What came before is nobody's.
            tcflush(&port.handle, QueueSelector::IFlush).map_err(io_fault)
        })?;
        Ok(tty)
    }

    fn port(&self) -> RwLockReadGuard<'_, Option<Port>> {
        self.port.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&Port) -> Result<T, HardwareFault>) -> Result<T, HardwareFault> {
        self.port().as_ref().map_or_else(|| Err(closed()), act)
    }

    /// Waits until the port is ready, until `deadline`, until it is closed or `stop` is said.
    fn wait(&self, port: &Port, ready: PollFlags, deadline: Option<Instant>, stop: Option<&Stop>) -> Result<(), Errno> {
        let stop = stop.unwrap_or(&self.closed);
        let mut wanted = [
            PollFd::new(&port.handle, ready),
            PollFd::new(&self.closed, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut wanted, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(fault) => return Err(fault),
        }
        let [port, ..] = wanted;
        let (hang_up, ready) = (PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL, port.revents().intersects(ready));
        if port.revents().intersects(hang_up) && !ready { Err(Errno::IO) } else { Ok(()) }
    }

    /// Hands over what there is room for, until all is, and then waits until it has left.
    fn send(&self, port: &Port, bytes: &[u8], deadline: Instant, stop: &Stop) -> Result<Sent, Errno> {
        let mut rest = bytes;
        loop {
            if stop.is_said() || self.closed.is_said() {
                return Ok(Sent::Stopped);
            }
            let queued = port.queued()?;
            if rest.is_empty() && queued == 0 {
                break;
            }
            if Instant::now() >= deadline {
                return Ok(Sent::Late { left: rest.len() as u64 + queued });
            }
            if rest.is_empty() {
                // The kernel tells of no moment when all has left: look again when that may be so.
                let look = (Instant::now() + self.takes(queued)).min(deadline);
                self.wait(port, PollFlags::empty(), Some(look), Some(stop))?;
                continue;
            }
            match rustix::io::write(&port.handle, rest) {
                Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
                Err(Errno::AGAIN) => self.wait(port, PollFlags::OUT, Some(deadline), Some(stop))?,
                Err(Errno::INTR) => {}
                Err(fault) => return Err(fault),
            }
        }
        // What is left is in the hardware's own queue, of a few bytes. The other side can hold those back for ever only with
        // flow control, and then nobody waits for them.
        if self.settings.flow == Flow::None { tcdrain(&port.handle).map(|()| Sent::All) } else { Ok(Sent::All) }
    }

    fn takes(&self, bytes: u64) -> Duration {
        Duration::from_micros(bytes * BITS * 1_000_000 / u64::from(self.settings.baud.max(1)))
            .clamp(Duration::from_millis(1), LOOK_MOST)
    }
}

/// What became of bytes.
enum Sent {
    All,
    Late { left: u64 },
    Stopped,
}

impl Port {
    fn library(&self) -> std::sync::MutexGuard<'_, TTYPort> {
        self.library.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that have not left yet.
    fn queued(&self) -> Result<u64, Errno> {
        // Where the system does not tell, there is nothing to wait for.
        Ok(self.library().bytes_to_write().map_or(0, u64::from))
    }

    /// Bytes as they are, and no waiting for a carrier.
    fn make_raw(&self) -> Result<(), HardwareFault> {
        let mut raw = self.before.clone();
        raw.make_raw();
        raw.control_modes |= ControlModes::CREAD | ControlModes::CLOCAL;
        tcsetattr(&self.handle, OptionalActions::Now, &raw).map_err(io_fault)
    }

    /// Sets what was asked and holds it against what the port took: the kernel takes the nearest it can do, without a word.
    fn apply(&self, settings: &SerialSettings, path: &Path) -> Result<(), HardwareFault> {
        let mut port = self.library();
        let (bits, stops) = (data_bits(settings.data_bits), stop_bits(settings.stop_bits));
        let (parity, flow) = (parity(settings.parity), flow(settings.flow));
        let set = port
            .set_parity(parity)
            .and_then(|()| port.set_flow_control(flow))
            .and_then(|()| port.set_data_bits(bits))
            .and_then(|()| port.set_stop_bits(stops));
        // The name of the field that the port does not take.
        let refused = |field: &str| {
            let message = format!("{} does not take this {field}; try another one", path.display());
            HardwareFault::new(DeviceFault::Unsupported, message)
        };
        set.map_err(|_| refused("setting of data bits, parity, stop bits or flow control"))?;
        port.set_baud_rate(settings.baud).map_err(|_| refused("baud rate"))?;
        let near = |got: u32| u64::from(got.abs_diff(settings.baud)) * 100 <= u64::from(settings.baud) * SPEED_PERCENT;
        let taken = [
            ("baud rate", port.baud_rate().map(near)),
            ("number of data bits", port.data_bits().map(|got| got == bits)),
            ("parity", port.parity().map(|got| got == parity)),
            ("number of stop bits", port.stop_bits().map(|got| got == stops)),
            ("flow control", port.flow_control().map(|got| got == flow)),
        ];
        match taken.iter().find(|(_, taken)| !matches!(taken, Ok(true))) {
            Some((field, _)) => Err(refused(field)),
            None => Ok(()),
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // Else the system waits for what the other side does not take, up to half a minute. A port that is gone says no to all
        // of this, and that is fine.
        let _ = tcflush(&self.handle, QueueSelector::IOFlush);
        let _ = tcsetattr(&self.handle, OptionalActions::Now, &self.before);
    }
}

impl SerialLink for Tty {
    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, HardwareFault> {
        let port = self.port();
        let Some(port) = port.as_ref() else { return Ok(None) };
        loop {
            if self.closed.is_said() {
                return Ok(None);
            }
            match rustix::io::read(&port.handle, &mut *into) {
                // The other end is gone.
                Ok(0) => return Err(io_fault(Errno::IO)),
                Ok(read) => return Ok(Some(read)),
                Err(Errno::AGAIN) => self.wait(port, PollFlags::IN, None, None).map_err(io_fault)?,
                Err(Errno::INTR) => {}
                Err(fault) => return Err(io_fault(fault)),
            }
        }
    }

    fn write(&self, bytes: &[u8], deadline: Instant, stop: &Stop) -> Result<(), HardwareFault> {
        self.with(|port| {
            let sent = self.send(port, bytes, deadline, stop).map_err(io_fault)?;
            let Some(fault) = unsent(&sent, bytes.len()) else { return Ok(()) };
            // It would leave later, unasked.
            let _ = tcflush(&port.handle, QueueSelector::OFlush);
            Err(fault)
        })
    }

    fn set_lines(&self, dtr: Option<bool>, rts: Option<bool>) -> Result<(), HardwareFault> {
        self.with(|port| {
            for (line, wanted) in [(lines::DTR, dtr), (lines::RTS, rts)] {
                wanted.map_or(Ok(()), |high| lines::set(port.handle.as_fd(), line, high)).map_err(line_fault)?;
            }
            Ok(())
        })
    }

    fn lines(&self) -> Result<LineStates, HardwareFault> {
        self.with(|port| lines::read(port.handle.as_fd()).map_err(line_fault))
    }

    fn set_break(&self, on: bool) -> Result<(), HardwareFault> {
        self.with(|port| lines::set_break(port.handle.as_fd(), on).map_err(line_fault))
    }

    fn close(&self) {
        self.closed.say();
        // Whoever waits leaves now; then nobody uses it any more.
        drop(self.port.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.close();
    }
}

fn unsent(sent: &Sent, all: usize) -> Option<HardwareFault> {
    match sent {
        Sent::All => None,
        Sent::Stopped => Some(closed()),
        Sent::Late { left } => {
            let message = format!(
                "the other side did not take all in time: {left} of {all} bytes did not leave and never will; \
                 look at its flow control"
            );
            Some(HardwareFault::new(DeviceFault::Timeout, message))
        }
    }
}

fn closed() -> HardwareFault {
    HardwareFault::new(DeviceFault::NotOpen, "it was closed meanwhile")
}

fn io_fault(fault: Errno) -> HardwareFault {
    match fault {
        Errno::IO | Errno::NXIO | Errno::NODEV | Errno::BADF | Errno::PIPE => {
            let message =
                "it was unplugged, or its other end is gone, and has been closed; plug it in and open it again";
            HardwareFault::new(DeviceFault::Unplugged, message)
        }
        other => HardwareFault::new(DeviceFault::Io, format!("the system says: {}", io::Error::from(other))),
    }
}

fn line_fault(fault: Errno) -> HardwareFault {
    match fault {
        Errno::NOTTY | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS => {
            let message = "this port has no lines beside the data, as pseudo-terminals and some adapters have none";
            HardwareFault::new(DeviceFault::Unsupported, message)
        }
        other => io_fault(other),
    }
}

const fn data_bits(bits: u8) -> serialport::DataBits {
    match bits {
        5 => serialport::DataBits::Five,
        6 => serialport::DataBits::Six,
        7 => serialport::DataBits::Seven,
        _ => serialport::DataBits::Eight,
    }
}

const fn stop_bits(bits: u8) -> serialport::StopBits {
    if bits == 2 { serialport::StopBits::Two } else { serialport::StopBits::One }
}

const fn parity(parity: Parity) -> serialport::Parity {
    match parity {
        Parity::None => serialport::Parity::None,
        Parity::Even => serialport::Parity::Even,
        Parity::Odd => serialport::Parity::Odd,
    }
}

const fn flow(flow: Flow) -> serialport::FlowControl {
    match flow {
        Flow::None => serialport::FlowControl::None,
        Flow::Software => serialport::FlowControl::Software,
        Flow::Hardware => serialport::FlowControl::Hardware,
    }
}
