//! What other clients ask of the owner of the selection.

use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, EventMask, PropMode, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent,
    SelectionRequestEvent, Timestamp,
};
use x11rb::wrapper::ConnectionExt as _;

use super::super::SeatFault;
use super::owner::Owner;
use super::serve::Place;

/// Pairs of one MULTIPLE request; more are refused.
const MAX_PAIRS: u32 = 64;

impl Owner {
    /// Answers another client.
    pub(super) fn answer(&mut self, event: &SelectionRequestEvent) -> Result<(), SeatFault> {
        // Old clients leave it out.
        let property = if event.property == x11rb::NONE { event.target } else { event.property };
        let place = Place { window: event.requestor, property };
        let meant = event.selection == self.atoms.CLIPBOARD && !self.too_early(event.time);
        let given = meant && (event.target != self.atoms.MULTIPLE || event.property != x11rb::NONE);
        let given = given && self.give(place, event.target)?;
        let told = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: event.time,
            requestor: event.requestor,
            selection: event.selection,
            target: event.target,
            property: if given { property } else { x11rb::NONE },
        };
        self.server.send_event(false, event.requestor, EventMask::NO_EVENT, told)?;
        Ok(())
    }

    /// Whoever asked before something was put back wants what was there then, and must not get this instead. Our own text goes to
    /// all, since some programs ask with a time that is long past.
    fn too_early(&self, time: Timestamp) -> bool {
        let put_back = self.content.as_ref().is_some_and(|content| !content.ours);
        put_back && time != x11rb::CURRENT_TIME && time.wrapping_sub(self.since) > u32::MAX / 2
    }

    /// Gives one target. False when we have none of that kind.
    fn give(&mut self, place: Place, target: Atom) -> Result<bool, SeatFault> {
        let (atoms, server, Place { window, property }) = (&self.atoms, &self.server, place);
        let Some(content) = &self.content else { return Ok(false) };
        if target == atoms.TARGETS {
            let mut targets = vec![atoms.TARGETS, atoms.TIMESTAMP, atoms.MULTIPLE, atoms.SAVE_TARGETS];
            targets.extend(content.offers.iter().map(|offer| offer.target));
            server.change_property32(PropMode::REPLACE, window, property, AtomEnum::ATOM, &targets)?;
        } else if target == atoms.TIMESTAMP {
            server.change_property32(PropMode::REPLACE, window, property, AtomEnum::INTEGER, &[self.since])?;
        } else if target == atoms.SAVE_TARGETS {
            server.change_property32(PropMode::REPLACE, window, property, atoms.NULL, &[])?;
        } else if target == atoms.MULTIPLE {
            return self.give_several(place);
        } else {
            let Some(offer) = content.offers.iter().find(|offer| offer.target == target) else { return Ok(false) };
            return self.serving.send(server, atoms, offer, content.ours, place);
        }
        Ok(true)
    }

    /// Gives several targets, each at a place of its own, and marks those that we have not.
    fn give_several(&mut self, place: Place) -> Result<bool, SeatFault> {
        let Place { window, property } = place;
        let list = self.server.get_property(false, window, property, AtomEnum::ANY, 0, MAX_PAIRS * 2)?.reply();
        let Ok(list) = list else { return Ok(false) };
        let Some(mut pairs) = list.value32().map(Iterator::collect::<Vec<u32>>) else { return Ok(false) };
        if list.bytes_after > 0 {
            return Ok(false);
        }
        for pair in pairs.chunks_exact_mut(2) {
            let [target, into] = pair else { continue };
            // A list inside of a list has no meaning.
            let place = Place { window, property: *into };
            if *into == x11rb::NONE || *target == self.atoms.MULTIPLE || !self.give(place, *target)? {
                *into = x11rb::NONE;
            }
        }
        self.server.change_property32(PropMode::REPLACE, window, property, self.atoms.ATOM_PAIR, &pairs)?;
        Ok(true)
    }
}
