//! Connections to an X server that do not wait for ever, and its faults in the words of the seat.
//!
//! A server that is stopped, or that another program has grabbed, answers nothing. Each wait has a limit of its own here, so that
//! an operation ends with a fault that says so.

use std::io;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::reexports::x11rb_protocol::parse_display::{ConnectAddress, parse_display};
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use super::{Seat, SeatFault};

/// How long a server may take for one answer. A busy one takes a fraction of a second.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A connection whose waits end.
pub(crate) type Connection = RustConnection<Patient>;

/// A stream whose waits end with [`io::ErrorKind::TimedOut`].
pub(crate) struct Patient {
    stream: DefaultStream,
    limit: Option<Duration>,
    local: bool,
}

impl Patient {
    /// Tells whether the server runs on this machine, so that open handles can be passed to it.
    pub(crate) fn is_local(&self) -> bool {
        self.local
    }
}

impl Stream for Patient {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, mode.readable());
        wanted.set(PollFlags::OUT, mode.writable());
        let limit = match self.limit {
            Some(limit) => Some(Timespec::try_from(limit).map_err(io::Error::other)?),
            None => None,
        };
        loop {
            let mut watched = [PollFd::new(&self.stream, wanted)];
            match rustix::event::poll(&mut watched, limit.as_ref()) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                // What is wrong with the stream is told by the next read or write.
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    fn read(&self, buffer: &mut [u8], handles: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.read(buffer, handles)
    }

    fn write(&self, buffer: &[u8], handles: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(buffer, handles)
    }

    fn write_vectored(&self, buffers: &[IoSlice<'_>], handles: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write_vectored(buffers, handles)
    }
}

/// For waiting for an event with a limit of its own.
impl AsFd for Patient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The port of display 0 on the network.
const FIRST_PORT: u16 = 6000;

/// Connects to the display of a seat and returns the number of its screen. `limit` is the longest wait for anything, also for
/// an event; none waits for ever.
pub(crate) fn connect(seat: &Seat, limit: Option<Duration>) -> Result<(Connection, usize), SeatFault> {
    let name = seat.display.as_ref().and_then(|name| name.to_str());
    let lost = |why: &dyn std::fmt::Display| SeatFault::NoDisplay(why.to_string());
    let Some(name) = name else { return Err(lost(&"no display is named")) };
    let parsed = parse_display(Some(name)).map_err(|fault| lost(&fault))?;
    // The library adds the number to that of a port.
    if parsed.display > u16::MAX - FIRST_PORT {
        return Err(lost(&format!("no display can have the number {}", parsed.display)));
    }
    let screen = usize::from(parsed.screen);
    let mut last = SeatFault::NoDisplay(format!("no server answers at {name}"));
    for address in parsed.connect_instruction() {
        let (stream, (family, peer)) = match DefaultStream::connect(&address) {
            Ok(connected) => connected,
            Err(fault) => {
                last = lost(&fault);
                continue;
            }
        };
        // A server that wants no proof gets none.
        let (kind, proof) = get_auth(family, &peer, parsed.display).ok().flatten().unwrap_or_default();
        let stream = Patient { stream, limit, local: matches!(address, ConnectAddress::Socket(_)) };
        return match RustConnection::connect_to_stream_with_auth_info(stream, screen, kind, proof) {
            Ok(connection) => Ok((connection, screen)),
            Err(ConnectError::IoError(fault)) if fault.kind() == io::ErrorKind::TimedOut => {
                Err(SeatFault::NoAnswer("the display server"))
            }
            Err(fault) => Err(lost(&fault)),
        };
    }
    Err(last)
}

impl From<ConnectionError> for SeatFault {
    fn from(fault: ConnectionError) -> Self {
        if matches!(&fault, ConnectionError::IoError(fault) if fault.kind() == io::ErrorKind::TimedOut) {
            return Self::NoAnswer("the display server");
        }
        if matches!(fault, ConnectionError::UnsupportedExtension) {
            return Self::Unsupported("the display server lacks an extension that this needs".to_owned());
        }
        Self::NoDisplay(fault.to_string())
    }
}

impl From<ReplyError> for SeatFault {
    fn from(fault: ReplyError) -> Self {
        match fault {
            ReplyError::ConnectionError(fault) => fault.into(),
            ReplyError::X11Error(fault) => Self::Other(format!("the display server refused: {:?}", fault.error_kind)),
        }
    }
}

impl From<ReplyOrIdError> for SeatFault {
    fn from(fault: ReplyOrIdError) -> Self {
        match fault {
            ReplyOrIdError::ConnectionError(fault) => fault.into(),
            ReplyOrIdError::X11Error(fault) => ReplyError::X11Error(fault).into(),
            ReplyOrIdError::IdsExhausted => Self::Other("the display server gives no more numbers".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_testkit::display::Display;
    use x11rb::protocol::xproto::ConnectionExt as _;

    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_waited_for_no_longer_than_the_limit() {
        let display = Display::start(64, 48).unwrap();
        let seat = Seat::x11(display.name());
        let limit = Some(Duration::from_millis(50));
        let (connection, _) = connect(&seat, limit).unwrap();
        let ask = || -> Result<(), SeatFault> { Ok(connection.get_input_focus()?.reply().map(drop)?) };
        assert_eq!(ask(), Ok(()));

        display.freeze().unwrap();

        assert_eq!(ask(), Err(SeatFault::NoAnswer("the display server")));
        assert!(matches!(connect(&seat, limit), Err(SeatFault::NoAnswer(_))));
        display.thaw().unwrap();
        // The same connection goes on.
        let (patient, _) = connect(&seat, None).unwrap();
        drop(patient);
        assert_eq!(ask(), Ok(()));
    }
}
