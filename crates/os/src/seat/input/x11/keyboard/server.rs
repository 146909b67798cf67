//! What the keyboard asks of the X server: the keymap, its state, entries of our own, and whether a program has handled what it
//! received.
//!
//! The keymap is that of the XTEST keyboard: another keyboard may have another one, and the server shows programs the keymap of
//! the one that was pressed last.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::Connection as _;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::Event;
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xinput::{ConnectionExt as _, Device, DeviceType};
use x11rb::protocol::xkb::{
    self, ConnectionExt as _, EventType, MapPart, SelectEventsAux, SelectEventsAuxStateNotify, StatePart,
};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, ModMask,
    PropMode, Window, WindowClass,
};

use super::super::super::super::x11::{Connection, PATIENCE, connect};
use super::super::super::super::{Seat, SeatFault};
use super::keymap::{Keymap, Mods};
use super::read::{mods, read_keymap};

/// The modifiers and the group of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    /// Modifiers that are held.
    pub(super) base: Mods,
    /// Modifiers for the next key alone.
    pub(super) latched: Mods,
    /// Modifiers that are locked.
    pub(super) locked: Mods,
    /// The group that counts.
    pub(super) group: u8,
    /// The group that is locked.
    pub(super) locked_group: u8,
    /// Whether a key is held, or was pressed, that chooses another group for a while.
    pub(super) group_moved: bool,
}

/// Who receives keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// The window with the keyboard.
    pub(super) focus: Window,
    /// The window of the same program that answers whether the program is there; none when it cannot be asked.
    pub(super) answers: Option<Window>,
    /// Its process, where that is known.
    pub(super) process: Option<u32>,
}

/// The server.
pub(super) struct Server {
    connection: Connection,
    root: Window,
    own: Window,
    device: u16,
    protocols: u32,
    ping: u32,
    changed: bool,
    moved: bool,
    /// Changes of our own that we have not been told of yet: the first code and how many.
    expected: Vec<(u8, u8)>,
    answers: Vec<u32>,
    time: Option<u32>,
}

const CORE: u16 = 256;

impl Server {
    /// Connects.
    pub(super) fn open(seat: &Seat) -> Result<Self, SeatFault> {
        let (connection, screen) = connect(seat, Some(PATIENCE))?;
        let gone = || SeatFault::NoDisplay("the display has no such screen".to_owned());
        let root = connection.setup().roots.get(screen).ok_or_else(gone)?.root;
        if !connection.xkb_use_extension(1, 0)?.reply()?.supported {
            return Err(SeatFault::Unsupported("the display server has no XKB".to_owned()));
        }
        let protocols = connection.intern_atom(false, b"WM_PROTOCOLS")?.reply()?.atom;
        let ping = connection.intern_atom(false, b"_NET_WM_PING")?.reply()?.atom;
        let device = test_keyboard(&connection)?;
        let own = connection.generate_id()?;
        let wishes = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        connection.create_window(0, own, root, -1, -1, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &wishes)?.check()?;
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP | MapPart::KEY_ACTIONS;
        let all = EventType::NEW_KEYBOARD_NOTIFY | EventType::MAP_NOTIFY;
        let nothing = EventType::from(0u16);
        let state = StatePart::MODIFIER_LOCK | StatePart::GROUP_LOCK;
        let details = SelectEventsAux::new()
            .state_notify(SelectEventsAuxStateNotify { affect_state: state, state_details: state });
        connection.xkb_select_events(CORE, nothing, all, parts, parts, &details)?.check()?;
        Ok(Self {
            connection,
            root,
            own,
            device,
            protocols,
            ping,
            changed: true,
            moved: false,
            expected: Vec::new(),
            answers: Vec::new(),
            time: None,
        })
    }

    /// Tells once whether the keymap may be another one now.
    pub(super) fn has_changed(&mut self) -> Result<bool, SeatFault> {
        self.take_events()?;
        Ok(std::mem::take(&mut self.changed))
    }

    /// Tells once whether the locked modifiers or the locked group may have changed since the last time.
    pub(super) fn has_moved(&mut self) -> Result<bool, SeatFault> {
        self.take_events()?;
        Ok(std::mem::take(&mut self.moved))
    }

    /// Reads the keymap.
    pub(super) fn keymap(&self) -> Result<Keymap, SeatFault> {
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP | MapPart::KEY_ACTIONS;
        let none = MapPart::from(0u16);
        let vmods = xkb::VMod::from(0u16);
        let asked =
            self.connection.xkb_get_map(self.device, parts, none, 0, 0, 0, 0, 0, 0, 0, 0, vmods, 0, 0, 0, 0, 0, 0)?;
        Ok(read_keymap(&asked.reply()?))
    }

