//! The rules of the clipboard and pasting, against other programs on a display of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::{ManualClock, SessionId, WallMs};
use drawbridge_os::seat::Seat;
use drawbridge_os::seat::clipboard::KDE_MARK;
use drawbridge_testkit::display::Display;
use drawbridge_testkit::selection::{Format, Manner};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::computer::{Computer, ComputerSettings, Rules};

struct Rig {
    display: Display,
    clock: Arc<ManualClock>,
    inner: Arc<Inner>,
}

impl Rig {
    fn start() -> Self {
        let display = Display::start(640, 480).unwrap();
        let clock = Arc::new(ManualClock::starting_at(WallMs(0)));
        let settings = ComputerSettings { screenshots_per_minute: 10 };
        let inner = Computer::new(Seat::x11(display.name()), settings, clock.clone()).inner;
        Self { display, clock, inner }
    }

    /// With a window whose text field has the keyboard.
    fn with_field() -> (Self, drawbridge_testkit::display::Recorder) {
        let mut rig = Self::start();
        rig.display.manage_windows().unwrap();
        rig.display.layout("us").unwrap();
        let recorder = rig.display.record(&["--field"]).unwrap();
        (rig, recorder)
    }

    fn read(&self, rule: ClipboardRule) -> Result<String, OpError> {
        let outcome = read(&self.inner, &job(rule))?;
        let Outcome::Clipboard(text) = outcome else { panic!("{outcome:?}") };
        Ok(text)
    }

    fn write(&self, text: &str) {
        let outcome = write(&self.inner, text, &job(ClipboardRule::OwnText)).unwrap();
        assert!(matches!(outcome, Outcome::ClipboardWritten { size_bytes } if size_bytes == text.len() as u64));
    }

    fn paste(&self, text: &str, preserve: bool) -> Result<(), OpError> {
        let mut chord = || {
            self.display.run("xdotool", &["key", "ctrl+v"]).unwrap();
            Ok(())
        };
        paste(&self.inner, text, preserve, &job(ClipboardRule::OwnText), &mut chord)
    }

    fn copy(&self, text: &str) {
        self.display.copy(text.as_bytes()).unwrap();
    }

    /// What another program finds there.
    fn found(&self, target: &str) -> Option<Vec<u8>> {
        self.display.ask(target, None).unwrap().1.map(|format| format.bytes)
    }
}

fn job(clipboard: ClipboardRule) -> Job {
    Job {
        rules: Rules { clipboard, ..Rules::default() },
        session: None,
        max_bytes: 1_000_000,
        shown: None,
        cancel: CancellationToken::new(),
    }
}

