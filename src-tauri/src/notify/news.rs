//! What is news in a picture, as a value.

use std::collections::BTreeSet;

use drawbridge_engine::view::{AccountState, LinkState, Snapshot};

use crate::words::{Language, Word};

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
    /// What keeps the engine from starting.
    Gate,
    /// An agent that uses the screen.
    Screen,
}

/// What is told about it: a heading and what it means. Never words from outside: they know no language, and what a question
/// is about belongs into the window that shows all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct What(pub(super) Word, pub(super) Word);

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Shows this, in the place of what was shown about it.
    Tell(Topic, What),
    /// Takes it away, since it is no longer true.
    Close(Topic),
}

/// Who raised the bridge, as far as this program knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Raiser {
    /// Somebody else, such as the command line.
    #[default]
    Elsewhere,
    /// The person, in this program, where it is seen.
    Here,
    /// The person's hot key, perhaps by accident.
    Key,
}

/// Heading and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) heading: &'static str,
    pub(super) body: &'static str,
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
    gate: bool,
    screen: bool,
    /// Chats whose first use of the screen was told; none stands for use without a chat.
    screen_told: BTreeSet<Option<String>>,
}

impl News {
    /// Takes the newest picture. `raiser`: who raised if it is raised.
    pub(super) fn follow(&mut self, snapshot: &Snapshot, raiser: Raiser) -> Vec<Step> {
        let mut steps = Vec::new();
        let first = snapshot.prompts.first();
        if self.question != first.map(|prompt| prompt.id) {
            self.question = first.map(|prompt| prompt.id);
            steps.push(match first {
                Some(_) => Step::Tell(Topic::Question, What(Word::TellQuestion, Word::TellQuestionBody)),
                None => Step::Close(Topic::Question),
            });
        }
        // A start that is raised is as the person left it.
        let raised_silently = raiser == Raiser::Here || !self.began;
        let how = if raiser == Raiser::Key { Word::TellRaisedKeyBody } else { Word::TellRaisedBody };
        turned(&mut self.raised, snapshot.raised, &mut steps, Topic::Raised, !raised_silently, (Word::TellRaised, how));
        // While raised nothing is linked anyway.
        let halted = snapshot.link.state == LinkState::Halted && !snapshot.raised;
        let refused = matches!(snapshot.account.state, AccountState::Refused | AccountState::Expired);
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
        let gate = snapshot.gate.is_some();
        turned(&mut self.gate, gate, &mut steps, Topic::Gate, true, (Word::TellGate, Word::TellGateBody));
        self.screen(snapshot, &mut steps);
        self.began = true;
        steps
    }

    /// The first use in a chat is told; from then on the pill and the tray show it.
    fn screen(&mut self, snapshot: &Snapshot, steps: &mut Vec<Step>) {
        let used = snapshot.screen.in_use.as_ref().filter(|_| !snapshot.raised);
        let was = std::mem::replace(&mut self.screen, used.is_some());
        match used {
            Some(used) if self.screen_told.insert(used.session_id.clone()) => {
                steps.push(Step::Tell(Topic::Screen, What(Word::TellScreen, Word::TellScreenBody)));
            }
            None if was => steps.push(Step::Close(Topic::Screen)),
            Some(_) | None => {}
        }
    }
}

fn turned(was: &mut bool, is: bool, steps: &mut Vec<Step>, topic: Topic, loud: bool, (heading, body): (Word, Word)) {
    match (std::mem::replace(was, is), is) {
        (false, true) if loud => steps.push(Step::Tell(topic, What(heading, body))),
        (true, false) => steps.push(Step::Close(topic)),
        _ => {}
    }
}

impl What {
    /// The words for it.
    pub(super) fn text(self, language: Language) -> Text {
        Text { heading: self.0.text(language), body: self.1.text(language), show: Word::TellShow.text(language) }
    }
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;
