//! Reading what windows say about themselves, all questions before the first answer.

use drawbridge_core::computer::{Point, Rect};
use x11rb::cookie::Cookie;
use x11rb::errors::ReplyError;
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec};
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, GetGeometryReply, GetPropertyReply, MapState, Window, WindowClass,
};

use super::super::text::{self, Encoding};
use super::super::{Owner, SeatWindow, WindowHandle, process};
use super::X11Windows;
use crate::seat::SeatFault;
use crate::seat::x11::Connection;

/// Four-byte units of a text that are read: no title is longer in earnest.
const TEXT_UNITS: u32 = 2048;

/// Window states of ICCCM.
const WITHDRAWN: u32 = 0;
const ICONIC: u32 = 3;

/// The desktop number of what is on all of them.
const EVERY_DESKTOP: u32 = u32::MAX;

/// The answer, or none when the window is gone.
pub(super) fn answered<R>(reply: Result<R, ReplyError>) -> Result<Option<R>, SeatFault> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(ReplyError::ConnectionError(fault)) => Err(fault.into()),
    }
}

/// A child of the root window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Top {
    pub(super) id: Window,
    pub(super) mapped: bool,
    pub(super) unmanaged: bool,
    pub(super) draws: bool,
    pub(super) depth: u8,
    pub(super) rect: Rect,
    /// The window of the program in it: itself where nobody put a frame around it.
    pub(super) client: Window,
    /// A window manager cares for it.
    pub(super) cared_for: bool,
}

type Property<'c> = Cookie<'c, Connection, GetPropertyReply>;

