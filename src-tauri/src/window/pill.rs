//! The pill: says that an agent sees and uses the screen, above everything, as long as that is so, with a Stop in reach.
//!
//! It never takes the keyboard, which belongs to the program that the person or the agent types into. Its Stop does not
//! need a page that answers ([`native`]), and nothing of the engine but the one command that always gets through. It is made
//! when use begins and destroyed when it ends, which the engine decides. Until its page is painted, and where pages stay blank, a
//! plain window stands in for it: nobody waits for a page to see that an agent is at work.

#[cfg(not(any(windows, target_vendor = "apple")))]
mod native;
#[cfg(any(windows, target_vendor = "apple"))]
#[path = "pill/elsewhere.rs"]
mod native;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_engine::view::Snapshot;
use drawbridge_engine::{Command, EngineHandle};
use serde::Serialize;
use tauri::{AppHandle, Emitter, Manager, PhysicalPosition, WebviewWindow};

use super::PILL;
use crate::prefs::PrefsDesk;
use crate::words::{Language, Word, count, say};
use crate::{notify, rescue};

/// Its size, in logical pixels at 100 %.
const SIZE: (f64, f64) = (600.0, 58.0);
/// Width of its Stop at the right end, in logical pixels at 100 %: as in `Pill.svelte`.
#[cfg_attr(any(windows, target_vendor = "apple"), allow(dead_code, reason = "the page alone hears the press there"))]
const STOP_WIDTH: f64 = 120.0;
/// So much of the screen's width it may cover.
const SCREEN_PART: f64 = 0.94;
/// From the top of the screen, in logical pixels.
const FROM_TOP: f64 = 10.0;
/// After a stop it says so for this long: whoever pressed must see that it worked.
const FAREWELL: Duration = Duration::from_secs(4);
/// Name of the event that carries [`PillView`].
const EVENT: &str = "pill";

/// What the pill says. Small on purpose: its page learns nothing else of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PillView {
    /// The folder of the chat that does so, safe to show; none when the chat has none.
    folder: Option<String>,
    /// Pictures taken since it began.
    pictures: u64,
    /// Clicks, keys, texts and other acts since then.
    acts: u64,
    /// The person uses mouse or keyboard, so the agent waits.
    person_active: bool,
    /// It was stopped: the bridge is up.
    stopped: bool,
    /// The bridge could not be raised from here.
    failed: bool,
}

impl PillView {
    /// What a picture wants to be said; none while no agent uses the screen.
    fn of(snapshot: &Snapshot) -> Option<Self> {
        let used = snapshot.screen.in_use.as_ref().filter(|_| !snapshot.raised)?;
        let chat = snapshot.chats.iter().find(|chat| used.session_id.as_ref() == Some(&chat.session_id));
        Some(Self {
            folder: chat.map(|chat| chat.folder.clone()),
            pictures: used.pictures,
            acts: used.acts,
            person_active: used.person_active,
            stopped: false,
            failed: false,
        })
    }

    /// The heading and the line below it, for the plain window. The page has words of its own.
    #[cfg_attr(any(windows, target_vendor = "apple"), allow(dead_code, reason = "pages always paint there"))]
    pub(super) fn words(&self, language: Language) -> (String, String) {
        let text = |word: Word| word.text(language).to_owned();
        if self.stopped {
            return (text(Word::PillStopped), text(Word::PillStoppedMore));
        }
        if self.failed {
            return (text(Word::PillFailed), text(Word::PillFailedMore));
        }
        let more = if self.person_active { text(Word::PillWaits) } else { counts(language, self.pictures, self.acts) };
        (text(Word::PillTitle), more)
    }
}

/// "3 pictures, 12 acts".
pub(crate) fn counts(language: Language, pictures: u64, acts: u64) -> String {
    let pictures = count(language, Word::OnePicture, Word::Pictures, pictures);
    let acts = count(language, Word::OneAct, Word::Acts, acts);
    say(language, Word::PicturesAndActs, &[("pictures", &pictures), ("acts", &acts)])
}

/// What the pill says now. One pill, so one of these.
#[derive(Debug, Default)]
pub(crate) struct PillDesk(Mutex<Option<PillView>>);

