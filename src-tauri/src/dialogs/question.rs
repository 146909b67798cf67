//! A question as a dialog of GTK's own, for when the pages stay blank.
//!
//! Whatever a person happens to type when it comes must not allow: *Deny* has the focus and takes Return, Escape and
//! closing. *Allow once* can be pressed only after the text was scrolled to its end and some time has passed, and never by
//! Return, so that a Tab and a Return meant for another program deny, too.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use gtk::prelude::*;
use gtk::{PolicyType, ResponseType, WrapMode, glib};
use tauri::AppHandle;
use tokio::sync::oneshot;

use crate::words::{Language, Word};

/// Nothing can be allowed before: nobody has read it yet.
const READ_AT_LEAST: Duration = Duration::from_millis(1_500);
/// Its size, in logical pixels.
const SIZE: (i32, i32) = (680, 480);
/// So much of the screen it may cover, in percent.
const SCREEN_PERCENT: i32 = 85;
/// Around the text, in logical pixels.
const MARGIN: u32 = 12;

/// Asks. True only when the person pressed the button that allows; without such a button there is only no.
pub(super) async fn ask(app: &AppHandle, title: &str, message: &str, allow: Option<&str>, deny: &str) -> bool {
    let (answer, answered) = oneshot::channel();
    let [title, message, deny] = [title, message, deny].map(str::to_owned);
    let allow = allow.map(str::to_owned);
    let read = Word::AskRead.text(Language::of(app));
    let shown = app.run_on_main_thread(move || show(&title, &message, allow.as_deref().zip(Some(read)), &deny, answer));
    if let Err(error) = shown {
        tracing::error!(%error, "a question could not be shown and is denied");
        return false;
    }
    answered.await.unwrap_or(false)
}

/// `allow`: the words on the button, and what has to be done before it can be pressed.
fn show(title: &str, message: &str, allow: Option<(&str, &str)>, deny: &str, answer: oneshot::Sender<bool>) {
    let dialog = gtk::Dialog::new();
    dialog.set_title(title);
    dialog.set_keep_above(true);
    dialog.set_urgency_hint(true);
    dialog.set_position(gtk::WindowPosition::Center);
    let (width, height) = fitted(screen());
    dialog.set_default_size(width, height);

    let scroller = text(message);
    let content = dialog.content_area();
    content.set_border_width(MARGIN);
    content.pack_start(&scroller, true, true, 0);

    let guard = Rc::new(Guard::default());
    let no = dialog.add_button(deny, ResponseType::Cancel);
    if let Some((allow, read)) = allow {
        let yes = dialog.add_button(allow, ResponseType::Accept);
        keep(&yes, &scroller, &guard);
        content.pack_start(&line(read), false, false, MARGIN);
    }
    dialog.set_default_response(ResponseType::Cancel);
    scroll_by_keys(&dialog, &scroller.vadjustment());

    let answer = Cell::new(Some(answer));
    dialog.connect_response(move |dialog, pressed| {
        if let Some(answer) = answer.take() {
            // Nobody waits any more when the program ends.
            let _ = answer.send(pressed == ResponseType::Accept && guard.opens());
        }
        if pressed != ResponseType::DeleteEvent {
            dialog.hide();
            dialog.close();
        }
    });
    dialog.show_all();
    no.grab_focus();
    dialog.present();
}

/// A line of ours beneath the text.
fn line(words: &str) -> gtk::Label {
    let line = gtk::Label::new(Some(words));
    line.set_line_wrap(true);
    line.set_xalign(0.0);
    line
}

/// The text as it is, every letter as wide as the others, in lines that break.
fn text(message: &str) -> gtk::ScrolledWindow {
    let view = gtk::TextView::new();
    if let Some(buffer) = view.buffer() {
        buffer.set_text(message);
    }
    view.set_editable(false);
    view.set_monospace(true);
    view.set_wrap_mode(WrapMode::WordChar);
    // The Tab key leaves it.
    view.set_accepts_tab(false);
    let scroller = gtk::ScrolledWindow::new(gtk::Adjustment::NONE, gtk::Adjustment::NONE);
    scroller.set_policy(PolicyType::Never, PolicyType::Always);
    scroller.set_overlay_scrolling(false);
    scroller.set_shadow_type(gtk::ShadowType::In);
    scroller.add(&view);
    scroller
}

