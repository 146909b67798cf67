//! Commands that take long: they run beside the engine's task, so that a raise never waits for one.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Core;
use super::activity::{self, Search};
use super::commands::Done;
use super::publish::Publisher;
use super::restore::{self, Restorer};
use crate::handle::{Answer, CommandError, Reply};
use crate::view::ActivityFilter;

/// So many run at once. More are refused: each holds a thread.
const MOST: usize = 8;

/// So many acts on devices wait at once. They may wait for long, so they have places of their own.
const MOST_ACTS: usize = 8;

/// A command's work, which blocks.
pub(super) type Job = Box<dyn FnOnce() -> Done + Send>;

/// A command's work, which waits for others: the platform, or a lock.
pub(super) type Wait = Pin<Box<dyn Future<Output = Done> + Send>>;

/// What came of taking a command.
pub(super) enum Todo {
    /// It is done.
    Now(Reply),
    /// It is done beside the engine's task.
    Aside(Job),
    /// It waits beside the engine's task, and is given up when the engine ends.
    Waiting(Wait),
    /// It waits, and is ended when whoever asked does not wait for the answer any more.
    Acting(Acting),
}

/// An act that may wait for long.
pub(super) struct Acting {
    /// Its work, which ends soon once `cancel` fires and then tells what came of it.
    pub(super) wait: Wait,
    /// Ends it.
    pub(super) cancel: CancellationToken,
}

/// The commands that run aside.
pub(super) struct Aside {
    tasks: JoinSet<()>,
    acts: JoinSet<()>,
    act_places: Arc<Semaphore>,
    /// Fires when the engine ends.
    stop: CancellationToken,
    search: Arc<Search>,
}

impl Aside {
    pub(super) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            acts: JoinSet::new(),
            act_places: Arc::new(Semaphore::new(MOST_ACTS)),
            stop: CancellationToken::new(),
            search: Arc::default(),
        }
    }

    /// Runs a job and answers.
    pub(super) fn start(&mut self, job: Job, answer: Answer, publish: Publisher) {
        let broke_off = |_| Err(CommandError::new("broke_off", "This broke off. The log of the program tells why."));
        let run = async move { tokio::task::spawn_blocking(job).await.unwrap_or_else(broke_off) };
        self.go(run, answer, publish);
    }

    /// Waits with the command and answers.
    pub(super) fn wait(&mut self, wait: Wait, answer: Answer, publish: Publisher) {
        let stop = self.stop.clone();
        let ends = || CommandError::new("engine_gone", "Drawbridge is shutting down. Start it again and retry.");
        let run = async move { stop.run_until_cancelled(wait).await.unwrap_or_else(|| Err(ends())) };
        self.go(run, answer, publish);
    }

    /// Waits with an act and answers. It is not dropped but ended, since it has to be recorded.
    pub(super) fn act(&mut self, act: Acting, mut answer: Answer, publish: Publisher) {
        while self.acts.try_join_next().is_some() {}
        let Ok(place) = self.act_places.clone().try_acquire_owned() else {
            let busy = "Drawbridge is busy with other acts on devices. End one of them or try again in a moment.";
            let _ = answer.send(Err(CommandError::new("busy", busy)));
            return;
        };
        let stop = self.stop.clone();
        self.acts.spawn(async move {
            let Acting { mut wait, cancel } = act;
            let done = tokio::select! {
                done = &mut wait => done,
                () = answer.closed() => {
                    cancel.cancel();
                    wait.await
                }
                () = stop.cancelled() => {
                    cancel.cancel();
                    wait.await
                }
            };
            // Whoever has the answer may act again at once.
            drop(place);
            publish.now();
            let _ = answer.send(done);
        });
    }

    fn go(&mut self, run: impl Future<Output = Done> + Send + 'static, answer: Answer, publish: Publisher) {
        while self.tasks.try_join_next().is_some() {}
        if self.tasks.len() >= MOST {
            let busy = "Drawbridge is busy with other requests of this kind. Try again in a moment.";
            let _ = answer.send(Err(CommandError::new("busy", busy)));
            return;
        }
        self.tasks.spawn(async move {
            let done = run.await;
            publish.now();
            let _ = answer.send(done);
        });
    }

    /// Waits for what runs. A restore ends with the change at hand.
    pub(super) async fn end(&mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        while self.acts.join_next().await.is_some() {}
    }
}

impl Core {
    pub(super) fn activity_page(&self, filter: ActivityFilter, skip: u64, limit: u32) -> Job {
        let (search, journal) = (self.aside.search.clone(), self.journal.clone());
        Box::new(move || search.page(&journal, &filter, skip, limit))
    }

    pub(super) fn audit_record(&self, seq: u64, file: Option<String>) -> Job {
        let (journal, policy) = (self.journal.clone(), self.policy.get());
        Box::new(move || activity::record(&journal, &policy, seq, file.as_deref()))
    }

    pub(super) fn audit_verify(&self) -> Job {
        let (journal, stop) = (self.journal.clone(), self.aside.stop.clone());
        Box::new(move || activity::verify(&journal, &|| stop.is_cancelled()))
    }

    pub(super) fn audit_export(&self, path: String) -> Job {
        let journal = self.journal.clone();
        Box::new(move || activity::export(&journal, &path))
    }

    pub(super) fn undo_restore(&self, numbers: Vec<u64>) -> Job {
        let restorer = self.restorer();
        Box::new(move || restore::numbers(&restorer, numbers))
    }

    pub(super) fn undo_restore_chat(&self, session_id: &str) -> Result<Job, CommandError> {
        let session = super::commands::chat_named(session_id)?;
        let restorer = self.restorer();
        Ok(Box::new(move || restore::chat(&restorer, &session)))
    }

    fn restorer(&self) -> Restorer {
        Restorer {
            undo: self.undo.clone(),
            open_root: self.open_root.clone(),
            journal: self.journal.clone(),
            board: self.board.clone(),
            stop: self.aside.stop.clone(),
        }
    }
}
