//! The engine's side.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_os::local_socket::{LocalListener, LocalStream};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::held::{Held, wants_hold};
use super::{MAX_CONNECTIONS, REQUEST_LIMIT_BYTES, read_line};
use crate::handle::{Command, CommandError, EngineHandle};

/// How long a client may take to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that asks nothing for so long is let go, so that forgotten ones cannot keep the place of one that wants to stop
/// everything.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one connection too many may take to say what it wants.
const FIRST_LINE: Duration = Duration::from_millis(500);
/// Looks that are let through at the same time when there is no room.
const LOOKS: usize = 4;
/// How long answers that are under way may take once the engine ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What the socket lets through.
#[derive(Debug, Clone, Default)]
pub struct ControlOptions {
    /// The one-time secret with which questions may be answered from the command line; none means never.
    pub answer_secret: Option<Arc<SecretString>>,
}

/// Binds the socket and serves until `stop`. The caller holds the state folder's lock: a socket file that is there already
/// is a left-over and is replaced.
///
/// # Errors
/// What the system says about binding. Later faults of single connections end only those.
pub async fn serve(
    handle: EngineHandle,
    path: &Path,
    options: ControlOptions,
    stop: CancellationToken,
) -> io::Result<()> {
    let listener = LocalListener::bind(path).map_err(io::Error::other)?;
    let (room, looks) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), Arc::new(Semaphore::new(LOOKS)));
    let options = Arc::new(options);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    let place = room.clone().try_acquire_owned();
                    let (handle, options, stop, looks) = (handle.clone(), options.clone(), stop.clone(), looks.clone());
                    connections.spawn(async move {
                        match place {
                            Ok(_place) => connection(stream, &handle, &options, &stop).await,
                            Err(_) => turn_away(stream, &handle, &options, &looks).await,
                        }
                    });
                }
                Err(err) => {
                    tracing::warn!(%err, "the control socket could not take a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    let _ = timeout(LAST_ANSWERS, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn connection(stream: LocalStream, handle: &EngineHandle, options: &ControlOptions, stop: &CancellationToken) {
    let mut held = Held::new();
    talk(stream, handle, options, stop, &mut held).await;
    held.let_go(handle).await;
}

async fn talk(
    stream: LocalStream,
    handle: &EngineHandle,
    options: &ControlOptions,
    stop: &CancellationToken,
    held: &mut Held,
) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    loop {
        let line = tokio::select! {
            line = read_line(&mut reader, REQUEST_LIMIT_BYTES) => line,
            // Whoever holds a device says nothing for long.
            () = tokio::time::sleep(IDLE_TIMEOUT), if held.is_empty() => return,
            () = stop.cancelled() => return,
        };
        let (answer, go_on) = match line {
            // Using a device alone ends when the client goes. Everything else is carried out.
            Ok(Some(line)) if wants(&line, "use_device") => {
                let undo = held.undo_of(&line);
                let answer = tokio::select! {
                    answer = respond(&line, held.hold(), handle, options) => answer,
                    // Nobody waits for what comes of it any more, so it ends: dropping the answer tells the engine. It may have
                    // been done this very moment.
                    () = hung_up(&mut reader) => return undo.into_iter().for_each(|undo| held.add(undo)),
                };
                if answer.get("error").is_none() {
                    held.done(&line);
                    undo.into_iter().for_each(|undo| held.add(undo));
                }
                (answer, true)
            }
            Ok(Some(line)) => (respond(&line, held.hold(), handle, options).await, true),
            Ok(None) => return,
            Err(err) if err.kind() == io::ErrorKind::InvalidData => {
                (error(&Value::Null, &CommandError::new("too_long", "the request is too long")), false)
            }
            Err(_) => return,
        };
        if write(&mut writer, &answer).await.is_err() || !go_on {
            return;
        }
    }
}

