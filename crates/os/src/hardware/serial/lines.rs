//! The lines beside the data.

#![expect(unsafe_code, reason = "these calls of the system have no safe form")]

use std::os::fd::BorrowedFd;

use drawbridge_core::hardware::LineStates;
use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Opcode, Setter, ioctl};

const GET: Opcode = libc::TIOCMGET as Opcode;
const RAISE: Opcode = libc::TIOCMBIS as Opcode;
const LOWER: Opcode = libc::TIOCMBIC as Opcode;
const BREAK: Opcode = libc::TIOCSBRK as Opcode;
const NO_BREAK: Opcode = libc::TIOCCBRK as Opcode;

/// Data terminal ready.
pub(super) const DTR: libc::c_int = libc::TIOCM_DTR;
/// Request to send.
pub(super) const RTS: libc::c_int = libc::TIOCM_RTS;

/// Reads the lines that the other side drives.
pub(super) fn read(port: BorrowedFd<'_>) -> Result<LineStates, Errno> {
    // SAFETY: this call writes one int to the place it is given.
    let bits = unsafe { ioctl(port, Getter::<GET, libc::c_int>::new()) }?;
    let is = |bit| bits & bit != 0;
    Ok(LineStates {
        cts: is(libc::TIOCM_CTS),
        dsr: is(libc::TIOCM_DSR),
        ring: is(libc::TIOCM_RNG),
        carrier: is(libc::TIOCM_CAR),
    })
}

/// Raises or lowers one of ours.
pub(super) fn set(port: BorrowedFd<'_>, line: libc::c_int, high: bool) -> Result<(), Errno> {
    if high {
        // SAFETY: this call reads one int from the place it is given.
        unsafe { ioctl(port, Setter::<RAISE, libc::c_int>::new(line)) }
    } else {
        // SAFETY: as above.
        unsafe { ioctl(port, Setter::<LOWER, libc::c_int>::new(line)) }
    }
}

/// Begins or ends a break.
pub(super) fn set_break(port: BorrowedFd<'_>, on: bool) -> Result<(), Errno> {
    // Pseudo-terminals take a break without a word and send nothing: they have no lines either.
    read(port)?;
    if on {
        // SAFETY: this call takes nothing.
        unsafe { ioctl(port, NoArg::<BREAK>::new()) }
    } else {
        // SAFETY: as above.
        unsafe { ioctl(port, NoArg::<NO_BREAK>::new()) }
    }
}

/// Tells whether somebody asked for the terminal alone. The superuser's opening succeeds all the same.
#[cfg(target_os = "linux")]
pub(super) fn is_exclusive(port: BorrowedFd<'_>) -> bool {
    const EXCLUSIVE: Opcode = libc::TIOCGEXCL as Opcode;
    // SAFETY: this call writes one int to the place it is given.
    unsafe { ioctl(port, Getter::<EXCLUSIVE, libc::c_int>::new()) }.is_ok_and(|set| set != 0)
}
