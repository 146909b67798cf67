//! What is held is let go, whatever happens to the program that holds it: killed, stopped, dropped, its watchdog killed, or its
//! display gone. Has its own `main`, as `pointer.rs` says; it also starts itself as the program that dies.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test with a main of its own")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use drawbridge_core::computer::{Button, Modifier, Point};
use drawbridge_os::helper;
use drawbridge_os::seat::input::{self, Held, Input};
use drawbridge_os::seat::{Seat, SeatFault};
use drawbridge_testkit::display::{Display, Recorder};
use drawbridge_testkit::scenarios;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use x11rb::connection::Connection as _;
use x11rb::protocol::xkb::ConnectionExt as _;
use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};

scenarios! {
    first: start_as_something_else;
    what_a_killed_program_held_is_released_and_its_watchdog_ends,
    a_group_that_is_ended_as_a_whole_leaves_nothing_held,
    what_a_killed_program_changed_of_the_keyboard_is_put_back,
    nothing_is_pressed_without_a_watchdog,
    there_is_no_helper_before_the_first_press_and_only_one_after_it,
    a_killed_watchdog_is_replaced_at_the_next_press,
    what_is_held_for_too_long_is_let_go,
    dropping_releases_what_is_held_and_ends_the_watchdog,
    a_lost_display_is_told_and_holds_nobody_up,
}

