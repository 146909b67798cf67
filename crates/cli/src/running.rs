//! Commands for the engine. While none runs, some work on the state folder itself, see [`crate::stopped`].

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use drawbridge_core::escape_outside_text;
use drawbridge_engine::view::{PromptAnswer, UndoView};
use drawbridge_engine::{Command, Reply};
use secrecy::SecretString;

use crate::args::{Answer, Asked};
use crate::place::{Place, Reach, odd_answer};
use crate::{out, stopped};

/// The engine's picture may be behind by so much, and is looked at this often.
const PICTURE_LAG: Duration = Duration::from_secs(1);
const PICTURE_LOOK: Duration = Duration::from_millis(20);
/// The longest one-time secret, in bytes.
const SECRET_LIMIT_BYTES: u64 = 1024;

pub(crate) async fn set_raised(raised: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    match place.reach().await? {
        Reach::Running(mut client) => {
            client.send(&Command::SetRaised { raised }).await?;
            // It holds already; the engine's picture follows a moment later, and who asks for it next must see it. An engine that
            // is full takes the stop and nothing after it.
            let give_up = tokio::time::Instant::now() + PICTURE_LAG;
            while client.snapshot().await.is_ok_and(|now| now.raised != raised) && tokio::time::Instant::now() < give_up
            {
                tokio::time::sleep(PICTURE_LOOK).await;
            }
        }
        Reach::Stopped(owner) => stopped::set_raised(&place, &owner, raised)?,
    }
    Ok(0)
}

pub(crate) async fn undo_list(session_id: Option<String>, json: bool) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        return Ok(0);
    }
    let entries = match place.reach().await? {
        Reach::Running(mut client) => {
            let ask = Command::UndoList { session_id };
            let Reply::Undo { entries } = client.send(&ask).await? else { return Err(odd_answer()) };
            entries
        }
        Reach::Stopped(owner) => stopped::undo_list(&place, &owner, session_id.as_deref())?,
    };
    for entry in entries {
        out::line(&if json { serde_json::to_string(&entry)? } else { undo_line(&entry) })?;
    }
    Ok(0)
}

pub(crate) async fn undo_restore(numbers: Vec<u64>) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        anyhow::bail!("there is nothing to take back here");
    }
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::UndoRestore { numbers }).await?),
        Reach::Stopped(owner) => stopped::undo_restore(&place, &owner, numbers)?,
    }
    Ok(0)
}

pub(crate) async fn undo_restore_chat(session_id: String) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        anyhow::bail!("there is nothing to take back here");
    }
    let (count, failed) = match place.reach().await? {
        Reach::Running(mut client) => {
            let ask = Command::UndoRestoreChat { session_id };
            let Reply::Restored { count, failed } = client.send(&ask).await? else { return Err(odd_answer()) };
            (count, failed)
        }
        Reach::Stopped(owner) => stopped::undo_restore_chat(&place, &owner, &session_id)?,
    };
    out::line(&format!("{count} taken back"))?;
    for one in &failed {
        out::complain(&format!("{}: {}", one.label, one.value));
    }
    Ok(u8::from(!failed.is_empty()))
}

fn undo_line(entry: &UndoView) -> String {
    let moved = entry.moved_to.as_ref().map(|to| format!(" -> {}", escape_outside_text(to))).unwrap_or_default();
    let state = if entry.restored { "  taken back" } else { "" };
    format!("{}  {}  {}{moved}{state}", entry.number, entry.kind, escape_outside_text(&entry.path))
}

pub(crate) async fn detach(session_id: String) -> anyhow::Result<u8> {
    send(&Command::Detach { session_id }, None).await
}

pub(crate) async fn forget(session_id: String) -> anyhow::Result<u8> {
    let place = Place::from_env()?;
    if !place.exists() {
        anyhow::bail!("no chat is known here");
    }
    match place.reach().await? {
        Reach::Running(mut client) => drop(client.send(&Command::Forget { session_id }).await?),
        Reach::Stopped(owner) => stopped::forget(&place, &owner, &session_id)?,
    }
    Ok(0)
}

pub(crate) async fn answer(asked: Asked, answer: Answer, secret_file: Option<PathBuf>) -> anyhow::Result<u8> {
    let answer = match answer {
        Answer::AllowOnce => PromptAnswer::AllowOnce,
        Answer::AllowChat => PromptAnswer::AllowChat,
        Answer::Deny => PromptAnswer::Deny,
    };
    let secret = read_secret(secret_file.as_deref())?;
    send(&Command::AnswerPrompt { id: asked.id, revision: asked.revision, answer }, Some(&secret)).await
}

async fn send(command: &Command, secret: Option<&SecretString>) -> anyhow::Result<u8> {
    let Some(mut client) = Place::from_env()?.engine().await? else { return Ok(not_running()) };
    client.send_with_secret(command, secret).await?;
    Ok(0)
}

/// Says that no engine runs; nothing was done.
pub(crate) fn not_running() -> u8 {
    out::complain("Drawbridge is not running, so nothing was done; start it first");
    1
}

/// Reads the secret from a file or standard input, never from the command line, which other programs can see.
fn read_secret(file: Option<&Path>) -> anyhow::Result<SecretString> {
    let mut line = String::new();
    match file {
        Some(path) => {
            let file =
                File::open(path).with_context(|| format!("the secret file {} cannot be read", path.display()))?;
            BufReader::new(file.take(SECRET_LIMIT_BYTES)).read_line(&mut line)?
        }
        None => BufReader::new(io::stdin().take(SECRET_LIMIT_BYTES)).read_line(&mut line)?,
    };
    Ok(SecretString::from(line.trim()))
}