/// Tells one connection too many so. The stop and a look alone get through: whoever takes up all the room must not be able to keep a
/// person from them.
async fn turn_away(stream: LocalStream, handle: &EngineHandle, options: &ControlOptions, looks: &Semaphore) {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    let first = timeout(FIRST_LINE, read_line(&mut reader, REQUEST_LIMIT_BYTES)).await;
    let line = first.ok().and_then(Result::ok).flatten().unwrap_or_default();
    // Until it is read: a picture is long.
    let look = if wants(&line, "snapshot") { looks.try_acquire().ok() } else { None };
    let answer = if look.is_some() || wants_to_raise(&line) {
        respond(&line, Held::new().hold(), handle, options).await
    } else {
        let busy = CommandError::new("busy", "too many programs talk to Drawbridge at the same time; try again");
        error(&Value::Null, &busy)
    };
    // A client that does not listen misses nothing else.
    let _ = write(&mut writer, &answer).await;
}

fn wants_to_raise(line: &[u8]) -> bool {
    let Ok(mut request) = serde_json::from_slice::<Value>(line) else { return false };
    if let Some(fields) = request.as_object_mut() {
        fields.remove("request");
    }
    serde_json::from_value(request).is_ok_and(|command: Command| command == Command::SetRaised { raised: true })
}

