//! The engine as the check-up finds it: here, behind the control socket, not yet begun, or not at all.

use std::sync::Arc;

use drawbridge_store::state_dir::StateDir;
use tokio::sync::Mutex;

use super::{EngineAt, Finding, Input, words};
use crate::control::{Client, ControlError};
use crate::view::Snapshot;
use crate::{Command, EngineHandle, Reply};

/// What there is to ask.
pub(super) enum Door {
    /// A running engine and its picture.
    Running(Arc<Snapshot>, Asked),
    /// An engine that could not begin, with the reason.
    Gate(String),
    /// None.
    Stopped,
    /// One that does not answer, with the reason.
    Silent(String),
}

/// The way to a running engine.
pub(super) enum Asked {
    /// In this process.
    Here(EngineHandle),
    /// By the control socket, one question at a time.
    There(Mutex<Client>),
}

impl Door {
    pub(super) async fn open(input: &Input) -> Self {
        match &input.engine {
            EngineAt::Here(engine) => Self::of(engine.snapshot(), Asked::Here(engine.clone())),
            // Looking makes no folder.
            EngineAt::Elsewhere if !input.folders.state.is_dir() => Self::Stopped,
            EngineAt::Elsewhere => Self::elsewhere(input).await,
        }
    }

    async fn elsewhere(input: &Input) -> Self {
        // What is wrong with the folder is said by its own check.
        let Ok(state) = StateDir::open(&input.folders.state) else { return Self::Stopped };
        let mut client = match Client::connect(&state.control_socket()).await {
            Ok(client) => client,
            Err(ControlError::NotRunning) => return Self::Stopped,
            Err(fault) => return Self::Silent(fault.to_string()),
        };
        match client.snapshot().await {
            Ok(snapshot) => Self::of(Arc::new(snapshot), Asked::There(Mutex::new(client))),
            Err(fault) => Self::Silent(fault.to_string()),
        }
    }

    fn of(snapshot: Arc<Snapshot>, asked: Asked) -> Self {
        match &snapshot.gate {
            Some(gate) => Self::Gate(gate.message.clone()),
            None => Self::Running(snapshot, asked),
        }
    }

    pub(super) fn finding(&self) -> Finding {
        match self {
            Self::Running(..) => Finding::ok("engine", &words::ENGINE_RUNNING, &[]),
            Self::Gate(why) => Finding::fail("engine", &words::ENGINE_GATE, &[("why", why)]),
            Self::Stopped => Finding::info("engine", &words::ENGINE_STOPPED, &[]),
            Self::Silent(why) => Finding::fail("engine", &words::ENGINE_SILENT, &[("why", why)]),
        }
    }

    /// The picture of a running engine.
    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Running(snapshot, _) => Some(snapshot),
            Self::Gate(_) | Self::Stopped | Self::Silent(_) => None,
        }
    }
}

impl Asked {
    /// Sends a command; what is refused comes back in words.
    pub(super) async fn send(&self, command: Command) -> Result<Reply, String> {
        match self {
            Self::Here(engine) => engine.send(command).await.map_err(|fault| fault.to_string()),
            Self::There(client) => client.lock().await.send(&command).await.map_err(|fault| fault.to_string()),
        }
    }
}