/// Every question about one window, asked.
pub(super) struct Asked<'c> {
    top: Top,
    class: Property<'c>,
    names: [Property<'c>; 2],
    states: Property<'c>,
    state: Property<'c>,
    desktop: Property<'c>,
    pid: Property<'c>,
    machine: Property<'c>,
    kinds: Property<'c>,
    transient: Property<'c>,
    shadow: Property<'c>,
    opacity: [Property<'c>; 2],
    opaque: Property<'c>,
    place: Cookie<'c, Connection, x11rb::protocol::xproto::TranslateCoordinatesReply>,
    owner: Option<Cookie<'c, Connection, res::QueryClientIdsReply>>,
    extents: Option<Cookie<'c, Connection, shape::QueryExtentsReply>>,
    input: Option<Cookie<'c, Connection, shape::GetRectanglesReply>>,
}

/// A window with what is only of use while all of them are put together.
pub(super) struct Read {
    pub(super) window: SeatWindow,
    pub(super) transient_for: Window,
}

impl X11Windows {
    fn property(&self, window: Window, property: u32, units: u32) -> Result<Property<'_>, SeatFault> {
        Ok(self.connection.get_property(false, window, property, AtomEnum::ANY, 0, units)?)
    }

    pub(super) fn ask(&self, top: Top) -> Result<Asked<'_>, SeatFault> {
        let (atoms, client) = (&self.atoms, top.client);
        let spec = ClientIdSpec { client, mask: ClientIdMask::LOCAL_CLIENT_PID };
        let owner = self.names_owners.then(|| res::query_client_ids(&self.connection, &[spec])).transpose()?;
        let extents = self.shapes.then(|| self.connection.shape_query_extents(top.id)).transpose()?;
        let input = self.shapes.then(|| self.connection.shape_get_rectangles(top.id, shape::SK::INPUT)).transpose()?;
        Ok(Asked {
            top,
            class: self.property(client, AtomEnum::WM_CLASS.into(), 256)?,
            names: [
                self.property(client, atoms._NET_WM_NAME, TEXT_UNITS)?,
                self.property(client, AtomEnum::WM_NAME.into(), TEXT_UNITS)?,
            ],
            states: self.property(client, atoms._NET_WM_STATE, 64)?,
            state: self.property(client, atoms.WM_STATE, 1)?,
            desktop: self.property(client, atoms._NET_WM_DESKTOP, 1)?,
            pid: self.property(client, atoms._NET_WM_PID, 1)?,
            machine: self.property(client, AtomEnum::WM_CLIENT_MACHINE.into(), 64)?,
            kinds: self.property(client, atoms._NET_WM_WINDOW_TYPE, 16)?,
            transient: self.property(client, AtomEnum::WM_TRANSIENT_FOR.into(), 1)?,
            shadow: self.property(client, atoms._GTK_FRAME_EXTENTS, 4)?,
            opacity: [
                self.property(client, atoms._NET_WM_WINDOW_OPACITY, 1)?,
                self.property(top.id, atoms._NET_WM_WINDOW_OPACITY, 1)?,
            ],
            opaque: self.property(client, atoms._NET_WM_OPAQUE_REGION, 256)?,
            place: self.connection.translate_coordinates(client, self.root, 0, 0)?,
            owner,
            extents,
            input,
        })
    }

    /// Collects the answers about one window; none when it is gone.
    pub(super) fn collect(
        &self,
        asked: Asked<'_>,
        active: Window,
        desktop_now: Option<u32>,
    ) -> Result<Option<Read>, SeatFault> {
        let Asked { top, .. } = asked;
        let numbers = |property: Property<'_>| -> Result<Vec<u32>, SeatFault> {
            let reply = answered(property.reply())?;
            Ok(reply.and_then(|reply| reply.value32().map(Iterator::collect)).unwrap_or_default())
        };
        let class = answered(asked.class.reply())?;
        let [net_name, name] = asked.names;
        let title = match self.told(net_name)?.filter(|title| !title.is_empty()) {
            Some(title) => Some(title),
            None => self.told(name)?,
        };
        let states = numbers(asked.states)?;
        let state = numbers(asked.state)?.first().copied();
        let desktop = numbers(asked.desktop)?.first().copied();
        let told_pid = numbers(asked.pid)?.first().copied();
        let machine = self.told(asked.machine)?;
        let kinds = numbers(asked.kinds)?;
        let transient_for = numbers(asked.transient)?.first().copied().unwrap_or_default();
        let shadow = numbers(asked.shadow)?;
        let [of_client, of_top] = asked.opacity;
        let see_through = [numbers(of_client)?, numbers(of_top)?].iter().flatten().any(|opacity| *opacity != u32::MAX);
        let opaque = numbers(asked.opaque)?;
        let owner = match asked.owner {
            Some(cookie) => answered(cookie.reply())?.and_then(|reply| {
                let value = reply
                    .ids
                    .into_iter()
                    .find(|id| u32::from(id.spec.mask) == u32::from(ClientIdMask::LOCAL_CLIENT_PID))?;
                value.value.first().copied().filter(|pid| *pid != 0)
            }),
            None => None,
        };
        let shaped = match asked.extents {
            Some(cookie) => answered(cookie.reply())?.is_some_and(|extents| extents.bounding_shaped),
            None => false,
        };
        // It lets every click through to what is behind it.
        let passes = match asked.input {
            Some(cookie) => answered(cookie.reply())?.is_some_and(|input| input.rectangles.is_empty()),
            None => false,
        };
        let Some(place) = answered(asked.place.reply())? else { return Ok(None) };
        let client_at = Point::new(place.dst_x.into(), place.dst_y.into());

        // What a window itself says counts only where the server says nothing, and only for this computer.
        let pid = owner.or_else(|| told_pid.filter(|_| !self.names_owners && machine.as_deref() == Some(&*self.host)));
        let (instance, class) = class.map(|reply| text::class_pair(&reply.value)).unwrap_or_default();
        let hidden = states.contains(&self.atoms._NET_WM_STATE_HIDDEN);
        // A manager that names desktops tells with "hidden" what is minimised; on another desktop windows are iconic, too.
        let minimized = top.cared_for && (hidden || (state == Some(ICONIC) && desktop.is_none()));
        let here = match (desktop, desktop_now) {
            (Some(desktop), Some(now)) => desktop == EVERY_DESKTOP || desktop == now,
            _ => true,
        };
        let bounds = without_shadow(top.rect, &shadow);
        let on_screen = top.mapped && bounds.shared_with(&self.screen).is_some();
        let visible = on_screen && top.draws && here && !minimized;
        let covers = if !visible || see_through || shaped || passes {
            Vec::new()
        } else if top.depth == self.root_depth {
            vec![top.rect]
        } else {
            opaque_parts(&opaque, client_at, top.rect)
        };
        let auxiliary = if top.cared_for { self.is_panel(&kinds) } else { top.unmanaged || self.is_panel(&kinds) };
        let window = SeatWindow {
            handle: WindowHandle(top.client.into()),
            owner: Owner {
                pid,
                started: pid.and_then(process::started),
                class,
                instance,
                program: pid.and_then(process::program),
            },
            title: title.unwrap_or_default(),
            bounds,
            focused: active == top.client,
            minimized,
            fullscreen: states.contains(&self.atoms._NET_WM_STATE_FULLSCREEN),
            visible,
            auxiliary,
            covers,
        };
        // What a compositor draws the whole screen on hides nothing and is nobody's window.
        let whole = top.rect.shared_with(&self.screen) == Some(self.screen);
        let nameless = window.owner.class.is_empty() && window.owner.instance.is_empty() && window.title.is_empty();
        if passes && whole && nameless && top.unmanaged && !top.cared_for {
            return Ok(None);
        }
        // What was never shown, what its program has taken back, and what only passes messages is no window for anybody.
        let shown_or_kept = on_screen || (top.cared_for && state != Some(WITHDRAWN));
        Ok(shown_or_kept.then_some(Read { window, transient_for }))
    }

    fn told(&self, property: Property<'_>) -> Result<Option<String>, SeatFault> {
        let Some(reply) = answered(property.reply())? else { return Ok(None) };
        if reply.type_ == 0 {
            return Ok(None);
        }
        let encoding = if reply.type_ == self.atoms.UTF8_STRING {
            Encoding::Utf8
        } else if reply.type_ == self.atoms.COMPOUND_TEXT {
            Encoding::Compound
        } else {
            Encoding::Latin1
        };
        Ok(Some(text::decode(&reply.value, encoding)))
    }

    fn is_panel(&self, kinds: &[u32]) -> bool {
        let atoms = &self.atoms;
        let panels = [
            atoms._NET_WM_WINDOW_TYPE_DESKTOP,
            atoms._NET_WM_WINDOW_TYPE_DOCK,
            atoms._NET_WM_WINDOW_TYPE_TOOLBAR,
            atoms._NET_WM_WINDOW_TYPE_MENU,
            atoms._NET_WM_WINDOW_TYPE_SPLASH,
            atoms._NET_WM_WINDOW_TYPE_DROPDOWN_MENU,
            atoms._NET_WM_WINDOW_TYPE_POPUP_MENU,
            atoms._NET_WM_WINDOW_TYPE_TOOLTIP,
            atoms._NET_WM_WINDOW_TYPE_NOTIFICATION,
            atoms._NET_WM_WINDOW_TYPE_COMBO,
            atoms._NET_WM_WINDOW_TYPE_DND,
        ];
        kinds.iter().any(|kind| panels.contains(kind))
    }

    /// Reads the outer facts of children of the root; those that are gone are left out.
    pub(super) fn tops(&self, ids: &[Window]) -> Result<Vec<Top>, SeatFault> {
        let mut asked = Vec::with_capacity(ids.len());
        for id in ids.iter().copied().filter(|id| *id != self.own) {
            let attributes = self.connection.get_window_attributes(id)?;
            let geometry = self.connection.get_geometry(id)?;
            asked.push((id, attributes, geometry, self.property(id, self.atoms.WM_STATE, 1)?));
        }
        let mut tops = Vec::with_capacity(asked.len());
        for (id, attributes, geometry, state) in asked {
            let attributes = answered(attributes.reply())?;
            let geometry = answered(geometry.reply())?;
            let state = answered(state.reply())?;
            let (Some(attributes), Some(geometry)) = (attributes, geometry) else { continue };
            tops.push(Top {
                id,
                mapped: attributes.map_state == MapState::VIEWABLE,
                unmanaged: attributes.override_redirect,
                draws: attributes.class != WindowClass::INPUT_ONLY,
                depth: geometry.depth,
                rect: outer(&geometry),
                client: id,
                cared_for: state.is_some_and(|state| state.type_ != 0),
            });
        }
        Ok(tops)
    }
}