    /// Reads the state.
    pub(super) fn state(&self) -> Result<State, SeatFault> {
        let state = self.connection.xkb_get_state(CORE)?.reply()?;
        Ok(State {
            base: mods(state.base_mods),
            latched: mods(state.latched_mods),
            locked: mods(state.locked_mods),
            group: u8::from(state.group),
            locked_group: u8::from(state.locked_group),
            group_moved: state.base_group != 0 || state.latched_group != 0,
        })
    }

    /// Returns which aid for slow hands is on that takes fast presses for mistakes.
    pub(super) fn slowed_by(&self) -> Result<Option<&'static str>, SeatFault> {
        let on = u32::from(self.connection.xkb_get_controls(self.device)?.reply()?.enabled_controls);
        let slow = u32::from(xkb::BoolCtrl::SLOW_KEYS);
        let bounce = u32::from(xkb::BoolCtrl::BOUNCE_KEYS);
        Ok(if on & slow != 0 {
            Some("slow keys")
        } else if on & bounce != 0 {
            Some("bounce keys")
        } else {
            None
        })
    }

    /// Changes which of the `affected` modifiers are locked and, if given, the locked group; takes away latched modifiers.
    pub(super) fn lock(&self, affected: Mods, locked: Mods, group: Option<u8>) -> Result<(), SeatFault> {
        let (all, mask) = (ModMask::from(u16::from(Mods::MAX)), |mods: Mods| ModMask::from(u16::from(mods)));
        let to = xkb::Group::from(group.unwrap_or(0));
        let asked = self.connection.xkb_latch_lock_state(
            CORE,
            mask(affected),
            mask(locked),
            group.is_some(),
            to,
            all,
            true,
            0,
        )?;
        Ok(asked.check()?)
    }

    /// Gives codes a symbol each, 0 for none.
    pub(super) fn set_entries(&mut self, entries: &[(u8, u32)]) -> Result<(), SeatFault> {
        let mut sorted = entries.to_vec();
        sorted.sort_unstable();
        // One request for each run of neighbours: programs are told of each.
        for run in sorted.chunk_by(|one, next| u16::from(one.0) + 1 == u16::from(next.0)) {
            let Some((first, _)) = run.first() else { continue };
            let count = u8::try_from(run.len()).unwrap_or(u8::MAX);
            // The same symbol twice: with one alone the server would add its capital letter for Shift.
            let symbols: Vec<u32> = run.iter().flat_map(|(_, symbol)| [*symbol, *symbol]).collect();
            self.connection.change_keyboard_mapping(count, *first, 2, &symbols)?;
            self.expected.push((*first, count));
        }
        self.wait_for_server()?;
        self.take_events()?;
        // What has not been told by now is not told any more.
        self.expected.clear();
        Ok(())
    }

    /// Waits until the server has handled what was asked so far.
    fn wait_for_server(&self) -> Result<(), SeatFault> {
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Finds out who receives keys.
    pub(super) fn target(&self) -> Result<Target, SeatFault> {
        let focus = self.connection.get_input_focus()?.reply()?.focus;
        // 0 is nobody, 1 whoever is beneath the pointer.
        let answers = if focus <= 1 { None } else { self.answering(focus)? };
        let process = if focus <= 1 { None } else { self.process(focus)? };
        Ok(Target { focus, answers, process })
    }

    /// Returns the process that made a window, as the server knows it from the socket.
    fn process(&self, window: Window) -> Result<Option<u32>, SeatFault> {
        let wanted = [ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID }];
        let found = match self.connection.res_query_client_ids(&wanted) {
            Ok(asked) => there(asked.reply())?,
            // A server without the extension knows no processes.
            Err(ConnectionError::UnsupportedExtension) => None,
            Err(fault) => return Err(fault.into()),
        };
        Ok(found.and_then(|found| found.ids.first().and_then(|id| id.value.first().copied())))
    }

    fn answering(&self, focus: Window) -> Result<Option<Window>, SeatFault> {
        let owner = |window: Window| window & !self.connection.setup().resource_id_mask;
        let mut window = focus;
        // Deeper trees than this are not made by programs.
        for _ in 0..32 {
            if window == 0 || window == self.root {
                break;
            }
            let Some(names) =
                there(self.connection.get_property(false, window, self.protocols, AtomEnum::ATOM, 0, 64)?.reply())?
            else {
                break;
            };
            if names.value32().into_iter().flatten().any(|name| name == self.ping) {
                return Ok(Some(window).filter(|window| owner(*window) == owner(focus)));
            }
            let Some(tree) = there(self.connection.query_tree(window)?.reply())? else { break };
            window = tree.parent;
        }
        Ok(None)
    }

    /// Begins or ends to listen for answers of programs.
    pub(super) fn listen(&self, on: bool) -> Result<(), SeatFault> {
        let mask = if on { EventMask::SUBSTRUCTURE_NOTIFY } else { EventMask::NO_EVENT };
        let wishes = ChangeWindowAttributesAux::new().event_mask(mask);
        Ok(self.connection.change_window_attributes(self.root, &wishes)?.check()?)
    }

    /// Asks a program whether it is there, after all keys that the server has sent it. The answer carries the number that is
    /// returned.
    pub(super) fn ask(&mut self, window: Window) -> Result<u32, SeatFault> {
        let number = self.server_time()?;
        let message = ClientMessageEvent::new(32, window, self.protocols, [self.ping, number, window, 0, 0]);
        self.connection.send_event(false, window, EventMask::NO_EVENT, message)?;
        self.connection.flush()?;
        Ok(number)
    }

    /// Returns the numbers of the answers that came since the last time. It waits up to `limit` for something to come.
    pub(super) fn answers(&mut self, limit: Duration) -> Result<Vec<u32>, SeatFault> {
        self.take_events()?;
        if self.answers.is_empty() && !limit.is_zero() {
            self.wait_for_event(limit)?;
            self.take_events()?;
        }
        Ok(std::mem::take(&mut self.answers))
    }

    /// The server's own clock: window managers look answers up by the time of their own questions.
    fn server_time(&mut self) -> Result<u32, SeatFault> {
        let name = self.protocols;
        self.time = None;
        self.connection.change_property(PropMode::APPEND, self.own, name, AtomEnum::ATOM, 32, 0, &[])?;
        self.wait_for_server()?;
        let until = Instant::now() + PATIENCE;
        loop {
            self.take_events()?;
            match self.time {
                Some(time) => return Ok(time),
                None if Instant::now() >= until => return Err(SeatFault::NoAnswer("the display server")),
                None => self.wait_for_event(until.saturating_duration_since(Instant::now()))?,
            }
        }
    }

    fn wait_for_event(&self, limit: Duration) -> Result<(), SeatFault> {
        let limit = Timespec::try_from(limit).map_err(|fault| SeatFault::Other(fault.to_string()))?;
        let mut watched = [PollFd::new(self.connection.stream(), PollFlags::IN)];
        match rustix::event::poll(&mut watched, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(fault) => Err(SeatFault::NoDisplay(fault.to_string())),
        }
    }

    fn take_events(&mut self) -> Result<(), SeatFault> {
        while let Some(event) = self.connection.poll_for_event()? {
            self.take_event(&event);
        }
        Ok(())
    }

    fn take_event(&mut self, event: &Event) {
        if let Event::XkbMapNotify(told) = event {
            let own = self.expected.iter().position(|range| *range == (told.first_key_sym, told.n_key_syms));
            self.changed |= own.is_none();
            if let Some(place) = own {
                self.expected.swap_remove(place);
            }
        } else if let Event::XkbNewKeyboardNotify(_) = event {
            self.changed = true;
        } else if let Event::XkbStateNotify(_) = event {
            self.moved = true;
        } else if let Event::PropertyNotify(told) = event
            && told.window == self.own
        {
            self.time = Some(told.time);
        } else if let Event::ClientMessage(told) = event
            && (told.window, told.type_) == (self.root, self.protocols)
        {
            let [name, number, ..] = told.data.as_data32();
            self.answers.extend(Some(number).filter(|_| name == self.ping));
        }
    }
}

/// Takes an answer about a window that may be gone.
fn there<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, SeatFault> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(ReplyError::ConnectionError(fault)) => Err(fault.into()),
    }
}

/// Finds the keyboard that XTEST presses. Where there is none to be found, it is the one of all.
fn test_keyboard(connection: &Connection) -> Result<u16, SeatFault> {
    let all = u8::from(Device::ALL);
    connection.xinput_xi_query_version(2, 2)?.reply()?;
    let devices = connection.xinput_xi_query_device(u16::from(all))?.reply()?;
    let found = devices
        .infos
        .iter()
        .find(|device| device.type_ == DeviceType::SLAVE_KEYBOARD && device.name.ends_with(b"XTEST keyboard"));
    Ok(found.map_or(CORE, |device| device.deviceid))
}
