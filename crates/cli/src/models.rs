//! Servers of local models, and trying one. The engine asks them; without an engine nobody is asked.

use std::io::{self, IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use drawbridge_core::{Power, escape_outside_text};
use drawbridge_engine::control::Client;
use drawbridge_engine::view::{ModelServerView, ModelUseView, ModelView, Snapshot, TrialView};
use drawbridge_engine::{
    Command, ConfiguredModels, Reply, add_server, checked_server, configured_servers, remove_server,
};
use drawbridge_store::config::FlagOverrides;
use drawbridge_store::managed::Managed;
use drawbridge_store::settings::Settings;
use drawbridge_store::state_dir::Owner;
use serde_json::{Value, json};

use crate::args::{AddArgs, ModelsVerb};
use crate::coded::NO_ENGINE;
use crate::place::{Place, Reach, odd_answer};
use crate::running::not_running;
use crate::{audit, configuration, model_keys, out, signals, start, stopped};

/// How often the answer to a try is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The longest question, in bytes.
const QUESTION_BYTES: u64 = 64 * 1024;

pub(crate) async fn run(verb: Option<ModelsVerb>, json: bool) -> anyhow::Result<u8> {
    match verb {
        None => show(json).await,
        Some(ModelsVerb::Find { json: lines }) => find(json || lines).await,
        Some(ModelsVerb::Try { model, text }) => try_model(model, text).await,
        Some(ModelsVerb::Add(args)) => add(args).await,
        Some(ModelsVerb::Key { url, stdin, forget }) => model_keys::run(url, stdin, forget).await,
        Some(ModelsVerb::Remove { url }) => remove(url).await,
    }
}

async fn show(json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if let Some(mut client) = place.engine().await? {
        // Servers come and go; who asks wants to know what is there now. While none may be asked, this is refused, and what is shown says so.
        let _ = client.send(&Command::LookAtModels).await;
        let now = client.snapshot().await?;
        out::line(&if json { running_json(&now).to_string() } else { running_words(&now) })?;
        return Ok(0);
    }
    let loaded = configuration::load(&place, FlagOverrides::default())?;
    let state = start::policy(&place, &loaded, &Settings::peek(&place.folders.state));
    let servers = configured_servers(&loaded.config, &state);
    if json {
        let mut servers = serde_json::to_value(&servers)?;
        // Whether there is a key stands among the secrets, which are not opened for a look.
        for server in servers.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            server.remove("has_key");
        }
        out::line(&json!({ "running": false, "servers": servers, "uses": [] }).to_string())?;
    } else {
        out::line("not running, so no server is asked; these are configured:")?;
        for server in &servers {
            out::line(&server_lines(server))?;
        }
    }
    Ok(NO_ENGINE)
}

/// The mode of the power, as the engine names it.
fn mode(snapshot: &Snapshot) -> &str {
    let power = snapshot.powers.iter().find(|power| power.power == Power::LocalModel.name());
    power.map_or("off", |power| &power.mode)
}

fn running_json(now: &Snapshot) -> serde_json::Value {
    json!({
        "running": true,
        "stop": if now.raised { "raised" } else { "lowered" },
        "power": mode(now),
        "servers": now.models.servers,
        "uses": now.models.uses,
    })
}

/// Texts were made safe by the engine; doing it once more costs nothing and trusts nobody.
fn running_words(now: &Snapshot) -> String {
    let power = match (mode(now), now.raised) {
        ("off", _) => "power: off, so no server is asked".to_owned(),
        (_, true) => "the bridge is raised, so no server is asked".to_owned(),
        (mode, false) => format!("power: {}", escape_outside_text(mode)),
    };
    let servers = now.models.servers.iter().map(server_lines);
    let uses = now.models.uses.iter().map(use_line);
    std::iter::once(power).chain(servers).chain(uses).collect::<Vec<_>>().join("\n")
}

fn server_lines(server: &ModelServerView) -> String {
    let state = match (&server.trouble, server.answers) {
        (Some(why), _) => escape_outside_text(why),
        (None, true) => server.name.as_deref().map_or_else(|| server.api.clone(), escape_outside_text),
        (None, false) => "not asked".to_owned(),
    };
    let far = if server.far { "  may be on another computer" } else { "" };
    let busy = if server.running > 0 { format!("  {} running", server.running) } else { String::new() };
    let key = if server.has_key { "  a key is set" } else { "" };
    let mut lines = vec![format!("{}{far}{key}  {state}{busy}", escape_outside_text(&server.url))];
    lines.extend(server.models.iter().map(model_line));
    lines.join("\n")
}

