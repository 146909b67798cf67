//! Prints what helps to find a fault, for people who ask others for help. What is in it is decided in the engine's library.

use drawbridge_engine::diagnostics::{self, Input};
use drawbridge_engine::doctor;
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};

use crate::out;
use crate::place::Place;

pub(crate) async fn run() -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let loaded = Config::load(&ConfigLayers::of_process(&place.folders.config, FlagOverrides::default()));
    let names = loaded.as_ref().map(diagnostics::names_of).unwrap_or_default();
    let findings = doctor::run(doctor::Input::of_process(place.folders.clone(), loaded)).await;
    // An engine that does not answer is among the findings already.
    let snapshot = match place.engine().await {
        Ok(Some(mut client)) => client.snapshot().await.ok(),
        Ok(None) | Err(_) => None,
    };
    let facts = vec![("Host", "the command line".to_owned())];
    let input = Input { folders: place.folders, snapshot: snapshot.map(Into::into), findings, facts, names };
    let text = tokio::task::spawn_blocking(move || diagnostics::collect(&input)).await?;
    out::line(text.trim_end())?;
    Ok(0)
}
