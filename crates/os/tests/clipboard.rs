//! The clipboard of an X server, against other programs: xclip and clients that behave badly.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::time::Duration;

use drawbridge_os::seat::clipboard::{Clipboard, KDE_MARK, Kept, PutBack, Reader, open};
use drawbridge_os::seat::{Seat, SeatFault};
use drawbridge_testkit::display::Display;
use drawbridge_testkit::selection::{Format, Manner};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, InputFocus, PropMode, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

const ROOM: u64 = 64 * 1024 * 1024;

fn display() -> (Display, Box<dyn Clipboard>) {
    let display = Display::start(640, 480).unwrap();
    let clipboard = open(&Seat::x11(display.name())).unwrap();
    (display, clipboard)
}

fn xclip_out(display: &Display, target: &str) -> Option<Vec<u8>> {
    let out = display.command("xclip").args(["-selection", "clipboard", "-o", "-t", target]).output().unwrap();
    out.status.success().then_some(out.stdout)
}

fn text(name: &str, text: &str) -> Format {
    Format::new(name, text)
}

/// Pseudo-random letters, so that a piece in a wrong place shows.
fn letters(count: usize) -> String {
    let mut state = 12_345_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from(state >> 28).unwrap())
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn what_is_written_is_read_by_another_program_exactly() {
    let (display, clipboard) = display();
    for text in ["", "plain", "Grüße, naïve 🙂 Ж\r\n\tend  ", "line\n"] {
        clipboard.write_text(text).unwrap();

        assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), text.as_bytes(), "{text:?}");
        assert_eq!(xclip_out(&display, "text/plain;charset=utf-8").unwrap(), text.as_bytes());
        assert_eq!(xclip_out(&display, "TEXT").unwrap(), text.as_bytes());
    }
    let targets = String::from_utf8(xclip_out(&display, "TARGETS").unwrap()).unwrap();
    for target in ["TARGETS", "TIMESTAMP", "MULTIPLE", "SAVE_TARGETS", "UTF8_STRING", "STRING", "text/plain", KDE_MARK]
    {
        assert!(targets.lines().any(|line| line == target), "{target} in {targets}");
    }
    assert_eq!(xclip_out(&display, KDE_MARK).unwrap(), b"secret");
    assert_eq!(xclip_out(&display, "image/png"), None);
}

#[test]
fn the_old_format_carries_latin_1_or_is_not_there() {
    let (display, clipboard) = display();

    clipboard.write_text("naïve").unwrap();
    let (_asker, old) = display.ask("STRING", None).unwrap();
    clipboard.write_text("5 €").unwrap();

    assert_eq!(old.unwrap(), Format { kind: "STRING".into(), ..Format::new("STRING", b"na\xefve") });
    assert_eq!(display.ask("STRING", None).unwrap().1, None);
}

#[test]
fn own_text_is_told_from_that_of_others_also_where_it_is_the_same() {
    let (display, clipboard) = display();
    let nothing = clipboard.look().unwrap();
    assert_eq!((nothing.formats.len(), nothing.has_text, nothing.ours), (0, false, false));
    assert_eq!(clipboard.read_text(ROOM).unwrap().text, None);

    let written = clipboard.write_text("same").unwrap();
    let ours = clipboard.read_text(ROOM).unwrap();
    display.copy(b"same").unwrap();
    let theirs = clipboard.read_text(ROOM).unwrap();

    assert_eq!((ours.text.as_deref(), theirs.text.as_deref()), (Some("same"), Some("same")));
    assert_eq!((ours.look.ours, ours.look.concealed, ours.look.counter), (true, None, written));
    assert_eq!((theirs.look.ours, theirs.look.has_text), (false, true));
    assert!(theirs.look.counter > written);
}

#[test]
fn eight_megabytes_travel_in_pieces_both_ways() {
    let (display, clipboard) = display();
    let large = letters(8 * 1024 * 1024);

    clipboard.write_text(&large).unwrap();
    assert!(xclip_out(&display, "UTF8_STRING").unwrap() == large.as_bytes());

    display.copy(large.as_bytes()).unwrap();
    assert!(clipboard.read_text(ROOM).unwrap().text.unwrap() == large);
    // How much it is in all need not be told before; what was seen is more than may be taken.
    assert!(matches!(clipboard.read_text(1024 * 1024), Err(SeatFault::TooLarge(seen)) if seen > 1024 * 1024));
}

