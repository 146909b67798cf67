//! Whose window it is, and whether the agent may see or touch it.
//!
//! Password managers, Drawbridge's own windows, questions of the system for secrets and lock screens never; terminals only where
//! commands run freely, though they may be seen; and what the person listed. Where the person lists which apps may be used, a
//! window that does not tell whose it is is none of them, and the bare desktop neither.
//!
//! What was seen holds until the system says that a window came, went or moved, or that the keyboard went elsewhere, and half a
//! second at most: so the question before each character is one short one.

mod kinds;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::computer::{Point, Rect};
use drawbridge_core::{OpError, escape_outside_text, shorten_middle};
use drawbridge_os::seat::app::{Installed, user_can_change};
use drawbridge_os::seat::presence;
use drawbridge_os::seat::window::{Owner, SeatWindow, WindowHandle, Windows};

use kinds::Kind;
pub(super) use kinds::is_named;

use super::{Inner, Job, Rules, faults};

/// What was seen holds at most so long: a window can change its names without telling anybody.
const HOLDS: Duration = Duration::from_millis(500);

/// So often it is looked again when something changed meanwhile. Where windows never rest the last look counts.
const LOOKS: usize = 4;

/// The features that are named when windows cannot be seen, without which nothing can be protected.
const INPUT: &str = "input";
const PICTURE: &str = "screenshot.capture";

/// The longest name of an app in an error.
const MAX_NAME_CHARS: usize = 80;

/// A piece of a picture, in the order of painting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layer {
    /// Where, in wire units.
    pub(super) rect: Rect,
    /// The agent may see it.
    pub(super) shown: bool,
}

/// An app with everything by which it can be protected.
#[derive(Debug, Clone)]
pub(super) struct App {
    /// In small letters.
    names: Vec<String>,
    /// The file that gave the last of the names, if a file did.
    named_by: Option<PathBuf>,
    kind: Option<Kind>,
    /// Safe to show.
    shown: String,
}

/// A window with the app that it belongs to.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The window.
    pub(super) window: SeatWindow,
    /// The app, as far as it counts for protection.
    pub(super) app: App,
    /// The app, if it is an installed one.
    pub(super) installed: Option<Installed>,
}

/// Everything that was seen at one moment.
#[derive(Debug)]
struct Seen {
    mark: u64,
    at: Instant,
    windows: Vec<Known>,
    keyboard: Vec<Known>,
}

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Sight(Mutex<Option<Arc<Seen>>>);

impl App {
    /// Finds out what protects an app.
    pub(super) fn of(owner: &Owner, installed: Option<&Installed>) -> Self {
        let names = kinds::names(owner, installed.map(|app| &*app.id));
        let own = owner.pid == Some(std::process::id())
            || owner.program.is_some() && owner.program == std::env::current_exe().ok();
        let kind = if own { Some(Kind::Own) } else { kinds::of_names(&names) };
        let program = owner.program.as_deref().and_then(|path| path.file_stem()?.to_str());
        let shown = installed.map(|app| &*app.name).or(Some(&*owner.class)).filter(|name| !name.is_empty());
        let shown = shown.or(program).unwrap_or("a window that does not tell whose it is");
        let named_by = installed.and_then(|app| app.file.clone());
        Self { names, named_by, kind, shown: escape_outside_text(&shorten_middle(shown, MAX_NAME_CHARS)) }
    }

