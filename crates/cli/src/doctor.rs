//! Looks at everything that Drawbridge needs (spec 10.9). It reads, binds a port for a moment and tries the sandbox, and
//! changes nothing. Each finding that matters says how to mend it.

mod checks;

use drawbridge_core::escape_outside_text;
use drawbridge_store::config::FlagOverrides;
use serde_json::json;

use crate::coded::CONFIGURATION;
use crate::place::Place;
use crate::{configuration, out};

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// As it should be.
    Ok,
    /// A fact, neither good nor bad.
    Info,
    /// Something will be missing.
    Warn,
    /// Drawbridge cannot do its work like this.
    Fail,
}

impl Mark {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        }
    }
}

/// What a check found.
#[derive(Debug)]
struct Finding {
    /// A stable name.
    id: &'static str,
    mark: Mark,
    text: String,
    /// What to do, if there is something to do.
    fix: Option<String>,
}

impl Finding {
    fn new(id: &'static str, mark: Mark, text: impl Into<String>) -> Self {
        Self { id, mark, text: text.into(), fix: None }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

pub(crate) async fn run(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let loaded = configuration::load(&place, FlagOverrides::default());
    let mut findings = vec![checks::configuration(&place, loaded.as_ref())];
    let config = loaded.map(|loaded| loaded.config).unwrap_or_default();
    let engine = place.engine().await;
    findings.push(checks::engine(engine.as_ref().map(Option::is_some)));
    let (for_blocking, its_config) = (place.clone(), config.clone());
    findings.extend(tokio::task::spawn_blocking(move || checks::all(&for_blocking, &its_config)).await?);
    // Only a screen that was asked for and cannot be offered keeps a start from being what was wanted.
    let exit = if config.enable_computer_use { CONFIGURATION } else { 0 };
    print(&findings, exit, json)?;
    Ok(exit)
}

fn print(findings: &[Finding], exit: u8, json: bool) -> std::io::Result<()> {
    if json {
        let checks: Vec<_> = findings
            .iter()
            .map(|one| {
                json!({
                    "check": one.id,
                    "state": one.mark.name().to_ascii_lowercase(),
                    "text": escape_outside_text(&one.text),
                    "fix": one.fix.as_deref().map(escape_outside_text),
                })
            })
            .collect();
        return out::line(&json!({ "checks": checks, "exit": exit }).to_string());
    }
    for one in findings {
        out::line(&format!("{:<4}  {}: {}", one.mark.name(), one.id, escape_outside_text(&one.text)))?;
        if let Some(fix) = &one.fix {
            out::line(&format!("      -> {}", escape_outside_text(fix)))?;
        }
    }
    Ok(())
}
