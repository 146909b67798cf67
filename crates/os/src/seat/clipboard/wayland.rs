//! The clipboard of a Wayland compositor that lets programs without a window use it (ext-data-control, wlr-data-control).
//!
//! The compositor of the environment is meant. Each write carries a name of its own among its formats, so that it can be told
//! from everything else as long as it is there; there is no count of changes. Who reads is not told.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use wl_clipboard_rs::copy::{self, MimeSource, MimeType, Options, Source};
use wl_clipboard_rs::paste::{self, Seat as From};
use wl_clipboard_rs::watch::{ClipboardEvent, ClipboardType, Watcher};

use super::{Clipboard, Found, KDE_MARK, Kept, KeptFormat, Look, PutBack, Reader, SeatFault, text};

/// How long an owner may take without sending anything.
const STALL_LIMIT: Duration = Duration::from_secs(2);
/// How long one read may take in all.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// How much longer than that a call may take: a compositor that hangs.
const SLACK: Duration = Duration::from_secs(2);
/// Calls at the same time, those that hang among them.
const MAX_RUNNING: usize = 4;
/// How much is read at once.
const PIECE: usize = 64 * 1024;
/// What the name of each write begins with.
const NAME_BEGINS: &str = "application/x-drawbridge-";

/// The clipboard of a Wayland compositor.
pub(super) struct WaylandClipboard {
    /// The name of our last write, while what is there may be that.
    written: Mutex<Option<String>>,
    /// Calls that have not come back.
    running: Arc<AtomicUsize>,
}

impl WaylandClipboard {
    /// Tries whether the compositor lets us.
    pub(super) fn open() -> Result<Self, SeatFault> {
        let clipboard = Self { written: Mutex::default(), running: Arc::default() };
        clipboard.within(formats)?;
        Ok(clipboard)
    }

    /// Does something on a thread of its own, so that a compositor that hangs holds up nobody.
    fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SeatFault> + Send + 'static,
    ) -> Result<T, SeatFault> {
        let silent = SeatFault::NoAnswer("the compositor");
        // No thread piles up where nothing comes back.
        if self.running.fetch_add(1, Ordering::AcqRel) >= MAX_RUNNING {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return Err(silent);
        }
        let (tell, told) = sync_channel(1);
        let running = self.running.clone();
        let started = std::thread::Builder::new().name("clipboard".to_owned()).spawn(move || {
            let done = work();
            running.fetch_sub(1, Ordering::AcqRel);
            let _ = tell.send(done);
        });
        if let Err(fault) = started {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return Err(SeatFault::Other(format!("no thread could be started: {fault}")));
        }
        match told.recv_timeout(READ_LIMIT + SLACK) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => Err(silent),
            Err(RecvTimeoutError::Disconnected) => Err(SeatFault::Other("the clipboard broke off".to_owned())),
        }
    }

    fn written(&self) -> Option<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts something there and returns once the compositor shows it to others.
    fn put(&self, mut sources: Vec<MimeSource>, options: Options, ours: bool) -> Result<(), SeatFault> {
        let mut number = [0; 16];
        getrandom::fill(&mut number)
            .map_err(|fault| SeatFault::Other(format!("the system gives no random numbers: {fault}")))?;
        let name = format!("{NAME_BEGINS}{:032x}", u128::from_ne_bytes(number));
        sources.push(source(&name, &[]));
        let wanted = name.clone();
        let cancel = Arc::new(Mutex::new(None));
        let handle = cancel.clone();
        let done = self.within(move || {
            let mut watcher = Watcher::new(ClipboardType::Regular, From::Unspecified).map_err(of_paste)?;
            *handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher.cancel_handle());
            copy::copy_multi(options, sources).map_err(|fault| of_copy(&fault))?;
            // Ours may come after one that somebody else did just before.
            while let Some(event) = watcher.next_event().map_err(of_paste)? {
                if let ClipboardEvent::Changed { mime_types, .. } = event
                    && mime_types.contains(&wanted)
                {
                    return Ok(());
                }
            }
            Err(SeatFault::Gone)
        });
        if let Some(cancel) = &*cancel.lock().unwrap_or_else(PoisonError::into_inner) {
            cancel.cancel();
        }
        done?;
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = ours.then_some(name);
        Ok(())
    }
}

impl Clipboard for WaylandClipboard {
    fn look(&self) -> Result<Look, SeatFault> {
        let written = self.written();
        self.within(move || Ok(look_at(formats()?, written.as_deref())))
    }

    fn read_text(&self, max_bytes: u64) -> Result<Found, SeatFault> {
        let written = self.written();
        self.within(move || {
            let look = look_at(formats()?, written.as_deref());
            let wanted = text::WANTED.iter().find(|name| look.formats.iter().any(|format| format == *name));
            let Some(wanted) = wanted.filter(|_| look.concealed.is_none()) else {
                return Ok(Found { look, text: None });
            };
            let bytes = content(wanted, max_bytes, Instant::now() + READ_LIMIT)?;
            let text = text::decoded(wanted, wanted, 8, &bytes)?;
            if text.len() as u64 > max_bytes {
                return Err(SeatFault::TooLarge(text.len() as u64));
            }
            // What was read belongs to what was looked at only if nothing changed meanwhile.
            if look_at(formats()?, written.as_deref()) != look {
                return Err(SeatFault::Other("the clipboard changed while it was read".to_owned()));
            }
            Ok(Found { look, text: Some(text) })
        })
    }

