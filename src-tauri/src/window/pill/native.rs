//! What GTK does for the pill: rounded corners, a press that stops also when the page is stuck, a drag that moves it, and the
//! plain window for where pages stay blank.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gtk::cairo::{RectangleInt, Region};
use gtk::gdk::{EventMask, ModifierType, WindowTypeHint};
use gtk::glib::Propagation;
use gtk::prelude::*;
use tauri::{AppHandle, Manager, WebviewWindow};

use super::{PillDesk, PillView, STOP_WIDTH};
use crate::prefs::PrefsDesk;
use crate::words::{Language, Word};

/// The button for pressing.
const FIRST_BUTTON: u32 = 1;
/// Size of the plain window, in logical pixels.
const PLAIN_SIZE: (i32, i32) = (460, 52);
/// Around its words, in logical pixels.
const MARGIN: u32 = 8;

thread_local! {
    /// The plain window, on the thread of the windows alone.
    static PLAIN: RefCell<Option<Plain>> = const { RefCell::new(None) };
}

struct Plain {
    window: gtk::Window,
    heading: gtk::Label,
    more: gtk::Label,
}

/// Makes the pill's window what it must be before anybody sees it.
pub(super) fn settle(app: &AppHandle, window: &WebviewWindow) {
    if let Ok(outer) = window.gtk_window() {
        over_all(&outer);
        let (width, height) = super::size(app);
        shape(&outer, width, height);
    }
    let app = app.clone();
    let heard = window.with_webview(move |view| hear(&app, view.inner().upcast_ref()));
    if let Err(error) = heard {
        tracing::warn!(%error, "the pill's Stop depends on its page");
    }
}

pub(super) fn settle_shape(window: &WebviewWindow, width: f64, height: f64) {
    if let Ok(outer) = window.gtk_window() {
        shape(&outer, width, height);
    }
}

/// Above all others, also those that fill the screen, and without the keyboard.
fn over_all(window: &impl IsA<gtk::Window>) {
    window.set_type_hint(WindowTypeHint::Notification);
    window.set_keep_above(true);
    window.set_accept_focus(false);
    window.set_focus_on_map(false);
    window.set_skip_pager_hint(true);
    window.stick();
}

/// Cuts the corners off where nothing blends the window with what lies below it.
#[expect(clippy::cast_possible_truncation, reason = "a pill is no larger than a screen")]
fn shape(window: &impl IsA<gtk::Widget>, width: f64, height: f64) {
    let blended = window.as_ref().screen().is_some_and(|screen| screen.is_composited());
    let region = (!blended).then(|| rounded(width as i32, height as i32));
    window.shape_combine_region(region.as_ref());
}

/// A region with half circles at both ends, row by row.
#[expect(clippy::cast_possible_truncation, reason = "less than the width")]
fn rounded(width: i32, height: i32) -> Region {
    let radius = f64::from(height) / 2.0;
    let rows: Vec<RectangleInt> = (0..height)
        .map(|row| {
            let from_middle = f64::from(row) + 0.5 - radius;
            let indent = (radius - (radius * radius - from_middle * from_middle).max(0.0).sqrt()).round() as i32;
            RectangleInt::new(indent, row, (width - 2 * indent).max(1), 1)
        })
        .collect();
    Region::create_rectangles(&rows)
}

/// A press on Stop raises before the page hears of it; a drag from elsewhere moves the pill out of the way.
fn hear(app: &AppHandle, view: &gtk::Widget) {
    view.add_events(EventMask::BUTTON_PRESS_MASK | EventMask::BUTTON_MOTION_MASK);
    let grip: Rc<Cell<Option<(i32, i32)>>> = Rc::default();
    let (app, held) = (app.clone(), Rc::clone(&grip));
    view.connect_button_press_event(move |view, event| {
        if event.button() != FIRST_BUTTON {
            return Propagation::Stop;
        }
        let zoom = f64::from(app.state::<PrefsDesk>().get().zoom) / 100.0;
        if on_stop(event.position().0, view.allocated_width(), zoom) {
            held.set(None);
            super::stop(&app);
            // The page shows the press.
            return Propagation::Proceed;
        }
        held.set(corner(view).map(|corner| from_root(event.root(), corner)));
        Propagation::Stop
    });
    view.connect_motion_notify_event(move |view, event| {
        let Some(offset) = grip.get().filter(|_| event.state().contains(ModifierType::BUTTON1_MASK)) else {
            return Propagation::Proceed;
        };
        if let Some(window) = view.toplevel().and_downcast::<gtk::Window>() {
            let (x, y) = from_root(event.root(), offset);
            window.move_(x, y);
        }
        Propagation::Stop
    });
}

