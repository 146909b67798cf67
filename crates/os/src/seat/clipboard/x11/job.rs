//! Looking, reading and keeping: what another program holds, format by format.

use std::collections::VecDeque;
use std::time::Instant;

use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, PropertyNotifyEvent, SelectionNotifyEvent, Timestamp, Window,
};

use super::super::{Found, KDE_MARK, Kept, KeptFormat, Look, SeatFault, text};
use super::atoms::NO_FORMATS;
use super::owner::Owner;
use super::receive::{Arrival, Received, Receiving};
use super::serve::{Content, Offer};
use super::{READ_LIMIT, Reply};

/// The longest list of formats, in bytes.
const LIST_BYTES: u64 = 8 * 1024;
/// How often a read begins anew because the owner has changed.
const MAX_CHANGES: u32 = 3;

/// What is wanted.
enum Wanted {
    Look(Reply<Look>),
    Text { max_bytes: u64, reply: Reply<Found> },
    All { max_bytes: u64, reply: Reply<Kept> },
}

/// A format by number and name.
type Format = (Atom, String);

/// A look or a read under way.
pub(super) struct Job {
    wanted: Wanted,
    began: Instant,
    changes: u32,
    time: Timestamp,
    /// Known once the owner has told its formats.
    look: Option<Look>,
    /// Still to be asked for.
    left: VecDeque<Format>,
    current: Option<(Receiving, Format)>,
    text: Option<String>,
    kept: Vec<KeptFormat>,
}

impl Job {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            began: Instant::now(),
            changes: 0,
            time: x11rb::CURRENT_TIME,
            look: None,
            left: VecDeque::new(),
            current: None,
            text: None,
            kept: Vec::new(),
        }
    }

    pub(super) fn look(reply: Reply<Look>) -> Self {
        Self::new(Wanted::Look(reply))
    }

    pub(super) fn read(max_bytes: u64, reply: Reply<Found>) -> Self {
        Self::new(Wanted::Text { max_bytes, reply })
    }

    pub(super) fn keep(max_bytes: u64, reply: Reply<Kept>) -> Self {
        Self::new(Wanted::All { max_bytes, reply })
    }

    /// When it has taken too long.
    pub(super) fn deadline(&self) -> Instant {
        let last = self.began + READ_LIMIT;
        self.current.as_ref().map_or(last, |(receiving, _)| receiving.deadline().min(last))
    }

    /// How many bytes the next format may have.
    fn room(&self) -> u64 {
        match &self.wanted {
            Wanted::Look(_) => 0,
            Wanted::Text { max_bytes, .. } => *max_bytes,
            Wanted::All { max_bytes, .. } => {
                max_bytes.saturating_sub(self.kept.iter().map(|format| format.bytes.len() as u64).sum())
            }
        }
    }

    /// Chooses what to ask for.
    fn choose(&mut self, formats: Vec<Format>, look: &Look) {
        self.left = match &self.wanted {
            Wanted::Look(_) => VecDeque::new(),
            Wanted::Text { .. } if look.concealed.is_some() => VecDeque::new(),
            Wanted::Text { .. } => {
                let found = text::WANTED.iter().filter_map(|name| formats.iter().find(|format| format.1 == *name));
                found.cloned().collect()
            }
            Wanted::All { .. } => formats.into(),
        };
    }

    /// Takes what came in for a format. True when nothing more is wanted.
    fn take(&mut self, (_, name): Format, kind: String, received: Received) -> Result<bool, SeatFault> {
        match &self.wanted {
            Wanted::Look(_) => Ok(true),
            Wanted::Text { max_bytes, .. } => {
                let text = text::decoded(&name, &kind, received.unit_bits, &received.bytes)?;
                // It may be longer in UTF-8 than it was.
                if text.len() as u64 > *max_bytes {
                    return Err(SeatFault::TooLarge(text.len() as u64));
                }
                self.text = Some(text);
                Ok(true)
            }
            Wanted::All { .. } => {
                let (unit_bits, bytes) = (received.unit_bits, received.bytes.into());
                self.kept.push(KeptFormat { name, kind, unit_bits, bytes });
                Ok(false)
            }
        }
    }

    fn answer(self, done: Result<(), SeatFault>) {
        let look = self.look.unwrap_or_default();
        // Whoever asked may have given up.
        match self.wanted {
            Wanted::Look(reply) => drop(reply.send(done.map(|()| look))),
            Wanted::Text { reply, .. } => drop(reply.send(done.map(|()| Found { look, text: self.text }))),
            Wanted::All { reply, .. } => drop(reply.send(done.map(|()| Kept { formats: self.kept, ours: false }))),
        }
    }
}