fn model_line(model: &ModelView) -> String {
    let size = model.size_bytes.map(|bytes| format!("  {}", size(bytes))).unwrap_or_default();
    let context = model.context_tokens.map(|tokens| format!("  reads {tokens} tokens")).unwrap_or_default();
    let taken = match (model.elsewhere, model.offered) {
        _ if model.missing => "  (listed, and the server said that it does not have it)",
        (true, true) => "  (runs on another computer)",
        (true, false) => "  (runs on another computer; not asked until its server is added with --far)",
        (false, false) => "  (a server above has one of this name)",
        (false, true) => "",
    };
    format!("    {}{size}{context}{taken}", escape_outside_text(&model.name))
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    if bytes >= 1024 * MIB {
        // Rounded as in the window.
        let tenths = (bytes / MIB * 10 + 512) / 1024;
        format!("{}.{} GiB", tenths / 10, tenths % 10)
    } else {
        format!("{} MiB", ((bytes + MIB / 2) / MIB).max(1))
    }
}

fn use_line(one: &ModelUseView) -> String {
    let who = one.session_id.as_deref().map_or_else(|| "you".to_owned(), escape_outside_text);
    let model = escape_outside_text(&one.model);
    let answers = if one.completions == 1 { "answer" } else { "answers" };
    let tokens = if one.tokens == 1 { "token" } else { "tokens" };
    format!(
        "used: {model} by {who}, {} {answers}, {} about private files, {} {tokens}",
        one.completions, one.turns, one.tokens
    )
}

async fn find(json: bool) -> anyhow::Result<u8> {
    let Some(mut client) = Place::from_env()?.engine().await? else { return Ok(not_running()) };
    let Reply::ModelServers { servers } = client.send(&Command::FindModelServers).await? else {
        return Err(odd_answer());
    };
    for server in &servers {
        out::line(&if json { serde_json::to_string(server)? } else { server_lines(server) })?;
    }
    if servers.is_empty() && !json {
        out::complain("nothing new was found: no other server of models answers at the usual ports of this computer");
    }
    Ok(0)
}

async fn try_model(model: String, text: String) -> anyhow::Result<u8> {
    let text = if text == "-" { from_standard_input()? } else { text };
    let Some(mut client) = Place::from_env()?.engine().await? else { return Ok(not_running()) };
    let ended = signals::ended()?;
    let Reply::Trial { id } = client.send(&Command::TryModel { model, text }).await? else { return Err(odd_answer()) };
    tokio::pin!(ended);
    let mut printed = 0;
    loop {
        let Reply::TrialText { trial } = client.send(&Command::TrialText { id }).await? else {
            return Err(odd_answer());
        };
        if let Err(gone) = print_more(&trial, &mut printed) {
            // Nobody reads it any more, so nobody has to write it.
            client.send(&Command::StopTrial { id }).await?;
            return Err(gone.into());
        }
        if trial.state != "running" {
            return finished(&trial);
        }
        tokio::select! {
            () = &mut ended => {
                stop(&mut client, id).await?;
                return Ok(1);
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn stop(client: &mut Client, id: u64) -> anyhow::Result<()> {
    client.send(&Command::StopTrial { id }).await?;
    out::line("")?;
    out::complain("stopped");
    Ok(())
}

/// Prints what has come since the last look. The text is safe: the engine made it so.
fn print_more(trial: &TrialView, printed: &mut usize) -> io::Result<()> {
    let Some(more) = trial.text.get(*printed..).filter(|more| !more.is_empty()) else { return Ok(()) };
    *printed = trial.text.len();
    out::bytes(more.as_bytes())
}

fn finished(trial: &TrialView) -> anyhow::Result<u8> {
    if !trial.text.is_empty() && !trial.text.ends_with('\n') {
        out::line("")?;
    }
    match trial.state.as_str() {
        "done" => {
            if trial.finish.as_deref() == Some("length") {
                out::complain("the answer reached the longest length of a try and ends there");
            }
            Ok(0)
        }
        "stopped" => bail!("it was stopped"),
        _ => bail!("{}", trial.problem.as_deref().map_or_else(|| "the try failed".to_owned(), escape_outside_text)),
    }
}

fn from_standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = io::stdin().lock().take(QUESTION_BYTES + 1).read_to_string(&mut text);
    read.context("the question on standard input cannot be read as text")?;
    if text.len() as u64 > QUESTION_BYTES {
        bail!("a try takes {} KiB of text at most, so nothing was asked", QUESTION_BYTES / 1024);
    }
    Ok(text)
}

async fn add(args: AddArgs) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(_) => bail!(
            "while Drawbridge runs, servers are added on the Models page of its window, so nothing was done; end it first, or name the server under [models] in config.toml"
        ),
        Reach::Stopped(owner) => {
            if args.far && !args.yes && !meant()? {
                bail!("nothing was added");
            }
            add_stored(&place, owner, &args).await?;
        }
    }
    Ok(0)
}

/// Asks on a terminal whether another computer is meant. Elsewhere nobody can say so but by a flag.
fn meant() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("with --far everything that a model is to read may leave this computer; say --yes if that is meant");
    }
    out::complain(
        "everything that a model of this server is to read may leave this computer; type yes if that is meant",
    );
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

