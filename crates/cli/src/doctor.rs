//! Prints what the check-up of the engine's library finds (spec 10.9). Nothing is checked here.

use drawbridge_engine::doctor::{self, Finding, FindingState, Input};
use drawbridge_store::config::{Config, ConfigLayers, FlagOverrides};
use serde_json::json;

use crate::out;
use crate::place::Place;

pub(crate) async fn run(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    // A file that cannot be used is a finding, not the end.
    let loaded = Config::load(&ConfigLayers::of_process(&place.folders.config, FlagOverrides::default()));
    let findings = doctor::run(Input::of_process(place.folders, loaded)).await;
    let exit = doctor::exit_code(&findings);
    print(&findings, exit, json)?;
    Ok(exit)
}

/// Each text is safe to show already.
fn print(findings: &[Finding], exit: u8, json: bool) -> std::io::Result<()> {
    if json {
        let checks: Vec<_> = findings
            .iter()
            .map(|one| json!({ "check": one.check, "state": one.state, "text": one.text, "fix": one.fix }))
            .collect();
        return out::line(&json!({ "checks": checks, "exit": exit }).to_string());
    }
    for one in findings {
        out::line(&format!("{:<4}  {}: {}", mark(one.state), one.check, one.text))?;
        if let Some(fix) = &one.fix {
            out::line(&format!("      -> {fix}"))?;
        }
    }
    Ok(())
}

const fn mark(state: FindingState) -> &'static str {
    match state {
        FindingState::Ok => "OK",
        FindingState::Info => "INFO",
        FindingState::Warn => "WARN",
        FindingState::Fail => "FAIL",
    }
}
