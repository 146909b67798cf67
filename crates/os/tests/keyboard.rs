//! The keyboard of a real X server, as programs see it. Has its own `main`, since the watchdog of what is held is this very
//! program, started again.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test with a main of its own")]

use drawbridge_core::computer::{Chord, Key, Modifier};
use drawbridge_os::helper;
use drawbridge_os::seat::input::{self, Held, Input, TypeFault};
use drawbridge_os::seat::{Seat, SeatFault};
use drawbridge_testkit::display::{Display, Recorder};
use drawbridge_testkit::scenarios;
use serde_json::{Value, json};
use x11rb::protocol::xkb::{AXOption, BoolCtrl, ConnectionExt as _, Control, Group, VMod};
use x11rb::protocol::xproto::{ConnectionExt as _, ModMask};
use x11rb::rust_connection::RustConnection;

scenarios! {
    first: helper::run_if_asked;
    text_arrives_exactly_on_every_layout,
    text_arrives_exactly_whichever_group_is_set,
    text_arrives_exactly_while_caps_lock_is_on,
    more_characters_than_the_keymap_has_places_arrive_exactly,
    a_long_mixed_text_arrives_without_loss,
    a_window_that_stops_for_a_while_is_waited_for,
    a_terminal_that_cannot_be_asked_gets_its_text_exactly,
    what_cannot_be_typed_is_named_and_nothing_is_typed,
    stopping_half_way_leaves_everything_as_it_was,
    text_is_not_typed_while_a_modifier_is_held,
    another_layout_in_the_middle_of_a_text_changes_nothing,
    caps_lock_in_the_middle_of_a_text_ends_it,
    a_keymap_without_free_places_names_what_it_cannot_give,
    keys_that_must_be_held_for_long_are_not_raced,
    a_display_that_goes_away_in_the_middle_is_told,
    chords_arrive_as_programs_know_them,
    a_chord_is_found_on_another_layout_than_the_one_that_is_set,
    keys_that_no_layout_has_work_all_the_same,
}

const SAMPLE: &str = "Grüße, ßtraße – naïve façade: “quoted” ‘text’ for 5 € (£3, ¥2)…\n\tПривет, мир! Ελληνικά. 中文字 \
                      👍🏽 👩‍👩‍👧‍👦 e\u{301} ñ Ł ő ç Ç ¿¡ æøå ÆØÅ ½ №\r\nthe end";

fn ascii() -> String {
    (' '..='~').collect()
}

fn display(layouts: &str) -> Display {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    display.layout(layouts).unwrap();
    display
}

fn desk(layouts: &str, args: &[&str]) -> (Display, Recorder, Box<dyn Input>) {
    let display = display(layouts);
    let recorder = display.record(args).unwrap();
    let input = input::open(&Seat::x11(display.name())).unwrap();
    (display, recorder, input)
}

fn on(_: usize) -> bool {
    true
}

/// Everything about the keyboard that must be the same afterwards.
fn keyboard(display: &Display) -> (String, u8, ModMask, ModMask) {
    let keymap = display.command("xkbcomp").args([display.name(), "-"]).output().unwrap();
    let (server, _) = x11rb::connect(Some(display.name())).unwrap();
    let state = state(&server);
    (String::from_utf8(keymap.stdout).unwrap(), state.0, state.1, state.2)
}

fn state(server: &RustConnection) -> (u8, ModMask, ModMask) {
    server.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let state = server.xkb_get_state(256).unwrap().reply().unwrap();
    (u8::from(state.locked_group), state.locked_mods, state.base_mods)
}

fn lock(display: &Display, mods: ModMask, group: u8) {
    let (server, _) = x11rb::connect(Some(display.name())).unwrap();
    server.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let none = ModMask::from(0u16);
    server.xkb_latch_lock_state(256, mods, mods, true, Group::from(group), none, false, 0).unwrap().check().unwrap();
}