/// Where a window lies with its border.
fn outer(geometry: &GetGeometryReply) -> Rect {
    let border = 2 * u32::from(geometry.border_width);
    let corner = Point::new(geometry.x.into(), geometry.y.into());
    Rect::at(corner, u32::from(geometry.width) + border, u32::from(geometry.height) + border)
}

/// Takes away the shadow that a window draws around itself: left, right, top, bottom.
fn without_shadow(rect: Rect, shadow: &[u32]) -> Rect {
    let [left, right, top, bottom] = shadow else { return rect };
    let inner = Rect::new(
        rect.x1.saturating_add_unsigned(*left),
        rect.y1.saturating_add_unsigned(*top),
        rect.x2.saturating_sub_unsigned(*right),
        rect.y2.saturating_sub_unsigned(*bottom),
    );
    if inner.is_empty() { rect } else { inner }
}

/// What a window says is opaque of it, as far as it lies within it.
fn opaque_parts(numbers: &[u32], client_at: Point, within: Rect) -> Vec<Rect> {
    let part = |part: &[u32; 4]| {
        let [x, y, width, height] = *part;
        let corner =
            Point::new(client_at.x.saturating_add(x.cast_signed()), client_at.y.saturating_add(y.cast_signed()));
        Rect::at(corner, width, height).shared_with(&within)
    };
    numbers.as_chunks::<4>().0.iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadows_are_no_part_of_a_window_unless_they_would_be_all_of_it() {
        let rect = Rect::new(-10, 0, 90, 100);

        assert_eq!(without_shadow(rect, &[10, 20, 5, 15]), Rect::new(0, 5, 70, 85));
        assert_eq!(without_shadow(rect, &[60, 60, 0, 0]), rect);
        assert_eq!(without_shadow(rect, &[u32::MAX, 0, 0, 0]), rect);
        assert_eq!(without_shadow(rect, &[1, 2]), rect);
    }

    #[test]
    fn opaque_parts_never_reach_beyond_their_window() {
        let within = Rect::new(100, 100, 200, 200);

        let parts = opaque_parts(&[10, 10, 20, 20, 0, 0, u32::MAX, 5, 7, 7, 7], Point::new(90, 100), within);

        assert_eq!(parts, [Rect::new(100, 110, 120, 130), Rect::new(100, 100, 200, 105)]);
    }
}
