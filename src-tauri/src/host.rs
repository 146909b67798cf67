//! Where the shell and the engine meet: the one place that starts an engine and ends it.
//!
//! Deliberately knows nothing of windows. The state folder's lock belongs to the engine: a second start learns of the
//! first one here, by the error of the engine's start.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use drawbridge_engine::{Command, Engine, EngineHandle, EngineOptions, ExitKind, Host, StartError};
use drawbridge_os::folders::Folders;
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use drawbridge_store::state_dir::OwnerFault;
use tokio::sync::watch;

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
pub struct NoEngine {
    /// A short headline.
    pub title: String,
    /// What happened, what it means, what to do next.
    pub message: String,
    /// Exit code of the program.
    pub exit: u8,
}

/// Becomes the confined launcher of a command when the first argument says so; then the program must end with this code.
///
/// Must be the first thing in `main`: a confined child may not open a display or start threads.
#[must_use]
pub fn confine_if_asked() -> Option<ExitCode> {
    drawbridge_os::sandbox::maybe_confine()
}

/// Starts the engine of this person's state folder.
///
/// # Errors
/// Why no engine runs, in words for the person.
pub async fn start() -> Result<Hosted, NoEngine> {
    let folders = Folders::from_env().map_err(|fault| cannot_start(&fault))?;
    let loaded = Config::load(&ConfigLayers::of_process(&folders.config, FlagOverrides::default()))
        .map_err(|fault| cannot_start(&fault))?;
    let options = EngineOptions::from_config(&loaded, folders, Host::App);
    Engine::start(options).await.map(hosted).map_err(refused)
}

fn hosted(engine: Engine) -> Hosted {
    let handle = engine.handle();
    let (tell, ended) = watch::channel(None);
    tokio::spawn(async move {
        let exit = engine.wait().await;
        if exit != ExitKind::Stopped {
            tracing::error!(?exit, "the engine has ended by itself");
        }
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

fn refused(fault: StartError) -> NoEngine {
    let StartError::Owner(OwnerFault::Owned { pid, .. }) = fault else {
        return NoEngine { exit: fault.exit_code(), ..cannot_start(&fault) };
    };
    let who = pid.map(|pid| format!(" It is process {pid}.")).unwrap_or_default();
    NoEngine {
        title: "Drawbridge is already running".to_owned(),
        message: format!(
            "Only one Drawbridge can guard this computer's folders at a time, so this second start ends now.{who}\n\n\
             Open the window from its tray icon, or see what it does with: drawbridge status"
        ),
        exit: 0,
    }
}

fn cannot_start(fault: &dyn std::fmt::Display) -> NoEngine {
    NoEngine {
        title: "Drawbridge cannot start".to_owned(),
        message: format!(
            "{fault}.\n\nNothing was connected and no agent can act. Repair this, then start Drawbridge again."
        ),
        exit: CONFIGURATION,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_second_start_points_to_the_first_one_and_is_no_failure() {
        let owned = OwnerFault::Owned { path: PathBuf::from("/home/ada/.local/state/drawbridge"), pid: Some(4711) };

        let told = refused(StartError::Owner(owned));

        assert_eq!(told.exit, 0);
        assert_eq!(told.title, "Drawbridge is already running");
        assert!(told.message.contains("process 4711"), "{}", told.message);
    }

    #[test]
    fn what_must_be_repaired_ends_with_its_own_code() {
        let told = refused(StartError::System { what: "could not take charge of processes", why: "denied".to_owned() });

        assert_eq!(told.exit, 78);
        assert!(told.message.starts_with("could not take charge of processes: denied."), "{}", told.message);
    }
}