#[test]
fn a_reader_that_stops_in_the_middle_holds_up_nobody() {
    let (display, clipboard) = display();
    let large = letters(2 * 1024 * 1024);
    clipboard.write_text(&large).unwrap();

    let (stalled, first) = display.ask("UTF8_STRING", Some(1)).unwrap();
    let (gone, _) = display.ask("UTF8_STRING", Some(1)).unwrap();
    drop(gone);

    assert!(large.as_bytes().starts_with(&first.unwrap().bytes));
    assert!(xclip_out(&display, "UTF8_STRING").unwrap() == large.as_bytes());
    assert!(clipboard.read_text(ROOM).unwrap().text.unwrap() == large);
    drop(stalled);
}

#[test]
fn others_are_answered_while_a_holder_lets_us_wait() {
    let (display, clipboard) = display();
    let holder = display.hold(&[text("UTF8_STRING", "x")], Manner::StopsAfter(1)).unwrap();

    std::thread::scope(|scope| {
        let read = scope.spawn(|| clipboard.read_text(ROOM));
        holder.until_asked("piece 1").unwrap();
        // A second program takes the clipboard while the first one is still at it: the read begins anew.
        let _second = display.hold(&[text("UTF8_STRING", "second")], Manner::Good).unwrap();
        assert_eq!(read.join().unwrap().unwrap().text.as_deref(), Some("second"));
    });
}

#[test]
fn holders_that_hang_end_in_no_answer_and_nothing_stays_behind() {
    let (display, clipboard) = display();
    let formats = [text("UTF8_STRING", "never"), text("text/html", "<b>never</b>")];
    let silent = Err(SeatFault::NoAnswer("the program that holds the clipboard"));

    let _holder = display.hold(&formats, Manner::Silent).unwrap();
    assert_eq!(clipboard.look().map(|_| ()), silent);
    let _holder = display.hold(&formats, Manner::OnlyList).unwrap();
    assert!(clipboard.look().unwrap().has_text);
    assert_eq!(clipboard.read_text(ROOM).map(|_| ()), silent);
    assert_eq!(clipboard.keep(ROOM).map(|_| ()), silent);
    let _holder = display.hold(&formats, Manner::StopsAfter(3)).unwrap();
    assert_eq!(clipboard.read_text(ROOM).map(|_| ()), silent);

    clipboard.write_text("it still works").unwrap();
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"it still works");
}

#[test]
fn too_much_is_refused_before_it_is_taken() {
    let (display, clipboard) = display();

    let holder = display.hold(&[text("UTF8_STRING", "")], Manner::Announces(3_000_000_000)).unwrap();
    assert_eq!(clipboard.read_text(ROOM).map(|_| ()), Err(SeatFault::TooLarge(3_000_000_000)));
    assert!(holder.asked.try_iter().all(|asked| !asked.starts_with("piece")));
    let _holder = display.hold(&[text("UTF8_STRING", "")], Manner::Endless).unwrap();
    assert_eq!(clipboard.read_text(10_500).map(|_| ()), Err(SeatFault::TooLarge(11_000)));
    let _holder = display.hold(&[text("UTF8_STRING", "12345678901")], Manner::Good).unwrap();
    assert_eq!(clipboard.read_text(10).map(|_| ()), Err(SeatFault::TooLarge(11)));
    assert_eq!(clipboard.read_text(11).unwrap().text.as_deref(), Some("12345678901"));
    let both = [text("text/plain", "123456"), text("text/html", "123456")];
    let _holder = display.hold(&both, Manner::Good).unwrap();
    assert_eq!(clipboard.keep(11), Err(SeatFault::TooLarge(6)));
}

#[test]
fn a_holder_that_dies_in_the_middle_is_gone() {
    let (display, clipboard) = display();
    let _holder = display.hold(&[text("UTF8_STRING", "")], Manner::DiesAfter(2)).unwrap();

    assert_eq!(clipboard.read_text(ROOM).map(|_| ()), Err(SeatFault::Gone));
    assert_eq!(clipboard.look().unwrap().formats, Vec::<String>::new());
}