fn arrives(recorder: &mut Recorder, input: &dyn Input, text: &str) {
    recorder.ask("clear").unwrap();
    input.type_text(text, &mut on).unwrap();
    assert_eq!(recorder.text().unwrap(), text.replace("\r\n", "\n"));
    assert_eq!(input.held(), Held::default());
}

fn text_arrives_exactly_on_every_layout() {
    for layouts in ["us", "de", "us,ru", "pt", "fr"] {
        let (display, mut recorder, input) = desk(layouts, &["--field", "--quiet"]);
        let before = keyboard(&display);

        arrives(&mut recorder, &*input, &ascii());
        arrives(&mut recorder, &*input, SAMPLE);

        assert_eq!(keyboard(&display), before, "{layouts}");
    }
}

fn text_arrives_exactly_whichever_group_is_set() {
    let (display, mut recorder, input) = desk("us,ru,gr", &["--field", "--quiet"]);
    for group in [1, 2, 0] {
        lock(&display, ModMask::from(0u16), group);
        let before = keyboard(&display);

        arrives(&mut recorder, &*input, &(ascii() + SAMPLE + "ёЁъЪ ς άέ ώ"));

        assert_eq!(keyboard(&display), before, "group {group}");
    }
}

fn text_arrives_exactly_while_caps_lock_is_on() {
    let (display, mut recorder, input) = desk("us,ru", &["--field", "--quiet"]);
    // Num Lock, too.
    lock(&display, ModMask::LOCK | ModMask::M2, 0);
    let before = keyboard(&display);

    arrives(&mut recorder, &*input, &(ascii() + SAMPLE));

    assert_eq!(keyboard(&display), before);
}

fn chinese(count: u32) -> String {
    (0..count).filter_map(|number| char::from_u32(0x4e00 + number * 7)).collect()
}

fn more_characters_than_the_keymap_has_places_arrive_exactly() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    let before = keyboard(&display);

    arrives(&mut recorder, &*input, &chinese(300));

    assert_eq!(keyboard(&display), before);
}

fn a_long_mixed_text_arrives_without_loss() {
    let (display, mut recorder, input) = desk("de", &["--field", "--quiet"]);
    let before = keyboard(&display);
    let line = "Der schnelle braune Fuchs — \"jumps\" over 13 lazy dogs; Öl für 20 €, съешь ещё, 好 👍.\n";
    let text: String = line.chars().cycle().take(5000).collect();

    arrives(&mut recorder, &*input, &text);

    assert_eq!(keyboard(&display), before);
}

fn a_window_that_stops_for_a_while_is_waited_for() {
    const STOPS_AT: usize = 100;
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    let before = keyboard(&display);
    let text: String = "Plain words, then naïve 好 👍 ones. ".chars().cycle().take(1000).collect();
    let window = recorder.pid().to_string();
    let signal = |name: &str| display.run("kill", &[name, &window]).unwrap();
    let (mut stopped, mut goes_on, mut waits_at, mut waited) = (false, false, 0, 0);

    let typed = input.type_text(&text, &mut |typed| {
        if typed == STOPS_AT && !stopped {
            signal("-STOP");
            stopped = true;
        }
        // It is asked more than once about one character while nothing gets on.
        waited = if typed == waits_at { waited + 1 } else { 0 };
        waits_at = typed;
        if waited == 50 && stopped && !goes_on {
            assert!((STOPS_AT..STOPS_AT + 100).contains(&typed), "it ran on to {typed}");
            signal("-CONT");
            goes_on = true;
        }
        true
    });

    assert_eq!((typed, goes_on), (Ok(()), true));
    assert_eq!(recorder.text().unwrap(), text);
    assert_eq!(keyboard(&display), before);
}

