//! The person's own tries of a model: at most two, kept in memory alone and never in a picture, since pictures go to whoever asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::model::Piece;
use drawbridge_core::{Clock, OpError, Outcome, RequestId, escape_outside_text};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::sentence;
use crate::view::TrialView;

/// Tries that are kept.
const MOST: usize = 2;
/// A finished try is kept so long.
const KEPT: Duration = Duration::from_secs(600);
/// The longest answer that is kept, in bytes.
const TEXT_BYTES: usize = 1024 * 1024;
/// What was stopped ends within a moment, unless the machine is very busy.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

/// Both places are taken by tries that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TriesTaken;

/// One try.
pub(crate) struct Trial {
    clock: Arc<dyn Clock>,
    started: Instant,
    /// Fires when nobody wants the answer any more.
    pub(crate) cancel: CancellationToken,
    /// Fires when it has ended.
    ended: CancellationToken,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    text: String,
    end: Option<End>,
}

struct End {
    state: &'static str,
    at: Instant,
    problem: Option<String>,
    finish: Option<&'static str>,
    tokens: Option<u64>,
}

impl Trial {
    /// Takes the answer as it comes, until `run` has ended.
    pub(crate) async fn follow(
        &self,
        run: impl Future<Output = Result<Outcome, OpError>>,
        mut pieces: mpsc::Receiver<(RequestId, Piece)>,
    ) {
        // However this ends, whoever waits for the end must not wait for ever.
        let _ended = self.ended.clone().drop_guard();
        tokio::pin!(run);
        let result = loop {
            tokio::select! {
                biased;
                Some((_, piece)) = pieces.recv() => self.add(piece),
                result = &mut run => break result,
            }
        };
        self.end(result);
    }

    fn add(&self, piece: Piece) {
        let Piece::Delta(delta) = piece else { return };
        let mut progress = self.lock();
        if progress.text.len() + delta.len() <= TEXT_BYTES {
            progress.text.push_str(&delta);
        }
    }

    fn end(&self, result: Result<Outcome, OpError>) {
        let at = self.clock.now();
        let mut progress = self.lock();
        progress.end = Some(match result {
            Ok(Outcome::Completion(answer)) => {
                if answer.content.len() <= TEXT_BYTES {
                    progress.text = answer.content;
                }
                let finish = Some(answer.finish.name());
                End { state: "done", at, problem: None, finish, tokens: answer.tokens.completion }
            }
            Ok(_) => End { state: "failed", at, problem: None, finish: None, tokens: None },
            Err(OpError::Cancelled) => End { state: "stopped", at, problem: None, finish: None, tokens: None },
            Err(error) => {
                let problem = Some(problem(&error));
                End { state: "failed", at, problem, finish: None, tokens: None }
            }
        });
    }

