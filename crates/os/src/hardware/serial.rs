//! Serial ports: which are there, opening one for this program alone, and bytes and lines of an open one.
//!
//! Linux: the kernel's own files tell what is there, handles are polled. macOS and Windows go through the library thinly.

#[cfg(not(target_os = "linux"))]
mod enumerated;
#[cfg(target_os = "linux")]
mod holders;
#[cfg(unix)]
mod lines;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod lock;
#[cfg(target_os = "linux")]
pub mod sysfs;
#[cfg(unix)]
mod tty;
#[cfg(windows)]
mod windows;

use std::sync::Arc;
use std::time::Instant;

use drawbridge_core::hardware::{Device, DeviceId, LineStates, SerialSettings};

use super::{HardwareFault, Stop};

#[cfg(target_os = "linux")]
pub(crate) use holders::is_near_end;
#[cfg(target_os = "linux")]
pub use linux::Ports;

/// What serial ports a system has.
pub trait SerialPorts: Send + Sync {
    /// Looks which are there; `added` are paths that the person named. Blocks, a moment; opens nothing.
    fn list(&self, added: &[String]) -> Vec<Device>;

    /// Opens one for this program alone. What the device is, is looked up again and must be what the name says. Blocks, a moment.
    ///
    /// Opening a port raises DTR and RTS, as with every terminal program: the system does so, and nothing is added to it. Closing it
    /// leaves both as the system's setting for the port says. Boards that start anew when DTR is raised do so once at opening.
    ///
    /// # Errors
    /// `Absent`, `Busy` with who has it if that can be told, `Denied` with the group that gives it, `Unsupported` settings, `Io`.
    fn open(
        &self,
        device: &DeviceId,
        added: &[String],
        settings: &SerialSettings,
    ) -> Result<Arc<dyn SerialLink>, HardwareFault>;
}

/// An open serial port. Closed by [`close`](Self::close) and with its last owner. Calls that block are for threads that may.
pub trait SerialLink: Send + Sync {
    /// Waits for bytes, for as long as it takes. None: it was closed from here.
    ///
    /// # Errors
    /// `Unplugged`, `Io`.
    fn read(&self, into: &mut [u8]) -> Result<Option<usize>, HardwareFault>;

    /// Hands bytes over and waits until they have left this computer, until `deadline` or `stop`. Then what has not left yet
    /// never does.
    ///
    /// # Errors
    /// `Timeout`, which also says how many are left; `Unplugged`, `Io`; `NotOpen` when it was stopped or closed.
    fn write(&self, bytes: &[u8], deadline: Instant, stop: &Stop) -> Result<(), HardwareFault>;

    /// Sets the lines that this side drives.
    ///
    /// # Errors
    /// `Unsupported` where there are none, as with pseudo-terminals; `Unplugged`, `Io`.
    fn set_lines(&self, dtr: Option<bool>, rts: Option<bool>) -> Result<(), HardwareFault>;

    /// Reads the lines that the other side drives.
    ///
    /// # Errors
    /// As [`set_lines`](Self::set_lines).
    fn lines(&self) -> Result<LineStates, HardwareFault>;

    /// Begins or ends a break.
    ///
    /// # Errors
    /// As [`set_lines`](Self::set_lines).
    fn set_break(&self, on: bool) -> Result<(), HardwareFault>;

    /// Ends what waits here and gives the port back. Returns when that is so, which takes a moment; what had not left by then
    /// never does. Closing twice is fine.
    fn close(&self);
}

/// Returns this system's.
#[must_use]
pub fn of_system() -> Arc<dyn SerialPorts> {
    #[cfg(target_os = "linux")]
    return Arc::new(Ports::of_system());
    #[cfg(not(target_os = "linux"))]
    Arc::new(enumerated::Ports)
}