fn a_terminal_that_cannot_be_asked_gets_its_text_exactly() {
    let display = display("us");
    let recorder = display.record(&["--plain", "--at", "600,400", "--size", "50,50"]).unwrap();
    let (mut ready, told) = std::io::pipe().unwrap();
    // The terminal says when its program reads, and what it read up to the end of the text.
    let script = "stty -echo; echo go >&9; cat > text; echo done >&9";
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = terminal(&display, script, folder.path(), told);
    let mut byte = [0; 3];
    std::io::Read::read_exact(&mut ready, &mut byte).unwrap();
    drop(recorder);
    display.windows_of("xterm", &["windowfocus", "--sync"]).unwrap();
    let input = input::open(&Seat::x11(display.name())).unwrap();
    let before = keyboard(&display);
    let text = format!("plain, Grüße, {} end\n", chinese(40));

    input.type_text(&text, &mut on).unwrap();

    input.modifier(Modifier::Ctrl, true).unwrap();
    input.key(&Key::Character('d'), true).unwrap();
    input.key(&Key::Character('d'), false).unwrap();
    input.modifier(Modifier::Ctrl, false).unwrap();
    let mut done = String::new();
    std::io::Read::read_to_string(&mut ready, &mut done).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("text")).unwrap(), text);
    drop(input);
    assert_eq!(keyboard(&display), before);
    terminal.wait().unwrap();
}

fn terminal(
    display: &Display,
    script: &str,
    folder: &std::path::Path,
    told: std::io::PipeWriter,
) -> std::process::Child {
    let told = std::process::Stdio::from(std::os::fd::OwnedFd::from(told));
    let whole = "exec 9>&1; exec xterm -u8 -class xterm -e sh -c \"$1\"";
    let mut command = display.command("sh");
    command.args(["-c", whole, "sh", script]).current_dir(folder).env("LC_ALL", "C.UTF-8");
    command.stdin(std::process::Stdio::null()).stdout(told).stderr(std::process::Stdio::null()).spawn().unwrap()
}

fn what_cannot_be_typed_is_named_and_nothing_is_typed() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    let before = keyboard(&display);
    for (text, character, index) in [
        ("fine\u{7}", '\u{7}', 4),
        ("a\r\n\rb", '\r', 3),
        ("äöü\u{fffe}", '\u{fffe}', 3),
        ("\u{1b}[2J", '\u{1b}', 0),
        ("x\u{0}", '\u{0}', 1),
        ("x\u{fdd0}", '\u{fdd0}', 1),
        ("x\u{85}", '\u{85}', 1),
    ] {
        let mut asked = 0;

        let fault = input
            .type_text(text, &mut |_| {
                asked += 1;
                true
            })
            .unwrap_err();

        let TypeFault::Cannot { character: named, index: place, why } = fault else { panic!("{fault:?}") };
        assert_eq!((named, place, asked), (character, index, 0));
        assert!(why.contains("no key"), "{why}");
    }
    assert_eq!(recorder.text().unwrap(), "");
    assert_eq!(keyboard(&display), before);
}

fn stopping_half_way_leaves_everything_as_it_was() {
    let (display, mut recorder, input) = desk("us,ru", &["--field", "--quiet"]);
    lock(&display, ModMask::LOCK, 1);
    let before = keyboard(&display);
    let text = "Aя中Ж日ü€".repeat(4000);
    for stop in [0, 1, 2, 3, 4, 50] {
        recorder.ask("clear").unwrap();

        let fault = input.type_text(&text, &mut |typed| typed < stop).unwrap_err();

        assert_eq!(fault, TypeFault::Stopped { typed: stop });
        assert_eq!(recorder.text().unwrap(), text.chars().take(stop).collect::<String>());
        assert_eq!(keyboard(&display), before);
        assert_eq!(input.held(), Held::default());
    }
}

fn text_is_not_typed_while_a_modifier_is_held() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    display.run("xdotool", &["keydown", "shift"]).unwrap();

    let fault = input.type_text("text", &mut on).unwrap_err();

    assert!(matches!(fault, TypeFault::Seat { typed: 0, .. }), "{fault:?}");
    display.run("xdotool", &["keyup", "shift"]).unwrap();
    arrives(&mut recorder, &*input, "text");
}

