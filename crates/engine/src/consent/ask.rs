//! Asking the person about one operation, from the look at the world to the permit.
//!
//! The world is looked at before the question is put and again after the answer. When it has changed, the answer is
//! worthless and the person is asked anew, a few times at most.

use std::sync::Arc;

use drawbridge_caps::Shown as Expected;
use drawbridge_caps::shell::Shell;
use drawbridge_core::escape_outside_text;
use drawbridge_core::{Clock, CommandOp, OpError, Operation, WallMs};
use drawbridge_os::root::{DirectoryIdentity, Root};
use drawbridge_policy::{CommandRule, Permit, PolicyState, Programs, Question};

use super::seal::{Scene, Sighted};
use super::{Asker, Broker, Heard, RETRY_AFTER, Shown, Told};
use crate::hardware::Devices;
use crate::models::Models;
use crate::policy_cell::PolicyCell;
use crate::prompts;
use crate::screen::Screen;
use crate::sessions::Sessions;

/// So often one request asks anew because the world changed under its question.
const ROUNDS: usize = 3;

/// What asking needs.
pub(crate) struct Desk {
    pub(crate) broker: Arc<Broker>,
    pub(crate) policy: Arc<PolicyCell>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shell: Arc<Shell>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) models: Arc<Models>,
    pub(crate) devices: Arc<Devices>,
    /// The platform's address, for questions.
    pub(crate) platform: String,
}

/// A yes with what it is bound to.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) permit: Permit,
    /// What the capability has to find again.
    pub(crate) expected: Option<Expected>,
    /// Which folder is attached.
    pub(crate) folder: Option<DirectoryIdentity>,
    pub(crate) sealed: Sealed,
}

/// What has to be the same right before the effect.
#[derive(Debug, Clone)]
pub(crate) struct Sealed(Arc<super::Seal>);

/// A look at the world, with the question that was taken along.
type Looked<T> = (Question, Result<T, OpError>);

impl Desk {
    /// Asks the person.
    ///
    /// # Errors
    /// The error for the peer: declined, waiting, nobody there, raised, cancelled or changed meanwhile; or what the
    /// operation would fail with whatever the person says.
    pub(crate) async fn ask(
        &self,
        question: Question,
        root: Option<&Arc<Root>>,
        asker: &Asker,
    ) -> Result<Granted, OpError> {
        if let Operation::Session(op) = question.operation() {
            self.sessions.check_before_asking(op)?;
        }
        let power = question.power();
        let deadline = tokio::time::Instant::now() + asker.patience;
        let _held = self.sessions.hold_browse(question.operation());
        let mut question = question;
        if let Some(told) = self.broker.take_kept(&question) {
            match self.settle(question, told, root).await? {
                Settled::Granted(granted) => return Ok(*granted),
                Settled::Changed(back) => question = *back,
            }
        }
        for _ in 0..ROUNDS {
            // Asked before the look: a flood must not cost reading the disk each time.
            if !self.broker.has_room(&question, asker) {
                return Err(OpError::WaitingForConsent { power, retry_after: RETRY_AFTER });
            }
            let (back, shown) = self.look(question, root).await?;
            let told = self.broker.ask(&back, shown?, asker, deadline).await?;
            match self.settle(back, told, root).await? {
                Settled::Granted(granted) => return Ok(*granted),
                Settled::Changed(back) => question = *back,
            }
        }
        Err(OpError::ChangedSinceAsked { power })
    }

    /// Finds the programs of a command, which rules are bound to.
    pub(crate) async fn programs(&self, op: &CommandOp, root: Option<&Arc<Root>>) -> Programs {
        let Some(root) = root.cloned() else { return Programs::unknown() };
        let (shell, op, folders) = (self.shell.clone(), op.clone(), self.sessions.attached_folders());
        let found = tokio::task::spawn_blocking(move || shell.programs(&op, &root, &folders)).await;
        found.unwrap_or_else(|_| Programs::unknown())
    }