/// Tells whether a request is this one.
fn wants(line: &[u8], command: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        command: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice(line).is_ok_and(|named: Named<'_>| named.command == command)
}

/// Waits until the client has closed its side. Takes nothing of what it may have sent already.
async fn hung_up(reader: &mut (impl AsyncBufRead + Unpin)) {
    match reader.fill_buf().await {
        Ok([]) | Err(_) => {}
        // It sent its next request already, so it is there; whether it stays cannot be seen without taking that.
        Ok(_) => std::future::pending().await,
    }
}

async fn write(writer: &mut (impl tokio::io::AsyncWrite + Unpin), answer: &Value) -> io::Result<()> {
    let mut line = answer.to_string();
    line.push('\n');
    timeout(WRITE_TIMEOUT, writer.write_all(line.as_bytes())).await?
}

/// Answers a request. `hold` names what its connection holds.
async fn respond(line: &[u8], hold: u64, handle: &EngineHandle, options: &ControlOptions) -> Value {
    let malformed = |why: &str| error(&Value::Null, &CommandError::new("malformed", why));
    let Ok(mut request) = serde_json::from_slice::<Value>(line) else {
        return malformed("the request is not JSON");
    };
    let Some(fields) = request.as_object_mut() else {
        return malformed("the request is not a JSON object");
    };
    let id = match fields.remove("request") {
        Some(id) if id.is_u64() => id,
        _ => return malformed("the request has no number in its field request"),
    };
    let Some(holds) = wants_hold(fields) else { return malformed("the field hold is neither true nor false") };
    let secret = fields.remove("secret").and_then(|secret| secret.as_str().map(SecretString::from));
    if fields.get("command").and_then(Value::as_str) == Some("snapshot") {
        return match serde_json::to_value(handle.snapshot().as_ref()) {
            Ok(snapshot) => json!({ "request": id, "snapshot": snapshot }),
            Err(err) => error(&id, &CommandError::new("internal", err.to_string())),
        };
    }
    let command = match serde_json::from_value::<Command>(request) {
        Ok(Command::UseDevice { device, act, .. }) => Command::UseDevice { device, act, hold: holds.then_some(hold) },
        Ok(command) => command,
        Err(err) => return error(&id, &CommandError::new("malformed", format!("the command is not usable: {err}"))),
    };
    match run(command, secret.as_ref(), handle, options).await {
        Ok(reply) => json!({ "request": id, "reply": reply }),
        Err(err) => error(&id, &err),
    }
}

/// Lets through what a program of the same user may do. Widening a power is for the window; an answer to a question needs
/// the secret that only a person could read.
async fn run(
    command: Command,
    secret: Option<&SecretString>,
    handle: &EngineHandle,
    options: &ControlOptions,
) -> Result<crate::handle::Reply, CommandError> {
    match &command {
        // Taking a chat's own mode back may loosen it.
        Command::RemoveRule { id } if id.starts_with("mode:") => {
            Err(CommandError::new("window_only", "this is done in the window"))
        }
        Command::SetPower { .. }
        | Command::SetShell { .. }
        | Command::SetScreen { .. }
        | Command::SetClipboardForeign { .. } => {
            Err(CommandError::new("window_only", "powers are changed in the window or in config.toml"))
        }
        Command::PromptPainted { .. } => {
            Err(CommandError::new("window_only", "only the window that shows a question can say so"))
        }
        Command::ChooseFolder { .. }
        | Command::OfferFolder { .. }
        | Command::AddBrowseRoot { .. }
        // What widens: whom private files are told to, contents that may leave, devices, ports.
        | Command::AddModelServer { .. }
        // Whose account a server counts a question to, and who reads it there.
        | Command::SetModelKey { key: Some(_), .. }
        | Command::SetPrivacy { on: Some(false) | None, .. }
        | Command::SetPrivacyReview { on: false }
        | Command::SetPrivacyPreview { bytes: 1.. }
        | Command::ShareDevice { shared: true, .. }
        | Command::AddPort { .. }
        // Without any, the home folder is the one: taking the last away opens more.
        | Command::RemoveBrowseRoot { .. }
        | Command::SetChatPower { .. }
        | Command::SetRule { .. }
        | Command::SettingsAfresh
        | Command::MoveSecrets { .. }
        | Command::GateUnlock { .. }
        | Command::GateNewFile { .. }
        | Command::GateSetAside
        | Command::GateRetry
        | Command::GateAskKeychain
        | Command::AuditExport { .. }
        | Command::ReportTray { .. } => Err(CommandError::new("window_only", "this is done in the window")),
        Command::AnswerPrompt { id, revision, .. } => {
            check_secret(secret, options)?;
            // Whoever holds the secret has read the question on a terminal.
            handle.send(Command::PromptPainted { id: *id, revision: *revision }).await?;
            handle.send(command).await
        }
        Command::SetRaised { .. }
        | Command::SignIn
        | Command::PasteRedirect { .. }
        | Command::CancelSignIn
        | Command::SignOut
        // Whoever may sign in may sign in elsewhere, and an engine without a window has no other door.
        | Command::AddAccount { .. }
        | Command::UseAccount { .. }
        | Command::RemoveAccount { .. }
        | Command::ForgetTokens
        | Command::Connect
        | Command::Detach { .. }
        | Command::Forget { .. }
        | Command::ForgetClosed
        | Command::UndoList { .. }
        | Command::UndoRestore { .. }
        | Command::AuditRotate
        | Command::AuditPrune { .. }
        | Command::Explain { .. }
        | Command::DenyPrompts
        | Command::RemoveRule { .. }
        | Command::ShowWindow
        | Command::UndoRestoreChat { .. }
        | Command::ActivityPage { .. }
        | Command::AuditRecord { .. }
        | Command::AuditVerify
        | Command::SetModelKey { key: None, .. }
        | Command::RemoveModelServer { .. }
        | Command::FindModelServers
        | Command::LookAtModels
        | Command::TryModel { .. }
        | Command::TrialText { .. }
        | Command::StopTrial { .. }
        | Command::SetPrivacy { on: Some(true), .. }
        | Command::SetPrivacyReview { on: true }
        | Command::SetPrivacyPreview { bytes: 0 }
        | Command::LookAtDevices
        | Command::ShareDevice { shared: false, .. }
        | Command::RemovePort { .. }
        | Command::UseDevice { .. }
        | Command::Shutdown => handle.send(command).await,
    }
}

fn check_secret(given: Option<&SecretString>, options: &ControlOptions) -> Result<(), CommandError> {
    let Some(wanted) = &options.answer_secret else {
        return Err(CommandError::new(
            "answers_off",
            "questions are answered in the window here; for a headless engine set answer_from_cli under [consent]",
        ));
    };
    let same =
        given.is_some_and(|given| given.expose_secret().as_bytes().ct_eq(wanted.expose_secret().as_bytes()).into());
    if same {
        Ok(())
    } else {
        Err(CommandError::new("wrong_secret", "this is not the secret that Drawbridge printed when it started"))
    }
}

fn error(id: &Value, err: &CommandError) -> Value {
    json!({ "request": id, "error": err })
}