async fn remove(url: String) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::RemoveModelServer { url }).await?),
        Reach::Stopped(owner) => remove_stored(&place, owner, &url).await?,
    }
    Ok(0)
}

/// Changes the stored settings. The owner of the folder is who may.
async fn add_stored(place: &Place, owner: Owner, args: &AddArgs) -> anyhow::Result<()> {
    let loaded = configuration::load(place, FlagOverrides::default())?;
    let (settings, mut state) = stopped::settings(place);
    let ceilings = loaded.managed.as_ref().map(Managed::ceilings).unwrap_or_default();
    let server = checked_server(&args.url, args.api.name(), args.far, args.parallel, &ceilings)?;
    add_server(&mut state, server.clone())?;
    // The key first: a server that is added without it would only refuse.
    let key = args.key_stdin.then(|| model_keys::ask(true, &server)).transpose()?;
    let (is_set, mut owner) = (key.is_some(), owner);
    if is_set {
        owner = model_keys::store(place, owner, server.url.clone(), key).await?;
    }
    settings.save(&state)?;
    drop(owner);
    note(place, "model_server", json!({ "url": server.url, "far": server.far, "key": is_set }));
    Ok(())
}

async fn remove_stored(place: &Place, owner: Owner, url: &str) -> anyhow::Result<()> {
    let loaded = configuration::load(place, FlagOverrides::default())?;
    let (settings, mut state) = stopped::settings(place);
    let removed = remove_server(&mut state, url, &ConfiguredModels::of(&loaded.config))?;
    settings.save(&state)?;
    note(place, "model_server_removed", removed.clone().into());
    if let Err(fault) = model_keys::store(place, owner, removed, None).await {
        out::complain(&format!("the server was removed; if a key was set for it, that is still kept: {fault}"));
    }
    Ok(())
}

pub(crate) fn note(place: &Place, what: &str, detail: Value) {
    audit::note(place, None, "POLICY_CHANGED", [(what.to_owned(), detail)].into_iter().collect());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_as_people_read_them() {
        assert_eq!(size(1), "1 MiB");
        assert_eq!(size(42_000_000), "40 MiB");
        assert_eq!(size(2_019_393_189), "1.9 GiB");
        assert_eq!(size(1024 * 1024 * 1024), "1.0 GiB");
    }

    #[test]
    fn a_name_from_outside_cannot_paint_the_terminal() {
        let server = ModelServerView {
            url: "http://127.0.0.1:1".to_owned(),
            name: Some("\u{1b}[2J".to_owned()),
            answers: true,
            models: vec![ModelView { name: "a\u{202e}b".to_owned(), offered: true, ..ModelView::default() }],
            ..ModelServerView::default()
        };
        assert_eq!(server_lines(&server), "http://127.0.0.1:1  ␛[2J\n    a\\u{202E}b");
    }
}