/// The program that dies: `held DISPLAY` holds Shift and the left button, `types DISPLAY` is in the middle of a text. Both say so
/// and then wait for their end.
fn start_as_something_else() -> Option<ExitCode> {
    if let Some(code) = helper::run_if_asked() {
        return Some(code);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["held", display] => holds(display),
        ["types", display] => types(display),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

fn say_and_wait() {
    let mut output = std::io::stdout();
    writeln!(output, "now").unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn holds(display: &str) {
    let input = input::open(&Seat::x11(display)).unwrap();
    input.move_to(Point::new(150, 160)).unwrap();
    input.button(Button::Left, true).unwrap();
    input.modifier(Modifier::Shift, true).unwrap();
    say_and_wait();
}

fn types(display: &str) {
    let input = input::open(&Seat::x11(display)).unwrap();
    let _ = input.type_text("Жab😀c", &mut |typed| {
        if typed == 4 {
            say_and_wait();
        }
        true
    });
}

/// A program that runs until it is killed.
struct Victim(Child);

impl Victim {
    /// Starts it in a group of its own and waits until it has done its part.
    fn start(task: &str, display: &Display) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([task, display.name()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        assert_eq!(said, "now");
        Self(child)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn die(mut self, how: impl FnOnce(Pid)) {
        how(self.pid());
        self.0.wait().unwrap();
    }
}

/// The processes that a process has started to watch over what it holds.
fn watchdogs(parent: u32) -> Vec<Pid> {
    let parent = parent.to_string();
    let stat = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_parent = pids.filter(|pid| {
        let stat = stat(*pid);
        stat.contains("(drawbridge-keys)")
            && stat.split(' ').nth(3) == Some(&parent)
            && stat.split(' ').nth(2) != Some("Z")
    });
    of_parent.filter_map(Pid::from_raw).collect()
}

/// Waits for the end of a process that need not be our child.
fn ended(pid: Pid) {
    let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
    rustix::event::poll(&mut [PollFd::new(&process.as_fd(), PollFlags::IN)], None).unwrap();
}

/// What is down on a display: modifiers and buttons, and how many keys.
fn down(display: &Display) -> (u16, u32) {
    let (x, screen) = x11rb::connect(Some(display.name())).unwrap();
    let root = x.setup().roots[screen].root;
    let mask = x.query_pointer(root).unwrap().reply().unwrap().mask;
    let keys = x.query_keymap().unwrap().reply().unwrap().keys;
    (u16::from(mask), keys.iter().map(|byte| byte.count_ones()).sum())
}

/// The keyboard as a program sees it: its map, and what is locked.
fn keyboard(display: &Display) -> (Vec<u32>, u8, u16) {
    let (x, _) = x11rb::connect(Some(display.name())).unwrap();
    x.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let map = x.get_keyboard_mapping(8, 248).unwrap().reply().unwrap();
    // How many symbols a key has at most changes with what was lent; empty ones mean nothing.
    let width = usize::from(map.keysyms_per_keycode);
    let first_four = map.keysyms.chunks(width).flat_map(|key| (0..4).map(|level| key.get(level).copied().unwrap_or(0)));
    let state = x.xkb_get_state(256).unwrap().reply().unwrap();
    (first_four.collect(), u8::from(state.locked_group), u16::from(state.locked_mods))
}

fn desk() -> (Display, Recorder) {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    display.layout("us").unwrap();
    let recorder = display.record(&["--at", "100,100", "--plain"]).unwrap();
    (display, recorder)
}

fn open(display: &Display) -> Box<dyn Input> {
    input::open(&Seat::x11(display.name())).unwrap()
}

fn shift_and_left() -> u16 {
    u16::from(KeyButMask::SHIFT | KeyButMask::BUTTON1)
}

fn what_a_killed_program_held_is_released_and_its_watchdog_ends() {
    let (display, mut recorder) = desk();
    let victim = Victim::start("held", &display);
    let watchdog = watchdogs(victim.0.id())[0];
    assert_eq!(down(&display).0, shift_and_left());

    victim.die(|pid| rustix::process::kill_process(pid, Signal::KILL).unwrap());

    recorder.until(|event| event["event"] == "button_up").unwrap();
    recorder.until(|event| event["event"] == "key_up" && event["name"] == "Shift_L").unwrap();
    ended(watchdog);
    assert_eq!(down(&display), (0, 0));
}

fn a_group_that_is_ended_as_a_whole_leaves_nothing_held() {
    let (display, _recorder) = desk();
    let victim = Victim::start("held", &display);
    let watchdog = watchdogs(victim.0.id())[0];

    // What asks programs to end asks the watchdog, too, which has to come last.
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        rustix::process::kill_process(watchdog, signal).unwrap();
    }
    assert_eq!(down(&display).0, shift_and_left());
    victim.die(|pid| rustix::process::kill_process_group(pid, Signal::KILL).unwrap());

    ended(watchdog);
    assert_eq!(down(&display), (0, 0));
}

fn what_a_killed_program_changed_of_the_keyboard_is_put_back() {
    let (display, _recorder) = desk();
    display.layout("us,ru").unwrap();
    display.run("xdotool", &["key", "Caps_Lock"]).unwrap();
    let before = keyboard(&display);
    assert_eq!(before.2, 2, "Caps Lock is on");
    let victim = Victim::start("types", &display);
    let watchdog = watchdogs(victim.0.id())[0];
    assert_ne!(keyboard(&display), before);

    victim.die(|pid| rustix::process::kill_process(pid, Signal::KILL).unwrap());

    ended(watchdog);
    assert_eq!(keyboard(&display), before);
    assert_eq!(down(&display).1, 0);
}

fn nothing_is_pressed_without_a_watchdog() {
    let (display, _recorder) = desk();
    let input = open(&display);
    // No pipe can be made any more.
    let limits = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(3), maximum: limits.maximum }).unwrap();

    let refused = [input.button(Button::Left, true), input.modifier(Modifier::Shift, true)];

    rustix::process::setrlimit(Resource::Nofile, limits).unwrap();
    for refused in refused {
        let Err(SeatFault::Other(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("so none are pressed"), "{why}");
    }
    assert_eq!((input.held(), down(&display)), (Held::default(), (0, 0)));
    input.button(Button::Left, true).unwrap();
    assert_eq!(down(&display).0, u16::from(KeyButMask::BUTTON1));
}

fn there_is_no_helper_before_the_first_press_and_only_one_after_it() {
    let (display, _recorder) = desk();
    let input = open(&display);
    input.move_to(Point::new(150, 160)).unwrap();
    assert_eq!(watchdogs(std::process::id()), []);

    input.button(Button::Left, true).unwrap();
    input.modifier(Modifier::Ctrl, true).unwrap();
    input.release_all().unwrap();
    input.type_text("Hi", &mut |_| true).unwrap();

    assert_eq!(watchdogs(std::process::id()).len(), 1);
}

fn a_killed_watchdog_is_replaced_at_the_next_press() {
    let (display, _recorder) = desk();
    let input = open(&display);
    input.button(Button::Left, true).unwrap();
    let first = watchdogs(std::process::id())[0];

    rustix::process::kill_process(first, Signal::KILL).unwrap();
    ended(first);
    input.modifier(Modifier::Shift, true).unwrap();

    let second = watchdogs(std::process::id());
    assert!(second.len() == 1 && second[0] != first);
    assert_eq!(down(&display).0, shift_and_left());
}

fn what_is_held_for_too_long_is_let_go() {
    let (display, mut recorder) = desk();
    let longest = Duration::from_millis(200);
    let input = input::open_with(&Seat::x11(display.name()), longest).unwrap();
    input.move_to(Point::new(150, 160)).unwrap();
    let began = Instant::now();

    input.button(Button::Left, true).unwrap();
    input.modifier(Modifier::Ctrl, true).unwrap();

    // In whatever order: both may be over at the same look.
    let (mut button, mut key) = (false, false);
    while !(button && key) {
        let event = recorder.next_event().unwrap();
        button |= event["event"] == "button_up";
        key |= event["event"] == "key_up" && event["name"] == "Control_L";
    }
    assert!(began.elapsed() >= longest);
    assert_eq!(input.held(), Held::default());
    // It counts from the press: what is pressed now has its own time.
    input.button(Button::Left, true).unwrap();
    assert_eq!(input.held().buttons, [Button::Left]);
    recorder.until(|event| event["event"] == "button_up").unwrap();
}

fn dropping_releases_what_is_held_and_ends_the_watchdog() {
    let (display, _recorder) = desk();
    let input = open(&display);
    input.button(Button::Right, true).unwrap();
    input.modifier(Modifier::Alt, true).unwrap();
    let watchdog = watchdogs(std::process::id())[0];

    drop(input);

    assert_eq!(down(&display), (0, 0));
    ended(watchdog);
    while !watchdogs(std::process::id()).is_empty() {
        std::thread::yield_now();
    }
}

fn a_lost_display_is_told_and_holds_nobody_up() {
    let (mut display, _recorder) = desk();
    let input = open(&display);
    input.button(Button::Left, true).unwrap();
    let watchdog = watchdogs(std::process::id())[0];

    display.lose().unwrap();

    let lost = |done: Result<(), SeatFault>| matches!(done, Err(SeatFault::NoDisplay(_)));
    assert!(lost(input.move_to(Point::new(1, 1))) && lost(input.modifier(Modifier::Shift, true)));
    drop(input);
    ended(watchdog);
}