fn concealed<T: std::fmt::Debug>(told: Result<T, OpError>) -> ClipboardReason {
    match told {
        Err(OpError::ClipboardConcealed { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// The reason in words of what cannot be done.
fn why<T: std::fmt::Debug>(told: Result<T, OpError>, wanted: &str) -> String {
    match told {
        Err(OpError::Unsupported { feature, why }) if feature == wanted => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn switched_off_it_is_not_even_opened() {
    let settings = ComputerSettings { screenshots_per_minute: 10 };
    let clock = Arc::new(ManualClock::starting_at(WallMs(0)));
    let inner = Computer::new(Seat::x11(":nothing"), settings, clock).inner;
    let off = job(ClipboardRule::Off);

    assert!(why(read(&inner, &off), READ).contains("switched off"));
    assert!(why(write(&inner, "text", &off), WRITE).contains("switched off"));
    assert!(why(paste(&inner, "text", true, &off, &mut || panic!("pressed")), WRITE).contains("switched off"));
    assert!(matches!(
        read(&inner, &job(ClipboardRule::Foreign)),
        Err(OpError::Unsupported { why, .. }) if why.contains("the display cannot be reached")
    ));
}

#[test]
fn what_one_chat_wrote_is_not_read_by_another() {
    let rig = Rig::start();
    let of = |chat: &str| Job { session: Some(SessionId::parse(chat).unwrap()), ..job(ClipboardRule::OwnText) };
    let read = |chat: &str| super::read(&rig.inner, &of(chat));

    write(&rig.inner, "for this chat alone", &of("chat-1")).unwrap();

    assert_eq!(concealed(read("chat-2")), ClipboardReason::WritebackOnly { age_seconds: None });
    assert!(matches!(read("chat-1"), Ok(Outcome::Clipboard(text)) if text == "for this chat alone"));
    write(&rig.inner, "for the other", &of("chat-2")).unwrap();
    assert_eq!(concealed(read("chat-1")), ClipboardReason::WritebackOnly { age_seconds: None });
}

#[test]
fn what_the_agent_wrote_is_read_back_for_half_a_minute() {
    let rig = Rig::start();
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), ClipboardReason::WritebackOnly { age_seconds: None });

    rig.write("Grüße 🙂");
    assert_eq!(rig.found("UTF8_STRING").unwrap(), "Grüße 🙂".as_bytes());
    assert_eq!(rig.read(ClipboardRule::OwnText).unwrap(), "Grüße 🙂");
    rig.clock.advance(Duration::from_secs(30));
    assert_eq!(rig.read(ClipboardRule::OwnText).unwrap(), "Grüße 🙂");
    rig.clock.advance(Duration::from_millis(500));

    let late = ClipboardReason::WritebackOnly { age_seconds: Some(30.5) };
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), late);
    // Its own mark for histories does not hide it from whoever may read all.
    assert_eq!(rig.read(ClipboardRule::Foreign).unwrap(), "Grüße 🙂");
    rig.write("again");
    assert_eq!(rig.read(ClipboardRule::OwnText).unwrap(), "again");
}

#[test]
fn text_of_others_is_not_asked_for_without_the_persons_switch() {
    let rig = Rig::start();
    let holder = rig.display.hold(&[Format::new("UTF8_STRING", "private")], Manner::Good).unwrap();
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), ClipboardReason::WritebackOnly { age_seconds: None });
    assert_eq!(holder.asked.try_iter().collect::<Vec<_>>(), ["TARGETS"]);
    assert_eq!(rig.read(ClipboardRule::Foreign).unwrap(), "private");

    rig.write("mine");
    rig.clock.advance(Duration::from_secs(4));
    // Also where the text is the same.
    rig.copy("mine");

    let overwritten = ClipboardReason::WritebackOverwritten { age_seconds: 4.0 };
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), overwritten);
    assert_eq!(rig.read(ClipboardRule::Foreign).unwrap(), "mine");
    rig.clock.advance(Duration::from_secs(27));
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), ClipboardReason::WritebackOnly { age_seconds: Some(31.0) });
}

#[test]
fn marked_secrets_are_refused_first_and_with_every_switch() {
    let rig = Rig::start();
    let formats = [Format::new("UTF8_STRING", "hunter2"), Format::new(KDE_MARK, "secret")];
    let holder = rig.display.hold(&formats, Manner::Good).unwrap();

    let marked = ClipboardReason::ConcealedType { marker: KDE_MARK };
    assert_eq!(concealed(rig.read(ClipboardRule::OwnText)), marked);
    assert_eq!(concealed(rig.read(ClipboardRule::Foreign)), marked);
    assert!(holder.asked.try_iter().all(|asked| asked == "TARGETS"));
}

#[test]
fn sizes_are_refused_before_anything_is_touched() {
    let rig = Rig::start();
    let small = Job { max_bytes: 10, ..job(ClipboardRule::Foreign) };
    let sizes = |told: Result<Outcome, OpError>| match told {
        Err(OpError::TooLarge { max_bytes, attempted_bytes, .. }) => (max_bytes, attempted_bytes),
        other => panic!("{other:?}"),
    };

    rig.copy("elf Zeichen");
    assert_eq!(sizes(read(&rig.inner, &small)), (10, 11));
    assert_eq!(sizes(write(&rig.inner, "ääääää", &small)), (10, 12));
    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"elf Zeichen");
    assert!(write(&rig.inner, "äääää", &small).is_ok());
}