impl Owner {
    /// Begins a job. What we hold ourselves is answered at once.
    pub(super) fn begin(&mut self, mut job: Job) {
        let owner = match self.now().and_then(|now| {
            job.time = now;
            self.catch_up()
        }) {
            Ok(owner) => owner,
            Err(fault) => return job.answer(Err(fault)),
        };
        if let Some(content) = &self.content {
            let look = self.look_at(content.names(), content.ours);
            return answer_from(job, look, content);
        }
        if owner == x11rb::NONE {
            job.look = Some(self.look_at(Vec::new(), false));
            return job.answer(Ok(()));
        }
        self.job = Some(job);
        self.ask_for_formats();
    }

    fn look_at(&self, formats: Vec<String>, ours: bool) -> Look {
        let marked = !ours && formats.iter().any(|format| format == KDE_MARK);
        Look {
            has_text: text::offered(&formats),
            formats,
            concealed: marked.then_some(KDE_MARK),
            counter: Some(self.counter),
            ours,
        }
    }

    /// Ends the job, if there is one.
    pub(super) fn finish(&mut self, done: Result<(), SeatFault>) {
        let Some(mut job) = self.job.take() else { return };
        if let Some((receiving, _)) = job.current.take() {
            receiving.end(&self.server);
        }
        job.answer(done);
    }

    /// The owner changed while we read: what came so far belongs to nobody any more.
    pub(super) fn on_changed_meanwhile(&mut self, owner: Window, time: Timestamp) {
        let Some(job) = &mut self.job else { return };
        if let Some((receiving, _)) = job.current.take() {
            receiving.end(&self.server);
        }
        job.changes += 1;
        (job.time, job.look, job.text) = (time, None, None);
        job.left.clear();
        job.kept.clear();
        if owner == x11rb::NONE {
            let looks = matches!(job.wanted, Wanted::Look(_));
            job.look = looks.then(|| Look { counter: Some(self.counter), ..Look::default() });
            self.finish(if looks { Ok(()) } else { Err(SeatFault::Gone) });
        } else if job.changes > MAX_CHANGES {
            self.finish(Err(SeatFault::Other("the clipboard changed again and again while it was read".to_owned())));
        } else {
            self.ask_for_formats();
        }
    }

    fn ask_for_formats(&mut self) {
        self.ask((self.atoms.TARGETS, String::new()), LIST_BYTES);
    }

    fn ask(&mut self, format: Format, max_bytes: u64) {
        let Some(job) = &mut self.job else { return };
        match Receiving::begin(&self.server, self.root, &self.atoms, format.0, job.time, max_bytes) {
            Ok(receiving) => job.current = Some((receiving, format)),
            Err(fault) => self.finish(Err(fault)),
        }
    }

    /// The owner answers a conversion.
    pub(super) fn on_answer(&mut self, event: &SelectionNotifyEvent) {
        let Some((receiving, _)) = self.job.as_mut().and_then(|job| job.current.as_mut()) else { return };
        let arrival = receiving.on_answer(&self.server, &self.atoms, event);
        self.on_arrival(arrival);
    }

    /// The owner has written to a window.
    pub(super) fn on_piece(&mut self, event: &PropertyNotifyEvent) {
        let Some((receiving, _)) = self.job.as_mut().and_then(|job| job.current.as_mut()) else { return };
        let arrival = receiving.on_property(&self.server, &self.atoms, event);
        self.on_arrival(arrival);
    }

    fn on_arrival(&mut self, arrival: Result<Option<Arrival>, SeatFault>) {
        let arrival = match arrival {
            Ok(Some(arrival)) => arrival,
            Ok(None) => return,
            Err(fault) => return self.finish(Err(fault)),
        };
        let Some((receiving, format)) = self.job.as_mut().and_then(|job| job.current.take()) else { return };
        receiving.end(&self.server);
        let told = if self.job.as_ref().is_some_and(|job| job.look.is_none()) {
            self.on_formats(arrival).map(|()| false)
        } else {
            self.on_content(format, arrival)
        };
        match told {
            Ok(true) => self.finish(Ok(())),
            Ok(false) => self.ask_for_next(),
            Err(fault) => self.finish(Err(fault)),
        }
    }