    /// Refuses an app that may not be seen.
    pub(super) fn may_see(&self, rules: &Rules) -> Result<(), OpError> {
        let refused =
            |reason, why: &str| Err(OpError::ProtectedApp { app: self.shown.clone(), reason, why: why.to_owned() });
        match self.kind {
            Some(Kind::Own) => {
                return refused("drawbridge", "no agent may see or use Drawbridge itself; the person has to do that");
            }
            Some(Kind::Passwords) => {
                return refused(
                    "password_manager",
                    "it keeps passwords, so no agent may see or use it; the person has to do that themselves",
                );
            }
            Some(Kind::Prompt) => {
                return refused(
                    "password_manager",
                    "the system asks the person for a secret there; it goes on once they have answered",
                );
            }
            Some(Kind::Lock) => return refused("lock_screen", "the screen is locked; the person has to unlock it"),
            Some(Kind::Terminal | Kind::Starter) | None => {}
        }
        if kinds::is_listed(&self.names, &rules.never_apps) {
            return refused("excluded", "the person keeps it from agents; they can change that in the settings");
        }
        match &rules.only_apps {
            Some(only) if !kinds::is_listed(self.sure_names(), only) => refused(
                "not_listed",
                "the person allows certain apps alone and this is none of them; they can add it in the settings",
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses an app that may not be clicked or typed into.
    pub(super) fn may_use(&self, rules: &Rules) -> Result<(), OpError> {
        self.may_see(rules)?;
        if matches!(self.kind, Some(Kind::Terminal | Kind::Starter)) && !rules.terminals {
            return Err(OpError::ProtectedApp {
                app: self.shown.clone(),
                reason: "terminal",
                why: "what is typed into a terminal runs as a command; it may be used once the person allows commands \
                      without a question and with full access"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// Its names without one that whoever may write to the person's folders could have given it.
    fn sure_names(&self) -> &[String] {
        match &self.named_by {
            Some(file) if user_can_change(file) => self.names.split_last().map_or(&[], |(_, rest)| rest),
            Some(_) | None => &self.names,
        }
    }

    /// Tells whether one of its names is this one.
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.iter().any(|known| is_named(known, name))
    }

    /// Returns its name, safe to show.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Finds the app of a window.
pub(super) fn known(inner: &Inner, window: SeatWindow) -> Known {
    let installed = inner.seats.apps().ok().and_then(|apps| apps.of_window(&window.owner));
    Known { app: App::of(&window.owner, installed.as_ref()), installed, window }
}

/// Refuses everything while the screen is locked. `feature` names the operation in a fault of the display.
pub(super) fn unlocked(inner: &Inner, feature: &str) -> Result<(), OpError> {
    if presence::locked(inner.seats.seat()) {
        return Err(locked(inner));
    }
    match inner.seats.windows() {
        Ok(windows) => no_lock(inner, &*seen(inner, &*windows, feature)?),
        // Where windows cannot be seen, the services have said all that can be known.
        Err(_) => Ok(()),
    }
}

/// Refuses to touch a point whose frontmost window is protected.
pub(super) fn may_touch(inner: &Inner, job: &Job, at: Point) -> Result<(), OpError> {
    let windows = windows(inner, INPUT)?;
    let seen = seen(inner, &*windows, INPUT)?;
    no_lock(inner, &seen)?;
    let told = |fault| faults::met(&inner.seats, INPUT, fault);
    let mut mark = seen.mark;
    for _ in 0..LOOKS {
        match windows.at(at).map_err(told)? {
            Some(window) => match seen.find(&window) {
                Some(known) => known.app.may_use(&job.rules),
                None => known(inner, window).app.may_use(&job.rules),
            },
            None => desktop(&job.rules),
        }?;
        // The look took a few questions; only the time of this one is left for a window to come in between.
        let now = windows.mark().map_err(told)?;
        if std::mem::replace(&mut mark, now) == now {
            break;
        }
    }
    Ok(())
}

/// Refuses to type when a window that may get it is protected. One round trip as long as nothing changes.
pub(super) fn may_type(inner: &Inner, job: &Job) -> Result<(), OpError> {
    typed_into(inner, job).map(drop)
}

/// Refuses to write a text when no window would get it: keys without a window go to the desktop, which may do something with a chord
/// and loses letters. As [`may_type`] otherwise.
pub(super) fn may_write(inner: &Inner, job: &Job) -> Result<(), OpError> {
    if typed_into(inner, job)? {
        return Ok(());
    }
    let why = "no window has the keyboard, so the text would go nowhere; focus a window or click into it first";
    Err(OpError::Unsupported { feature: "input.type".to_owned(), why: why.to_owned() })
}

/// As [`may_type`]; tells whether any window gets it.
fn typed_into(inner: &Inner, job: &Job) -> Result<bool, OpError> {
    let seen = seen(inner, &*windows(inner, INPUT)?, INPUT)?;
    no_lock(inner, &seen)?;
    // They can take the keyboard for themselves, which nobody else can see.
    let takes = |known: &&Known| known.window.visible && matches!(known.app.kind, Some(Kind::Prompt | Kind::Starter));
    let mut taking = seen.windows.iter().filter(takes).peekable();
    if taking.peek().is_some() {
        return taking.try_for_each(|known| known.app.may_use(&job.rules)).map(|()| true);
    }
    if seen.keyboard.is_empty() {
        return desktop(&job.rules).map(|()| false);
    }
    seen.keyboard.iter().try_for_each(|known| known.app.may_use(&job.rules)).map(|()| true)
}

/// Tells whether what is typed goes to a terminal.
pub(super) fn types_into_terminal(inner: &Inner) -> Result<bool, OpError> {
    let seen = seen(inner, &*windows(inner, PICTURE)?, PICTURE)?;
    Ok(seen.keyboard.iter().any(|known| known.app.kind == Some(Kind::Terminal)))
}

/// Returns what covers a rectangle of the screen, the hindmost first: pixels of what is not shown must be painted over, unless
/// something in front of it is shown there. What may be see-through covers nothing.
pub(super) fn layers(inner: &Inner, job: &Job, area: Rect) -> Result<Vec<Layer>, OpError> {
    let seen = seen(inner, &*windows(inner, PICTURE)?, PICTURE)?;
    let drawn = seen.windows.iter().filter(|known| known.window.visible);
    let layers = drawn.flat_map(|known| {
        let shown = known.app.may_see(&job.rules).is_ok();
        let rects = if shown { known.window.covers.clone() } else { vec![known.window.bounds] };
        rects.into_iter().map(move |rect| Layer { rect, shown })
    });
    Ok(layers.filter(|layer| layer.rect.shared_with(&area).is_some()).collect())
}

/// Refuses what is nobody's where the person lists which apps may be used.
fn desktop(rules: &Rules) -> Result<(), OpError> {
    if rules.only_apps.is_none() {
        return Ok(());
    }
    Err(OpError::ProtectedApp {
        app: "the desktop".to_owned(),
        reason: "not_listed",
        why: "the person allows certain apps alone, and no window of one of them is there".to_owned(),
    })
}

fn no_lock(inner: &Inner, seen: &Seen) -> Result<(), OpError> {
    let lock = seen.windows.iter().any(|known| known.window.visible && known.app.kind == Some(Kind::Lock));
    if lock { Err(locked(inner)) } else { Ok(()) }
}

fn locked(inner: &Inner) -> OpError {
    OpError::PermissionPending {
        permission: "unlocked_session",
        platform: inner.seats.seat().kind.platform(),
        message: "the screen of this computer is locked, so nothing on it may be seen or used".to_owned(),
        hint: "the person has to unlock the screen; then try again".to_owned(),
        retry_after: None,
    }
}

fn windows(inner: &Inner, feature: &str) -> Result<Arc<dyn Windows>, OpError> {
    inner.seats.windows().map_err(|fault| faults::met(&inner.seats, feature, fault))
}

impl Seen {
    fn find(&self, window: &SeatWindow) -> Option<&Known> {
        let same = |handle: WindowHandle, owner: &Owner| handle == window.handle && *owner == window.owner;
        self.windows.iter().find(|known| same(known.window.handle, &known.window.owner))
    }
}

/// Looks, unless nothing can have changed since the last look.
fn seen(inner: &Inner, windows: &dyn Windows, feature: &str) -> Result<Arc<Seen>, OpError> {
    let told = |fault| faults::met(&inner.seats, feature, fault);
    let mark = windows.mark().map_err(told)?;
    let now = inner.clock.now();
    let mut last = inner.sight.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(seen) = &*last
        && seen.mark == mark
        && now.saturating_duration_since(seen.at) < HOLDS
    {
        return Ok(seen.clone());
    }
    let look = |windows: Vec<SeatWindow>| windows.into_iter().map(|window| known(inner, window)).collect();
    let mut mark = mark;
    let mut looks = 1;
    loop {
        let all = windows.all().map_err(told)?;
        let keyboard = windows.keyboard().map_err(told)?;
        // What changed while it was looked at is looked at again.
        let after = windows.mark().map_err(told)?;
        if looks == LOOKS || std::mem::replace(&mut mark, after) == after {
            let seen = Arc::new(Seen { mark, at: now, windows: look(all), keyboard: look(keyboard) });
            return Ok(last.insert(seen).clone());
        }
        looks += 1;
    }
}

#[cfg(test)]
#[path = "guard/guard_tests.rs"]
mod tests;
