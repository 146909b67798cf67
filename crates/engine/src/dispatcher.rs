//! The dispatcher: the only place where things happen. Decide, ask, permit, run, record.
//!
//! It knows no connection. A link hands it a [`Job`] and gets back the reply to send, or nothing when the job was cancelled.

mod leaving;
mod recorder;
mod release;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use drawbridge_caps::computer::Turn;
use drawbridge_caps::{Capability, Pieces, RunCtx};
use drawbridge_core::computer::{ComputerOp, InputOp};
use drawbridge_core::model::ModelOp;
use drawbridge_core::{Clock, FileOp, Limits, LinkId, OpError, Operation, Outcome, RequestId, SessionId, SessionOp};
use drawbridge_os::root::{DirectoryIdentity, Root};
use drawbridge_policy::{Decision, Explanation, Leave, Permit, Programs, Rule, Verdict, authorize_resolved, decide};
use drawbridge_proto::executor::codec::{Reply, ReplyContext};
use drawbridge_proto::executor::errors::wire_code;
use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::consent::Asker;
use crate::consent::ask::{Desk, Sealed};
use crate::device_act::recorded;
use crate::hardware::{COMMAND_LINE, Devices};
use crate::journal::Journal;
use crate::models::Models;
use crate::policy_cell::PolicyCell;
use crate::record::{self, Facts};
use crate::screen::{Offer, Screen};
use crate::sessions::Sessions;
use crate::view::WhyView;

pub(crate) use leaving::{Answer, Kept, Stayed};
use recorder::{Act, Recorder};

/// How long a request on a control link may wait for a person before the peer is told to ask again (spec 15.6).
const CONTROL_PATIENCE: Duration = Duration::from_secs(8);
/// The same on a data link.
const DATA_PATIENCE: Duration = Duration::from_secs(25);
/// The same for the command line, before which a person sits.
const LOCAL_PATIENCE: Duration = Duration::from_secs(60);

/// One request on its way.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection.
    pub(crate) link: LinkId,
    /// The peer's id of the request.
    pub(crate) request: RequestId,
    /// What is asked for.
    pub(crate) operation: Operation,
    /// The chat of a data link.
    pub(crate) session: Option<SessionId>,
    /// The folder of a data link.
    pub(crate) root: Option<Arc<Root>>,
    /// What of computer use the link's HELLO offered.
    pub(crate) offer: Arc<Offer>,
    /// The link's ceilings.
    pub(crate) limits: Limits,
    /// Where parts of the answer go before its end.
    pub(crate) pieces: Option<Pieces>,
    /// Counts requests of the link that wait for a machine-wide slot.
    pub(crate) queued: Arc<AtomicU32>,
    /// Fires when the link or the request is gone.
    pub(crate) cancel: CancellationToken,
}

/// What the dispatcher is made of.
pub(crate) struct Parts {
    pub(crate) policy: Arc<PolicyCell>,
    pub(crate) desk: Desk,
    pub(crate) journal: Arc<Journal>,
    pub(crate) board: Arc<Board>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) files: Arc<dyn Capability>,
    pub(crate) shell: Arc<dyn Capability>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) models: Arc<Models>,
    pub(crate) devices: Arc<Devices>,
    pub(crate) browser: Arc<dyn Capability>,
    pub(crate) sessions: Arc<Sessions>,
}

/// The dispatcher. One for the whole engine.
pub(crate) struct Dispatcher {
    parts: Parts,
    recorder: Arc<Recorder>,
    /// Data requests of all chats share these slots.
    slots: RwLock<Arc<Semaphore>>,
}

impl Dispatcher {
    pub(crate) fn new(parts: Parts, slots: u32) -> Self {
        let (journal, board, clock) = (parts.journal.clone(), parts.board.clone(), parts.clock.clone());
        Self {
            recorder: Arc::new(Recorder { journal, board, clock }),
            parts,
            slots: RwLock::new(Arc::new(Semaphore::new(slots.max(1) as usize))),
        }
    }