#[test]
fn what_is_no_text_or_in_an_old_format_is_told_apart() {
    let (display, clipboard) = display();

    let strange = Format { kind: "INTEGER".into(), unit_bits: 32, ..text("UTF8_STRING", "abcd") };
    let _holder = display.hold(&[strange], Manner::Good).unwrap();
    assert!(matches!(clipboard.read_text(ROOM), Err(SeatFault::Other(_))));
    let _holder = display.hold(&[Format::new("STRING", b"caf\xe9\0\0")], Manner::NoList).unwrap();
    assert_eq!(clipboard.read_text(ROOM).unwrap().text.as_deref(), Some("café"));
    let _holder = display.hold(&[Format::new("UTF8_STRING", b"a\xffb")], Manner::Good).unwrap();
    assert_eq!(clipboard.read_text(ROOM).unwrap().text.as_deref(), Some("a\u{fffd}b"));

    // 4000 times 4000 pixels: not a byte of it is fetched to know that it is no text.
    let holder = display.hold(&[Format::new("image/bmp", vec![7; 64_000_000])], Manner::Good).unwrap();
    let found = clipboard.read_text(ROOM).unwrap();
    assert_eq!((found.look.formats, found.look.has_text, found.text), (vec!["image/bmp".to_owned()], false, None));
    assert_eq!(clipboard.keep(32_000_000).map(|_| ()), Err(SeatFault::TooLarge(32_100_000)));
    assert_eq!(holder.asked.try_iter().next().as_deref(), Some("TARGETS"));
}

#[test]
fn what_a_password_manager_marks_is_never_asked_for() {
    let (display, clipboard) = display();
    let holder = display.hold(&[text("UTF8_STRING", "hunter2"), text(KDE_MARK, "secret")], Manner::Good).unwrap();

    let found = clipboard.read_text(ROOM).unwrap();

    assert_eq!((found.look.concealed, found.look.has_text, found.text), (Some(KDE_MARK), true, None));
    assert_eq!(holder.asked.try_iter().collect::<Vec<_>>(), ["TARGETS"]);
}

#[test]
fn everything_comes_back_with_types_and_marks() {
    let (display, clipboard) = display();
    let wide =
        Format { kind: "INTEGER".into(), unit_bits: 32, ..Format::new("x-numbers", 7_u32.to_ne_bytes().repeat(50)) };
    let formats = [
        text("UTF8_STRING", "hunter2"),
        Format { kind: "COMPOUND_TEXT".into(), ..text("TEXT", "hunter2") },
        text("text/html", "<b>hunter2</b>"),
        Format::new("image/png", vec![9; 700_000]),
        wide,
        text(KDE_MARK, "secret"),
    ];
    let _holder = display.hold(&formats, Manner::Good).unwrap();

    let kept = clipboard.keep(ROOM).unwrap();
    clipboard.write_text("ours").unwrap();
    let back = clipboard.put_back(&kept, None).unwrap();

    let look = clipboard.look().unwrap();
    assert_eq!(back, PutBack::Done { counter: look.counter });
    assert_eq!((look.ours, look.concealed), (false, Some(KDE_MARK)));
    assert_eq!(clipboard.read_text(ROOM).unwrap().text, None);
    assert_eq!(format!("{kept:?}"), "Kept(6 formats)");
    for format in formats {
        assert_eq!(display.ask(&format.name, None).unwrap().1, Some(format));
    }
}

#[test]
fn nothing_and_own_text_come_back_as_what_they_were() {
    let (display, clipboard) = display();

    let nothing = clipboard.keep(ROOM).unwrap();
    clipboard.write_text("first").unwrap();
    let own = clipboard.keep(ROOM).unwrap();
    clipboard.write_text("second").unwrap();
    assert!(matches!(clipboard.put_back(&own, None).unwrap(), PutBack::Done { .. }));
    assert!(clipboard.look().unwrap().ours);
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"first");
    assert!(matches!(clipboard.put_back(&nothing, None).unwrap(), PutBack::Done { .. }));

    assert_eq!(clipboard.look().unwrap().formats, Vec::<String>::new());
    assert_eq!(xclip_out(&display, "UTF8_STRING"), None);
}

#[test]
fn what_the_person_copied_meanwhile_stays() {
    let (display, clipboard) = display();
    display.copy(b"before").unwrap();
    let kept = clipboard.keep(ROOM).unwrap();
    clipboard.write_text("ours").unwrap();

    display.copy(b"copied meanwhile").unwrap();

    assert_eq!(clipboard.put_back(&kept, None).unwrap(), PutBack::Changed);
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"copied meanwhile");
    // The same text from somebody else is somebody else's, unless the caller has looked at it and nothing has changed since.
    clipboard.write_text("ours").unwrap();
    display.copy(b"ours").unwrap();
    assert_eq!(clipboard.put_back(&kept, None).unwrap(), PutBack::Changed);
    let seen = clipboard.read_text(ROOM).unwrap().look.counter;
    display.copy(b"copied after the look").unwrap();
    assert_eq!(clipboard.put_back(&kept, seen).unwrap(), PutBack::Changed);
    let seen = clipboard.read_text(ROOM).unwrap().look.counter;
    assert!(matches!(clipboard.put_back(&kept, seen).unwrap(), PutBack::Done { .. }));
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"before");
}

