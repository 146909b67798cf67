//! Other programs at the clipboard of an X display: one that holds it, well-behaved or not, and one that asks for it.
//!
//! Real clients of the server, each with a connection and a thread of its own. Nothing waits by time.

use std::io::{self, Write as _};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use x11rb::connection::Connection as _;
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{ConnectionExt as _, SelectionEventMask};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, Property,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::display::Display;

/// More than this goes in pieces of this size.
const PIECE: usize = 100_000;

/// One format that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Its name.
    pub name: String,
    /// The type under which it is handed out.
    pub kind: String,
    /// Bits of a unit: 8, 16 or 32.
    pub unit_bits: u8,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Format {
    /// Makes one whose type is its name.
    #[must_use]
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.to_owned(), kind: name.to_owned(), unit_bits: 8, bytes: bytes.into() }
    }
}

/// How a holder behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As it should.
    Good,
    /// Answers nothing.
    Silent,
    /// Tells its formats and answers nothing else.
    OnlyList,
    /// Refuses to tell its formats.
    NoList,
    /// Sends pieces for ever.
    Endless,
    /// Sends so many pieces and then nothing.
    StopsAfter(usize),
    /// Sends so many pieces and is gone then.
    DiesAfter(usize),
    /// Announces content of so many bytes.
    Announces(u32),
}

/// A program that holds the clipboard until it is dropped.
pub struct Holder {
    /// The targets that were asked for, in order.
    pub asked: Receiver<String>,
    window: Window,
    killer: RustConnection,
    thread: Option<JoinHandle<()>>,
}