    fn write_text(&self, text: &str) -> Result<Option<u64>, SeatFault> {
        let mut options = Options::new();
        options.sensitive(true);
        // The library adds the other formats for text.
        self.put(vec![source("text/plain;charset=utf-8", text.as_bytes())], options, true)?;
        Ok(None)
    }

    fn keep(&self, max_bytes: u64) -> Result<Kept, SeatFault> {
        let written = self.written();
        self.within(move || {
            let until = Instant::now() + READ_LIMIT;
            let offered = formats()?;
            let look = look_at(offered.clone(), written.as_deref());
            let (mut kept, mut room) = (Kept { formats: Vec::new(), ours: look.ours }, max_bytes);
            for name in look.formats {
                let bytes = content(&name, room, until)?;
                room -= bytes.len() as u64;
                kept.formats.push(KeptFormat { kind: name.clone(), name, unit_bits: 8, bytes: bytes.into() });
            }
            if formats()? != offered {
                return Err(SeatFault::Other("the clipboard changed while it was read".to_owned()));
            }
            Ok(kept)
        })
    }

    /// Without a count of changes nobody can have seen anything by it.
    fn put_back(&self, kept: &Kept, _seen: Option<u64>) -> Result<PutBack, SeatFault> {
        if !self.look()?.ours {
            return Ok(PutBack::Changed);
        }
        if kept.formats.is_empty() {
            self.within(|| {
                copy::clear(copy::ClipboardType::Regular, copy::Seat::All).map_err(|fault| of_copy(&fault))
            })?;
            return Ok(PutBack::Done { counter: None });
        }
        let mut options = Options::new();
        options.omit_additional_text_mime_types(true);
        let sources = kept.formats.iter().map(|format| source(&format.name, &format.bytes)).collect();
        self.put(sources, options, kept.ours)?;
        Ok(PutBack::Done { counter: None })
    }

    fn expect_reader(&self) -> Result<(), SeatFault> {
        Ok(())
    }

    fn await_reader(&self, limit: Duration) -> Result<Reader, SeatFault> {
        std::thread::sleep(limit);
        Ok(Reader::Unknown)
    }
}

fn source(name: &str, bytes: &[u8]) -> MimeSource {
    MimeSource { source: Source::Bytes(bytes.into()), mime_type: MimeType::Specific(name.to_owned()) }
}

fn look_at(offered: Vec<String>, written: Option<&str>) -> Look {
    let ours = offered.iter().any(|format| Some(format.as_str()) == written);
    let formats: Vec<String> = offered.into_iter().filter(|format| !format.starts_with(NAME_BEGINS)).collect();
    let marked = !ours && formats.iter().any(|format| format == KDE_MARK);
    Look { has_text: text::offered(&formats), concealed: marked.then_some(KDE_MARK), counter: None, ours, formats }
}

/// Returns what is offered; nothing when there is nothing.
fn formats() -> Result<Vec<String>, SeatFault> {
    match paste::get_mime_types_ordered(paste::ClipboardType::Regular, From::Unspecified) {
        Ok(formats) => {
            let mut once = Vec::new();
            formats.into_iter().for_each(|format| {
                if !once.contains(&format) {
                    once.push(format);
                }
            });
            Ok(once)
        }
        Err(paste::Error::ClipboardEmpty) => Ok(Vec::new()),
        Err(fault) => Err(of_paste(fault)),
    }
}

/// Reads one format.
fn content(name: &str, max_bytes: u64, until: Instant) -> Result<Vec<u8>, SeatFault> {
    let wanted = paste::MimeType::Specific(name);
    let asked = paste::get_contents(paste::ClipboardType::Regular, From::Unspecified, wanted);
    let (pipe, _) = asked.map_err(of_paste)?;
    let failed = |fault: &dyn std::fmt::Display| SeatFault::Other(format!("reading failed: {fault}"));
    let (mut whole, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        let left = STALL_LIMIT.min(until.saturating_duration_since(Instant::now()));
        let left = Timespec::try_from(left).map_err(|fault| failed(&fault))?;
        let mut watched = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
        match rustix::event::poll(&mut watched, Some(&left)) {
            Ok(0) => return Err(SeatFault::NoAnswer("the program that holds the clipboard")),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(fault) => return Err(failed(&fault)),
        }
        let count = rustix::io::read(&pipe, &mut piece).map_err(|fault| failed(&fault))?;
        if count == 0 {
            return Ok(whole);
        }
        if (whole.len() + count) as u64 > max_bytes {
            return Err(SeatFault::TooLarge((whole.len() + count) as u64));
        }
        whole.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
}

fn of_paste(fault: paste::Error) -> SeatFault {
    match fault {
        paste::Error::MissingProtocol { .. } => unshared(),
        paste::Error::ClipboardEmpty | paste::Error::NoMimeType => SeatFault::Gone,
        paste::Error::NoSeats
        | paste::Error::SocketOpenError(_)
        | paste::Error::WaylandConnection(_)
        | paste::Error::WaylandCommunication(_)
        | paste::Error::PrimarySelectionUnsupported
        | paste::Error::SeatNotFound
        | paste::Error::PipeCreation(_) => SeatFault::NoDisplay(fault.to_string()),
    }
}

fn of_copy(fault: &copy::Error) -> SeatFault {
    if matches!(fault, copy::Error::MissingProtocol { .. }) {
        unshared()
    } else {
        SeatFault::NoDisplay(fault.to_string())
    }
}

fn unshared() -> SeatFault {
    SeatFault::Unsupported(
        "this compositor does not let programs without a window use the clipboard (it has no data-control protocol)"
            .to_owned(),
    )
}