#[test]
fn who_has_read_is_noticed() {
    let (display, clipboard) = display();
    let soon = Duration::from_millis(1);
    clipboard.write_text("ours").unwrap();
    clipboard.expect_reader().unwrap();

    assert_eq!(clipboard.await_reader(soon).unwrap(), Reader::Nobody);
    // Formats and marks are no content.
    for target in ["TARGETS", KDE_MARK] {
        xclip_out(&display, target).unwrap();
    }
    assert_eq!(clipboard.await_reader(soon).unwrap(), Reader::Nobody);
    xclip_out(&display, "UTF8_STRING").unwrap();
    // No window has the keyboard here: anybody may be meant.
    assert_eq!(clipboard.await_reader(Duration::from_secs(60)).unwrap(), Reader::Target);

    clipboard.write_text(&letters(1024 * 1024)).unwrap();
    clipboard.expect_reader().unwrap();
    let half = display.ask("UTF8_STRING", Some(1)).unwrap();
    assert_eq!(clipboard.await_reader(soon).unwrap(), Reader::Reading);
    drop(half);
}

#[test]
fn a_reader_that_is_not_the_one_with_the_keyboard_is_another() {
    let (mut display, clipboard) = display();
    display.manage_windows().unwrap();
    let _recorder = display.record(&["--field"]).unwrap();
    clipboard.write_text("ours").unwrap();
    clipboard.expect_reader().unwrap();

    xclip_out(&display, "UTF8_STRING").unwrap();
    assert_eq!(clipboard.await_reader(Duration::from_millis(1)).unwrap(), Reader::Another);
    display.run("xdotool", &["key", "ctrl+v"]).unwrap();
    assert_eq!(clipboard.await_reader(Duration::from_secs(60)).unwrap(), Reader::Target);
}

#[test]
fn a_window_that_hung_does_not_get_what_was_put_back_instead() {
    let (display, clipboard) = display();
    display.copy(b"hunter2").unwrap();
    let kept = clipboard.keep(ROOM).unwrap();
    let (server, screen) = x11rb::connect(Some(display.name())).unwrap();
    let window = server.generate_id().unwrap();
    let root = &server.setup().roots[screen];
    let events = CreateWindowAux::new().event_mask(EventMask::EXPOSURE);
    let (kind, depth) = (WindowClass::INPUT_OUTPUT, root.root_depth);
    server.create_window(depth, window, root.root, 0, 0, 9, 9, 0, kind, root.root_visual, &events).unwrap();
    server.map_window(window).unwrap();
    server.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME).unwrap().check().unwrap();
    let atom = |name: &str| server.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom;
    let (text, list) = (atom("UTF8_STRING"), atom("TARGETS"));
    let ask = |target| {
        server.convert_selection(window, atom("CLIPBOARD"), target, atom("A"), x11rb::CURRENT_TIME).unwrap();
        server.flush().unwrap();
        loop {
            if let Event::SelectionNotify(event) = server.wait_for_event().unwrap() {
                return event.property != x11rb::NONE;
            }
        }
    };

    clipboard.write_text("pasted").unwrap();
    clipboard.expect_reader().unwrap();
    assert!(matches!(clipboard.put_back(&kept, None).unwrap(), PutBack::Done { .. }));

    assert_eq!((ask(list), ask(text)), (true, false));
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"hunter2");
    // Who has read what was meant for it may read the rest, too.
    clipboard.write_text("pasted").unwrap();
    clipboard.expect_reader().unwrap();
    assert!(ask(text));
    clipboard.put_back(&kept, None).unwrap();
    assert!(ask(text));
}

#[test]
fn a_display_that_is_killed_is_told() {
    let (display, clipboard) = display();
    clipboard.write_text("ours").unwrap();

    drop(display);

    assert!(matches!(clipboard.look(), Err(SeatFault::NoDisplay(_))));
    assert!(matches!(clipboard.write_text("more"), Err(SeatFault::NoDisplay(_))));
    drop(clipboard);
    assert!(matches!(open(&Seat::x11(":nothing")).map(|_| ()), Err(SeatFault::NoDisplay(_))));
}

