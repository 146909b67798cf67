//! Where things are kept on this system (spec 3.1, 16; `cli.md`, environment).

use std::path::PathBuf;

/// The folders of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Everything that is kept.
    pub state: PathBuf,
    /// Holds `config.toml`.
    pub config: PathBuf,
    /// Holds `audit.log`. The state folder itself, except for the default place on macOS and Windows.
    pub logs: PathBuf,
}

/// This user has no home folder and none was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this user has no home folder, so Drawbridge has no place for its files; set DRAWBRIDGE_STATE_DIR and DRAWBRIDGE_CONFIG_DIR"
)]
pub struct NoHome;

impl Folders {
    /// Finds the folders; named ones win over the system's. Makes nothing.
    ///
    /// # Errors
    /// [`NoHome`].
    pub fn resolve(state: Option<PathBuf>, config: Option<PathBuf>) -> Result<Self, NoHome> {
        let system = directories::ProjectDirs::from("net", "drawbridge", "drawbridge");
        let own_state = state.is_some();
        let state = match state {
            Some(path) => std::path::absolute(&path).unwrap_or(path),
            None => {
                let system = system.as_ref().ok_or(NoHome)?;
                system.state_dir().unwrap_or_else(|| system.data_local_dir()).to_owned()
            }
        };
        let config = match config {
            Some(path) => std::path::absolute(&path).unwrap_or(path),
            None => system.as_ref().ok_or(NoHome)?.config_dir().to_owned(),
        };
        let logs = if own_state { state.clone() } else { system_logs().unwrap_or_else(|| state.clone()) };
        Ok(Self { state, config, logs })
    }

    /// Finds the folders as the environment names them: `DRAWBRIDGE_STATE_DIR` and `DRAWBRIDGE_CONFIG_DIR`.
    ///
    /// # Errors
    /// [`NoHome`].
    pub fn from_env() -> Result<Self, NoHome> {
        let named = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self::resolve(named("DRAWBRIDGE_STATE_DIR"), named("DRAWBRIDGE_CONFIG_DIR"))
    }
}

#[cfg(target_os = "macos")]
fn system_logs() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.home_dir().join("Library/Logs/drawbridge"))
}

#[cfg(target_os = "windows")]
fn system_logs() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.data_local_dir().join("drawbridge").join("logs"))
}

#[cfg(not(any(target_os = "macos", target_os = "windows")))]
fn system_logs() -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_state_folder_holds_the_log_too() {
        let folders = Folders::resolve(Some("/tmp/s".into()), Some("/tmp/c".into())).unwrap();

        assert_eq!(folders, Folders { state: "/tmp/s".into(), config: "/tmp/c".into(), logs: "/tmp/s".into() });
    }
}
