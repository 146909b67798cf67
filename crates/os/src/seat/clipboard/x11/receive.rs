//! One conversion: a format of what another program holds, on its way to us.
//!
//! Each has a window of its own, so that a late answer finds nobody. The length of everything is asked for before the content, and
//! what is too large is never fetched.

use std::time::Instant;

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropertyNotifyEvent, SelectionNotifyEvent,
    Timestamp, Window, WindowClass,
};

use super::super::super::x11::Connection;
use super::super::SeatFault;
use super::STALL_LIMIT;
use super::atoms::Atoms;

/// Content as it came in.
pub(super) struct Received {
    /// The type that its owner gave it.
    pub(super) kind: Atom,
    /// Bits of one unit.
    pub(super) unit_bits: u8,
    pub(super) bytes: Vec<u8>,
}

/// How a conversion ended.
pub(super) enum Arrival {
    Refused,
    Whole(Received),
}

/// A conversion under way.
pub(super) struct Receiving {
    window: Window,
    max_bytes: u64,
    /// What has come in of content that comes in pieces.
    pieces: Option<Received>,
    moved: Instant,
}

impl Receiving {
    /// Asks the owner for a format. `max_bytes` is the most that is taken.
    pub(super) fn begin(
        server: &Connection,
        root: Window,
        atoms: &Atoms,
        format: Atom,
        time: Timestamp,
        max_bytes: u64,
    ) -> Result<Self, SeatFault> {
        let window = server.generate_id()?;
        let wanted = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        server.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &wanted)?;
        server.convert_selection(window, atoms.CLIPBOARD, format, atoms.DRAWBRIDGE_RECEIVED, time)?;
        Ok(Self { window, max_bytes, pieces: None, moved: Instant::now() })
    }

    /// Ends it. The owner finds the window gone.
    pub(super) fn end(self, server: &Connection) {
        let _ = server.destroy_window(self.window);
    }

    /// When the owner has been silent for too long.
    pub(super) fn deadline(&self) -> Instant {
        self.moved + STALL_LIMIT
    }

    /// The owner says that it is there, or that it will not come.
    pub(super) fn on_answer(
        &mut self,
        server: &Connection,
        atoms: &Atoms,
        event: &SelectionNotifyEvent,
    ) -> Result<Option<Arrival>, SeatFault> {
        if event.requestor != self.window || self.pieces.is_some() {
            return Ok(None);
        }
        if event.property == x11rb::NONE {
            return Ok(Some(Arrival::Refused));
        }
        self.moved = Instant::now();
        let (kind, _, length) = self.ahead(server, atoms)?;
        if kind != atoms.INCR {
            return Ok(Some(self.take(server, atoms, 0, length)?.map_or(Arrival::Refused, Arrival::Whole)));
        }
        // It comes in pieces, and is at least that long in all. Deleting the property asks for the first one.
        let (window, property) = (self.window, atoms.DRAWBRIDGE_RECEIVED);
        let announced = server.get_property(false, window, property, AtomEnum::ANY, 0, 1)?.reply()?;
        let least = announced.value32().and_then(|mut values| values.next()).unwrap_or(0);
        if u64::from(least) > self.max_bytes {
            return Err(SeatFault::TooLarge(u64::from(least)));
        }
        server.delete_property(window, property)?;
        self.pieces = Some(Received { kind: 0, unit_bits: 8, bytes: Vec::new() });
        Ok(None)
    }

    /// The property has a new value: the next piece. An empty one is the last.
    pub(super) fn on_property(
        &mut self,
        server: &Connection,
        atoms: &Atoms,
        event: &PropertyNotifyEvent,
    ) -> Result<Option<Arrival>, SeatFault> {
        let Some(so_far) = &self.pieces else { return Ok(None) };
        if event.window != self.window || event.atom != atoms.DRAWBRIDGE_RECEIVED {
            return Ok(None);
        }
        let have = so_far.bytes.len() as u64;
        let (kind, unit_bits, length) = self.ahead(server, atoms)?;
        if kind == x11rb::NONE {
            return Ok(None);
        }
        let piece = self.take(server, atoms, have, length)?;
        self.moved = Instant::now();
        let Some(whole) = &mut self.pieces else { return Ok(None) };
        if length == 0 {
            if whole.kind == 0 {
                (whole.kind, whole.unit_bits) = (kind, unit_bits);
            }
            return Ok(self.pieces.take().map(Arrival::Whole));
        }
        (whole.kind, whole.unit_bits) = (kind, unit_bits);
        whole.bytes.extend(piece.map(|piece| piece.bytes).unwrap_or_default());
        Ok(None)
    }

    /// Returns type, bits of a unit and length of what lies there, without its content.
    fn ahead(&self, server: &Connection, atoms: &Atoms) -> Result<(Atom, u8, u64), SeatFault> {
        let empty = server.get_property(false, self.window, atoms.DRAWBRIDGE_RECEIVED, AtomEnum::ANY, 0, 0)?.reply()?;
        Ok((empty.type_, empty.format, u64::from(empty.bytes_after)))
    }

    /// Takes what lies there, unless it is more than may be taken on top of `have`. None when nothing lies there.
    fn take(&self, server: &Connection, atoms: &Atoms, have: u64, length: u64) -> Result<Option<Received>, SeatFault> {
        if have + length > self.max_bytes {
            return Err(SeatFault::TooLarge(have + length));
        }
        // Counted in four bytes. The owner may have changed it meanwhile; then the rest shows that.
        let units = u32::try_from(length.div_ceil(4)).unwrap_or(u32::MAX);
        let content =
            server.get_property(true, self.window, atoms.DRAWBRIDGE_RECEIVED, AtomEnum::ANY, 0, units)?.reply()?;
        if content.bytes_after > 0 {
            return Err(SeatFault::Other(
                "the owner of the clipboard changed its content while it was read".to_owned(),
            ));
        }
        let found = content.type_ != x11rb::NONE;
        Ok(found.then_some(Received { kind: content.type_, unit_bits: content.format, bytes: content.value }))
    }
}