#[test]
fn a_clipboard_manager_takes_over_at_the_end_and_one_that_hangs_is_not_waited_for_long() {
    let (display, clipboard) = display();
    let large = letters(1024 * 1024);
    let manager = display.manage_clipboard(Manner::Good).unwrap();
    clipboard.write_text(&large).unwrap();
    drop(clipboard);
    assert!(xclip_out(&display, "UTF8_STRING").unwrap() == large.as_bytes());

    drop(manager);
    let hanging = display.manage_clipboard(Manner::Silent).unwrap();
    let clipboard = open(&Seat::x11(display.name())).unwrap();
    clipboard.write_text("ours").unwrap();
    drop(clipboard);
    hanging.until_asked("SAVE_TARGETS").unwrap();
    assert_eq!(xclip_out(&display, "UTF8_STRING"), None);
}

#[test]
fn several_targets_are_given_at_once_and_what_is_not_there_is_marked() {
    let (display, clipboard) = display();
    clipboard.write_text("ours").unwrap();
    let (server, screen) = x11rb::connect(Some(display.name())).unwrap();
    let atom = |name: &str| server.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom;
    let window = server.generate_id().unwrap();
    let root = server.setup().roots[screen].root;
    server.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &CreateWindowAux::new()).unwrap();
    let (text, picture, time, list) = (atom("UTF8_STRING"), atom("image/png"), atom("TIMESTAMP"), atom("LIST"));
    let pairs = [text, atom("A"), picture, atom("B"), time, atom("C"), atom("MULTIPLE"), atom("D")];
    server.change_property32(PropMode::REPLACE, window, list, atom("ATOM_PAIR"), &pairs).unwrap();
    let take = |name| server.get_property(false, window, name, AtomEnum::ANY, 0, 100).unwrap().reply().unwrap();
    let ask = |into, time: u32| {
        server.convert_selection(window, atom("CLIPBOARD"), atom("MULTIPLE"), into, time).unwrap();
        server.flush().unwrap();
        loop {
            if let Event::SelectionNotify(event) = server.wait_for_event().unwrap() {
                return event.property;
            }
        }
    };

    assert_eq!(ask(list, x11rb::CURRENT_TIME), list);

    let marked: Vec<u32> = take(list).value32().unwrap().collect();
    assert_eq!(marked, [text, atom("A"), picture, x11rb::NONE, time, atom("C"), atom("MULTIPLE"), x11rb::NONE]);
    assert_eq!((take(atom("A")).value, take(atom("A")).type_), (b"ours".to_vec(), text));
    let since = take(atom("C")).value32().unwrap().next().unwrap();
    // Without a place for the list there is nothing to give.
    assert_eq!(ask(x11rb::NONE, x11rb::CURRENT_TIME), x11rb::NONE);

    // Whoever asked before something was put back does not get that: it might be a password in the wrong field.
    let kept = clipboard.keep(ROOM).unwrap();
    clipboard.put_back(&Kept { ours: false, ..kept }, None).unwrap();
    assert_eq!(ask(list, since.wrapping_sub(1)), x11rb::NONE);
    assert_eq!(ask(list, x11rb::CURRENT_TIME), list);
}

#[test]
fn a_server_that_stands_still_ends_in_no_answer_and_comes_back() {
    let (display, clipboard) = display();
    clipboard.write_text("ours").unwrap();
    let (server, _) = x11rb::connect(Some(display.name())).unwrap();
    server.grab_server().unwrap().check().unwrap();

    assert!(matches!(clipboard.look(), Err(SeatFault::NoAnswer(_))));
    server.ungrab_server().unwrap().check().unwrap();

    assert!(clipboard.look().unwrap().ours);
    assert_eq!(xclip_out(&display, "UTF8_STRING").unwrap(), b"ours");
}

#[test]
fn nothing_is_left_when_it_is_dropped() {
    let (display, clipboard) = display();
    let handles = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = (handles(), threads());

    for number in 0..200 {
        clipboard.write_text(&format!("text {number}")).unwrap();
        assert_eq!(clipboard.read_text(ROOM).unwrap().text, Some(format!("text {number}")));
    }
    assert_eq!((handles(), threads()), before);
    drop(clipboard);

    // It had two, the connection and the one that wakes its thread.
    assert_eq!((handles(), threads()), (before.0 - 2, before.1 - 1));
    assert_eq!(xclip_out(&display, "UTF8_STRING"), None);
    for _ in 0..20 {
        drop(open(&Seat::x11(display.name())).unwrap());
    }
    assert_eq!((handles(), threads()), (before.0 - 2, before.1 - 1));
}
