//! What the running engine shows: state, chats, questions.

use drawbridge_core::escape_outside_text;
use drawbridge_engine::view::{ChatView, DiffView, LinkState, PowerView, PromptView, ScreenUseView, Snapshot};
use drawbridge_store::settings::Settings;
use serde_json::{Value, json};

use crate::args::Asked;
use crate::place::{Place, Reach};
use crate::{out, running, stopped};

/// Exit code of `status` when no engine runs.
const NOT_RUNNING: u8 = 3;

pub(crate) async fn status(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    let snapshot = match place.engine().await? {
        Some(mut client) => Some(client.snapshot().await?),
        None => None,
    };
    let raised = snapshot.as_ref().map_or_else(|| Settings::peek(&place.folders.state).raised, |now| now.raised);
    let text = if json { as_json(snapshot.as_ref(), raised).to_string() } else { in_words(snapshot.as_ref(), raised) };
    out::line(&text)?;
    Ok(if snapshot.is_some() { 0 } else { NOT_RUNNING })
}

pub(crate) async fn chats(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        return Ok(0);
    }
    let chats = match place.reach().await? {
        Reach::Running(mut client) => client.snapshot().await?.chats,
        Reach::Stopped(owner) => stopped::chats(&place, &owner)?,
    };
    for chat in chats {
        out::line(&if json { serde_json::to_string(&chat)? } else { chat_line(&chat) })?;
    }
    Ok(0)
}

pub(crate) async fn prompts(json: bool) -> anyhow::Result<u8> {
    let Some(mut client) = Place::from_env()?.engine().await? else { return Ok(running::not_running()) };
    for prompt in client.snapshot().await?.prompts {
        out::line(&if json { serde_json::to_string(&prompt)? } else { prompt_lines(&prompt) })?;
    }
    Ok(0)
}

fn as_json(snapshot: Option<&Snapshot>, raised: bool) -> Value {
    let Some(snapshot) = snapshot else {
        return json!({
            "running": false,
            "connected": false,
            "sessions": [],
            "stop": stop(raised),
            "prompts": [],
            "tray": "none",
        });
    };
    json!({
        "running": true,
        "connected": snapshot.link.state == LinkState::Connected,
        "sessions": snapshot.chats.iter().filter(|chat| chat.active).collect::<Vec<_>>(),
        "stop": stop(raised),
        "prompts": snapshot.prompts,
        "tray": snapshot.tray,
        "version": snapshot.version,
        "link": snapshot.link,
        "account": snapshot.account.state,
        "trouble": snapshot.trouble,
        "powers": snapshot.powers,
        "screen": snapshot.screen,
    })
}

fn stop(raised: bool) -> &'static str {
    if raised { "raised" } else { "lowered" }
}

fn in_words(snapshot: Option<&Snapshot>, raised: bool) -> String {
    let Some(snapshot) = snapshot else { return format!("not running, {}", stop(raised)) };
    let link = match snapshot.link.state {
        LinkState::Off => "off",
        LinkState::Connecting => "connecting",
        LinkState::Connected => "connected",
        LinkState::Waiting => "waiting to dial again",
        LinkState::Halted => "ended until you act",
    };
    let mut lines = vec![format!("running, {}", stop(raised)), format!("link: {link}")];
    lines.extend(snapshot.link.reason.as_ref().map(|reason| format!("  {}", escape_outside_text(reason))));
    lines
        .extend(snapshot.trouble.as_ref().map(|trouble| format!("trouble: {}", escape_outside_text(&trouble.message))));
    lines.extend(snapshot.chats.iter().map(chat_line));
    lines.push(powers_line(&snapshot.powers));
    lines.extend(snapshot.screen.in_use.as_ref().map(use_line));
    lines.push(format!("questions: {}", snapshot.prompts.len()));
    lines.join("\n")
}

/// The powers that are not off.
fn powers_line(powers: &[PowerView]) -> String {
    let on: Vec<String> = powers
        .iter()
        .filter(|power| power.built && power.mode != "off")
        .map(|power| format!("{} {}", escape_outside_text(&power.power), escape_outside_text(&power.mode)))
        .collect();
    if on.is_empty() { "powers: all off".to_owned() } else { format!("powers: {}", on.join(", ")) }
}

/// An agent has the screen now, or had it a moment ago.
fn use_line(used: &ScreenUseView) -> String {
    let chat = used.session_id.as_deref().map(escape_outside_text).unwrap_or_default();
    let waits = if used.person_active { "; its input waits for you" } else { "" };
    let many = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    format!("screen: in use by {chat}, {}, {}{waits}", many(used.pictures, "picture"), many(used.acts, "act"))
}

/// Texts were made safe by the engine; doing it once more costs nothing and trusts nobody.
fn chat_line(chat: &ChatView) -> String {
    let state = match (chat.revoked, chat.active, chat.attached) {
        (true, _, _) => "taken back",
        (false, true, _) => "active",
        (false, false, true) => "idle",
        (false, false, false) => "closed, the platform may open it again",
    };
    format!("{}  {state}  {}", escape_outside_text(&chat.session_id), escape_outside_text(&chat.folder))
}

fn prompt_lines(prompt: &PromptView) -> String {
    let asked = Asked { id: prompt.id, revision: prompt.revision };
    let head = format!("{asked}  {}  {}", escape_outside_text(&prompt.operation), escape_outside_text(&prompt.summary));
    let details = prompt
        .details
        .iter()
        .map(|detail| format!("\n    {}: {}", escape_outside_text(&detail.label), escape_outside_text(&detail.value)));
    let words = prompt.argv.iter().map(|word| format!("\n    word: {}", escape_outside_text(word)));
    let diff = prompt.diff.iter().flat_map(diff_lines);
    std::iter::once(head).chain(words).chain(details).chain(diff).collect()
}

/// What an overwrite changes, in the usual form.
fn diff_lines(diff: &DiffView) -> Vec<String> {
    let mut lines = vec![format!("\n    change: {} lines added, {} removed", diff.added, diff.removed)];
    lines.extend(diff.lines.iter().map(|line| {
        let sign = match line.kind.as_str() {
            "added" => "+",
            "removed" => "-",
            "skipped" => "@@",
            _ => " ",
        };
        format!("\n    {sign}{}", escape_outside_text(&line.text))
    }));
    if diff.cut {
        lines.push("\n    (the rest is not shown)".to_owned());
    }
    lines
}