/// The keys for reading move the text whatever has the focus, so that it can stay on *Deny*.
fn scroll_by_keys(dialog: &gtk::Dialog, place: &gtk::Adjustment) {
    let place = place.clone();
    dialog.connect_key_press_event(move |_, event| {
        use gtk::gdk::keys::constants as key;
        // These mark a part of the text.
        if event.state().contains(gtk::gdk::ModifierType::SHIFT_MASK) {
            return glib::Propagation::Proceed;
        }
        let (now, page, line) = (place.value(), place.page_increment(), place.step_increment());
        let next = match event.keyval() {
            key::Page_Down | key::KP_Page_Down => now + page,
            key::Page_Up | key::KP_Page_Up => now - page,
            key::Down | key::KP_Down => now + line,
            key::Up | key::KP_Up => now - line,
            key::End | key::KP_End => place.upper(),
            key::Home | key::KP_Home => place.lower(),
            _ => return glib::Propagation::Proceed,
        };
        // The adjustment keeps it within its bounds.
        place.set_value(next);
        glib::Propagation::Stop
    });
}

/// Keeps the button that allows out of reach until the guard opens.
fn keep(yes: &gtk::Widget, scroller: &gtk::ScrolledWindow, guard: &Rc<Guard>) {
    yes.set_sensitive(false);
    yes.set_can_default(false);
    // Otherwise Return would press it while it has the focus.
    yes.set_receives_default(false);
    let look = {
        let (yes, guard) = (yes.clone(), Rc::clone(guard));
        move |place: &gtk::Adjustment| {
            guard.look(place.value(), place.page_size(), place.upper());
            yes.set_sensitive(guard.opens());
        }
    };
    let place = scroller.vadjustment();
    place.connect_value_changed(look.clone());
    place.connect_changed(look.clone());
    let (guard, place) = (Rc::clone(guard), place.downgrade());
    glib::timeout_add_local_once(READ_AT_LEAST, move || {
        guard.waited.set(true);
        if let Some(place) = place.upgrade() {
            look(&place);
        }
    });
}

/// What has to come before a question can be allowed.
#[derive(Debug, Default)]
struct Guard {
    waited: Cell<bool>,
    end_seen: Cell<bool>,
}

impl Guard {
    /// Takes what can be seen of the text. Before the time is over only scrolling counts: the height of a text that was just
    /// laid out is a guess.
    fn look(&self, value: f64, page: f64, upper: f64) {
        let at_end = page >= 1.0 && value + page >= upper - 1.0;
        if at_end && (self.waited.get() || value > 0.0) {
            self.end_seen.set(true);
        }
    }

    fn opens(&self) -> bool {
        self.waited.get() && self.end_seen.get()
    }
}

/// The room of the screen, in logical pixels.
fn screen() -> Option<(i32, i32)> {
    let display = gtk::gdk::Display::default()?;
    let room = display.primary_monitor().or_else(|| display.monitor(0))?.workarea();
    Some((room.width(), room.height()))
}

fn fitted(screen: Option<(i32, i32)>) -> (i32, i32) {
    let part = |room: i32| (room / 100 * SCREEN_PERCENT).max(1);
    screen.map_or(SIZE, |(width, height)| (SIZE.0.min(part(width)), SIZE.1.min(part(height))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_question_can_be_allowed_once_there_was_time_to_read_it() {
        let guard = Guard::default();
        guard.look(0.0, 300.0, 300.0);
        assert!(!guard.opens());

        guard.waited.set(true);
        assert!(!guard.opens(), "the height before was a guess");
        guard.look(0.0, 300.0, 300.0);
        assert!(guard.opens());
    }

    #[test]
    fn a_long_question_can_be_allowed_only_after_its_end_was_seen() {
        let guard = Guard::default();
        guard.waited.set(true);
        guard.look(0.0, 300.0, 900.0);
        guard.look(500.0, 300.0, 900.0);
        assert!(!guard.opens());

        guard.look(600.0, 300.0, 900.0);
        assert!(guard.opens());
        guard.look(0.0, 300.0, 900.0);
        assert!(guard.opens(), "who has seen the end may look at the beginning again");
    }

    #[test]
    fn a_text_that_is_not_laid_out_has_no_end() {
        let guard = Guard::default();
        guard.waited.set(true);
        guard.look(0.0, 0.0, 0.0);
        assert!(!guard.opens());
    }

    #[test]
    fn it_is_never_larger_than_the_screen() {
        assert_eq!(fitted(Some((1920, 1080))), (680, 480));
        assert_eq!(fitted(Some((640, 400))), (510, 340));
        assert_eq!(fitted(None), (680, 480));
    }
}
