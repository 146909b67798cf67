//! Handing out what we hold, also in pieces, and noticing who has read it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xproto::{Atom, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, PropMode, Window};
use x11rb::wrapper::ConnectionExt as _;

use super::super::super::x11::Connection;
use super::super::{KDE_MARK, Reader, SeatFault};
use super::atoms::Atoms;

/// The most that is handed out at once, in bytes. More goes in pieces of this size.
const PIECE: usize = 256 * 1024;
/// How long a reader of pieces may do nothing.
const READER_LIMIT: Duration = Duration::from_secs(10);
/// Readers of pieces at the same time; further ones are refused.
const MAX_TRANSFERS: usize = 64;

/// One format of what we hold.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) target: Atom,
    pub(super) name: String,
    pub(super) kind: Atom,
    pub(super) kind_name: String,
    pub(super) unit_bits: u8,
    pub(super) bytes: Arc<[u8]>,
}

/// What we hold.
pub(super) struct Content {
    pub(super) offers: Vec<Offer>,
    /// A text that we wrote; else it was put back.
    pub(super) ours: bool,
}

impl Content {
    pub(super) fn names(&self) -> Vec<String> {
        self.offers.iter().map(|offer| offer.name.clone()).collect()
    }
}

/// Where content goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) window: Window,
    pub(super) property: Atom,
}

/// Content on its way in pieces. It stays whole when the clipboard changes meanwhile.
struct Transfer {
    place: Place,
    kind: Atom,
    unit_bits: u8,
    bytes: Arc<[u8]>,
    sent: usize,
    moved: Instant,
    /// It counts for those who are watched.
    watched: bool,
}

/// A read of what we wrote, since somebody watches.
struct Reading {
    client: u32,
    place: Place,
    done: bool,
}

/// Who reads while somebody watches.
struct Watch {
    /// The client with the keyboard, if it could be told.
    target: Option<u32>,
    readings: Vec<Reading>,
}

/// A client that was to read what we wrote, and had not when something else was put back.
struct Late {
    client: u32,
    until: Instant,
}

/// Everything that is being handed out.
#[derive(Default)]
pub(super) struct Serving {
    transfers: Vec<Transfer>,
    watch: Option<Watch>,
    late: Option<Late>,
}

impl Serving {
    /// Begins to watch. `target` is the client with the keyboard.
    pub(super) fn watch(&mut self, target: Option<u32>) {
        self.watch = Some(Watch { target, readings: Vec::new() });
    }

    /// Something else was put back. A program that still has to read what we wrote must not get that instead: a window that hangs
    /// would show what the person copied, maybe a password, where the paste was meant to go.
    pub(super) fn put_back(&mut self) {
        let target = self.watch.take().and_then(|watch| {
            let target = watch.target?;
            watch.readings.iter().all(|reading| reading.client != target || !reading.done).then_some(target)
        });
        self.late = target.map(|client| Late { client, until: Instant::now() + READER_LIMIT });
    }

    /// We wrote something else: nobody is late any more.
    pub(super) fn wrote(&mut self) {
        (self.watch, self.late) = (None, None);
    }

    /// Tells whether a window belongs to a program that is late.
    fn late(&self, server: &Connection, window: Window) -> bool {
        let late = self.late.as_ref().filter(|late| late.until > Instant::now());
        late.is_some_and(|late| late.client == client_of(server, window))
    }

    /// Tells who has read by now.
    pub(super) fn reader(&self) -> Reader {
        let Some(watch) = &self.watch else { return Reader::Nobody };
        let meant = |reading: &&Reading| watch.target.is_none_or(|target| target == reading.client);
        let done = |reading: &&Reading| reading.done;
        match &watch.readings {
            readings if readings.iter().filter(done).any(|reading| meant(&reading)) => Reader::Target,
            readings if readings.iter().any(|reading| !reading.done) => Reader::Reading,
            readings if readings.iter().any(|reading| reading.done) => Reader::Another,
            _ => Reader::Nobody,
        }
    }

    /// Tells whether anything is on its way.
    pub(super) fn idle(&self) -> bool {
        self.transfers.is_empty()
    }

