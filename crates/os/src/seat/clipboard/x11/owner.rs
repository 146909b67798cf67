//! The thread: what it waits for, and what it owns.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xfixes::{ConnectionExt as _, SelectionEventMask, SelectionNotifyEvent as OwnerEvent};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, Property, PropertyNotifyEvent,
    SelectionNotifyEvent, Timestamp, Window, WindowClass,
};
use x11rb::protocol::{ErrorKind, Event};
use x11rb::wrapper::ConnectionExt as _;

use super::super::super::x11::Connection;
use super::super::{KDE_MARK, Kept, PutBack, Reader, SeatFault, text};
use super::atoms::Atoms;
use super::job::Job;
use super::serve::{Content, Offer, Place, Serving, client_of};
use super::{Command, HANDOVER_LIMIT, Reply};

/// Somebody waits for the program with the keyboard to read.
struct Awaiting {
    until: Instant,
    reply: Reply<Reader>,
}

/// We end, and a clipboard manager takes over.
struct Ending {
    until: Instant,
    taken: bool,
}

/// What the thread knows.
pub(super) struct Owner {
    pub(super) server: Connection,
    pub(super) root: Window,
    pub(super) atoms: Atoms,
    pub(super) window: Window,
    work: Receiver<Command>,
    wake: Arc<OwnedFd>,
    queue: VecDeque<Command>,
    /// What we hold, while we own the selection.
    pub(super) content: Option<Content>,
    /// The server's time of our last act.
    pub(super) since: Timestamp,
    /// The server's time when we last asked for it.
    time: Timestamp,
    /// Changes of the owner since this was opened.
    pub(super) counter: u64,
    /// The count after our own last change.
    own_counter: u64,
    pub(super) serving: Serving,
    pub(super) job: Option<Job>,
    awaiting: Option<Awaiting>,
    ending: Option<Ending>,
}

