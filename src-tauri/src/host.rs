//! Where the shell and the engine meet: the one place that starts an engine and ends it.
//!
//! Deliberately knows nothing of windows. The state folder's lock belongs to the engine: a second start learns of the
//! first one here, by the error of the engine's start.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_engine::gate::{self, Begun, Prepare};
use drawbridge_engine::{Command, EngineHandle, EngineOptions, ExitKind, Host};
use drawbridge_os::folders::Folders;
use drawbridge_practice::Practice;
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides, Loaded};
use drawbridge_store::state_dir::OwnerFault;
use tokio::sync::watch;

use crate::{handover, practice};

/// So long may the orderly end take; a session manager kills soon after.
pub(crate) const END_WITHIN: Duration = Duration::from_millis(5500);
/// Exit code for what the person has to repair in the configuration or on the machine (`cli.md`).
const CONFIGURATION: u8 = 78;

/// An engine and the news of its end.
#[derive(Debug)]
pub struct Hosted {
    /// The door to it.
    pub handle: EngineHandle,
    /// The exit code, once the engine has ended.
    pub ended: watch::Receiver<Option<u8>>,
}

/// Why no engine runs here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoEngine {
    /// The program that runs already shows its window; nothing is left to say.
    HandedOver,
    /// The person must be told.
    Told {
        /// A short headline.
        title: String,
        /// What happened, what it means, what to do next.
        message: String,
        /// Exit code of the program.
        exit: u8,
    },
}

/// Does a small task of this program's own when the first argument says so; then the program must end with this code.
///
/// Must be the first thing in `main`: such a child may not open a display or start threads.
#[must_use]
pub fn help_if_asked() -> Option<ExitCode> {
    drawbridge_os::helper::run_if_asked()
}

/// Names this person's state folder.
///
/// # Errors
/// Why there is none, in words for the person.
pub fn state_folder() -> Result<PathBuf, NoEngine> {
    Folders::from_env().map(|folders| folders.state).map_err(|fault| cannot_start(&fault))
}

/// Starts the engine of this person's state folder, or of a trial on the practice platform inside the program. Where it cannot
/// start, something stands in for it and says in the window what is in the way.
///
/// # Errors
/// Why there is nothing to show a window for, in words for the person.
pub async fn start(on_practice: bool) -> Result<Hosted, NoEngine> {
    let folders = Folders::from_env().map_err(|fault| cannot_start(&fault))?;
    let platform = match on_practice {
        true => Some(start_practice(&folders).await?),
        false => None,
    };
    let state_of_engine = if on_practice { practice::folders(&folders) } else { folders.clone() };
    let state = state_of_engine.state.clone();
    drawbridge_store::log::keep_in(&state_of_engine.logs);
    loop {
        match gate::begin(state_of_engine.clone(), prepare(folders.clone(), platform.clone())).await {
            Ok(begun) => return Ok(hosted(begun, platform)),
            Err(OwnerFault::Owned { pid, .. }) => {
                if let Some(end) = handover::hand_over(&state, pid).await {
                    return Err(end);
                }
            }
            Err(fault @ OwnerFault::Lock(_)) => return Err(cannot_start(&fault)),
        }
    }
}

/// Makes the engine's options from the configuration as it is at that moment.
fn prepare(folders: Folders, platform: Option<Arc<Practice>>) -> Prepare {
    Arc::new(move || {
        let loaded = load(&folders)?;
        let options = EngineOptions::from_config(&loaded, folders.clone(), Host::App);
        Ok(match &platform {
            Some(platform) => practice::options(options, platform),
            None => options,
        })
    })
}

fn load(folders: &Folders) -> Result<Loaded, String> {
    Config::load(&ConfigLayers::of_process(&folders.config, FlagOverrides::default()))
        .map_err(|fault| fault.to_string())
}

async fn start_practice(folders: &Folders) -> Result<Arc<Practice>, NoEngine> {
    // A configuration that cannot be read is told of by the engine's start.
    let config = load(folders).map(|loaded| loaded.config).unwrap_or_default();
    match practice::start(&config.oauth_client_id, &config.ollama_url).await {
        Ok(platform) => Ok(Arc::new(platform)),
        Err(fault) => Err(cannot_start(&format!("the practice platform could not listen on this computer ({fault})"))),
    }
}

fn hosted(begun: Begun, platform: Option<Arc<Practice>>) -> Hosted {
    let handle = begun.handle();
    if let Some(platform) = &platform {
        tokio::spawn(practice::sign_in(handle.clone(), platform.script()));
    }
    let (tell, ended) = watch::channel(None);
    tokio::spawn(async move {
        let exit = begun.wait().await;
        if exit != ExitKind::Stopped {
            tracing::error!(?exit, "the engine has ended by itself");
        }
        // The platform of a trial ends with it.
        drop(platform);
        tell.send_replace(Some(exit.code()));
    });
    Hosted { handle, ended }
}

/// Ends an engine in order and waits for it, within limits.
pub(crate) async fn end(engine: &EngineHandle, mut ended: watch::Receiver<Option<u8>>) {
    let orderly = async {
        if let Err(error) = engine.send(Command::Shutdown).await {
            tracing::info!(code = error.code, "the engine was gone already");
        }
        let _ = ended.wait_for(Option::is_some).await;
    };
    if tokio::time::timeout(END_WITHIN, orderly).await.is_err() {
        tracing::error!("the orderly end took too long, so it was cut short");
    }
}

/// Waits until somebody ends the program from outside: a session manager, or Ctrl-C where it was started.
///
/// # Errors
/// When the system does not let us listen.
#[cfg(unix)]
pub(crate) fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// Waits until somebody ends the program from outside.
///
/// # Errors
/// None on this system.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(crate) fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

fn cannot_start(fault: &dyn std::fmt::Display) -> NoEngine {
    NoEngine::Told {
        title: "Drawbridge cannot start".to_owned(),
        message: format!(
            "{fault}.\n\nNothing was connected and no agent can act. Repair this, then start Drawbridge again."
        ),
        exit: CONFIGURATION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_repaired_ends_with_its_own_code() {
        let NoEngine::Told { message, exit, .. } = cannot_start(&"the state folder has no name") else {
            panic!("handed over")
        };

        assert_eq!(exit, 78);
        assert!(message.starts_with("the state folder has no name."), "{message}");
    }
}