    /// Sets how many data requests may run at once over all chats. What runs keeps its slot.
    pub(crate) fn set_slots(&self, slots: u32) {
        *self.slots.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Semaphore::new(slots.max(1) as usize));
    }

    /// Carries out one job. None means that it was cancelled and nobody waits for a reply any more.
    pub(crate) async fn run(&self, job: Job) -> Option<Answer> {
        let context = ReplyContext::of(&job.operation);
        let (request, limits, cancel) = (job.request.clone(), job.limits, job.cancel.clone());
        let encode = |result: Result<&Outcome, &OpError>| Reply::encode(&request, &context, &limits, result);
        let (_, answer) = self
            .act(job, |result, leaving| {
                let reply = encode(result.as_ref());
                let code = reply.error_code();
                let kept = leaving.filter(|_| code.is_none()).map(|Leaving { leave, chat, facts }| {
                    let instead = encode(Err(&leave.refusal().0));
                    let with = (&self.parts.policy, &self.recorder);
                    (instead, Kept::new(leave, with, (chat, request.clone()), facts))
                });
                (Answer { reply, kept }, code)
            })
            .await;
        let unwritten = || Answer { reply: encode(Err(&OpError::AuditUnavailable)), kept: None };
        let answer = answer.unwrap_or_else(unwritten);
        (!cancel.is_cancelled()).then_some(answer)
    }

    /// Carries out one job that comes from no link, such as the command line: decided, recorded and shown as any other.
    ///
    /// # Errors
    /// As its capability, or why policy refused it.
    pub(crate) async fn run_local(&self, job: Job) -> Result<Outcome, OpError> {
        let on_device = matches!(job.operation, Operation::Hardware(_));
        let code = |result: &Result<Outcome, OpError>| {
            let error = result.as_ref().err()?;
            let of_device = if on_device { recorded(error) } else { None };
            Some(of_device.unwrap_or_else(|| wire_code(error).as_str()))
        };
        match self.act(job, |result, _| ((), code(result))).await {
            (result, Some(())) => result,
            (_, None) => Err(OpError::AuditUnavailable),
        }
    }

    /// Decides, runs and records. What `answer` makes of the result, with its error code, is made before the record is written, and is
    /// none when that could not be written.
    async fn act<A>(
        &self,
        job: Job,
        answer: impl FnOnce(&Result<Outcome, OpError>, Option<Leaving>) -> (A, Option<&'static str>),
    ) -> (Result<Outcome, OpError>, Option<A>) {
        let started = self.parts.clock.now();
        let request = job.request.clone();
        let mut facts = record::facts(&job.operation, job.limits.command_timeout.as_secs());
        let session_op = matches!(job.operation, Operation::Session(_));
        if let Operation::Session(op) = &job.operation {
            facts.details.extend(self.parts.sessions.facts_before(op));
        }
        if let Operation::Hardware(op) = &job.operation {
            facts.details.extend(self.parts.devices.facts(&op.device));
        }
        let chat = job.session.clone().or_else(|| chat_of(&job.operation));

        let mut leave = None;
        let (result, explanation) = if self.parts.journal.is_latched() {
            (Err(OpError::AuditUnavailable), None)
        } else {
            contained(self.decide_and_run(job, chat.clone(), &mut leave)).await
        };
        let leaving = leave.map(|leave| Leaving { leave, chat: chat.clone(), facts: facts.clone() });
        // What was done may have taken long.
        let now_kept =
            leaving.as_ref().filter(|_| result.is_ok()).and_then(|leaving| leaving.check(&self.parts.policy));
        let (result, explanation) = match now_kept {
            Some((error, why)) => (Err(error), Some(why)),
            None => (result, explanation),
        };
        facts.complete(&result);
        if let Some(explanation) = &explanation {
            facts.decided(explanation);
        }
        if session_op && matches!(result, Ok(Outcome::Attached { .. })) {
            facts.op = "SESSION_ALLOWED_ROOT_SET";
        }
        let (answer, error_code) = answer(&result, leaving);
        let act = Act {
            chat: chat.as_ref(),
            request: &request,
            facts,
            result: &result,
            error_code,
            duration_ms: u64::try_from(self.parts.clock.now().saturating_duration_since(started).as_millis())
                .unwrap_or(u64::MAX),
            why: explanation.as_ref().map(WhyView::from),
        };
        let recorded = self.recorder.act(act);
        (result, recorded.then_some(answer))
    }

    async fn decide_and_run(
        &self,
        job: Job,
        chat: Option<SessionId>,
        leave: &mut Option<Leave>,
    ) -> (Result<Outcome, OpError>, Option<Explanation>) {
        let mut ctx = RunCtx {
            root: job.root,
            limits: job.limits,
            cancel: job.cancel,
            shown: None,
            holder: job.link,
            pieces: job.pieces,
            computer: None,
        };
        let on_data_link = job.session.is_some();
        let offered = match &job.operation {
            Operation::Computer(op) => job.offer.check(op),
            Operation::File(_)
            | Operation::Command(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => Ok(()),
        };
        let asker = Asker {
            link: job.link,
            max_open: (job.limits.max_concurrent as usize).saturating_sub(1),
            patience: match (job.link, on_data_link) {
                (COMMAND_LINE, _) => LOCAL_PATIENCE,
                (_, true) => DATA_PATIENCE,
                (_, false) => CONTROL_PATIENCE,
            },
            cancel: ctx.cancel.clone(),
        };
        let verdict = self.authorize(job.operation, chat, ctx.root.as_ref()).await;
        let (permit, bound) = match (verdict, offered) {
            // The peer has the capability for its other half, so what it lacks is this feature (spec 10.8).
            (Verdict::Denied(OpError::PowerOff { power }, explanation), Err(OpError::Unsupported { feature, .. }))
                if !job.offer.is_empty() =>
            {
                let why = format!("the power {power} is switched off on this computer");
                return (Err(OpError::Unsupported { feature, why }), Some(explanation));
            }
            (Verdict::Denied(error, explanation), _) => return (Err(error), Some(explanation)),
            // Whatever the person says, so they are not asked.
            (Verdict::Allowed(permit), Err(error)) => return (Err(error), Some(permit.explanation().clone())),
            (Verdict::Ask(question), Err(error)) => return (Err(error), Some(question.explanation().clone())),
            (Verdict::Allowed(permit), Ok(())) => (permit, None),
            (Verdict::Ask(question), Ok(())) => {
                let explanation = question.explanation().clone();
                match self.parts.desk.ask(question, ctx.root.as_ref(), &asker).await {
                    Ok(granted) => {
                        ctx.shown = granted.expected;
                        (granted.permit, Some(Bound { sealed: granted.sealed, folder: granted.folder }))
                    }
                    // A person's no is the reason then, and not that they were asked.
                    Err(OpError::Declined { power }) => {
                        let no = Explanation::new(Decision::Deny, Rule::Answered { power });
                        return (Err(OpError::Declined { power }), Some(no));
                    }
                    Err(error) => return (Err(error), Some(explanation)),
                }
            }
        };
        let explanation = Some(permit.explanation().clone());
        *leave = permit.leave();
        let asked = Models::asked(permit.operation(), permit.session());
        let mut held = self.held(&permit, ctx.root.as_ref(), asker);
        if let Some(held) = &mut held {
            ctx.pieces = self.held_back(held, ctx.pieces);
        }
        let result = self.run_permitted(permit, bound, ctx, on_data_link, &job.queued).await;
        if let Some(asked) = asked {
            self.parts.models.answered(asked, &result);
        }
        match (result, held) {
            (Ok(Outcome::Turn(answer)), Some(held)) => match self.release(answer, held).await {
                Ok((answer, unread)) => {
                    *leave = unread;
                    (Ok(Outcome::Turn(answer)), explanation)
                }
                Err((error, why)) => (Err(error), Some(why)),
            },
            (result, _) => (result, explanation),
        }
    }

    /// Decides. For a command that may ask, the programs that it means are found first, since rules are bound to them.
    async fn authorize(&self, operation: Operation, chat: Option<SessionId>, root: Option<&Arc<Root>>) -> Verdict {
        let asks = |operation: &Operation| {
            let explained = decide(&self.parts.policy.get(), operation, chat.as_ref());
            explained.decision == Decision::Ask || matches!(explained.rule, Rule::NobodyToAsk { .. })
        };
        let programs = match &operation {
            Operation::Command(op) if asks(&operation) => self.parts.desk.programs(op, root).await,
            Operation::Command(_)
            | Operation::File(_)
            | Operation::Browse(_)
            | Operation::Session(_)
            | Operation::Computer(_)
            | Operation::Model(_)
            | Operation::Hardware(_) => Programs::unknown(),
        };
        authorize_resolved(&self.parts.policy.get(), operation, chat, programs)
    }

    async fn run_permitted(
        &self,
        permit: Permit,
        bound: Option<Bound>,
        mut ctx: RunCtx,
        on_data_link: bool,
        queued: &AtomicU32,
    ) -> Result<Outcome, OpError> {
        let folder = bound.as_ref().and_then(|bound| bound.folder);
        // The turn comes first: what waits for the one screen must not hold a slot that files and commands could use.
        let turn = self.turn(permit.operation(), &ctx.cancel, queued).await?;
        let needs_slot = on_data_link && !is_wait(permit.operation());
        let (slot, waited) = if needs_slot { self.slot(&ctx.cancel, queued).await? } else { (None, false) };
        let _slot = slot;
        let waited = waited || turn.is_some();
        let permit = match bound {
            // The answer was checked right before; only a wait for the slot makes that old.
            Some(bound) if waited => self.parts.desk.recheck(permit, bound.sealed, ctx.root.as_ref()).await?,
            Some(_) | None => permit,
        };
        if ctx.cancel.is_cancelled() {
            return Err(OpError::Cancelled);
        }
        // The last look before the effect: a raise since the decision makes the permit worthless. A raise after this line
        // fires `ctx.cancel`, since it ends every link.
        let permit = permit.confirm(&self.parts.policy.get())?;
        let _running = self.parts.board.running(permit.operation().power(), permit.session());
        match permit.operation() {
            Operation::File(FileOp::Stub { .. }) | Operation::Model(ModelOp::Turn(_)) => {
                self.parts.models.privacy.run(permit, ctx).await
            }
            Operation::Model(_) => self.parts.models.model.run(permit, ctx).await,
            Operation::Hardware(_) => self.parts.devices.hardware.run(permit, ctx).await,
            Operation::File(_) => self.parts.files.run(permit, ctx).await,
            Operation::Command(_) => self.parts.shell.run(permit, ctx).await,
            Operation::Browse(_) => self.parts.browser.run(permit, ctx).await,
            Operation::Computer(op) => {
                let Some(turn) = turn else { return Err(OpError::Internal("an operation had no turn".to_owned())) };
                ctx.computer = Some(self.parts.screen.rules(op, permit.session()));
                let using = self.parts.screen.begin(op, permit.session());
                let result = self.parts.screen.computer.run_in(turn, permit, ctx).await;
                if let Some(using) = using {
                    using.done(&result);
                }
                result
            }
            Operation::Session(op) => {
                if let SessionOp::Detach { session } = op {
                    self.parts.desk.broker.forget_chat(session);
                    self.parts.models.privacy.forget_stubs(session);
                }
                let folder_changes = matches!(op, SessionOp::Attach { .. } | SessionOp::Detach { .. });
                let session = folder_changes.then(|| op.session().clone());
                let result = self.parts.sessions.run(permit, folder).await;
                if let (Ok(_), Some(session)) = (&result, session) {
                    self.parts.policy.end_allowances(&session);
                }
                result
            }
        }
    }

    /// Waits until an operation on the computer may be the one that uses it.
    async fn turn(
        &self,
        operation: &Operation,
        cancel: &CancellationToken,
        queued: &AtomicU32,
    ) -> Result<Option<Turn>, OpError> {
        let Operation::Computer(op) = operation else { return Ok(None) };
        queued.fetch_add(1, Ordering::Relaxed);
        let turn = self.parts.screen.computer.turn(op, cancel).await;
        queued.fetch_sub(1, Ordering::Relaxed);
        turn.map(Some)
    }

    /// Waits for one of the machine-wide slots. Tells whether that took any time.
    async fn slot(
        &self,
        cancel: &CancellationToken,
        queued: &AtomicU32,
    ) -> Result<(Option<OwnedSemaphorePermit>, bool), OpError> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return Ok((Some(slot), false));
        }
        queued.fetch_add(1, Ordering::Relaxed);
        let slot = tokio::select! {
            slot = slots.acquire_owned() => slot.map_err(|_| OpError::Cancelled),
            () = cancel.cancelled() => Err(OpError::Cancelled),
        };
        queued.fetch_sub(1, Ordering::Relaxed);
        slot.map(|slot| (Some(slot), true))
    }

    /// Records a request that the machine refused by itself: capability not granted, overloaded, bad payload.
    pub(crate) fn record_refusal(
        &self,
        chat: Option<&SessionId>,
        request: &RequestId,
        op: &'static str,
        code: &'static str,
    ) -> bool {
        self.recorder.refusal(chat, request, op, code)
    }

    /// Returns what tells of each change of what may be done.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.parts.policy.changes()
    }
}