/// Tells whether a press at this place meant the Stop at the right end. `width`: of the pill.
fn on_stop(x: f64, width: i32, zoom: f64) -> bool {
    x >= f64::from(width) - STOP_WIDTH * zoom
}

fn corner(view: &gtk::Widget) -> Option<(i32, i32)> {
    Some(view.toplevel().and_downcast::<gtk::Window>()?.position())
}

#[expect(clippy::cast_possible_truncation, reason = "places on a screen")]
fn from_root(root: (f64, f64), other: (i32, i32)) -> (i32, i32) {
    (root.0 as i32 - other.0, root.1 as i32 - other.1)
}

/// Shows the pill without a page.
pub(super) fn plain(app: &AppHandle, view: &PillView) {
    if PLAIN.with_borrow(Option::is_some) {
        return tell_plain(app);
    }
    let language = Language::of(app);
    let window = gtk::Window::new(gtk::WindowType::Toplevel);
    window.set_title(Word::PillTitle.text(language));
    window.set_decorated(false);
    window.set_resizable(false);
    window.set_skip_taskbar_hint(true);
    window.set_size_request(PLAIN_SIZE.0, PLAIN_SIZE.1);
    over_all(&window);
    let (heading, more) = (gtk::Label::new(None), gtk::Label::new(None));
    let words = gtk::Box::new(gtk::Orientation::Vertical, 0);
    for label in [&heading, &more] {
        label.set_xalign(0.0);
        words.pack_start(label, true, true, 0);
    }
    let stop = gtk::Button::with_label(Word::PillStop.text(language));
    stop.style_context().add_class("destructive-action");
    let stopper = app.clone();
    stop.connect_clicked(move |_| super::stop(&stopper));
    let row = gtk::Box::new(gtk::Orientation::Horizontal, 0);
    row.set_border_width(MARGIN);
    row.pack_start(&words, true, true, MARGIN);
    row.pack_end(&stop, false, false, 0);
    window.add(&row);
    // Closing it changes nothing about the agent, so it stays.
    window.connect_delete_event(|_, _| Propagation::Stop);
    let plain = Plain { window, heading, more };
    plain.say(view, language);
    plain.window.show_all();
    plain.place();
    tracing::warn!("the pill is a plain window, since pages stay blank here");
    PLAIN.set(Some(plain));
}

/// Says in the plain window what is true now, if there is one.
pub(super) fn tell_plain(app: &AppHandle) {
    PLAIN.with_borrow(|plain| {
        if let (Some(plain), Some(view)) = (plain, app.state::<PillDesk>().view()) {
            plain.say(&view, Language::of(app));
        }
    });
}

/// Takes the plain window away, if there is one.
pub(super) fn close_plain() {
    if let Some(plain) = PLAIN.take() {
        plain.window.hide();
        plain.window.close();
    }
}

impl Plain {
    fn say(&self, view: &PillView, language: Language) {
        let (heading, more) = view.words(language);
        self.heading.set_markup(&format!("<b>{}</b>", gtk::glib::markup_escape_text(&heading)));
        self.more.set_text(&more);
    }

    fn place(&self) {
        let Some(display) = gtk::gdk::Display::default() else { return };
        let Some(monitor) = display.primary_monitor().or_else(|| display.monitor(0)) else { return };
        let area = monitor.workarea();
        let (width, _) = self.window.size();
        let (x, y) = super::placed((area.x(), area.y()), area.width().unsigned_abs(), f64::from(width), 1.0);
        self.window.move_(x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_means_stop_at_the_right_end_alone_at_every_size() {
        assert!(on_stop(430.0, 544, 1.0) && on_stop(543.0, 544, 1.0));
        assert!(!on_stop(420.0, 544, 1.0) && !on_stop(0.0, 544, 1.0));
        assert!(on_stop(860.0, 1088, 2.0) && !on_stop(840.0, 1088, 2.0));
    }

    #[test]
    fn a_pill_has_round_ends_and_a_whole_middle() {
        let region = rounded(100, 20);

        assert!(region.contains_point(50, 0) && region.contains_point(50, 19));
        assert!(region.contains_point(0, 10) && region.contains_point(99, 10));
        assert!(!region.contains_point(0, 0) && !region.contains_point(99, 19));
    }
}
