//! What is news in a picture, as a value.

use drawbridge_core::{escape_outside_text, shorten_middle};
use drawbridge_engine::view::{AccountState, LinkState, Snapshot};

use crate::words::{Language, Word, say};

/// What a notification is about. There is at most one of each on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    /// Questions that wait.
    Question,
    /// The stop.
    Raised,
    /// The link to the platform.
    Link,
    /// The sign-in.
    SignIn,
    /// The audit log.
    Log,
}

/// What is told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The sentence of a question.
    Question(String),
    /// A heading and what it means.
    Said(Word, Word),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Shows this, in the place of what was shown about it.
    Tell(Topic, What),
    /// Takes it away, since it is no longer true.
    Close(Topic),
}

/// Heading and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) heading: String,
    pub(super) body: String,
    pub(super) show: &'static str,
}

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct News {
    began: bool,
    /// Number of the question that is told.
    question: Option<u64>,
    raised: bool,
    halted: bool,
    refused: bool,
    log: bool,
}

/// Longest sentence, in characters.
const SENTENCE_MAX: usize = 160;

impl News {
    /// Takes the newest picture. `raised_here`: if it is raised, then by the person in this program.
    pub(super) fn follow(&mut self, snapshot: &Snapshot, raised_here: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        let first = snapshot.prompts.first();
        if self.question != first.map(|prompt| prompt.id) {
            self.question = first.map(|prompt| prompt.id);
            steps.push(first.map_or(Step::Close(Topic::Question), |prompt| {
                Step::Tell(Topic::Question, What::Question(prompt.summary.clone()))
            }));
        }
        // A start that is raised is as the person left it.
        let raised_silently = raised_here || !self.began;
        turned(
            &mut self.raised,
            snapshot.raised,
            &mut steps,
            Topic::Raised,
            !raised_silently,
            (Word::TellRaised, Word::TellRaisedBody),
        );
        // While raised nothing is linked anyway.
        let halted = snapshot.link.state == LinkState::Halted && !snapshot.raised;
        let refused = snapshot.account.state == AccountState::Refused;
        // A refused sign-in ends the link too; one notification says both.
        turned(
            &mut self.halted,
            halted && !refused,
            &mut steps,
            Topic::Link,
            true,
            (Word::TellHalted, Word::TellHaltedBody),
        );
        turned(&mut self.refused, refused, &mut steps, Topic::SignIn, true, (Word::TellRefused, Word::TellRefusedBody));
        let log = snapshot.audit.unavailable;
        turned(&mut self.log, log, &mut steps, Topic::Log, true, (Word::TellLog, Word::TellLogBody));
        self.began = true;
        steps
    }
}

fn turned(was: &mut bool, is: bool, steps: &mut Vec<Step>, topic: Topic, loud: bool, (heading, body): (Word, Word)) {
    match (std::mem::replace(was, is), is) {
        (false, true) if loud => steps.push(Step::Tell(topic, What::Said(heading, body))),
        (true, false) => steps.push(Step::Close(topic)),
        _ => {}
    }
}

impl What {
    /// The words for it.
    pub(super) fn text(&self, language: Language) -> Text {
        let (heading, body) = match self {
            Self::Question(sentence) => {
                // Bodies are read as markup by most desktops.
                let safe = shorten_middle(&escape_outside_text(sentence), SENTENCE_MAX);
                let plain = safe.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                (Word::TellQuestion, say(language, Word::TellQuestionBody, &[("summary", &plain)]))
            }
            Self::Said(heading, body) => (*heading, body.text(language).to_owned()),
        };
        Text { heading: heading.text(language).to_owned(), body, show: Word::TellShow.text(language) }
    }
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;
