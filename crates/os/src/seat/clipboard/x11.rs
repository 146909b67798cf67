//! The clipboard of an X server: one thread with a connection of its own that owns the selection as long as [`X11Clipboard`] lives.
//!
//! The thread waits for events of the server and for commands at once, and never for another program: what others ask for is
//! answered while a read of ours is under way. It touches nothing but CLIPBOARD.

mod answer;
mod atoms;
mod job;
mod owner;
mod receive;
mod serve;

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::EventfdFlags;

use super::super::x11::{PATIENCE, connect};
use super::{Clipboard, Found, Kept, Look, PutBack, Reader, Seat, SeatFault};
use owner::Owner;

/// How long an owner may take without sending anything.
const STALL_LIMIT: Duration = Duration::from_secs(2);
/// How long one read may take in all.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How long a clipboard manager may take to take over when we end.
const HANDOVER_LIMIT: Duration = Duration::from_millis(1500);
/// How much longer than its own limits an answer of the thread may take: a server that hangs.
const SLACK: Duration = Duration::from_secs(6);

/// Where an answer goes.
type Reply<T> = SyncSender<Result<T, SeatFault>>;

/// What the thread is asked to do.
enum Command {
    Look(Reply<Look>),
    Read { max_bytes: u64, reply: Reply<Found> },
    Write { text: String, reply: Reply<Option<u64>> },
    Keep { max_bytes: u64, reply: Reply<Kept> },
    PutBack { kept: Kept, seen: Option<u64>, reply: Reply<PutBack> },
    ExpectReader(Reply<()>),
    AwaitReader { limit: Duration, reply: Reply<Reader> },
}

/// The clipboard of an X server.
pub(super) struct X11Clipboard {
    /// None only while it is dropped.
    commands: Option<Sender<Command>>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    ended: Mutex<Receiver<()>>,
}

impl X11Clipboard {
    /// Connects, and returns once the clipboard can be used.
    pub(super) fn open(seat: &Seat) -> Result<Self, SeatFault> {
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|fault| SeatFault::Other(format!("the system gives no handle to wake a thread: {fault}")))?;
        let wake = Arc::new(wake);
        let (commands, work) = channel();
        let (ready, opened) = sync_channel(1);
        let (end, ended) = sync_channel(1);
        let (seat, woken) = (seat.clone(), wake.clone());
        let thread = std::thread::Builder::new().name("clipboard".to_owned()).spawn(move || {
            let owner =
                connect(&seat, Some(PATIENCE)).and_then(|(server, screen)| Owner::start(server, screen, work, woken));
            match owner {
                Ok(owner) => {
                    let _ = ready.send(Ok(()));
                    owner.run();
                }
                Err(fault) => {
                    let _ = ready.send(Err(fault));
                }
            }
            let _ = end.send(());
        });
        let thread = thread.map_err(|fault| SeatFault::Other(format!("no thread could be started: {fault}")))?;
        // Each wait inside has a limit of its own.
        opened.recv().map_err(|_| lost())??;
        Ok(Self { commands: Some(commands), wake, thread: Some(thread), ended: Mutex::new(ended) })
    }

    fn ask<T>(&self, limit: Duration, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, SeatFault> {
        let (reply, answer) = sync_channel(1);
        let commands = self.commands.as_ref().ok_or_else(lost)?;
        commands.send(command(reply)).map_err(|_| lost())?;
        self.wake();
        match answer.recv_timeout(limit + SLACK) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(SeatFault::NoAnswer("the display server")),
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
        }
    }

    fn wake(&self) {
        // It fails only when so many wake-ups wait that one more changes nothing.
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

fn lost() -> SeatFault {
    SeatFault::NoDisplay("the connection of the clipboard is lost".to_owned())
}

impl Clipboard for X11Clipboard {
    fn look(&self) -> Result<Look, SeatFault> {
        self.ask(READ_LIMIT, Command::Look)
    }

    fn read_text(&self, max_bytes: u64) -> Result<Found, SeatFault> {
        self.ask(READ_LIMIT, |reply| Command::Read { max_bytes, reply })
    }

    fn write_text(&self, text: &str) -> Result<Option<u64>, SeatFault> {
        self.ask(READ_LIMIT, |reply| Command::Write { text: text.to_owned(), reply })
    }

    fn keep(&self, max_bytes: u64) -> Result<Kept, SeatFault> {
        self.ask(READ_LIMIT, |reply| Command::Keep { max_bytes, reply })
    }

    fn put_back(&self, kept: &Kept, seen: Option<u64>) -> Result<PutBack, SeatFault> {
        self.ask(READ_LIMIT, |reply| Command::PutBack { kept: kept.clone(), seen, reply })
    }

    fn expect_reader(&self) -> Result<(), SeatFault> {
        self.ask(READ_LIMIT, Command::ExpectReader)
    }

    fn await_reader(&self, limit: Duration) -> Result<Reader, SeatFault> {
        self.ask(READ_LIMIT.max(limit), |reply| Command::AwaitReader { limit, reply })
    }
}

impl Drop for X11Clipboard {
    fn drop(&mut self) {
        self.commands = None;
        self.wake();
        // A server that hangs must not hold up whoever drops this; then the thread ends by itself.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let ended = ended.recv_timeout(HANDOVER_LIMIT + Duration::from_millis(500));
        if ended != Err(RecvTimeoutError::Timeout)
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}