fn another_layout_in_the_middle_of_a_text_changes_nothing() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    let text = "yz \u{4e2d} ^@ Привет? zy\u{4e2d}\u{56fd}";
    let changes = [(4, "de"), (9, "us,ru"), (15, "fr")];

    let typed = input.type_text(text, &mut |typed| {
        for (_, layouts) in changes.iter().filter(|(at, _)| *at == typed) {
            display.layout(layouts).unwrap();
        }
        true
    });

    assert_eq!(typed, Ok(()));
    assert_eq!(recorder.text().unwrap(), text);
    drop(input);
    assert!(!keyboard(&display).0.contains("U4E2D"));
}

fn caps_lock_in_the_middle_of_a_text_ends_it() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);

    let fault = input.type_text("abcdef", &mut |typed| {
        if typed == 3 {
            lock(&display, ModMask::LOCK, 0);
        }
        true
    });

    let Err(TypeFault::Seat { typed: 3, fault: SeatFault::Other(why) }) = fault else { panic!("{fault:?}") };
    assert!(why.contains("Caps Lock"), "{why}");
    assert_eq!(recorder.text().unwrap(), "abc");
    assert_eq!(keyboard(&display).2, ModMask::LOCK);
}

fn a_keymap_without_free_places_names_what_it_cannot_give() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    let (server, _) = x11rb::connect(Some(display.name())).unwrap();
    let map = server.get_keyboard_mapping(8, 248).unwrap().reply().unwrap();
    let width = usize::from(map.keysyms_per_keycode);
    for (code, _) in
        (8..=255).zip(map.keysyms.chunks(width)).filter(|(_, symbols)| symbols.iter().all(|symbol| *symbol == 0))
    {
        server.change_keyboard_mapping(1, code, 1, &[0x1005_ff70]).unwrap().check().unwrap();
    }

    let fault = input.type_text("abcé", &mut on).unwrap_err();

    assert!(matches!(fault, TypeFault::Cannot { character: 'é', index: 3, .. }), "{fault:?}");
    let fault = input.key(&Key::Function(13), true).unwrap_err();
    assert_eq!(fault, SeatFault::Unsupported("the keyboard has no key F13".to_owned()));
    arrives(&mut recorder, &*input, "abc");
}

fn keys_that_must_be_held_for_long_are_not_raced() {
    let (display, mut recorder, input) = desk("us", &["--field", "--quiet"]);
    slow_keys(&display, true);

    let fault = input.type_text("text", &mut on).unwrap_err();

    let TypeFault::Seat { typed: 0, fault: SeatFault::Unsupported(why) } = fault else { panic!("{fault:?}") };
    assert!(why.contains("slow keys"), "{why}");
    slow_keys(&display, false);
    arrives(&mut recorder, &*input, "text");
}

fn slow_keys(display: &Display, on: bool) {
    let (server, _) = x11rb::connect(Some(display.name())).unwrap();
    server.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let (slow, set) = (BoolCtrl::SLOW_KEYS, Control::CONTROLS_ENABLED);
    let now = if on { slow } else { BoolCtrl::from(0u8) };
    let none = ModMask::from(0u16);
    let virtuals = VMod::from(0u16);
    let aid = AXOption::from(0u16);
    let off = BoolCtrl::from(0u8);
    server
        .xkb_set_controls(
            256, none, none, none, none, virtuals, virtuals, virtuals, virtuals, 1, 0, aid, slow, now, set, 500, 30,
            300, 300, 160, 40, 30, 30, 0, 120, off, off, aid, aid, &[255; 32],
        )
        .unwrap()
        .check()
        .unwrap();
}

fn a_display_that_goes_away_in_the_middle_is_told() {
    let (display, _recorder, input) = desk("us", &["--field", "--quiet"]);
    let mut display = Some(display);

    let fault = input.type_text("text \u{4e2d}", &mut |typed| {
        if typed == 3 {
            display.take();
        }
        true
    });

    let Err(TypeFault::Seat { typed: 3, fault: SeatFault::NoDisplay(_) }) = fault else { panic!("{fault:?}") };
    assert_eq!(input.held(), Held::default());
}

