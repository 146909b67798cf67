//! The check-up page: runs the engine's checks, and does what a finding offers.
//!
//! The page names what it wants done, never a path or a text: those are found here. What has a door of its own, such as
//! signing in, the page does by that.

use drawbridge_engine::doctor::{self, EngineAt, Finding, Input, ShellFacts};
use drawbridge_engine::{CommandError, EngineHandle};
use drawbridge_os::desktop::install_command;
use drawbridge_os::folders::Folders;
use drawbridge_os::private;
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use tauri::{AppHandle, Manager as _};

use crate::prefs::PrefsDesk;
use crate::{copy, hotkey, outside, practice};

/// Runs every check. Takes seconds at worst, or as long as a large audit log takes.
#[tauri::command]
pub(crate) async fn doctor(app: AppHandle) -> Result<Vec<Finding>, CommandError> {
    findings(&app).await
}

/// Does what a finding offers, by its stable name.
#[tauri::command]
pub(crate) async fn doctor_fix(app: AppHandle, action: String) -> Result<(), CommandError> {
    let folders = folders(&app)?;
    match action.as_str() {
        "open_state_folder" => outside::open_own_folder(&folders.state),
        "open_config" => {
            // Somebody who is to correct a file needs the folder, also where there is no file yet.
            private::create_folder(&folders.config).map_err(|fault| {
                let message = format!("The folder of the configuration cannot be made: {fault}.");
                CommandError::new("no_folder", message)
            })?;
            outside::open_own_folder(&folders.config)
        }
        "make_private" => private::create_folder(&folders.state).map_err(|fault| {
            let message = format!("The folder could not be made private: {fault}. Change its permissions yourself.");
            CommandError::new("not_private", message)
        }),
        "copy_install_bubblewrap" => copy_install("bubblewrap").await,
        "copy_install_xdg_utils" => copy_install("xdg-utils").await,
        _ => Err(CommandError::new("unknown_action", "There is nothing of this name to do here.")),
    }
}

/// Runs every check, for the page and for the diagnostics.
///
/// # Errors
/// `no_home` when this person has no place for files.
pub(crate) async fn findings(app: &AppHandle) -> Result<Vec<Finding>, CommandError> {
    let folders = folders(app)?;
    let prefs = app.state::<PrefsDesk>().get();
    let config_dir = folders.config.clone();
    let load = move || Config::load(&ConfigLayers::of_process(&config_dir, FlagOverrides::default()));
    let config = tokio::task::spawn_blocking(load)
        .await
        .map_err(|_| CommandError::new("check_up_failed", "The check-up was cut short. Try again."))?;
    let engine = app.state::<EngineHandle>().inner().clone();
    let shell =
        ShellFacts { hot_key_wanted: prefs.hot_key, hot_key: hotkey::shown(), hot_key_possible: hotkey::is_possible() };
    let input = Input::of_process(folders, config);
    Ok(doctor::run(Input { engine: EngineAt::Here(engine), shell: Some(shell), ..input }).await)
}

/// The folders of the engine that runs here: a trial has its own.
pub(crate) fn folders(app: &AppHandle) -> Result<Folders, CommandError> {
    let real = Folders::from_env().map_err(|fault| CommandError::new("no_home", fault.to_string()))?;
    Ok(if app.state::<PrefsDesk>().get().practice { practice::folders(&real) } else { real })
}

async fn copy_install(package: &str) -> Result<(), CommandError> {
    let command = install_command(package).ok_or_else(|| {
        CommandError::new("unknown_distribution", format!("How {package} is installed here is not known."))
    })?;
    copy::put(command).await
}
