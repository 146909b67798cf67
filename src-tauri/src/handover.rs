//! A second start: the program that is there already shows its window, and this one ends.

use std::path::Path;
use std::time::{Duration, Instant};

use drawbridge_engine::Command;
use drawbridge_engine::control::{Client, ControlError};
use drawbridge_store::state_dir::StateDir;

use crate::host::{END_WITHIN, NoEngine};

/// A program that just starts takes so long to listen, and one that ends is gone after so long.
const LISTENS_WITHIN: Duration = Duration::from_secs(5).saturating_add(END_WITHIN);
/// How often it is tried.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Asks the owner of a state folder to show its window. Says what becomes of this start; none when the owner has ended
/// meanwhile, so that this start can go on as the first one.
pub(crate) async fn hand_over(state: &Path, pid: Option<u32>) -> Option<NoEngine> {
    match ask(state).await {
        Ok(Owner::Shows) => Some(NoEngine::HandedOver),
        Ok(Owner::Gone) => None,
        Err(ControlError::Refused(refusal)) if refusal.code == "no_window" => Some(without_a_window(pid)),
        Err(fault) => Some(no_answer(pid, &fault)),
    }
}

/// What became of the owner.
enum Owner {
    Shows,
    Gone,
}

async fn ask(state: &Path) -> Result<Owner, ControlError> {
    let folder = StateDir::open(state).map_err(|fault| ControlError::Broken { why: fault.to_string() })?;
    let began = Instant::now();
    loop {
        if !folder.is_owned() {
            return Ok(Owner::Gone);
        }
        let asked = match Client::connect(&folder.control_socket()).await {
            Ok(mut client) => client.send(&Command::ShowWindow).await.map(|_| Owner::Shows),
            Err(fault) => Err(fault),
        };
        match asked {
            Err(fault) if comes_or_goes(&fault) && began.elapsed() < LISTENS_WITHIN => {
                tokio::time::sleep(TRY_EVERY).await;
            }
            asked => return asked,
        }
    }
}

/// Tells whether the owner has not begun to listen, or is about to end.
fn comes_or_goes(fault: &ControlError) -> bool {
    match fault {
        ControlError::NotRunning | ControlError::Broken { .. } => true,
        ControlError::Refused(refusal) => refusal.code == "engine_gone",
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
        let folder = StateDir::open(dir.path()).unwrap();
        let _owner = folder.lock().unwrap();
        let socket = folder.control_socket();
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
        (outcome.unwrap(), command)
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
        let (outcome, _) = second_start(Err(CommandError::new("busy", "Not now"))).await;

        let NoEngine::Told { message, exit, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(exit, 0);
        assert!(message.contains("Not now"), "{message}");
    }

    #[tokio::test]
    async fn a_start_that_meets_an_owner_on_its_way_out_is_the_first_one_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let folder = StateDir::open(dir.path()).unwrap();
        let owner = folder.lock().unwrap();
        let (handle, side) = EngineHandle::pair(Snapshot::default());
        // Its engine takes nothing any more, and its door is still open.
        drop(side);
        let stop = CancellationToken::new();
        let serving = tokio::spawn({
            let (stop, socket) = (stop.clone(), folder.control_socket());
            async move { serve(handle, &socket, ControlOptions::default(), stop).await }
        });
        while Client::connect(&folder.control_socket()).await.is_err() {
            tokio::task::yield_now().await;
        }

        let start = hand_over(dir.path(), Some(4711));
        let end = async {
            stop.cancel();
            serving.await.unwrap().unwrap();
            drop(owner);
        };
        let (outcome, ()) = tokio::join!(start, end);

        assert_eq!(outcome, None);
    }
}