    /// Checks right before the effect that everything is as it was shown, for when time has passed since the answer.
    ///
    /// # Errors
    /// [`OpError::ChangedSinceAsked`].
    pub(crate) async fn recheck(
        &self,
        permit: Permit,
        sealed: Sealed,
        root: Option<&Arc<Root>>,
    ) -> Result<Permit, OpError> {
        let scene = self.scene(root);
        let power = permit.operation().power();
        let checked = tokio::task::spawn_blocking(move || {
            let now = Sighted::of(permit.operation(), &scene);
            (permit, now)
        });
        let (permit, now) = checked.await.map_err(|_| broke_off())?;
        match power {
            Some(power) if now?.seal != *sealed.0 => Err(OpError::ChangedSinceAsked { power }),
            Some(_) | None => Ok(permit),
        }
    }

    /// Turns an answer into a permit if the world is still the one that was shown.
    async fn settle(&self, mut question: Question, told: Told, root: Option<&Arc<Root>>) -> Result<Settled, OpError> {
        let power = question.power();
        match told.heard {
            Heard::Once | Heard::Chat | Heard::Always => {}
            Heard::Deny | Heard::Expired => return Err(question.decline()),
            Heard::Again => return Err(OpError::WaitingForConsent { power, retry_after: RETRY_AFTER }),
            Heard::Unseen => return Err(OpError::NoUi { power }),
            Heard::Raised => return Err(OpError::Raised { power }),
            // Where policy took the question back, it says why.
            Heard::Withdrawn => return question.approve(&self.policy.get()).and(Err(OpError::Cancelled)),
            Heard::Unrecorded => return Err(OpError::AuditUnavailable),
        }
        if let Some(place) = told.chosen {
            question.choose_place(place);
        }
        let (question, now) = self.sight(question, root).await?;
        let now = now?;
        if now.seal != *told.seal {
            return Ok(Settled::Changed(Box::new(question)));
        }
        let expected = now.shown(question.operation());
        let folder = now.seal.folder().map(|(_, identity)| *identity);
        let permit = question.approve(&self.policy.get())?;
        Ok(Settled::Granted(Box::new(Granted { permit, expected, folder, sealed: Sealed(told.seal) })))
    }

    /// Describes a question, off the threads that links run on.
    async fn look(&self, question: Question, root: Option<&Arc<Root>>) -> Result<Looked<Shown>, OpError> {
        let (scene, now) = (self.scene(root), self.clock.wall());
        let look = tokio::task::spawn_blocking(move || {
            let shown = prompts::describe(&question, &scene).map(|(mut facts, sighted)| {
                let rule = always(&question, &scene.policy, now);
                facts.always = rule.as_ref().map(words_of);
                Shown { facts, seal: sighted.seal, rule }
            });
            (question, shown)
        });
        look.await.map_err(|_| broke_off())
    }

    async fn sight(&self, question: Question, root: Option<&Arc<Root>>) -> Result<Looked<Sighted>, OpError> {
        let scene = self.scene(root);
        let look = tokio::task::spawn_blocking(move || {
            let sighted = Sighted::of(question.operation(), &scene);
            (question, sighted)
        });
        look.await.map_err(|_| broke_off())
    }

    fn scene(&self, root: Option<&Arc<Root>>) -> Scene {
        Scene {
            root: root.cloned(),
            policy: self.policy.get(),
            shell: self.shell.clone(),
            sessions: self.sessions.clone(),
            screen: self.screen.clone(),
            models: self.models.clone(),
            devices: self.devices.clone(),
            platform: self.platform.clone(),
        }
    }
}

enum Settled {
    Granted(Box<Granted>),
    /// The world is another one: the person has to be asked anew.
    Changed(Box<Question>),
}

/// The rule that "Always allow" would make; its id is given when it is stored. None where a rule would not spare the question.
fn always(question: &Question, policy: &PolicyState, now: WallMs) -> Option<CommandRule> {
    match question.operation() {
        _ if policy.ceilings.powers.contains_key(&question.power()) => None,
        Operation::Command(op) => CommandRule::offer(op, question.programs(), now, ""),
        Operation::File(_)
        | Operation::Browse(_)
        | Operation::Session(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Hardware(_) => None,
    }
}

fn words_of(rule: &CommandRule) -> Vec<String> {
    let words = rule.words.iter().map(drawbridge_policy::WordPattern::shown);
    [rule.program.as_str()].into_iter().chain(words).map(escape_outside_text).collect()
}

fn broke_off() -> OpError {
    OpError::Internal("the look at what is asked for broke off".to_owned())
}