impl Holder {
    /// Waits until something was asked for.
    ///
    /// # Errors
    /// When the holder is gone before.
    pub fn until_asked(&self, target: &str) -> io::Result<()> {
        loop {
            if self.asked.recv().map_err(io::Error::other)? == target {
                return Ok(());
            }
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.killer.kill_client(self.window).map(x11rb::cookie::VoidCookie::check);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Display {
    /// Starts a program that takes the clipboard, and waits until it has it.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn hold(&self, formats: &[Format], manner: Manner) -> io::Result<Holder> {
        self.start_holder("CLIPBOARD", formats, manner)
    }

    /// Starts a clipboard manager, which takes over text when a program asks for it.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn manage_clipboard(&self, manner: Manner) -> io::Result<Holder> {
        self.start_holder("CLIPBOARD_MANAGER", &[], manner)
    }

    fn start_holder(&self, selection: &str, formats: &[Format], manner: Manner) -> io::Result<Holder> {
        let (killer, _) = x11rb::connect(Some(self.name())).map_err(io::Error::other)?;
        let (tell, asked) = channel();
        let owner = Owner::start(self.name(), selection, formats, manner, tell).map_err(io::Error::other)?;
        let window = owner.window;
        let thread = std::thread::spawn(move || owner.run());
        Ok(Holder { asked, window, killer, thread: Some(thread) })
    }

    /// Copies a text with xclip, and returns once that holds the clipboard. It does until another program takes it.
    ///
    /// # Errors
    /// When xclip is missing or the display is gone.
    pub fn copy(&self, text: &[u8]) -> io::Result<()> {
        let (server, screen) = x11rb::connect(Some(self.name())).map_err(io::Error::other)?;
        watch_owner(&server, screen).map_err(io::Error::other)?;
        let mut xclip = self.command("xclip");
        xclip.args(["-selection", "clipboard", "-i"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut xclip = xclip.spawn()?;
        if let Some(mut input) = xclip.stdin.take() {
            input.write_all(text)?;
        }
        // It leaves a child behind, which takes the clipboard at some time after that.
        xclip.wait()?;
        while !matches!(server.wait_for_event().map_err(io::Error::other)?, Event::XfixesSelectionNotify(_)) {}
        Ok(())
    }

    /// Asks for one target of the clipboard and takes the first `pieces` of it, all without a number. None when it is refused.
    /// The asker stays there, so that content in pieces can be left in the middle.
    ///
    /// # Errors
    /// When the display is gone.
    pub fn ask(&self, target: &str, pieces: Option<usize>) -> io::Result<(Asker, Option<Format>)> {
        let (server, screen) = x11rb::connect(Some(self.name())).map_err(io::Error::other)?;
        let asked = ask(&server, screen, target, pieces).map_err(io::Error::other)?;
        Ok((Asker { _server: server }, asked))
    }
}

/// A program that asked for something.
pub struct Asker {
    _server: RustConnection,
}

type Done<T> = Result<T, ReplyOrIdError>;

fn atom(server: &RustConnection, name: &str) -> Done<Atom> {
    Ok(server.intern_atom(false, name.as_bytes())?.reply()?.atom)
}

fn name(server: &RustConnection, atom: Atom) -> Done<String> {
    Ok(String::from_utf8_lossy(&server.get_atom_name(atom)?.reply()?.name).into_owned())
}

fn window(server: &RustConnection, screen: usize) -> Done<Window> {
    let window = server.generate_id()?;
    let root = server.setup().roots[screen].root;
    let events = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    server.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &events)?.check()?;
    Ok(window)
}

fn watch_owner(server: &RustConnection, screen: usize) -> Done<()> {
    server.xfixes_query_version(5, 0)?.reply()?;
    let (window, clipboard) = (window(server, screen)?, atom(server, "CLIPBOARD")?);
    server.xfixes_select_selection_input(window, clipboard, SelectionEventMask::SET_SELECTION_OWNER)?.check()?;
    Ok(())
}

fn ask(server: &RustConnection, screen: usize, target: &str, pieces: Option<usize>) -> Done<Option<Format>> {
    let window = window(server, screen)?;
    let (clipboard, into, incr) = (atom(server, "CLIPBOARD")?, atom(server, "ANSWER")?, atom(server, "INCR")?);
    server.convert_selection(window, clipboard, atom(server, target)?, into, x11rb::CURRENT_TIME)?.check()?;
    loop {
        if let Event::SelectionNotify(event) = server.wait_for_event()? {
            if event.property == x11rb::NONE {
                return Ok(None);
            }
            break;
        }
    }
    let take = || server.get_property(true, window, into, AtomEnum::ANY, 0, u32::MAX);
    let mut whole = take()?.reply()?;
    if whole.type_ == incr {
        whole.value.clear();
        let mut taken = 0;
        while pieces.is_none_or(|pieces| taken < pieces) {
            let Event::PropertyNotify(event) = server.wait_for_event()? else { continue };
            if event.state != Property::NEW_VALUE || event.atom != into {
                continue;
            }
            let piece = take()?.reply()?;
            (whole.type_, whole.format) = (piece.type_, piece.format);
            if piece.value.is_empty() {
                break;
            }
            whole.value.extend(piece.value);
            taken += 1;
        }
    }
    let kind = name(server, whole.type_)?;
    Ok(Some(Format { name: target.to_owned(), kind, unit_bits: whole.format, bytes: whole.value }))
}

/// Content on its way in pieces.
struct Transfer {
    window: Window,
    property: Atom,
    format: usize,
    pieces: usize,
}

struct Owner {
    display: String,
    server: RustConnection,
    window: Window,
    /// Name, type and content.
    formats: Vec<(Atom, Atom, Format)>,
    manner: Manner,
    tell: Sender<String>,
    transfers: Vec<Transfer>,
}

impl Owner {
    fn start(display: &str, selection: &str, formats: &[Format], manner: Manner, tell: Sender<String>) -> Done<Self> {
        let (server, screen) = x11rb::connect(Some(display)).map_err(|_| ReplyOrIdError::IdsExhausted)?;
        let window = window(&server, screen)?;
        let named = |format: &Format| Ok((atom(&server, &format.name)?, atom(&server, &format.kind)?, format.clone()));
        let formats = formats.iter().map(named).collect::<Done<Vec<_>>>()?;
        let display = display.to_owned();
        let owner = Self { display, server, window, formats, manner, tell, transfers: Vec::new() };
        owner.own(selection)?;
        Ok(owner)
    }

    /// Answers until it is killed.
    fn run(mut self) {
        while let Ok(event) = self.server.wait_for_event() {
            let mut done = Ok(true);
            if let Event::SelectionRequest(event) = event {
                done = self.answer(&event);
            } else if let Event::PropertyNotify(event) = event
                && event.state == Property::DELETE
            {
                done = self.next(event.window, event.atom);
            }
            if !matches!(done, Ok(true)) || self.server.flush().is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, event: &SelectionRequestEvent) -> Done<bool> {
        let asked = name(&self.server, event.target)?;
        let list = asked == "TARGETS";
        // Before the answer, so that whoever has it finds what was asked already told.
        let _ = self.tell.send(asked.clone());
        if self.manner != Manner::Silent && (self.manner != Manner::OnlyList || list) {
            let given = match (asked.as_str(), self.manner) {
                ("TARGETS", Manner::NoList) => false,
                ("SAVE_TARGETS", _) => self.save()?,
                _ => self.give(event, &asked)?,
            };
            let told = SelectionNotifyEvent {
                response_type: SELECTION_NOTIFY_EVENT,
                sequence: 0,
                time: event.time,
                requestor: event.requestor,
                selection: event.selection,
                target: event.target,
                property: if given { event.property } else { x11rb::NONE },
            };
            self.server.send_event(false, event.requestor, EventMask::NO_EVENT, told)?;
            self.server.flush()?;
        }
        Ok(true)
    }

    /// Takes over what the clipboard holds, as a clipboard manager does for a program that ends.
    fn save(&mut self) -> Done<bool> {
        let (asker, screen) = x11rb::connect(Some(&self.display)).map_err(|_| ReplyOrIdError::IdsExhausted)?;
        let Some(text) = ask(&asker, screen, "UTF8_STRING", None)? else { return Ok(false) };
        self.formats = vec![(atom(&self.server, &text.name)?, atom(&self.server, &text.kind)?, text)];
        self.own("CLIPBOARD")?;
        Ok(true)
    }

    fn own(&self, selection: &str) -> Done<()> {
        let selection = atom(&self.server, selection)?;
        self.server.set_selection_owner(self.window, selection, x11rb::CURRENT_TIME)?.check()?;
        Ok(())
    }

    fn give(&mut self, event: &SelectionRequestEvent, asked: &str) -> Done<bool> {
        let (server, window, property) = (&self.server, event.requestor, event.property);
        if asked == "TARGETS" {
            let mut targets = vec![event.target, atom(server, "TIMESTAMP")?, atom(server, "MULTIPLE")?];
            targets.extend(self.formats.iter().map(|format| format.0));
            server.change_property32(PropMode::REPLACE, window, property, AtomEnum::ATOM, &targets)?;
            return Ok(true);
        }
        let Some(number) = self.formats.iter().position(|format| format.0 == event.target) else { return Ok(false) };
        let (_, kind, format) = &self.formats[number];
        if self.manner == Manner::Good && format.bytes.len() <= PIECE {
            put(server, window, property, *kind, format.unit_bits, &format.bytes)?;
            return Ok(true);
        }
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        server.change_window_attributes(window, &events)?;
        let size = if let Manner::Announces(size) = self.manner { size } else { 1 };
        server.change_property32(PropMode::REPLACE, window, property, atom(server, "INCR")?, &[size])?;
        self.transfers.push(Transfer { window, property, format: number, pieces: 0 });
        Ok(true)
    }

    /// Sends the next piece. False when this program ends.
    fn next(&mut self, window: Window, property: Atom) -> Done<bool> {
        let meant = |transfer: &&mut Transfer| transfer.window == window && transfer.property == property;
        let Some(transfer) = self.transfers.iter_mut().find(meant) else { return Ok(true) };
        let (_, kind, format) = &self.formats[transfer.format];
        let begin = transfer.pieces * PIECE;
        let rest = format.bytes.get(begin..).unwrap_or_default();
        let piece = match self.manner {
            Manner::StopsAfter(pieces) if transfer.pieces >= pieces => return Ok(true),
            Manner::DiesAfter(pieces) if transfer.pieces >= pieces => return Ok(false),
            Manner::Endless | Manner::StopsAfter(_) | Manner::DiesAfter(_) => &[b'x'; 1000][..],
            Manner::Good | Manner::Silent | Manner::OnlyList | Manner::NoList | Manner::Announces(_) => {
                rest.get(..PIECE).unwrap_or(rest)
            }
        };
        put(&self.server, window, property, *kind, format.unit_bits, piece)?;
        transfer.pieces += 1;
        let _ = self.tell.send(format!("piece {}", transfer.pieces));
        if piece.is_empty() {
            self.transfers.retain(|transfer| transfer.window != window || transfer.property != property);
        }
        Ok(true)
    }
}

fn put(server: &RustConnection, window: Window, property: Atom, kind: Atom, unit_bits: u8, bytes: &[u8]) -> Done<()> {
    let units = (bytes.len() / usize::from(unit_bits / 8)) as u32;
    server.change_property(PropMode::REPLACE, window, property, kind, unit_bits, units, bytes)?;
    Ok(())
}
