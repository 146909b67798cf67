//! The window for questions: small, above all others, there as long as a question waits.

use std::sync::atomic::{AtomicUsize, Ordering};

use drawbridge_engine::view::{PromptAnswer, Snapshot};
use drawbridge_engine::{Command, EngineHandle};
use tauri::{AppHandle, Manager, UserAttentionType, WebviewWindow};

use super::PROMPT;
use crate::prefs::PrefsDesk;
use crate::rescue;

/// Its size at first, in logical pixels.
const SIZE: (f64, f64) = (560.0, 520.0);
/// So much of the screen a question may cover.
const SCREEN_PART: f64 = 0.9;
/// The smallest size at which the buttons are all there.
const MIN_SIZE: (f64, f64) = (360.0, 320.0);

/// Dialogs that are open above the window.
static DIALOGS: Dialogs = Dialogs(AtomicUsize::new(0));

/// Counts dialogs.
#[derive(Debug)]
struct Dialogs(AtomicUsize);

impl Dialogs {
    /// True: it is the first one.
    fn opened(&self) -> bool {
        self.0.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// True: it was the last one.
    fn closed(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// Keeps the window from covering a dialog, as long as this lives: it lies above all others no more, also when a further
/// question raises it.
#[derive(Debug)]
pub(crate) struct Beneath(AppHandle);

impl Beneath {
    /// For a dialog that is about to open.
    pub(crate) fn a_dialog(app: &AppHandle) -> Self {
        if DIALOGS.opened() {
            settle(app);
        }
        Self(app.clone())
    }
}

impl Drop for Beneath {
    fn drop(&mut self) {
        if DIALOGS.closed() {
            settle(&self.0);
        }
    }
}

fn settle(app: &AppHandle) {
    super::on_main(app, |app| {
        if let Some(window) = app.get_webview_window(PROMPT) {
            place(&window);
        }
    });
}

/// Above all others, unless a dialog is open. On the thread of the windows, so that the newest word counts.
fn place(window: &WebviewWindow) {
    let _ = window.set_always_on_top(!DIALOGS.any());
}

/// Follows the questions of the pictures.
#[derive(Debug, Default)]
pub(crate) struct Asker {
    newest: u64,
    newest_unseen: u64,
    asking: bool,
}

/// What has to happen to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A new question: it must be seen.
    Raise,
    /// No question waits.
    Close,
    /// Nothing.
    Stay,
}

impl Asker {
    /// Takes the newest picture.
    pub(crate) fn follow(&mut self, app: &AppHandle, snapshot: &Snapshot) {
        match self.step(snapshot) {
            Step::Raise if rescue::by_dialogs(app) => rescue::ask(app),
            Step::Raise => raise(app),
            Step::Close => close(app),
            Step::Stay => {}
        }
    }

    fn step(&mut self, snapshot: &Snapshot) -> Step {
        let newest = snapshot.prompts.iter().map(|prompt| prompt.id).max();
        let unseen = snapshot.prompts.iter().filter(|prompt| prompt.unseen).map(|prompt| prompt.id).max();
        // Nothing has painted it for a while: the window may lie beneath others, so it is brought up once more.
        if let Some(unseen) = unseen.filter(|unseen| *unseen > self.newest_unseen) {
            self.newest_unseen = unseen;
            self.newest = self.newest.max(unseen);
            self.asking = true;
            return Step::Raise;
        }
        match newest {
            Some(newest) if newest > self.newest || !self.asking => {
                self.newest = newest;
                self.asking = true;
                Step::Raise
            }
            None if self.asking => {
                self.asking = false;
                Step::Close
            }
            Some(_) | None => Step::Stay,
        }
    }
}

/// Opens the window, or brings the open one to the front again. Works from any thread.
pub(crate) fn raise(app: &AppHandle) {
    super::on_main(app, |app| {
        let window = app.get_webview_window(PROMPT).or_else(|| {
            let (width, height) = size(app);
            super::build(app, PROMPT, "prompt.html", |builder| {
                builder
                    .title("Drawbridge asks")
                    .inner_size(width, height)
                    .min_inner_size(MIN_SIZE.0, MIN_SIZE.1)
                    .center()
                    .always_on_top(true)
                    .maximizable(false)
                    // The page knows the person's language.
                    .on_document_title_changed(|window, title| drop(window.set_title(&title)))
            })
        });
        if let Some(window) = window {
            let _ = window.unminimize();
            let _ = window.show();
            place(&window);
            let _ = window.request_user_attention(Some(UserAttentionType::Critical));
            // With a dialog open the person is at work there.
            if !DIALOGS.any() {
                let _ = window.set_focus();
            }
        }
    });
}

/// The window grows with its letters, so that an enlarged question has its answers in sight, but not beyond the screen.
fn size(app: &AppHandle) -> (f64, f64) {
    let factor = f64::from(app.state::<PrefsDesk>().get().zoom) / 100.0;
    let room =
        app.primary_monitor().ok().flatten().map(|monitor| monitor.size().to_logical::<f64>(monitor.scale_factor()));
    fitted(factor, room.map(|room| (room.width, room.height)))
}

fn fitted(factor: f64, screen: Option<(f64, f64)>) -> (f64, f64) {
    let one = |wanted: f64, least: f64, room: Option<f64>| {
        let most = room.map_or(f64::INFINITY, |room| room * SCREEN_PART);
        (wanted * factor).min(most).max(least)
    };
    (one(SIZE.0, MIN_SIZE.0, screen.map(|(width, _)| width)), one(SIZE.1, MIN_SIZE.1, screen.map(|(_, height)| height)))
}

/// Takes the window away. Works from any thread.
pub(crate) fn close(app: &AppHandle) {
    super::on_main(app, |app| {
        if let Some(window) = app.get_webview_window(PROMPT) {
            let _ = window.destroy();
        }
    });
}

/// Denies what is on top: the person closed the window.
pub(super) fn deny_shown(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        let snapshot = engine.snapshot();
        let Some(first) = snapshot.prompts.first() else { return close(&app) };
        let no = Command::AnswerPrompt { id: first.id, revision: first.revision, answer: PromptAnswer::Deny };
        if engine.send(no).await.is_err() {
            // It was not painted yet, or has changed: then whatever waits is denied.
            if let Err(error) = engine.send(Command::DenyPrompts).await {
                tracing::warn!(code = error.code, "closing the window for questions could not deny them");
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::PromptView;

    use super::*;

    fn with(ids: &[u64]) -> Snapshot {
        let prompts = ids.iter().map(|id| PromptView { id: *id, ..PromptView::default() }).collect();
        Snapshot { prompts, ..Snapshot::default() }
    }

    #[test]
    fn the_window_is_above_all_again_after_the_last_dialog() {
        let dialogs = Dialogs(AtomicUsize::new(0));
        assert!(!dialogs.any());
        assert_eq!((dialogs.opened(), dialogs.opened()), (true, false));
        assert!(!dialogs.closed() && dialogs.any());
        assert!(dialogs.closed() && !dialogs.any());
    }

    #[test]
    fn the_window_grows_with_its_letters_and_not_beyond_the_screen() {
        assert_eq!(fitted(1.0, Some((1280.0, 1000.0))), (560.0, 520.0));
        assert_eq!(fitted(2.0, Some((1280.0, 1000.0))), (1120.0, 900.0));
        assert_eq!(fitted(0.5, None), (360.0, 320.0));
    }

    #[test]
    fn each_new_question_raises_and_the_last_answer_closes() {
        let mut asker = Asker::default();

        let steps: Vec<Step> = [&[][..], &[3], &[3], &[3, 4], &[4], &[], &[], &[5]]
            .into_iter()
            .map(|ids| asker.step(&with(ids)))
            .collect();

        use Step::{Close, Raise, Stay};
        assert_eq!(steps, [Stay, Raise, Stay, Raise, Stay, Close, Stay, Raise]);
    }

    #[test]
    fn a_question_that_nothing_painted_is_brought_up_once_more() {
        let mut asker = Asker::default();
        let mut snapshot = with(&[3]);
        assert_eq!(asker.step(&snapshot), Step::Raise);

        snapshot.prompts[0].unseen = true;
        assert_eq!(asker.step(&snapshot), Step::Raise);
        assert_eq!(asker.step(&snapshot), Step::Stay);
    }
}