    fn ask_for_next(&mut self) {
        let Some(job) = &mut self.job else { return };
        let room = job.room();
        match job.left.pop_front() {
            Some(format) => self.ask(format, room),
            None => self.finish(Ok(())),
        }
    }

    fn on_formats(&mut self, arrival: Arrival) -> Result<(), SeatFault> {
        let formats = match arrival {
            // Very old programs have one format and tell no list.
            Arrival::Refused => vec![(Atom::from(AtomEnum::STRING), "STRING".to_owned())],
            Arrival::Whole(list) => self.formats_of(&list)?,
        };
        let look = self.look_at(formats.iter().map(|format| format.1.clone()).collect(), false);
        if let Some(job) = &mut self.job {
            job.choose(formats, &look);
            job.look = Some(look);
        }
        Ok(())
    }

    fn formats_of(&self, list: &Received) -> Result<Vec<Format>, SeatFault> {
        let right = list.kind == Atom::from(AtomEnum::ATOM) || list.kind == self.atoms.TARGETS;
        if !right || list.unit_bits != 32 {
            return Err(SeatFault::Other("the owner of the clipboard does not say what it holds".to_owned()));
        }
        let mut atoms: Vec<Atom> = Vec::new();
        for bytes in list.bytes.chunks_exact(4) {
            let atom = bytes.try_into().map_or(x11rb::NONE, Atom::from_ne_bytes);
            if atom != x11rb::NONE && !atoms.contains(&atom) {
                atoms.push(atom);
            }
        }
        let asked: Result<Vec<_>, _> = atoms.iter().map(|atom| self.server.get_atom_name(*atom)).collect();
        let mut formats = Vec::new();
        for (atom, cookie) in atoms.into_iter().zip(asked?) {
            // A number that is no name is no format either.
            let Ok(name) = cookie.reply() else { continue };
            let name = String::from_utf8_lossy(&name.name).into_owned();
            if !NO_FORMATS.contains(&&*name) {
                formats.push((atom, name));
            }
        }
        Ok(formats)
    }

    fn on_content(&mut self, format: Format, arrival: Arrival) -> Result<bool, SeatFault> {
        let received = match arrival {
            // Its owner lists it and does not have it: nobody else could get it either.
            Arrival::Refused => return Ok(false),
            Arrival::Whole(received) => received,
        };
        let kind = self.server.get_atom_name(received.kind)?.reply()?.name;
        let Some(job) = &mut self.job else { return Ok(true) };
        job.take(format, String::from_utf8_lossy(&kind).into_owned(), received)
    }
}

/// Answers from what we hold, with nobody else to ask.
fn answer_from(mut job: Job, look: Look, content: &Content) {
    let done = match &job.wanted {
        Wanted::Look(_) => Ok(()),
        Wanted::Text { .. } if look.concealed.is_some() => Ok(()),
        Wanted::Text { max_bytes, .. } => text_of(content, *max_bytes).map(|text| job.text = text),
        Wanted::All { max_bytes, reply } => {
            let size: u64 = content.offers.iter().map(|offer| offer.bytes.len() as u64).sum();
            let formats = content.offers.iter().map(kept).collect();
            let all = if size > *max_bytes {
                Err(SeatFault::TooLarge(size))
            } else {
                Ok(Kept { formats, ours: content.ours })
            };
            let _ = reply.send(all);
            return;
        }
    };
    job.look = Some(look);
    job.answer(done);
}

fn kept(offer: &Offer) -> KeptFormat {
    let (name, kind) = (offer.name.clone(), offer.kind_name.clone());
    KeptFormat { name, kind, unit_bits: offer.unit_bits, bytes: offer.bytes.clone() }
}

fn text_of(content: &Content, max_bytes: u64) -> Result<Option<String>, SeatFault> {
    let mut offers = text::WANTED.iter().filter_map(|name| content.offers.iter().find(|offer| offer.name == *name));
    let Some(offer) = offers.next() else { return Ok(None) };
    if offer.bytes.len() as u64 > max_bytes {
        return Err(SeatFault::TooLarge(offer.bytes.len() as u64));
    }
    text::decoded(&offer.name, &offer.kind_name, offer.unit_bits, &offer.bytes).map(Some)
}
