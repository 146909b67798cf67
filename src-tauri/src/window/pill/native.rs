//! What GTK does for the pill: rounded corners, a press that stops also when the page is stuck, a drag that moves it, and the
//! plain window for where pages stay blank.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

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
/// What was shown is drawn by then.
const DRAWN_WITHIN: Duration = Duration::from_millis(60);

thread_local! {
    /// The plain window, on the thread of the windows alone.
    static PLAIN: RefCell<Option<Plain>> = const { RefCell::new(None) };
}

struct Plain {
    window: gtk::Window,
    heading: gtk::Label,
    more: gtk::Label,
    stop: gtk::Button,
    /// It may close now.
    over: Rc<Cell<bool>>,
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
            // The page would take it for a press on what comes into the place of Stop.
            return Propagation::Stop;
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

/// Shows the pill without a page. `began`: when that was wanted.
pub(super) fn plain(app: &AppHandle, view: &PillView, began: Instant) {
    if PLAIN.with_borrow(Option::is_some) {
        return tell_plain(app);
    }
    let language = Language::of(app);
    let (width, height) = super::size(app);
    let plain = Plain::build(app, language);
    plain.say(view, language);
    plain.window.set_default_size(pixels(width), pixels(height));
    plain.window.set_size_request(pixels(width), pixels(height));
    shape(&plain.window, width, height);
    plain.place(width);
    let shown = Cell::new(false);
    plain.window.connect_draw(move |_, _| {
        if !shown.replace(true) {
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(ms, "the pill is shown");
        }
        Propagation::Proceed
    });
    plain.window.show_all();
    PLAIN.set(Some(plain));
}

/// Does something once what was just shown has been drawn.
pub(super) fn soon(app: &AppHandle, act: fn(&AppHandle)) {
    let app = app.clone();
    gtk::glib::timeout_add_local_once(DRAWN_WITHIN, move || act(&app));
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
        plain.over.set(true);
        plain.window.hide();
        plain.window.close();
    }
}

impl Plain {
    fn build(app: &AppHandle, language: Language) -> Self {
        let window = gtk::Window::new(gtk::WindowType::Toplevel);
        window.set_title(Word::PillTitle.text(language));
        window.set_decorated(false);
        window.set_skip_taskbar_hint(true);
        over_all(&window);
        if let Some(visual) = GtkWindowExt::screen(&window).and_then(|screen| screen.rgba_visual()) {
            window.set_visual(Some(&visual));
        }
        window.set_app_paintable(true);
        // Closing it changes nothing about the agent, so it stays.
        let over: Rc<Cell<bool>> = Rc::default();
        let ends = Rc::clone(&over);
        window.connect_delete_event(move |_, _| if ends.get() { Propagation::Proceed } else { Propagation::Stop });

        let (heading, more) = (gtk::Label::new(None), gtk::Label::new(None));
        let words = gtk::Box::new(gtk::Orientation::Vertical, 0);
        words.set_valign(gtk::Align::Center);
        for (label, class) in [(&heading, "heading"), (&more, "more")] {
            label.set_xalign(0.0);
            label.set_ellipsize(gtk::pango::EllipsizeMode::End);
            label.style_context().add_class(class);
            words.pack_start(label, false, false, 0);
        }
        let stop = gtk::Button::with_label(Word::PillStop.text(language));
        stop.style_context().add_class("stop");
        let stopper = app.clone();
        stop.connect_clicked(move |_| super::stop(&stopper));
        let mark = gtk::Label::new(Some("●"));
        mark.style_context().add_class("mark");
        let row = gtk::Box::new(gtk::Orientation::Horizontal, 0);
        row.style_context().add_class("pill");
        row.pack_start(&mark, false, false, 0);
        row.pack_start(&words, true, true, 0);
        row.pack_end(&stop, false, false, 0);
        window.add(&row);
        let plain = Self { window, heading, more, stop, over };
        plain.dress(app);
        plain
    }

    /// The look of the page, as far as this toolkit has it.
    fn dress(&self, app: &AppHandle) {
        let prefs = app.state::<PrefsDesk>().get();
        let dark = match prefs.theme.as_str() {
            "dark" => true,
            "light" => false,
            _ => gtk::Settings::default().is_some_and(|settings| settings.is_gtk_application_prefer_dark_theme()),
        };
        let provider = gtk::CssProvider::new();
        let css = css(dark, f64::from(prefs.zoom) / 100.0);
        if let (Ok(()), Some(screen)) = (provider.load_from_data(css.as_bytes()), GtkWindowExt::screen(&self.window)) {
            gtk::StyleContext::add_provider_for_screen(&screen, &provider, gtk::STYLE_PROVIDER_PRIORITY_APPLICATION);
        }
    }

    fn say(&self, view: &PillView, language: Language) {
        let (heading, more) = view.words(language);
        self.heading.set_text(&heading);
        self.more.set_text(&more);
        self.stop.set_sensitive(!view.stopped);
        self.stop.set_opacity(if view.stopped { 0.0 } else { 1.0 });
    }

    fn place(&self, width: f64) {
        let Some(display) = gtk::gdk::Display::default() else { return };
        let Some(monitor) = display.primary_monitor().or_else(|| display.monitor(0)) else { return };
        let area = monitor.workarea();
        // All in logical pixels here.
        let (x, y) = super::placed((area.x(), area.y()), area.width().unsigned_abs(), width, 1.0);
        self.window.move_(x, y);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a pill is no larger than a screen")]
fn pixels(length: f64) -> i32 {
    length as i32
}

/// The colours and lengths of `Pill.svelte` and `tokens.css`. All names begin alike, since they hold for the whole screen.
fn css(dark: bool, zoom: f64) -> String {
    let (ground, edge, ink, soft, stop) = if dark {
        ("#171f28", "#b98af0", "#e5eaef", "#a5b2bf", "#bf3a3f")
    } else {
        ("#ffffff", "#7e22ce", "#16212c", "#505e6c", "#b0222d")
    };
    let px = |length: f64| format!("{}px", (length * zoom).round());
    let (large, small, width) = (px(15.0), px(13.5), px(STOP_WIDTH - 8.0));
    let (left, gap, around) = (px(18.0), px(12.0), px(6.0));
    format!(
        ".pill {{ background: {ground}; border: 2px solid {edge}; border-radius: 9999px; padding: 0 0 0 {left}; }}
         .pill .mark {{ color: {edge}; font-size: {large}; margin: 0 {gap} 0 0; }}
         .pill .heading {{ color: {ink}; font-size: {large}; font-weight: 700; }}
         .pill .more {{ color: {soft}; font-size: {small}; }}
         .pill button.stop {{ background: {stop}; color: #ffffff; border: none; border-radius: 9999px; box-shadow: none;
           text-shadow: none; font-size: {large}; font-weight: 700; padding: 0; min-width: {width}; margin: {around}; }}"
    )
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