#[test]
fn what_holds_no_text_or_does_not_answer_says_so() {
    let rig = Rig::start();
    assert!(why(rig.read(ClipboardRule::Foreign), READ).contains("empty"));
    let _image = rig.display.hold(&[Format::new("image/png", vec![1; 5_000])], Manner::Good).unwrap();
    assert!(why(rig.read(ClipboardRule::Foreign), READ).contains("image"));
    let _dying = rig.display.hold(&[Format::new("UTF8_STRING", "")], Manner::DiesAfter(1)).unwrap();
    assert!(why(rig.read(ClipboardRule::Foreign), READ).contains("went away"));
    let _silent = rig.display.hold(&[Format::new("UTF8_STRING", "x")], Manner::Silent).unwrap();
    assert!(why(rig.read(ClipboardRule::Foreign), READ).contains("did not answer"));

    let Rig { display, inner, .. } = rig;
    drop(display);
    // Whichever part of the seat notices it first.
    let unreachable =
        |told| matches!(told, Err(OpError::Unsupported { why, .. }) if why.contains("the display cannot be reached"));
    assert!(unreachable(write(&inner, "text", &job(ClipboardRule::OwnText))));
    assert!(unreachable(read(&inner, &job(ClipboardRule::Foreign))));
}

#[test]
fn a_cancelled_operation_leaves_the_clipboard_alone() {
    let rig = Rig::start();
    rig.copy("before");
    let cancelled = job(ClipboardRule::Foreign);
    cancelled.cancel.cancel();

    assert!(matches!(write(&rig.inner, "text", &cancelled), Err(OpError::Cancelled)));
    assert!(matches!(read(&rig.inner, &cancelled), Err(OpError::Cancelled)));
    let pasted = paste(&rig.inner, "text", false, &cancelled, &mut || panic!("pressed"));
    assert!(matches!(pasted, Err(OpError::Cancelled)));
    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"before");
}

#[test]
fn a_pasted_text_arrives_and_everything_that_was_there_comes_back() {
    let (rig, mut recorder) = Rig::with_field();
    let formats = [
        Format::new("UTF8_STRING", "hunter2"),
        Format::new("text/html", "<b>hunter2</b>"),
        Format::new("image/png", vec![9; 300_000]),
        Format::new(KDE_MARK, "secret"),
    ];
    let _holder = rig.display.hold(&formats, Manner::Good).unwrap();
    let text = "Grüße, naïve 🙂 Ж\n".repeat(20_000);

    rig.paste(&text, true).unwrap();

    assert!(recorder.text().unwrap() == text);
    for format in formats {
        assert_eq!(rig.found(&format.name).unwrap(), format.bytes, "{}", format.name);
    }
    // The mark came back with it, and the pasted text is not there to be read.
    assert!(matches!(concealed(rig.read(ClipboardRule::Foreign)), ClipboardReason::ConcealedType { .. }));
}

#[test]
fn the_agents_own_text_comes_back_as_its_own() {
    let (rig, mut recorder) = Rig::with_field();
    rig.write("note");
    rig.clock.advance(Duration::from_secs(3));

    rig.paste("pasted", true).unwrap();

    assert_eq!(recorder.text().unwrap(), "pasted");
    assert_eq!(rig.read(ClipboardRule::OwnText).unwrap(), "note");
    rig.clock.advance(Duration::from_secs(28));
    assert!(matches!(concealed(rig.read(ClipboardRule::OwnText)), ClipboardReason::WritebackOnly { .. }));
}

#[test]
fn without_the_wish_to_preserve_the_text_stays_there_as_written() {
    let (rig, mut recorder) = Rig::with_field();
    rig.copy("before");

    rig.paste("pasted", false).unwrap();

    assert_eq!(recorder.text().unwrap(), "pasted");
    assert_eq!(rig.read(ClipboardRule::OwnText).unwrap(), "pasted");
}

