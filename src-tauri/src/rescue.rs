//! What happens when a page stays blank (FB-41): once, the program starts again with the plainest way of drawing; if that
//! does not help, questions are asked by the system's own dialogs, so that they stay answerable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drawbridge_engine::view::{PromptAnswer, PromptView, Snapshot};
use drawbridge_engine::{Command, EngineHandle};
use tauri::{AppHandle, Manager};

use crate::prefs::PrefsDesk;
use crate::words::{Language, Word};
use crate::{dialogs, shell, window};

/// Makes `WebKit` draw without DMA-BUF, which is what fails on those machines.
pub(crate) const PLAIN_DRAWING: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
/// Most characters of a question that a dialog shows whole. What is longer can only be denied there.
const DIALOG_CHARS: usize = 3_000;
/// The picture follows an answer within a fraction of this.
const PICTURE_WITHIN: Duration = Duration::from_secs(2);

/// What is known about the pages of this run.
#[derive(Debug, Default)]
pub(crate) struct Rescue {
    /// Questions are asked by dialogs.
    dialogs: AtomicBool,
    /// The person was told so.
    told: AtomicBool,
    /// A dialog is open.
    asking: AtomicBool,
}

/// Tells whether pages are drawn the plain way in this run.
pub(crate) fn draws_plainly() -> bool {
    std::env::var_os(PLAIN_DRAWING).is_some_and(|value| !value.is_empty())
}

/// Tells whether questions are asked by dialogs.
pub(crate) fn by_dialogs(app: &AppHandle) -> bool {
    app.state::<Rescue>().dialogs.load(Ordering::Acquire)
}

/// A page was painted after all.
pub(crate) fn paints(app: &AppHandle) {
    if app.state::<Rescue>().dialogs.swap(false, Ordering::AcqRel) {
        tracing::info!("the page was painted after all; questions are asked in the window again");
    }
}

/// Nothing was seen of a page in time.
pub(crate) fn stays_blank(app: &AppHandle, label: &str) {
    if !draws_plainly() {
        tracing::warn!(window = label, "the page stays blank; starting once more with plain drawing");
        // Also when it cannot be stored: then the next start finds out anew.
        let _ = app.state::<PrefsDesk>().change(|prefs| prefs.plain_drawing = true);
        return shell::start_again(app);
    }
    let rescue = app.state::<Rescue>();
    rescue.dialogs.store(true, Ordering::Release);
    tracing::error!(window = label, "the page stays blank also with plain drawing; questions are asked by dialogs");
    // It lies above everything and shows nothing.
    window::prompt::close(app);
    ask(app);
}

/// Asks what waits, one question after the other, by dialogs. Does nothing while one is open.
pub(crate) fn ask(app: &AppHandle) {
    if app.state::<Rescue>().asking.swap(true, Ordering::AcqRel) {
        return;
    }
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let engine = app.state::<EngineHandle>().inner().clone();
        let mut pictures = engine.subscribe();
        loop {
            let first = pictures.borrow_and_update().prompts.first().cloned();
            let Some(prompt) = first else { break };
            put(&app, &engine, &prompt).await;
            let over = pictures.wait_for(|snapshot| !waits(snapshot, &prompt));
            if tokio::time::timeout(PICTURE_WITHIN, over).await.is_err() {
                tracing::warn!(prompt = prompt.id, "an answered question still waits");
            }
        }
        app.state::<Rescue>().asking.store(false, Ordering::Release);
        // After the questions: two dialogs at once would keep each other from being answered.
        if !app.state::<Rescue>().told.swap(true, Ordering::AcqRel) {
            let say = Language::of(&app);
            tauri::async_runtime::spawn(dialogs::tell(Word::BlankTitle.text(say), Word::Blank.text(say)));
        }
        // One may have come between the last look and now.
        if !pictures.borrow().prompts.is_empty() && by_dialogs(&app) {
            ask(&app);
        }
    });
}

fn waits(snapshot: &Snapshot, prompt: &PromptView) -> bool {
    snapshot.prompts.iter().any(|other| (other.id, other.revision) == (prompt.id, prompt.revision))
}

