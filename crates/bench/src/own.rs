//! Temporary: hosts the engine in this binary.
use drawbridge_core::SessionId;
use drawbridge_engine::{Engine, EngineOptions, Host};
use drawbridge_os::folders::Folders;
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use std::path::PathBuf;

pub(crate) async fn run(words: Vec<String>) -> anyhow::Result<()> {
    let value = |name: &str| words.iter().position(|w| w == name).and_then(|at| words.get(at + 1)).cloned();
    let folders = Folders::from_env()?;
    let mode = value("--shell").map(|mode| if mode == "full" { "full" } else { "confined" });
    let config_dir = folders.config.clone();
    let mut flags = FlagOverrides { platform_url: value("--platform-url"), ..Default::default() };
    if let Some(mode) = mode {
        flags.enable_shell = Some(true);
        flags.shell_mode = Some(if mode == "full" {
            drawbridge_policy::ShellMode::Full
        } else {
            drawbridge_policy::ShellMode::Confined
        });
    }
    let loaded = Config::load(&ConfigLayers::of_process(&config_dir, flags))?;
    let mut options = EngineOptions::from_config(&loaded, folders, Host::Headless);
    if let (Some(session), Some(root)) = (value("--session-id"), value("--allowed-root")) {
        options.legacy = Some((SessionId::parse(&session)?, PathBuf::from(root)));
    }
    let engine = Engine::start(options).await?;
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    term.recv().await;
    engine.stop();
    engine.wait().await;
    Ok(())
}