impl PillDesk {
    /// What it says; nothing when there is no pill.
    pub(crate) fn view(&self) -> Option<PillView> {
        self.now().clone()
    }

    fn now(&self) -> std::sync::MutexGuard<'_, Option<PillView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the newest picture and tells what has to happen.
    fn step(&self, snapshot: &Snapshot) -> Step {
        let mut now = self.now();
        let mut next = PillView::of(snapshot);
        if let (Some(before), Some(next)) = (now.as_ref(), &mut next) {
            next.failed = before.failed && !before.stopped;
        }
        match (now.as_ref(), next) {
            (None, None) => Step::Stay,
            (Some(before), Some(next)) if *before == next => Step::Stay,
            (None, next) => {
                *now = next;
                Step::Open
            }
            (Some(_), Some(next)) => {
                *now = Some(next);
                Step::Tell
            }
            // Its farewell runs out by itself.
            (Some(before), None) if before.stopped => {
                if snapshot.raised {
                    return Step::Stay;
                }
                *now = None;
                Step::Close
            }
            (Some(before), None) if snapshot.raised => {
                *now = Some(PillView { stopped: true, failed: false, person_active: false, ..before.clone() });
                Step::Farewell
            }
            (Some(_), None) => {
                *now = None;
                Step::Close
            }
        }
    }

    /// A stop from here failed. False: there is no pill.
    fn fail(&self) -> bool {
        self.now().as_mut().map(|view| view.failed = true).is_some()
    }

    /// The farewell is over. False: it is in use again.
    fn over(&self) -> bool {
        let mut now = self.now();
        let stopped = now.as_ref().is_some_and(|view| view.stopped);
        if stopped {
            *now = None;
        }
        stopped
    }
}

/// What has to happen to the pill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Use began.
    Open,
    /// What it says has changed.
    Tell,
    /// It was stopped: says so, then goes.
    Farewell,
    /// Use has ended.
    Close,
    /// Nothing.
    Stay,
}

/// Follows a picture.
pub(crate) fn follow(app: &AppHandle, snapshot: &Snapshot) {
    match app.state::<PillDesk>().step(snapshot) {
        Step::Open => open(app),
        Step::Tell => tell(app),
        Step::Farewell => {
            tell(app);
            let app = app.clone();
            tauri::async_runtime::spawn(async move {
                tokio::time::sleep(FAREWELL).await;
                if app.state::<PillDesk>().over() {
                    close(&app);
                }
            });
        }
        Step::Close => close(app),
        Step::Stay => {}
    }
}

/// Raises the bridge at once. Works from any thread.
pub(crate) fn stop(app: &AppHandle) {
    notify::raised_here();
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        if let Err(error) = engine.send(Command::SetRaised { raised: true }).await {
            tracing::error!(code = error.code, "the bridge could not be raised from the pill");
            if app.state::<PillDesk>().fail() {
                tell(&app);
            }
        }
    });
}

/// Nothing was seen of its page in time: the plain window takes its place.
pub(crate) fn stays_blank(app: &AppHandle) {
    let now = Instant::now();
    super::on_main(app, move |app| {
        if let Some(window) = app.get_webview_window(PILL) {
            let _ = window.destroy();
        }
        if let Some(view) = app.state::<PillDesk>().view() {
            tracing::warn!("the pill is a plain window, since its page stays blank");
            native::plain(app, &view, now);
        }
    });
}

fn open(app: &AppHandle) {
    let began = Instant::now();
    super::on_main(app, move |app| {
        // It may have ended before this thread came to it.
        let Some(view) = app.state::<PillDesk>().view() else { return };
        if app.get_webview_window(PILL).is_some() {
            return tell(app);
        }
        native::plain(app, &view, began);
        if !rescue::by_dialogs(app) {
            native::soon(app, open_page);
        }
    });
}

/// Its page is painted: the plain window has done its part.
pub(crate) fn painted(app: &AppHandle) {
    super::on_main(app, |_| native::close_plain());
}