/// Shows one question and sends the answer. Only a press on *Allow once* allows.
async fn put(app: &AppHandle, engine: &EngineHandle, prompt: &PromptView) {
    let say = |word: Word| word.text(Language::of(app));
    let (id, revision) = (prompt.id, prompt.revision);
    if let Err(error) = engine.send(Command::PromptPainted { id, revision }).await {
        tracing::info!(code = error.code, "a question was over before it was asked");
        return;
    }
    let (text, whole) = question(prompt, say(Word::AskTooLong));
    let allow = whole.then(|| say(Word::AllowOnce));
    let allowed = dialogs::allow_or_deny(app, say(Word::AskTitle), &text, allow, say(Word::Deny)).await;
    let answer = if allowed { PromptAnswer::AllowOnce } else { PromptAnswer::Deny };
    if let Err(error) = engine.send(Command::AnswerPrompt { id, revision, answer }).await {
        tracing::info!(code = error.code, "an answer came too late");
    }
}

/// Writes a question out. False: not all of it fits, so it can only be denied here.
fn question(prompt: &PromptView, too_long: &str) -> (String, bool) {
    let mut text = format!("{}\n", prompt.summary);
    for word in &prompt.argv {
        text.push_str(&format!("\n[{word}]"));
    }
    let facts = prompt.details.iter().map(|detail| (detail.label.as_str(), detail.value.as_str()));
    let folder = [("folder", prompt.folder.as_deref().unwrap_or_default())];
    let place = [("platform", prompt.platform.as_str()), ("chat", prompt.session_id.as_deref().unwrap_or_default())];
    for (label, value) in facts.chain(folder).chain(place).filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("\n{label}: {value}"));
    }
    for line in prompt.diff.iter().flat_map(|diff| &diff.lines) {
        let mark = match line.kind.as_str() {
            "added" => "+",
            "removed" => "−",
            "skipped" => "…",
            _ => " ",
        };
        text.push_str(&format!("\n{mark} {}", line.text));
    }
    let whole = text.chars().count() <= DIALOG_CHARS && !prompt.diff.as_ref().is_some_and(|diff| diff.cut);
    if !whole {
        text = format!("{}\n\n{too_long}", text.chars().take(DIALOG_CHARS).collect::<String>());
    }
    (text, whole)
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::{DiffLine, DiffView, PromptDetail};

    use super::*;

    fn asked(value: &str) -> PromptView {
        PromptView {
            summary: "Run the command “cargo test”?".to_owned(),
            platform: "wss://platform.example".to_owned(),
            session_id: Some("chat-1".to_owned()),
            details: vec![PromptDetail { label: "program".to_owned(), value: value.to_owned() }],
            ..PromptView::default()
        }
    }

    #[test]
    fn a_dialog_says_all_that_the_window_would() {
        let mut prompt = asked("/usr/bin/cargo");
        let line = DiffLine { kind: "added".to_owned(), text: "new words".to_owned(), ..DiffLine::default() };
        prompt.diff = Some(DiffView { lines: vec![line], ..DiffView::default() });
        prompt.argv = vec!["cargo".to_owned(), "test --all".to_owned()];

        let (text, whole) = question(&prompt, "too long");

        assert!(whole);
        assert_eq!(
            text,
            "Run the command “cargo test”?\n\n[cargo]\n[test --all]\nprogram: /usr/bin/cargo\nplatform: wss://platform.example\nchat: chat-1\n+ new words"
        );
    }

    #[test]
    fn what_cannot_be_read_whole_cannot_be_allowed() {
        let (text, whole) = question(&asked(&"ü".repeat(1_000_000)), "This is too long to allow here.");
        assert!(!whole);
        assert!(text.ends_with("This is too long to allow here."), "{}", &text[text.len() - 60..]);
        assert!(text.chars().count() < 3_100);

        let mut cut = asked("x");
        cut.diff = Some(DiffView { cut: true, ..DiffView::default() });
        assert!(!question(&cut, "").1);
    }
}