/// Presses a chord as callers do.
fn press(input: &dyn Input, chord: &str) {
    let chord = Chord::parse(chord).unwrap();
    for modifier in &chord.modifiers {
        input.modifier(*modifier, true).unwrap();
    }
    input.key(&chord.key, true).unwrap();
    input.key(&chord.key, false).unwrap();
    for modifier in chord.modifiers.iter().rev() {
        input.modifier(*modifier, false).unwrap();
    }
    assert_eq!(input.held(), Held::default());
}

/// The keys that went down since the last time, with the modifiers of the low byte and the group of the state.
fn keys(recorder: &mut Recorder) -> Vec<Value> {
    let events = recorder.ask("mark").unwrap();
    let keys = events.iter().filter(|event| event["event"] == "key");
    keys.map(|event| json!([event["name"], event["state"].as_u64().unwrap() & 0x60ff])).collect()
}

const SHIFT: u32 = 1;
const CTRL: u32 = 4;
const ALT: u32 = 8;
const SUPER: u32 = 64;

fn chords_arrive_as_programs_know_them() {
    let (display, mut recorder, input) = desk("us", &[]);
    let before = keyboard(&display);
    for (chord, arrived) in [
        ("ctrl+s", json!([["Control_L", 0], ["s", CTRL]])),
        ("ctrl+shift+t", json!([["Control_L", 0], ["Shift_L", CTRL], ["T", CTRL | SHIFT]])),
        ("alt+F5", json!([["Alt_L", 0], ["F5", ALT]])),
        ("super+x", json!([["Super_L", 0], ["x", SUPER]])),
        ("ctrl+plus", json!([["Control_L", 0], ["Shift_L", CTRL], ["plus", CTRL | SHIFT]])),
        ("ctrl+shift+plus", json!([["Control_L", 0], ["Shift_L", CTRL], ["plus", CTRL | SHIFT]])),
        ("?", json!([["Shift_L", 0], ["question", SHIFT]])),
        ("shift+tab", json!([["Shift_L", 0], ["ISO_Left_Tab", SHIFT]])),
        ("enter", json!([["Return", 0]])),
        ("pagedown", json!([["Page_Down", 0]])),
        ("delete", json!([["Delete", 0]])),
        ("space", json!([["space", 0]])),
        ("insert", json!([["Insert", 0]])),
        ("escape", json!([["Escape", 0]])),
    ] {
        press(&*input, chord);

        assert_eq!(json!(keys(&mut recorder)), arrived, "{chord}");
    }
    assert_eq!(keyboard(&display), before);

    lock(&display, ModMask::LOCK, 0);
    press(&*input, "ctrl+a");
    assert_eq!(json!(keys(&mut recorder))[1], json!(["a", CTRL]));
    assert_eq!(keyboard(&display).2, ModMask::LOCK);
    press(&*input, "capslock");
    assert_eq!(keyboard(&display), before);
}

fn a_chord_is_found_on_another_layout_than_the_one_that_is_set() {
    let (display, mut recorder, input) = desk("us,ru", &[]);
    lock(&display, ModMask::from(0u16), 1);
    let before = keyboard(&display);

    press(&*input, "ctrl+s");

    assert_eq!(json!(keys(&mut recorder)), json!([["Control_L", 0x2000], ["s", CTRL]]));
    assert_eq!(keyboard(&display), before);
    // On a French keyboard digits need Shift.
    lock(&display, ModMask::from(0u16), 0);
    display.layout("fr").unwrap();
    press(&*input, "ctrl+1");
    assert_eq!(json!(keys(&mut recorder)), json!([["Control_L", 0], ["Shift_L", CTRL], ["1", CTRL | SHIFT]]));
}

fn keys_that_no_layout_has_work_all_the_same() {
    let (display, mut recorder, input) = desk("us", &[]);
    let before = keyboard(&display);

    press(&*input, "f13");
    press(&*input, "ctrl+f24");

    let arrived = json!([["F13", 0], ["Control_L", 0], ["F24", CTRL]]);
    assert_eq!(json!(keys(&mut recorder)), arrived);
    drop(input);
    assert_eq!(keyboard(&display), before);
}
