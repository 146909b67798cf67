//! The clipboard of a Wayland compositor, against other programs. One test starts a compositor without a screen and runs the
//! others inside of it, since the compositor is found by the environment alone.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Child, Command, Stdio};

use drawbridge_os::seat::clipboard::{Clipboard, KDE_MARK, Kept, PutBack, open};
use drawbridge_os::seat::{Seat, SeatFault, SeatKind};
use wl_clipboard_rs::copy::{MimeSource, MimeType, Options, Source};

const ROOM: u64 = 64 * 1024 * 1024;
/// The one who may do nothing, for a compositor that does not run as root.
const NOBODY: u32 = 65_534;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_clipboard_of_a_compositor_is_used_without_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    std::fs::write(&config, "xwayland disable\nexec echo \"display $WAYLAND_DISPLAY\"\n").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let root = rustix::process::getuid().is_root();
    let mut sway = Command::new(if root { "setpriv" } else { "sway" });
    if root {
        for path in [folder.path(), &config] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        sway.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups", "sway"]);
    }
    sway.arg("-c")
        .arg(&config)
        .env("XDG_RUNTIME_DIR", folder.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    sway.envs([("WLR_BACKENDS", "headless"), ("WLR_RENDERER", "pixman"), ("WLR_LIBINPUT_NO_DEVICES", "1")]);
    let mut sway = Ended(sway.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let told = BufReader::new(sway.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let display = told.filter_map(|line| line.strip_prefix("display ").map(ToOwned::to_owned)).next();

    let mut inside = Command::new(std::env::current_exe().unwrap());
    inside.args(["--ignored", "--test-threads=1"]).env("XDG_RUNTIME_DIR", folder.path());
    let inside = inside.env("WAYLAND_DISPLAY", display.expect("sway does not start")).output().unwrap();

    let told = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && told.contains("5 passed"), "{told}{}", String::from_utf8_lossy(&inside.stderr));
}

#[test]
fn a_session_without_a_compositor_says_so() {
    let mut without = Command::new(std::env::current_exe().unwrap());
    without.args(["--ignored", "--exact", "what_holds_no_text_says_so"]).env_remove("WAYLAND_DISPLAY");
    let without = without.env("XDG_RUNTIME_DIR", "/nowhere").output().unwrap();

    let told = String::from_utf8_lossy(&without.stdout).into_owned() + &String::from_utf8_lossy(&without.stderr);
    assert!(told.contains("NoDisplay"), "{told}");
}

fn clipboard() -> Box<dyn Clipboard> {
    open(&Seat { kind: SeatKind::Wayland, display: None }).unwrap()
}

fn wl_paste(kind: &str) -> Option<Vec<u8>> {
    let out = Command::new("wl-paste").args(["--no-newline", "--type", kind]).output().unwrap();
    out.status.success().then_some(out.stdout)
}

fn wl_copy(text: &str) {
    // Ends once the compositor has taken it, and leaves a child behind.
    let mut copy =
        Command::new("wl-copy").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    copy.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(copy.wait().unwrap().success());
}

/// Holds several formats, as another program does.
fn hold(formats: &[(&str, &[u8])]) {
    let mut options = Options::new();
    options.omit_additional_text_mime_types(true);
    let sources = formats.iter().map(|(name, bytes)| MimeSource {
        source: Source::Bytes((*bytes).into()),
        mime_type: MimeType::Specific((*name).to_owned()),
    });
    let clipboard = clipboard();
    wl_copy("to be replaced");
    options.copy_multi(sources.collect()).unwrap();
    // The library does not wait for the compositor.
    while clipboard.look().unwrap().formats.len() != formats.len() {
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "runs inside of a compositor that another test starts"]
fn what_is_written_is_read_by_another_program_and_told_from_that_of_others() {
    let clipboard = clipboard();

    clipboard.write_text("Grüße 🙂\r\n").unwrap();
    let ours = clipboard.read_text(ROOM).unwrap();
    assert_eq!(wl_paste("text/plain;charset=utf-8").unwrap(), "Grüße 🙂\r\n".as_bytes());
    assert_eq!(wl_paste(KDE_MARK).unwrap(), b"secret");
    wl_copy("Grüße 🙂\r\n");
    let theirs = clipboard.read_text(ROOM).unwrap();

    assert_eq!(ours.text, theirs.text);
    assert_eq!((ours.look.ours, ours.look.concealed, theirs.look.ours), (true, None, false));
    assert!(ours.look.formats.iter().all(|format| !format.contains("drawbridge")));
}

#[test]
#[ignore = "runs inside of a compositor that another test starts"]
fn everything_comes_back_unless_somebody_copied_meanwhile() {
    let clipboard = clipboard();
    let picture = vec![9; 700_000];
    let formats: [(&str, &[u8]); 4] =
        [("text/plain", b"hunter2"), ("text/html", b"<b>"), ("image/png", &picture), (KDE_MARK, b"secret")];
    hold(&formats);

    let kept = clipboard.keep(ROOM).unwrap();
    assert!(matches!(clipboard.keep(700_000), Err(SeatFault::TooLarge(_))));
    clipboard.write_text("ours").unwrap();
    assert_eq!(clipboard.put_back(&kept, None).unwrap(), PutBack::Done { counter: None });
    for (name, bytes) in formats {
        assert!(wl_paste(name).unwrap() == bytes, "{name}");
    }
    let found = clipboard.read_text(ROOM).unwrap();
    assert_eq!((found.look.concealed, found.look.ours, found.text), (Some(KDE_MARK), false, None));

    clipboard.write_text("ours").unwrap();
    wl_copy("meanwhile");
    assert_eq!(clipboard.put_back(&kept, None).unwrap(), PutBack::Changed);
    assert_eq!(wl_paste("text/plain").unwrap(), b"meanwhile");
    clipboard.write_text("ours").unwrap();
    assert_eq!(clipboard.put_back(&Kept::default(), None).unwrap(), PutBack::Done { counter: None });
    assert_eq!(wl_paste("text/plain"), None);
}

#[test]
#[ignore = "runs inside of a compositor that another test starts"]
fn large_texts_travel_both_ways_within_their_limit() {
    let clipboard = clipboard();
    let large = "0123456789abcde\n".repeat(512 * 1024);

    clipboard.write_text(&large).unwrap();
    assert!(wl_paste("text/plain").unwrap() == large.as_bytes());
    wl_copy(&large);
    assert!(clipboard.read_text(ROOM).unwrap().text.unwrap() == large);
    assert!(matches!(clipboard.read_text(1_000_000), Err(SeatFault::TooLarge(seen)) if seen > 1_000_000));
}

#[test]
#[ignore = "runs inside of a compositor that another test starts"]
fn a_holder_that_stands_still_ends_in_no_answer() {
    let clipboard = clipboard();
    wl_copy("before");
    let mut copy = Command::new("wl-copy").args(["--foreground", "never"]).stdin(Stdio::null()).spawn().unwrap();
    // Until it holds the clipboard.
    while wl_paste("text/plain").unwrap_or_default() != b"never" {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&copy);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();

    assert!(clipboard.look().unwrap().has_text);
    assert_eq!(clipboard.read_text(ROOM).map(|_| ()), Err(SeatFault::NoAnswer("the program that holds the clipboard")));
    copy.kill().unwrap();
    copy.wait().unwrap();
    clipboard.write_text("it still works").unwrap();
    assert_eq!(wl_paste("text/plain").unwrap(), b"it still works");
}

#[test]
#[ignore = "runs inside of a compositor that another test starts"]
fn what_holds_no_text_says_so() {
    hold(&[("image/png", &[1, 2, 3])]);

    let found = clipboard().read_text(ROOM).unwrap();

    assert_eq!((found.look.formats, found.look.has_text, found.text), (vec!["image/png".to_owned()], false, None));
}
