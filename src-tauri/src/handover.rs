//! A second start: the program that is there already shows its window, and this one ends.

use std::path::Path;
use std::time::{Duration, Instant};

use drawbridge_engine::Command;
use drawbridge_engine::control::{Client, ControlError};
use drawbridge_store::state_dir::StateDir;

use crate::host::NoEngine;

/// A program that just starts takes so long to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);
/// How often it is tried.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Asks the owner of a state folder to show its window. Says what becomes of this start.
pub(crate) async fn hand_over(state: &Path, pid: Option<u32>) -> NoEngine {
    match ask(state).await {
        Ok(()) => NoEngine::HandedOver,
        Err(ControlError::Refused(refusal)) if refusal.code == "no_window" => without_a_window(pid),
        Err(fault) => no_answer(pid, &fault),
    }
}

async fn ask(state: &Path) -> Result<(), ControlError> {
    let folder = StateDir::open(state).map_err(|fault| ControlError::Broken { why: fault.to_string() })?;
    let began = Instant::now();
    loop {
        let asked = match Client::connect(&folder.control_socket()).await {
            Ok(mut client) => client.send(&Command::ShowWindow).await.map(drop),
            Err(fault) => Err(fault),
        };
        match asked {
            Err(ControlError::NotRunning) if began.elapsed() < LISTENS_WITHIN => tokio::time::sleep(TRY_EVERY).await,
            asked => return asked,
        }
    }
}

fn without_a_window(pid: Option<u32>) -> NoEngine {
    NoEngine::Told {
        title: "Drawbridge runs without a window".to_owned(),
        message: format!(
            "It was started from the command line{}, and only one Drawbridge can guard this computer's folders at a time. \
             This start ends now; nothing has changed.\n\n\
             To see what it does: drawbridge status\nTo use the window instead, end that one (Ctrl-C where it was started, or \
             stop its service), then start Drawbridge again.",
            process(pid)
        ),
        exit: 0,
    }
}

fn no_answer(pid: Option<u32>, fault: &ControlError) -> NoEngine {
    NoEngine::Told {
        title: "Drawbridge is already running".to_owned(),
        message: format!(
            "It runs{} and did not show its window: {fault}.\nOnly one Drawbridge can guard this computer's folders at a \
             time, so this second start ends now.\n\n\
             Open the window from its tray icon. If that does not help, end that process and start Drawbridge again.",
            process(pid)
        ),
        exit: 0,
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_engine::control::{ControlOptions, serve};
    use drawbridge_engine::view::Snapshot;
    use drawbridge_engine::{CommandError, EngineHandle, Reply};
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// An owner whose engine answers like this.
    async fn second_start(answer: Result<Reply, CommandError>) -> (NoEngine, Command) {
        let dir = tempfile::tempdir().unwrap();
        let socket = StateDir::open(dir.path()).unwrap().control_socket();
        let (handle, mut side) = EngineHandle::pair(Snapshot::default());
        let stop = CancellationToken::new();
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move { serve(handle, &socket, ControlOptions::default(), stop).await }
        });
        let engine = tokio::spawn(async move {
            let (command, reply) = side.commands.recv().await.unwrap();
            reply.send(answer).unwrap();
            side.snapshots.send_replace(Arc::default());
            command
        });

        let outcome = hand_over(dir.path(), Some(4711)).await;

        let command = engine.await.unwrap();
        stop.cancel();
        serving.await.unwrap().unwrap();
        (outcome, command)
    }

    #[tokio::test]
    async fn the_owner_is_asked_for_its_window() {
        let (outcome, command) = second_start(Ok(Reply::Done)).await;
        assert_eq!((outcome, command), (NoEngine::HandedOver, Command::ShowWindow));
    }

    #[tokio::test]
    async fn an_owner_without_a_window_is_explained() {
        let (outcome, _) = second_start(Err(CommandError::new("no_window", "headless"))).await;

        let NoEngine::Told { title, message, exit } = outcome else { panic!("{outcome:?}") };
        assert_eq!((title.as_str(), exit), ("Drawbridge runs without a window", 0));
        assert!(message.contains("process 4711") && message.contains("drawbridge status"), "{message}");
    }

    #[tokio::test]
    async fn an_owner_that_refuses_is_told_of() {
        let (outcome, _) = second_start(Err(CommandError::new("engine_gone", "It ends"))).await;

        let NoEngine::Told { message, exit, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(exit, 0);
        assert!(message.contains("It ends"), "{message}");
    }
}