/// What a yes holds for.
struct Bound {
    sealed: Sealed,
    /// The folder of an attachment.
    folder: Option<DirectoryIdentity>,
}

/// An answer that may have to stay here after all.
struct Leaving {
    leave: Leave,
    chat: Option<SessionId>,
    /// What is known of its operation before it runs.
    facts: Facts,
}

impl Leaving {
    /// Returns why the answer may not leave any more, if it may not.
    fn check(&self, policy: &PolicyCell) -> Option<(OpError, Explanation)> {
        self.leave.check(&policy.get())
    }
}

/// Makes a fault of our own into an answer. Without this nobody would answer the request, and its slot would stay taken.
async fn contained(
    run: impl Future<Output = (Result<Outcome, OpError>, Option<Explanation>)>,
) -> (Result<Outcome, OpError>, Option<Explanation>) {
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("an operation ended in a fault of the program; its message stands above");
        (Err(OpError::Internal("a fault of the program ended this operation; its log tells more".to_owned())), None)
    })
}

/// Waiting does nothing, so it needs no place among what does something.
const fn is_wait(operation: &Operation) -> bool {
    matches!(operation, Operation::Computer(ComputerOp::Input(InputOp::Wait { .. })))
}

fn chat_of(operation: &Operation) -> Option<SessionId> {
    match operation {
        Operation::Session(op) => Some(op.session().clone()),
        Operation::File(_)
        | Operation::Command(_)
        | Operation::Browse(_)
        | Operation::Computer(_)
        | Operation::Model(_)
        | Operation::Hardware(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "the fault under test")]

    use super::*;

    #[tokio::test]
    async fn a_fault_of_the_program_becomes_an_answer() {
        let (result, explanation) = contained(async { panic!("a broken assertion") }).await;

        assert!(matches!(result, Err(OpError::Internal(_))), "{result:?}");
        assert_eq!(explanation, None);
    }
}