impl Owner {
    /// Prepares everything on a new connection.
    pub(super) fn start(
        server: Connection,
        screen: usize,
        work: Receiver<Command>,
        wake: Arc<OwnedFd>,
    ) -> Result<Self, SeatFault> {
        let screen = server.setup().roots.get(screen);
        let root = screen.ok_or_else(|| SeatFault::NoDisplay("it has no such screen".to_owned()))?.root;
        server.prefetch_maximum_request_bytes();
        let atoms = Atoms::new(&server)?.reply()?;
        server.xfixes_query_version(5, 0)?.reply()?;
        let window = server.generate_id()?;
        let events = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        server.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &events)?;
        let changes = SelectionEventMask::SET_SELECTION_OWNER
            | SelectionEventMask::SELECTION_WINDOW_DESTROY
            | SelectionEventMask::SELECTION_CLIENT_CLOSE;
        server.xfixes_select_selection_input(window, atoms.CLIPBOARD, changes)?.check()?;
        server.maximum_request_bytes();
        Ok(Self {
            server,
            root,
            atoms,
            window,
            work,
            wake,
            queue: VecDeque::new(),
            content: None,
            since: 0,
            time: 0,
            counter: 0,
            own_counter: 0,
            serving: Serving::default(),
            job: None,
            awaiting: None,
            ending: None,
        })
    }

    /// Works until the handle is dropped or the display is gone.
    pub(super) fn run(mut self) {
        loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => break,
                // It hangs, and may come back.
                Err(SeatFault::NoAnswer(_)) => {}
                Err(fault) => {
                    tracing::debug!(%fault, "the clipboard's display is gone");
                    break;
                }
            }
        }
    }

    /// Does what there is to do and waits for more. False when all is done.
    fn turn(&mut self) -> Result<bool, SeatFault> {
        self.take_commands();
        self.start_commands();
        self.on_time(Instant::now());
        loop {
            // Sending may bring events in; so they are looked for after it.
            self.server.flush()?;
            let Some(event) = self.server.poll_for_event()? else { break };
            self.on_event(event);
        }
        if self.job.is_none() && !self.queue.is_empty() {
            return Ok(true);
        }
        self.tell_reader(Instant::now());
        if self
            .ending
            .as_ref()
            .is_some_and(|ending| ending.until <= Instant::now() || (ending.taken && self.serving.idle()))
        {
            return Ok(false);
        }
        self.wait()?;
        Ok(true)
    }

    fn wait(&self) -> Result<(), SeatFault> {
        let failed = |fault: &dyn std::fmt::Display| SeatFault::Other(format!("waiting failed: {fault}"));
        let next = self.job.as_ref().map(Job::deadline).into_iter();
        let next = next.chain(self.serving.deadline()).chain(self.awaiting.as_ref().map(|awaiting| awaiting.until));
        let next = next.chain(self.ending.as_ref().map(|ending| ending.until)).min();
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        let left = left.map(Timespec::try_from).transpose().map_err(|fault| failed(&fault))?;
        let mut watched = [
            PollFd::from_borrowed_fd(self.server.stream().as_fd(), PollFlags::IN),
            PollFd::new(&self.wake, PollFlags::IN),
        ];
        match rustix::event::poll(&mut watched, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(fault) => Err(failed(&fault)),
        }
    }

    fn take_commands(&mut self) {
        let _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]);
        loop {
            match self.work.try_recv() {
                Ok(command) => self.queue.push_back(command),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    if self.ending.is_none() {
                        self.end();
                    }
                    return;
                }
            }
        }
    }

    /// Starts what waits, one read at a time.
    fn start_commands(&mut self) {
        while self.job.is_none()
            && let Some(command) = self.queue.pop_front()
        {
            // Whoever asked may have given up; then nobody wants the answer.
            match command {
                Command::Look(reply) => self.begin(Job::look(reply)),
                Command::Read { max_bytes, reply } => self.begin(Job::read(max_bytes, reply)),
                Command::Keep { max_bytes, reply } => self.begin(Job::keep(max_bytes, reply)),
                Command::Write { text, reply } => drop(reply.send(self.write(&text))),
                Command::PutBack { kept, seen, reply } => drop(reply.send(self.put_back(&kept, seen))),
                Command::ExpectReader(reply) => drop(reply.send(self.expect_reader())),
                Command::AwaitReader { limit, reply } => {
                    self.awaiting = Some(Awaiting { until: Instant::now() + limit, reply });
                }
            }
        }
    }

    fn on_time(&mut self, now: Instant) {
        self.serving.on_time(&self.server, now);
        if self.job.as_ref().is_some_and(|job| job.deadline() <= now) {
            self.finish(Err(SeatFault::NoAnswer("the program that holds the clipboard")));
        }
    }

    fn tell_reader(&mut self, now: Instant) {
        let reader = self.serving.reader();
        if let Some(awaiting) = self.awaiting.take_if(|awaiting| reader == Reader::Target || awaiting.until <= now) {
            let _ = awaiting.reply.send(Ok(reader));
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a client gets events that it has no use for")]
    fn on_event(&mut self, event: Event) {
        let place = |event: &PropertyNotifyEvent| Place { window: event.window, property: event.atom };
        let done = match event {
            Event::SelectionRequest(event) => self.answer(&event),
            Event::SelectionNotify(event) => {
                self.on_converted(&event);
                Ok(())
            }
            Event::PropertyNotify(event) if event.window == self.window => {
                self.time = event.time;
                Ok(())
            }
            Event::PropertyNotify(event) if event.state == Property::DELETE => {
                self.serving.on_taken(&self.server, place(&event))
            }
            Event::PropertyNotify(event) => {
                self.on_piece(&event);
                Ok(())
            }
            Event::DestroyNotify(event) => {
                self.serving.on_window_gone(&self.server, event.window);
                Ok(())
            }
            Event::XfixesSelectionNotify(event) => self.on_owner(&event),
            // Another client's window that we wanted to hand something to.
            Event::Error(error) if error.error_kind == ErrorKind::Window => {
                self.serving.on_window_gone(&self.server, error.bad_value);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(fault) = done {
            tracing::debug!(%fault, "an event of the clipboard could not be answered");
        }
    }

    /// The selection has another owner.
    fn on_owner(&mut self, event: &OwnerEvent) -> Result<(), SeatFault> {
        self.counter += 1;
        if event.owner == self.window {
            self.own_counter = self.counter;
            return Ok(());
        }
        // It may be older than what we did since.
        if self.content.is_some() && self.owner()? != self.window {
            self.content = None;
        }
        self.on_changed_meanwhile(event.owner, event.timestamp);
        Ok(())
    }

    fn owner(&self) -> Result<Window, SeatFault> {
        Ok(self.server.get_selection_owner(self.atoms.CLIPBOARD)?.reply()?.owner)
    }

    /// Handles everything that has happened up to now, and returns the owner.
    pub(super) fn catch_up(&mut self) -> Result<Window, SeatFault> {
        let owner = self.owner()?;
        while let Some(event) = self.server.poll_for_event()? {
            self.on_event(event);
        }
        Ok(owner)
    }

    /// Returns the server's time of this moment.
    pub(super) fn now(&mut self) -> Result<Timestamp, SeatFault> {
        let name = self.atoms.DRAWBRIDGE_TIME;
        self.server.change_property8(PropMode::APPEND, self.window, name, AtomEnum::STRING, &[])?;
        self.catch_up()?;
        Ok(self.time)
    }

    pub(super) fn interned<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<Vec<Atom>, SeatFault> {
        let asked: Result<Vec<_>, _> = names.map(|name| self.server.intern_atom(false, name.as_bytes())).collect();
        asked?.into_iter().map(|cookie| Ok(cookie.reply()?.atom)).collect()
    }

    fn write(&mut self, text: &str) -> Result<Option<u64>, SeatFault> {
        let utf8: Arc<[u8]> = text.as_bytes().into();
        let mut formats: Vec<(&str, &str, Arc<[u8]>)> = text::encoded(text)
            .into_iter()
            .map(|(name, kind, bytes)| (name, kind, bytes.map_or_else(|| utf8.clone(), Into::into)))
            .collect();
        formats.push((KDE_MARK, KDE_MARK, b"secret"[..].into()));
        let formats = formats.into_iter().map(|(name, kind, bytes)| (name, kind, 8, bytes)).collect();
        let content = Content { offers: self.offers(formats)?, ours: true };
        let now = self.now()?;
        self.serving.wrote();
        if self.own(Some(content), now)? {
            Ok(Some(self.own_counter))
        } else {
            Err(SeatFault::Other("another program took the clipboard in the same moment".to_owned()))
        }
    }

    fn offers(&self, formats: Vec<(&str, &str, u8, Arc<[u8]>)>) -> Result<Vec<Offer>, SeatFault> {
        let targets = self.interned(formats.iter().map(|(name, ..)| *name))?;
        let kinds = self.interned(formats.iter().map(|(_, kind, ..)| *kind))?;
        let offers = formats.into_iter().zip(targets).zip(kinds);
        Ok(offers
            .map(|(((name, kind_name, unit_bits, bytes), target), kind)| {
                let (name, kind_name) = (name.to_owned(), kind_name.to_owned());
                Offer { target, name, kind, kind_name, unit_bits, bytes }
            })
            .collect())
    }

    fn put_back(&mut self, kept: &Kept, seen: Option<u64>) -> Result<PutBack, SeatFault> {
        let formats = kept.formats.iter();
        let formats = formats.map(|each| (&*each.name, &*each.kind, each.unit_bits, each.bytes.clone())).collect();
        let content = Content { offers: self.offers(formats)?, ours: kept.ours };
        // The server refuses a change that is older than another one. So whoever takes the selection after this moment keeps it.
        let now = self.now()?;
        let holds_it = self.owner()? == self.window && self.content.as_ref().is_some_and(|content| content.ours);
        self.catch_up()?;
        if !holds_it && seen != Some(self.counter) {
            return Ok(PutBack::Changed);
        }
        let content = (!kept.formats.is_empty()).then_some(content);
        let clears = content.is_none();
        self.serving.put_back();
        if !self.own(content, now)? {
            return Ok(PutBack::Changed);
        }
        Ok(PutBack::Done { counter: Some(if clears { self.counter } else { self.own_counter }) })
    }

    /// Makes the selection ours with this content, or nobody's. False when somebody else has it then.
    fn own(&mut self, content: Option<Content>, now: Timestamp) -> Result<bool, SeatFault> {
        let owner = if content.is_some() { self.window } else { x11rb::NONE };
        self.server.set_selection_owner(owner, self.atoms.CLIPBOARD, now)?;
        let done = self.owner()? == owner;
        self.content = content.filter(|_| done);
        self.since = now;
        self.catch_up()?;
        Ok(done)
    }

    fn expect_reader(&mut self) -> Result<(), SeatFault> {
        self.catch_up()?;
        let focus = self.server.get_input_focus()?.reply()?.focus;
        // Lower numbers stand for no window, and for whatever is under the pointer.
        self.serving.watch((focus > 1).then(|| client_of(&self.server, focus)));
        Ok(())
    }

    /// Ends: nobody gets an answer any more, and what we hold goes to a clipboard manager if there is one.
    fn end(&mut self) {
        self.finish(Err(SeatFault::Gone));
        self.queue.clear();
        let asked = self.hand_over().unwrap_or(false);
        self.ending = Some(Ending { until: Instant::now() + HANDOVER_LIMIT, taken: !asked });
    }

    fn hand_over(&mut self) -> Result<bool, SeatFault> {
        let now = self.now()?;
        let Some(content) = &self.content else { return Ok(false) };
        let (server, atoms) = (&self.server, &self.atoms);
        if server.get_selection_owner(atoms.CLIPBOARD_MANAGER)?.reply()?.owner == x11rb::NONE {
            return Ok(false);
        }
        let targets: Vec<Atom> = content.offers.iter().map(|offer| offer.target).collect();
        let property = atoms.DRAWBRIDGE_RECEIVED;
        server.change_property32(PropMode::REPLACE, self.window, property, AtomEnum::ATOM, &targets)?;
        server.convert_selection(self.window, atoms.CLIPBOARD_MANAGER, atoms.SAVE_TARGETS, property, now)?;
        Ok(true)
    }

    /// Another program answers something that we asked for.
    fn on_converted(&mut self, event: &SelectionNotifyEvent) {
        if event.selection != self.atoms.CLIPBOARD_MANAGER {
            self.on_answer(event);
        } else if let Some(ending) = &mut self.ending {
            ending.taken = true;
        }
    }
}
