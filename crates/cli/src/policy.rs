//! What policy says, and why: the running engine is asked; else what the next headless start would hold.

use drawbridge_core::{SessionId, escape_outside_text};
use drawbridge_engine::explain::{OPERATIONS, explain};
use drawbridge_engine::view::{ExplainView, RuleView};
use drawbridge_engine::{Command, Reply};
use drawbridge_policy::PolicyState;
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::settings::Settings;

use crate::args::PolicyVerb;
use crate::coded::{USAGE, coded};
use crate::place::{Place, Reach, odd_answer};
use crate::{accounts, configuration, out, start};

pub(crate) async fn run(verb: PolicyVerb) -> anyhow::Result<u8> {
    let (operations, chat, json) = match verb {
        PolicyVerb::Explain { operations, chat, json } => (known(&operations)?, chat, json),
        PolicyVerb::List { json } => (OPERATIONS.iter().map(|name| (*name).to_owned()).collect(), None, json),
    };
    let explanations = explained(operations, chat).await?;
    for one in &explanations {
        out::line(&if json { serde_json::to_string(one)? } else { in_words(one) })?;
    }
    if !json {
        for rule in exceptions(&explanations) {
            out::line(&exception(rule))?;
        }
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
            Reach::Stopped(_owner) => Settings::peek_of(&place.folders.state, &accounts::kept_for(&place).1),
        }
    } else {
        PolicyState::defaults()
    };
    let loaded = configuration::load(&place, FlagOverrides::default())?;
    let state = start::policy(&place, &loaded, &stored);
    Ok(operations.iter().filter_map(|name| explain(&state, name, session.as_ref())).collect())
}

/// Returns what may decide otherwise for one chat or one command, each once.
fn exceptions(explanations: &[ExplainView]) -> Vec<&RuleView> {
    let mut found: Vec<&RuleView> = Vec::new();
    for rule in explanations.iter().flat_map(|one| &one.rules) {
        if !found.iter().any(|known| known.id == rule.id) {
            found.push(rule);
        }
    }
    found
}

fn exception(rule: &RuleView) -> String {
    let power = &rule.power;
    let chat = escape_outside_text(rule.session_id.as_deref().unwrap_or_default());
    match rule.kind.as_str() {
        "command" => {
            let words = rule.words.iter().map(|word| quoted(word));
            let more = rule.any_more.then(|| "…".to_owned());
            let program = rule.program.as_deref().map(quoted);
            let whole: Vec<String> = program.into_iter().chain(words).chain(more).collect();
            format!("rule {}: where {power} asks, always allowed: {}", rule.id, escape_outside_text(&whole.join(" ")))
        }
        "chat_mode" => {
            let mode = rule.mode.as_deref().unwrap_or_default();
            format!("chat {chat}: {power} is set to {mode} for this chat alone")
        }
        _ => format!("chat {chat}: {power} was allowed for this chat"),
    }
}

/// Shows a word so that its borders can be seen.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%*".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn in_words(one: &ExplainView) -> String {
    let power = one.power.as_ref().map(|power| format!(", power {power}")).unwrap_or_default();
    format!("{}: {} ({}{power}): {}", one.operation, one.decision, one.rule, escape_outside_text(&one.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_otherwise_is_told_once_and_with_every_word_apart() {
        let rule = RuleView {
            id: "r-4".to_owned(),
            kind: "command".to_owned(),
            power: "shell".to_owned(),
            program: Some("/usr/bin/cat".to_owned()),
            words: ["-n", "it's a", "", "*"].map(str::to_owned).to_vec(),
            any_more: true,
            ..RuleView::default()
        };
        let mode = RuleView {
            id: "mode:c:files".to_owned(),
            kind: "chat_mode".to_owned(),
            session_id: Some("c".to_owned()),
            power: "files".to_owned(),
            mode: Some("off".to_owned()),
            ..RuleView::default()
        };
        let allowance = RuleView { id: "chat:c:files".to_owned(), kind: "chat_power".to_owned(), ..mode.clone() };
        let one = ExplainView { rules: vec![mode, rule], ..ExplainView::default() };
        let other = ExplainView { rules: vec![allowance, one.rules[0].clone()], ..ExplainView::default() };
        let told: Vec<String> = exceptions(&[one, other]).into_iter().map(exception).collect();

        assert_eq!(
            told,
            [
                "chat c: files is set to off for this chat alone",
                "rule r-4: where shell asks, always allowed: /usr/bin/cat -n 'it'\\''s a' '' * …",
                "chat c: files was allowed for this chat",
            ]
        );
    }
}