/// On the thread of the windows.
fn open_page(app: &AppHandle) {
    if app.state::<PillDesk>().view().is_none() || app.get_webview_window(PILL).is_some() {
        return;
    }
    let (width, height) = size(app);
    let window = super::build(app, PILL, "pill.html", |builder| {
        let builder = builder
            .title(Word::PillTitle.text(Language::of(app)))
            .inner_size(width, height)
            .min_inner_size(width, height)
            .max_inner_size(width, height)
            .visible(false)
            .decorations(false)
            .maximizable(false)
            .minimizable(false)
            .closable(false)
            .always_on_top(true)
            .visible_on_all_workspaces(true)
            .skip_taskbar(true)
            .focused(false)
            .focusable(false)
            .shadow(false)
            // The first click presses; it does not only bring the window up.
            .accept_first_mouse(true);
        #[cfg(not(target_vendor = "apple"))]
        let builder = builder.transparent(true);
        builder
    });
    // Without it the plain window stays.
    let Some(window) = window else { return };
    native::settle(app, &window);
    place(app, &window);
    if let Err(error) = window.show() {
        tracing::warn!(%error, "the page of the pill cannot be shown");
        return stays_blank(app);
    }
    // Some window managers put a new window where they like.
    place(app, &window);
}

fn tell(app: &AppHandle) {
    let Some(view) = app.state::<PillDesk>().view() else { return };
    if let Err(error) = app.emit_to(PILL, EVENT, &view) {
        tracing::warn!(%error, "the pill did not get the newest counts");
    }
    super::on_main(app, |app| {
        native::tell_plain(app);
    });
}

fn close(app: &AppHandle) {
    super::on_main(app, |app| {
        // Use may have begun again before this thread came to it.
        if app.state::<PillDesk>().view().is_some() {
            return;
        }
        if let Some(window) = app.get_webview_window(PILL) {
            let _ = window.destroy();
        }
        native::close_plain();
    });
}

/// Puts it where nobody overlooks it, in the size of the present letters.
pub(super) fn resize(app: &AppHandle) {
    let Some(window) = app.get_webview_window(PILL) else { return };
    let (width, height) = size(app);
    let wanted = tauri::LogicalSize::new(width, height);
    let _ = window.set_min_size(Some(wanted));
    let _ = window.set_max_size(Some(wanted));
    let _ = window.set_size(wanted);
    native::settle_shape(&window, width, height);
    place(app, &window);
}

/// The top centre of the primary display.
fn place(app: &AppHandle, window: &WebviewWindow) {
    let Some(monitor) = app.primary_monitor().ok().flatten() else { return };
    let (area, scale) = (monitor.work_area(), monitor.scale_factor());
    let (x, y) = placed((area.position.x, area.position.y), area.size.width, size(app).0, scale);
    let _ = window.set_position(PhysicalPosition::new(x, y));
}

/// The corner in physical pixels, for a width in logical ones.
#[expect(clippy::cast_possible_truncation, reason = "no screen has more pixels than the type has numbers")]
fn placed(corner: (i32, i32), room: u32, width: f64, scale: f64) -> (i32, i32) {
    let left = f64::from(corner.0) + (f64::from(room) - width * scale) / 2.0;
    let top = f64::from(corner.1) + FROM_TOP * scale;
    (left.round() as i32, top.round() as i32)
}

/// It grows with its letters, but not beyond the screen: then its words wrap, so it is higher.
fn size(app: &AppHandle) -> (f64, f64) {
    let factor = f64::from(app.state::<PrefsDesk>().get().zoom) / 100.0;
    let room = app.primary_monitor().ok().flatten();
    fitted(factor, room.map(|room| room.size().to_logical::<f64>(room.scale_factor()).width))
}

fn fitted(factor: f64, screen: Option<f64>) -> (f64, f64) {
    let most = screen.map_or(f64::INFINITY, |width| width * SCREEN_PART);
    let wanted = SIZE.0 * factor;
    let lines = if wanted > most { 1.6 } else { 1.0 };
    (wanted.min(most).round(), (SIZE.1 * factor * lines).round())
}

#[cfg(test)]
#[path = "pill/tests.rs"]
mod tests;
