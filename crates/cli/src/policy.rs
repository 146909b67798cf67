//! What policy says, and why: the running engine is asked; else what the next headless start would hold.

use drawbridge_core::{SessionId, escape_outside_text};
use drawbridge_engine::explain::{OPERATIONS, explain};
use drawbridge_engine::view::ExplainView;
use drawbridge_engine::{Command, Reply};
use drawbridge_policy::PolicyState;
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::settings::Settings;

use crate::args::PolicyVerb;
use crate::coded::{USAGE, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{configuration, out, start};

pub(crate) async fn run(verb: PolicyVerb) -> anyhow::Result<u8> {
    let (operations, chat, json) = match verb {
        PolicyVerb::Explain { operations, chat, json } => (known(&operations)?, chat, json),
        PolicyVerb::List { json } => (OPERATIONS.iter().map(|name| (*name).to_owned()).collect(), None, json),
    };
    for one in explained(operations, chat).await? {
        out::line(&if json { serde_json::to_string(&one)? } else { in_words(&one) })?;
    }
    Ok(0)
}

/// Takes names in any case, with dashes or underscores.
fn known(names: &[String]) -> anyhow::Result<Vec<String>> {
    let name = |given: &String| {
        let name = given.to_ascii_uppercase().replace('-', "_");
        if OPERATIONS.contains(&name.as_str()) {
            return Ok(name);
        }
        let (given, all) = (escape_outside_text(given), OPERATIONS.join(", "));
        Err(coded(USAGE, anyhow::anyhow!("there is no operation named {given}; there are {all}")))
    };
    names.iter().map(name).collect()
}

async fn explained(operations: Vec<String>, chat: Option<String>) -> anyhow::Result<Vec<ExplainView>> {
    let place = Place::from_env()?;
    let session = chat
        .as_deref()
        .map(|id| SessionId::parse(id).map_err(|fault| coded(USAGE, anyhow::anyhow!("--chat: {fault}"))))
        .transpose()?;
    let stored = if place.exists() {
        match place.reach().await? {
            Reach::Running(mut client) => {
                let ask = Command::Explain { operations, session_id: chat };
                let Reply::Explained { explanations } = client.send(&ask).await? else { return Err(odd_answer()) };
                return Ok(explanations);
            }
            Reach::Stopped(_owner) => Settings::open(&place.folders.state).1,
        }
    } else {
        PolicyState::defaults()
    };
    let loaded = configuration::load(&place, FlagOverrides::default())?;
    let state = start::policy(&place, &loaded, &stored);
    Ok(operations.iter().filter_map(|name| explain(&state, name, session.as_ref())).collect())
}

fn in_words(one: &ExplainView) -> String {
    let power = one.power.as_ref().map(|power| format!(", power {power}")).unwrap_or_default();
    format!("{}: {} ({}{power}): {}", one.operation, one.decision, one.rule, escape_outside_text(&one.why))
}