#[test]
fn what_the_person_copies_while_it_is_pasted_stays() {
    let (rig, mut recorder) = Rig::with_field();
    rig.copy("before");
    let mut chord = || {
        rig.display.run("xdotool", &["key", "ctrl+v"]).unwrap();
        // Answered once what came before is done.
        recorder.ask("mark").unwrap();
        rig.copy("copied meanwhile");
        Ok(())
    };

    paste(&rig.inner, "pasted", true, &job(ClipboardRule::OwnText), &mut chord).unwrap();

    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"copied meanwhile");
    assert!(matches!(concealed(rig.read(ClipboardRule::OwnText)), ClipboardReason::WritebackOverwritten { .. }));
}

#[test]
fn a_paste_that_nobody_takes_is_an_error_and_the_clipboard_is_as_before() {
    let (rig, mut recorder) = Rig::with_field();
    rig.copy("before");
    let job = job(ClipboardRule::OwnText);

    let untaken = paste(&rig.inner, "pasted", true, &job, &mut || Ok(()));
    assert!(why(untaken, "input.paste").contains("did not take"));
    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"before");
    let failed = paste(&rig.inner, "pasted", true, &job, &mut || Err(OpError::Internal("no keyboard".to_owned())));
    assert!(matches!(failed, Err(OpError::Internal(_))));
    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"before");
    let stopped = paste(&rig.inner, "pasted", true, &job, &mut || {
        job.cancel.cancel();
        Ok(())
    });
    assert!(matches!(stopped, Err(OpError::Cancelled)));
    assert_eq!(rig.found("UTF8_STRING").unwrap(), b"before");
    assert_eq!(recorder.text().unwrap(), "");
}

#[test]
fn what_cannot_be_put_back_is_not_overwritten() {
    let (rig, mut recorder) = Rig::with_field();
    let _holder = rig.display.hold(&[Format::new("UTF8_STRING", "x")], Manner::OnlyList).unwrap();

    assert!(why(rig.paste("pasted", true), "input.paste").contains("nothing was pasted"));

    assert_eq!(recorder.text().unwrap(), "");
    assert!(rig.found("TARGETS").is_some());
    let large = Format::new("image/bmp", vec![7; 65 * 1024 * 1024]);
    let _holder = rig.display.hold(&[large], Manner::Good).unwrap();
    assert!(why(rig.paste("pasted", true), "input.paste").contains("more than may be taken"));
    rig.paste("pasted", false).unwrap();
    assert_eq!(recorder.text().unwrap(), "pasted");
}

/// A terminal pastes by another chord than other programs, which is the caller's choice; everything else is the same.
#[test]
fn a_terminal_takes_a_paste_by_its_own_chord() {
    let mut rig = Rig::start();
    rig.display.manage_windows().unwrap();
    rig.display.layout("us").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("typed");
    rig.display.run("mkfifo", &[pipe.to_str().unwrap()]).unwrap();
    let paste_key = "XTerm*VT100.translations: #override Ctrl Shift <Key>V: insert-selection(CLIPBOARD)";
    let mut terminal = rig.display.command("xterm");
    // The pipe is opened once the program runs inside of the window.
    let line = format!("exec >{}; printf 'ready\\n'; head -n 1", pipe.display());
    let mut terminal = terminal.args(["-u8", "-xrm", paste_key, "-e", "sh", "-c", &line]).spawn().unwrap();
    let mut typed = std::io::BufReader::new(std::fs::File::open(&pipe).unwrap());
    let mut ready = [0; 6];
    typed.read_exact(&mut ready).unwrap();
    rig.display.windows_of("XTerm", &["windowfocus", "--sync"]).unwrap();
    let mut chord = || {
        rig.display.run("xdotool", &["key", "ctrl+shift+v"]).unwrap();
        Ok(())
    };

    paste(&rig.inner, "Grüße aus der Zeile\n", false, &job(ClipboardRule::OwnText), &mut chord).unwrap();
    rig.display.run("xdotool", &["key", "Return"]).unwrap();

    let mut line = String::new();
    typed.read_to_string(&mut line).unwrap();
    assert_eq!(line, "Grüße aus der Zeile\n");
    terminal.wait().unwrap();
}