    /// When the next reader has done nothing for too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.transfers.iter().map(|transfer| transfer.moved + READER_LIMIT).min()
    }

    /// Hands one format out, or begins to. False when there is no room for one more.
    pub(super) fn send(
        &mut self,
        server: &Connection,
        atoms: &Atoms,
        offer: &Offer,
        ours: bool,
        place: Place,
    ) -> Result<bool, SeatFault> {
        if !ours && self.late(server, place.window) {
            return Ok(false);
        }
        let watched = ours && offer.name != KDE_MARK;
        let whole = offer.bytes.len() <= piece_of(server);
        if whole {
            put(server, place, offer.kind, offer.unit_bits, &offer.bytes)?;
        } else {
            // A second request for the same place takes the place of the first.
            self.remove(server, |transfer| transfer.place == place);
            if self.transfers.len() >= MAX_TRANSFERS {
                return Ok(false);
            }
            // Told first of what the reader does with the property, then the property.
            listen(server, place.window, EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY)?;
            let least = u32::try_from(offer.bytes.len()).unwrap_or(u32::MAX);
            server.change_property32(PropMode::REPLACE, place.window, place.property, atoms.INCR, &[least])?;
            let (kind, unit_bits, bytes) = (offer.kind, offer.unit_bits, offer.bytes.clone());
            self.transfers.push(Transfer { place, kind, unit_bits, bytes, sent: 0, moved: Instant::now(), watched });
        }
        if watched && let Some(watch) = &mut self.watch {
            let client = client_of(server, place.window);
            watch.readings.push(Reading { client, place, done: whole });
        }
        Ok(true)
    }

    /// A reader has taken a piece: the next one, and an empty one at the end.
    pub(super) fn on_taken(&mut self, server: &Connection, place: Place) -> Result<(), SeatFault> {
        let Some(transfer) = self.transfers.iter_mut().find(|transfer| transfer.place == place) else { return Ok(()) };
        let rest = transfer.bytes.get(transfer.sent..).unwrap_or_default();
        let piece = rest.get(..piece_of(server)).unwrap_or(rest);
        put(server, place, transfer.kind, transfer.unit_bits, piece)?;
        transfer.sent += piece.len();
        transfer.moved = Instant::now();
        if piece.is_empty() {
            if transfer.watched
                && let Some(watch) = &mut self.watch
                && let Some(reading) = watch.readings.iter_mut().rfind(|reading| reading.place == place)
            {
                reading.done = true;
            }
            self.remove(server, |transfer| transfer.place == place);
        }
        Ok(())
    }

    /// A reader's window is gone.
    pub(super) fn on_window_gone(&mut self, server: &Connection, window: Window) {
        self.remove(server, |transfer| transfer.place.window == window);
    }

    /// Lets go of readers that have done nothing for too long.
    pub(super) fn on_time(&mut self, server: &Connection, now: Instant) {
        self.remove(server, |transfer| transfer.moved + READER_LIMIT <= now);
    }

    fn remove(&mut self, server: &Connection, meant: impl Fn(&Transfer) -> bool) {
        let gone: Vec<Place> = self.transfers.iter().filter(|each| meant(each)).map(|each| each.place).collect();
        self.transfers.retain(|transfer| !meant(transfer));
        for place in gone {
            if let Some(watch) = &mut self.watch {
                watch.readings.retain(|reading| reading.done || reading.place != place);
            }
            if self.transfers.iter().all(|transfer| transfer.place.window != place.window) {
                let _ = listen(server, place.window, EventMask::NO_EVENT);
            }
        }
    }
}

/// Returns which client made a window.
pub(super) fn client_of(server: &Connection, window: Window) -> u32 {
    window & !server.setup().resource_id_mask
}

fn piece_of(server: &Connection) -> usize {
    // Some room for the head of the request. Units of up to four bytes stay whole.
    PIECE.min(server.maximum_request_bytes().saturating_sub(1024)) & !3
}

fn listen(server: &Connection, window: Window, events: EventMask) -> Result<(), SeatFault> {
    server.change_window_attributes(window, &ChangeWindowAttributesAux::new().event_mask(events))?;
    Ok(())
}

fn put(server: &Connection, place: Place, kind: Atom, unit_bits: u8, bytes: &[u8]) -> Result<(), SeatFault> {
    let units = bytes.len() / usize::from(unit_bits / 8).max(1);
    let units = u32::try_from(units).map_err(|_| SeatFault::TooLarge(bytes.len() as u64))?;
    server.change_property(PropMode::REPLACE, place.window, place.property, kind, unit_bits, units, bytes)?;
    Ok(())
}
