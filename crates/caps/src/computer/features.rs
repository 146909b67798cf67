//! What this seat can do, found by trying and never assumed (spec 10.1).
//!
//! The peer's user consented to the lists, so they stay as they are until somebody asks to look again: what is lost for a moment
//! gives an error at use and no shorter list. A display server that hangs keeps nobody waiting: then the parts that have not
//! answered by then count as missing.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use drawbridge_os::seat::{SeatFault, SeatKind};

use super::seats::Seats;
use super::space::Space;
use super::windows::UNMANAGED;
use super::{ClipboardRule, Inner};

/// How long all trials may take together.
const LIMIT: Duration = Duration::from_millis(300);

/// Feature lists for HELLO, in an order that does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// Fine features.
    pub fine: Vec<&'static str>,
    /// Coarse buckets; one is there only when all of its tools work.
    pub coarse: Vec<&'static str>,
    /// Size of the primary display in wire units.
    pub screen_resolution: Option<(u32, u32)>,
    /// Why what is missing is missing: feature or bucket and reason, for the check-up and for errors.
    pub missing: Vec<(&'static str, String)>,
}

/// A part of the seat, as features need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Screen,
    Input,
    /// Windows can be seen, so that protected ones can be told.
    Sight,
    /// Windows can be listed and given the keyboard.
    Windows,
    Apps,
    Clipboard,
}

const PARTS: [Part; 6] = [Part::Screen, Part::Input, Part::Sight, Part::Windows, Part::Apps, Part::Clipboard];

/// Every fine feature in the order of HELLO, with the parts that it needs. Pictures and input need to see whose windows are there.
const FINE: [(&str, &[Part]); 20] = [
    ("screenshot.capture", &[Part::Screen, Part::Sight]),
    ("screenshot.region", &[Part::Screen, Part::Sight]),
    ("screenshot.window", &[Part::Screen, Part::Sight, Part::Windows]),
    ("input.click", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.click.modifiers", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.click.button", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.drag.path", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.key.hold", &[Part::Input, Part::Sight]),
    ("input.mouse.down_up", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.scroll.amount", &[Part::Input, Part::Sight, Part::Screen]),
    ("input.wait", &[]),
    ("cursor.position", &[Part::Screen]),
    ("display.info", &[Part::Screen]),
    ("window.list", &[Part::Screen, Part::Windows]),
    ("window.focus", &[Part::Windows]),
    ("app.list", &[Part::Apps]),
    ("app.launch", &[Part::Apps]),
    ("clipboard.read", &[Part::Clipboard]),
    ("clipboard.write", &[Part::Clipboard]),
    ("permissions.check", &[]),
];

/// Every coarse bucket in the order of HELLO, with the parts that all of its tools need.
const COARSE: [(&str, &[Part]); 6] = [
    ("screenshot", &[Part::Screen, Part::Sight]),
    ("input", &[Part::Input, Part::Sight, Part::Screen]),
    ("windows", &[Part::Screen, Part::Windows]),
    ("apps", &[Part::Apps]),
    ("clipboard", &[Part::Clipboard]),
    ("permissions", &[]),
];

/// What each part said when it was tried, in the order of [`PARTS`].
#[derive(Debug, Clone, Default)]
struct Trials {
    parts: Vec<(Part, Result<(), String>)>,
    screen_resolution: Option<(u32, u32)>,
}

/// What was found, until somebody asks to look again.
#[derive(Debug, Default)]
pub(super) struct Probed(Mutex<Option<(ClipboardRule, Features)>>);

impl Probed {
    /// Forgets what was found.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns what was found before, or tries now. Blocks, at most 300 ms.
    pub(super) fn get(&self, inner: &Arc<Inner>, clipboard: ClipboardRule) -> Features {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((rule, features)) = &*found
            && (*rule == ClipboardRule::Off) == (clipboard == ClipboardRule::Off)
        {
            return features.clone();
        }
        let trials = tried(inner, clipboard, LIMIT);
        let features = listed(inner.seats.seat().kind, &trials);
        // What was too slow today may answer next time.
        if trials.parts.len() == PARTS.len() {
            *found = Some((clipboard, features.clone()));
        }
        features
    }
}

/// Why a kind of session can do nothing of this.
const fn nothing_at_all(kind: SeatKind) -> Option<&'static str> {
    match kind {
        SeatKind::Wsl => Some(
            "Linux inside Windows has no screen of its own that could be used; start Drawbridge in Windows instead",
        ),
        SeatKind::None => {
            Some("no display is there; start Drawbridge inside a desktop session, or set DISPLAY to its X server")
        }
        SeatKind::X11 | SeatKind::Wayland | SeatKind::MacOs | SeatKind::Windows => None,
    }
}