    fn view(&self) -> TrialView {
        let progress = self.lock();
        let end = progress.end.as_ref();
        let until = end.map_or_else(|| self.clock.now(), |end| end.at);
        let took = until.saturating_duration_since(self.started);
        TrialView {
            text: safe_lines(&progress.text),
            state: end.map_or("running", |end| end.state).to_owned(),
            problem: end.and_then(|end| end.problem.clone()),
            finish: end.and_then(|end| end.finish).map(str::to_owned),
            tokens: end.and_then(|end| end.tokens),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn ended_at(&self) -> Option<Instant> {
        self.lock().end.as_ref().map(|end| end.at)
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says to the person why their own try came to nothing. The words of the error are for an agent where it speaks of the person.
fn problem(error: &OpError) -> String {
    if matches!(error, OpError::Declined { .. }) {
        return "You declined it.".to_owned();
    }
    if matches!(error, OpError::WaitingForConsent { .. }) {
        return "The question for your yes was not answered in time. Try again.".to_owned();
    }
    if matches!(error, OpError::NoUi { .. }) {
        let why =
            "The power of the local model asks each time, and nobody can be asked here. Allow it, then try again.";
        return why.to_owned();
    }
    if let OpError::ModelFailed { why } = error {
        // What stands before it is for an agent: a server that is busy has not failed.
        return sentence(&escape_outside_text(why));
    }
    sentence(&escape_outside_text(&error.to_string()))
}

/// Makes a text of several lines safe to show; its lines and tabs stay.
fn safe_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let words = part.trim_end_matches(['\n', '\t']);
        safe.push_str(&escape_outside_text(words));
        safe.push_str(&part[words.len()..]);
    }
    safe
}

/// All tries.
#[derive(Default)]
pub(crate) struct Trials(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    last: u64,
    list: BTreeMap<u64, Arc<Trial>>,
}

impl Trials {
    /// Makes room for a try and begins it.
    ///
    /// # Errors
    /// [`TriesTaken`].
    pub(crate) fn begin(&self, clock: &Arc<dyn Clock>) -> Result<(u64, Arc<Trial>), TriesTaken> {
        let mut kept = self.lock();
        let now = clock.now();
        let fresh = |trial: &Trial| trial.ended_at().is_none_or(|end| now.saturating_duration_since(end) < KEPT);
        kept.list.retain(|_, trial| fresh(trial));
        if kept.list.len() >= MOST {
            let done = kept.list.iter().find(|(_, trial)| trial.ended_at().is_some()).map(|(id, _)| *id);
            kept.list.remove(&done.ok_or(TriesTaken)?);
        }
        kept.last += 1;
        let id = kept.last;
        let trial = Arc::new(Trial {
            clock: clock.clone(),
            started: now,
            cancel: CancellationToken::new(),
            ended: CancellationToken::new(),
            progress: Mutex::default(),
        });
        kept.list.insert(id, trial.clone());
        Ok((id, trial))
    }

    /// Tells how a try stands; none when it is not kept any more.
    pub(crate) fn view(&self, id: u64) -> Option<TrialView> {
        let trial = self.lock().list.get(&id).cloned();
        trial.map(|trial| trial.view())
    }

    /// Ends a try. Tells whether it is known.
    pub(crate) fn stop(&self, id: u64) -> bool {
        let trial = self.lock().list.get(&id).cloned();
        trial.is_some_and(|trial| {
            trial.cancel.cancel();
            true
        })
    }

    /// Ends every try.
    pub(super) fn stop_all(&self) {
        for trial in self.lock().list.values() {
            trial.cancel.cancel();
        }
    }

    /// Ends every try and waits for that.
    pub(crate) async fn end_all(&self) {
        self.stop_all();
        let running: Vec<_> = self.lock().list.values().map(|trial| trial.ended.clone()).collect();
        let all = async {
            for ended in &running {
                ended.cancelled().await;
            }
        };
        if tokio::time::timeout(ENDS_WITHIN, all).await.is_err() {
            tracing::warn!("a try of a model was stopped and has not ended yet");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_core::SystemClock;
    use drawbridge_core::model::{FinishReason, ModelAnswer, TokenCounts};

    use super::*;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    fn answer(content: &str) -> Outcome {
        Outcome::Completion(ModelAnswer {
            model: "m".to_owned(),
            content: content.to_owned(),
            finish: FinishReason::Length,
            tokens: TokenCounts { prompt: Some(3), completion: Some(2) },
            duration: Duration::ZERO,
        })
    }

    #[tokio::test]
    async fn an_answer_can_be_read_while_it_comes_and_hides_nothing() {
        let trials = Trials::default();
        let (id, trial) = trials.begin(&clock()).unwrap();
        let (send, pieces) = mpsc::channel(4);
        let (finish, finished) = tokio::sync::oneshot::channel::<()>();
        let request = RequestId::parse("try-1").unwrap();
        let followed = tokio::spawn(async move {
            let run = async move {
                let _ = finished.await;
                Ok(answer("one\n\ttwo\u{202e}\n"))
            };
            trial.follow(run, pieces).await;
        });
        send.send((request, Piece::Delta("one\n\ttw".to_owned()))).await.unwrap();
        while trials.view(id).unwrap().text.is_empty() {
            tokio::task::yield_now().await;
        }
        let view = trials.view(id).unwrap();
        assert_eq!((view.text.as_str(), view.state.as_str(), view.finish), ("one\n\ttw", "running", None));

        finish.send(()).unwrap();
        followed.await.unwrap();

        let view = trials.view(id).unwrap();
        assert_eq!((view.text.as_str(), view.state.as_str()), ("one\n\ttwo\\u{202E}\n", "done"));
        assert_eq!((view.finish.as_deref(), view.tokens, view.problem), (Some("length"), Some(2), None));
    }

    #[tokio::test]
    async fn two_run_at_most_and_a_finished_one_makes_room() {
        let trials = Trials::default();
        let (first, one) = trials.begin(&clock()).unwrap();
        let (second, _two) = trials.begin(&clock()).unwrap();
        assert_eq!(trials.begin(&clock()).err(), Some(TriesTaken));

        let (_keep, pieces) = mpsc::channel(1);
        one.follow(std::future::ready(Err(OpError::Cancelled)), pieces).await;
        assert_eq!(trials.view(first).unwrap().state, "stopped");
        let (third, _) = trials.begin(&clock()).unwrap();

        assert_eq!(trials.view(first), None);
        assert!(trials.view(second).is_some() && third > second && !trials.stop(first));
    }
}
