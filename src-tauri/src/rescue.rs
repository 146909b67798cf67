//! What happens when a page stays blank (FB-41): once, the program starts again with the plainest way of drawing; if that
//! does not help, questions are asked by the system's own dialogs, so that they stay answerable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drawbridge_engine::view::{PromptAnswer, PromptView, Snapshot};
use drawbridge_engine::{Command, EngineHandle};
use tauri::{AppHandle, Manager};

use crate::prefs::PrefsDesk;
use crate::words::{Language, Word, say};
use crate::{dialogs, shell, window};

/// Makes `WebKit` draw without DMA-BUF, which is what fails on those machines.
pub(crate) const PLAIN_DRAWING: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
/// Most characters of a question that a dialog shows whole. What is longer can only be denied there.
const DIALOG_CHARS: usize = 3_000;
/// Most blanks in a row that are shown as they are.
const BLANKS_MAX: usize = 8;
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
    // An agent is at work: starting again would take away what shows it.
    if label == window::PILL {
        return window::pill::stays_blank(app);
    }
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
    let (text, whole) = question(prompt, Language::of(app));
    let allow = whole.then(|| say(Word::AllowOnce));
    let allowed = dialogs::allow_or_deny(app, say(Word::AskTitle), &text, allow, say(Word::Deny)).await;
    let answer = if allowed { PromptAnswer::AllowOnce } else { PromptAnswer::Deny };
    if let Err(error) = engine.send(Command::AnswerPrompt { id, revision, answer }).await {
        tracing::info!(code = error.code, "an answer came too late");
    }
}

/// Writes a question out. False: not all of it fits, so it can only be denied here.
fn question(prompt: &PromptView, language: Language) -> (String, bool) {
    let told = |text: &str| blanks_told(text, language);
    let mut text = format!("{}\n", told(&prompt.summary));
    for word in &prompt.argv {
        text.push_str(&format!("\n[{}]", told(word)));
    }
    let facts = prompt.details.iter().map(|detail| (detail.label.as_str(), detail.value.as_str()));
    let folder = [("folder", prompt.folder.as_deref().unwrap_or_default())];
    let place = [("platform", prompt.platform.as_str()), ("chat", prompt.session_id.as_deref().unwrap_or_default())];
    for (label, value) in facts.chain(folder).chain(place).filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("\n{}: {}", told(label), told(value)));
    }
    for line in prompt.diff.iter().flat_map(|diff| &diff.lines) {
        let mark = match line.kind.as_str() {
            "added" => "+",
            "removed" => "−",
            "skipped" => "…",
            _ => " ",
        };
        text.push_str(&format!("\n{mark} {}", told(&line.text)));
    }
    let cut = prompt.cut || prompt.diff.as_ref().is_some_and(|diff| diff.cut);
    let whole = !cut && text.chars().count() <= DIALOG_CHARS;
    if !whole {
        let too_long = Word::AskTooLong.text(language);
        text = format!("{}\n\n{too_long}", text.chars().take(DIALOG_CHARS).collect::<String>());
    }
    (text, whole)
}

/// Says how many blanks follow each other where they are many, since they would push out of sight what comes after them.
fn blanks_told(text: &str, language: Language) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| is_blank(c) == is_blank(first);
        let (run, after) = rest.split_at(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        let count = run.chars().count();
        if is_blank(first) && count > BLANKS_MAX {
            told.push_str(&say(language, Word::Blanks, &[("n", &count.to_string())]));
        } else {
            told.push_str(run);
        }
        rest = after;
    }
    told
}

/// Also the letters of Braille and Hangul that look like nothing.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}' | '\u{115f}' | '\u{1160}' | '\u{ffa0}')
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

        let (text, whole) = question(&prompt, Language::English);

        assert!(whole);
        assert_eq!(
            text,
            "Run the command “cargo test”?\n\n[cargo]\n[test --all]\nprogram: /usr/bin/cargo\nplatform: wss://platform.example\nchat: chat-1\n+ new words"
        );
    }

    #[test]
    fn what_cannot_be_read_whole_cannot_be_allowed() {
        let (text, whole) = question(&asked(&"ü".repeat(1_000_000)), Language::English);
        assert!(!whole);
        let end = Word::AskTooLong.text(Language::English);
        assert!(text.ends_with(end), "{}", &text[text.len() - 90..]);
        assert!(text.chars().count() < 3_100);

        let mut cut = asked("x");
        cut.diff = Some(DiffView { cut: true, ..DiffView::default() });
        assert!(!question(&cut, Language::English).1);

        // The engine takes no other answer to it.
        let (text, whole) = question(&PromptView { cut: true, ..asked("x") }, Language::English);
        assert!(!whole && text.ends_with(end), "{text}");
    }

    #[test]
    fn blanks_push_nothing_out_of_sight() {
        let mut prompt = asked(&format!("echo hello{};{}rm -rf ~", " ".repeat(2_900), "\u{a0}\u{2003}\t".repeat(3)));
        prompt.argv = vec![format!("a{}b", " ".repeat(8)), " ".repeat(9), "\u{3164}".repeat(40)];

        let (text, whole) = question(&prompt, Language::English);

        assert!(whole);
        assert!(text.contains("program: echo hello⟨2900 blanks⟩;⟨9 blanks⟩rm -rf ~\n"), "{text}");
        assert!(text.contains("\n[a        b]\n[⟨9 blanks⟩]\n[⟨40 blanks⟩]\n"), "{text}");
        assert_eq!(blanks_told(&" ".repeat(12), Language::German), "⟨12 Leerzeichen⟩");
        assert_eq!(blanks_told("", Language::English), "");
    }
}