/// Tries the parts on a thread of its own and takes what has answered in time.
fn tried(inner: &Arc<Inner>, clipboard: ClipboardRule, limit: Duration) -> Trials {
    let mut trials = Trials::default();
    if nothing_at_all(inner.seats.seat().kind).is_some() {
        return trials;
    }
    let (told, answers) = mpsc::channel();
    let deadline = Instant::now() + limit;
    // Each on its own, since each has a connection of its own that can hang.
    for part in PARTS {
        let (inner, told) = (inner.clone(), told.clone());
        let tried = std::thread::Builder::new().name("seat-trial".to_owned()).spawn(move || {
            let mut size = None;
            let result = attempt(&inner.seats, part, clipboard, &mut size);
            let _ = told.send((part, result, size));
        });
        if tried.is_err() {
            tracing::debug!(?part, "the system starts no thread for a trial");
        }
    }
    drop(told);
    while let Ok((part, result, size)) = answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        trials.screen_resolution = trials.screen_resolution.or(size);
        trials.parts.push((part, result));
    }
    trials
}

fn attempt(seats: &Seats, part: Part, clipboard: ClipboardRule, size: &mut Option<(u32, u32)>) -> Result<(), String> {
    let told = |fault: SeatFault| words(seats.seat().kind, part, &fault);
    match part {
        Part::Screen => {
            let space = Space::of(seats.screen().and_then(|screen| screen.monitors()).map_err(told)?);
            let first = space.displays().first().ok_or("no display is switched on; switch one on")?;
            *size = Some((first.rect.width(), first.rect.height()));
            Ok(())
        }
        Part::Input => seats.input().map(drop).map_err(told),
        Part::Sight => seats.windows().and_then(|windows| windows.mark()).map(drop).map_err(told),
        Part::Windows => match seats.windows().map_err(told)?.managed() {
            true => Ok(()),
            false => Err(UNMANAGED.to_owned()),
        },
        Part::Apps => seats.apps().map(drop).map_err(told),
        Part::Clipboard if clipboard == ClipboardRule::Off => {
            Err("the clipboard is switched off; the person can switch it on for agents".to_owned())
        }
        Part::Clipboard => seats.clipboard().map(drop).map_err(told),
    }
}

/// A fault in the words of the person, with what to do about it.
fn words(kind: SeatKind, part: Part, fault: &SeatFault) -> String {
    let wayland = kind == SeatKind::Wayland && matches!(part, Part::Screen | Part::Input | Part::Sight | Part::Windows);
    if wayland {
        return "a Wayland session keeps screen and input from programs; log in to an X11 session to let an agent use them"
            .to_owned();
    }
    match fault {
        SeatFault::Permission { permission, hint } => format!("the permission {permission} is missing; {hint}"),
        SeatFault::NoDisplay(_) => format!("{fault}; see whether the desktop session is still there"),
        SeatFault::Unsupported(_)
        | SeatFault::Gone
        | SeatFault::NoAnswer(_)
        | SeatFault::TooLarge(_)
        | SeatFault::Other(_) => fault.to_string(),
    }
}

/// Puts the lists together.
fn listed(kind: SeatKind, trials: &Trials) -> Features {
    if let Some(why) = nothing_at_all(kind) {
        let missing = FINE.iter().chain(&COARSE).map(|(name, _)| (*name, why.to_owned())).collect();
        return Features { missing, ..Features::default() };
    }
    let why = |needs: &[Part]| needs.iter().find_map(|need| trials.why(*need));
    let mut features = Features { screen_resolution: trials.screen_resolution, ..Features::default() };
    for (name, needs) in FINE {
        match why(needs) {
            None => features.fine.push(name),
            Some(why) => features.missing.push((name, why)),
        }
    }
    for (name, needs) in COARSE {
        match why(needs) {
            None => features.coarse.push(name),
            Some(why) => features.missing.push((name, why)),
        }
    }
    features
}

impl Trials {
    /// Why a part does not work; none when it does.
    fn why(&self, part: Part) -> Option<String> {
        match self.parts.iter().find(|(tried, _)| *tried == part) {
            Some((_, result)) => result.clone().err(),
            None => Some("the display did not answer in time; look again once it does".to_owned()),
        }
    }
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
