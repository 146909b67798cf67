//! The socket with a scripted engine behind it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_store::state_dir::StateDir;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::handle::{Command, CommandError, EngineHandle, Reply};
use crate::view::{
    AccountState, AccountView, AuditView, LinkState, LinkView, PromptAnswer, PromptDetail, PromptView, ShellView,
    Snapshot,
};

struct Rig {
    path: PathBuf,
    stop: CancellationToken,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
    seen: mpsc::UnboundedReceiver<Command>,
    _folder: tempfile::TempDir,
}

async fn rig(options: ControlOptions) -> Rig {
    rig_showing(options, snapshot()).await
}

async fn rig_showing(options: ControlOptions, picture: Snapshot) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let path = StateDir::open(folder.path()).unwrap().control_socket();
    let (commands, mut asked) = mpsc::channel::<(Command, crate::handle::Answer)>(4);
    let (_, snapshots) = watch::channel(Arc::new(picture));
    let (seen_by, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some((command, answer)) = asked.recv().await {
            seen_by.send(command).unwrap();
            answer.send(Ok(Reply::Done)).unwrap();
        }
    });
    let stop = CancellationToken::new();
    let (handle, at, until) = (EngineHandle { commands, snapshots }, path.clone(), stop.clone());
    let served = tokio::spawn(async move { serve(handle, &at, options, until).await });
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    Rig { path, stop, served, seen, _folder: folder }
}

fn snapshot() -> Snapshot {
    Snapshot {
        version: "0.1.0".to_owned(),
        raised: false,
        trouble: None,
        account: AccountView {
            id: "default".to_owned(),
            state: AccountState::SignedIn,
            platform_url: "https://platform.example".to_owned(),
            authorize_url: None,
            problem: None,
            problem_code: None,
            kept_for: None,
        },
        link: LinkView { state: LinkState::Connected, ..LinkView::default() },
        chats: Vec::new(),
        powers: Vec::new(),
        shell: ShellView {
            mode: "confined".to_owned(),
            network: "none".to_owned(),
            confinement_missing: None,
            ceiling: None,
        },
        prompts: Vec::new(),
        activity: Vec::new(),
        audit: AuditView { path: "audit.log".to_owned(), bytes: 0, records: 0, unavailable: false },
        ..Snapshot::default()
    }
}

async fn raw(path: &Path, line: &[u8]) -> Value {
    let mut stream = drawbridge_os::local_socket::connect(path).await.unwrap();
    stream.write_all(line).await.unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[tokio::test]
async fn commands_and_the_picture_go_over_one_connection() {
    let mut rig = rig(ControlOptions::default()).await;
    let mut client = Client::connect(&rig.path).await.unwrap();

    let raised = client.send(&Command::SetRaised { raised: true }).await.unwrap();
    let picture = client.snapshot().await.unwrap();

    assert_eq!((raised, picture), (Reply::Done, snapshot()));
    assert_eq!(rig.seen.recv().await, Some(Command::SetRaised { raised: true }));
}

#[tokio::test]
async fn a_picture_is_read_with_all_the_questions_that_a_platform_can_open() {
    let long = || PromptDetail { label: "private_file".to_owned(), value: "\u{e9}".repeat(20_000) };
    let question = || PromptView { details: (0..70).map(|_| long()).collect(), ..PromptView::default() };
    let picture = Snapshot { prompts: (0..16).map(|_| question()).collect(), ..snapshot() };
    let rig = rig_showing(ControlOptions::default(), picture.clone()).await;

    let mut client = Client::connect(&rig.path).await.unwrap();

    assert!(client.snapshot().await.unwrap() == picture);
}

#[tokio::test]
async fn malformed_requests_get_an_error_and_the_connection_goes_on() {
    let rig = rig(ControlOptions::default()).await;
    for line in [
        "{",
        "[]",
        "{}",
        r#"{"request":"x","command":"connect"}"#,
        r#"{"request":1}"#,
        r#"{"request":1,"command":"explode"}"#,
    ] {
        let answer = raw(&rig.path, format!("{line}\n").as_bytes()).await;
        assert_eq!(answer["error"]["code"], "malformed", "{line}");
    }
    let huge = raw(&rig.path, &vec![b'x'; 140_000]).await;
    assert_eq!(huge["error"]["code"], "too_long");

    let mut stream = drawbridge_os::local_socket::connect(&rig.path).await.unwrap();
    stream.write_all(b"nonsense\n{\"request\":7,\"command\":\"connect\"}\n").await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    lines.next_line().await.unwrap();
    let second: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(second, json!({ "request": 7, "reply": { "reply": "done" } }));
}

#[tokio::test]
async fn the_socket_widens_no_power_and_answers_no_question_without_the_secret() {
    let secret = Arc::new(SecretString::from("one-time"));
    let closed = rig(ControlOptions::default()).await;
    let mut open = rig(ControlOptions { answer_secret: Some(secret.clone()) }).await;
    let answer = Command::AnswerPrompt { id: 3, revision: 0, answer: PromptAnswer::AllowOnce };
    let full = Command::SetShell { mode: "full".to_owned(), network: "all".to_owned() };
    let code = |result: Result<Reply, ControlError>| match result {
        Err(ControlError::Refused(CommandError { code, .. })) => code,
        other => panic!("{other:?}"),
    };

    let mut client = Client::connect(&closed.path).await.unwrap();
    assert_eq!(code(client.send(&full).await), "window_only");
    assert_eq!(code(client.send_with_secret(&answer, Some(&secret)).await), "answers_off");
    let mut client = Client::connect(&open.path).await.unwrap();
    assert_eq!(code(client.send(&answer).await), "wrong_secret");
    assert_eq!(code(client.send(&Command::PromptPainted { id: 3, revision: 0 }).await), "window_only");
    assert_eq!(client.send_with_secret(&answer, Some(&secret)).await.unwrap(), Reply::Done);

    assert_eq!(open.seen.recv().await, Some(Command::PromptPainted { id: 3, revision: 0 }));
    assert_eq!(open.seen.recv().await, Some(answer));
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let rig = rig(ControlOptions::default()).await;
    let mut held = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        let mut client = Client::connect(&rig.path).await.unwrap();
        client.snapshot().await.unwrap();
        held.push(client);
    }

    let refused = Client::connect(&rig.path).await.unwrap().send(&Command::LookAtDevices).await;

    assert!(matches!(refused, Err(ControlError::Refused(CommandError { code, .. })) if code == "busy"));
}

#[tokio::test]
async fn the_stop_and_a_look_get_through_when_all_room_is_taken() {
    let mut rig = rig(ControlOptions::default()).await;
    let mut held = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        let mut client = Client::connect(&rig.path).await.unwrap();
        client.snapshot().await.unwrap();
        held.push(client);
    }

    let lower = Command::SetRaised { raised: false };
    let refused = Client::connect(&rig.path).await.unwrap().send(&lower).await;
    assert!(matches!(refused, Err(ControlError::Refused(CommandError { code, .. })) if code == "busy"));
    let raise = Command::SetRaised { raised: true };
    assert_eq!(Client::connect(&rig.path).await.unwrap().send(&raise).await.unwrap(), Reply::Done);
    // One look, and it is let go.
    let mut looks = Client::connect(&rig.path).await.unwrap();
    looks.snapshot().await.unwrap();
    looks.snapshot().await.unwrap_err();

    assert_eq!(rig.seen.recv().await, Some(raise));
}

#[tokio::test]
async fn an_engine_that_ends_takes_its_socket_along() {
    let rig = rig(ControlOptions::default()).await;
    let _idle = Client::connect(&rig.path).await.unwrap();

    rig.stop.cancel();
    rig.served.await.unwrap().unwrap();

    assert!(!rig.path.exists());
    assert!(matches!(Client::connect(&rig.path).await, Err(ControlError::NotRunning)));
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_act_on_a_device_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = StateDir::open(folder.path()).unwrap().control_socket();
    let (commands, mut asked) = mpsc::channel::<(Command, crate::handle::Answer)>(4);
    let (_, snapshots) = watch::channel(Arc::new(snapshot()));
    let (handle, at) = (EngineHandle { commands, snapshots }, path.clone());
    tokio::spawn(async move { serve(handle, &at, ControlOptions::default(), CancellationToken::new()).await });
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    let send = async |line: &str| {
        let mut stream = drawbridge_os::local_socket::connect(&path).await.unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        stream
    };

    let act = r#"{"request":1,"command":"use_device","device":"serial-1","act":{"act":"serial_close"}}"#;
    let client = send(act).await;
    let (command, mut answer) = asked.recv().await.unwrap();
    assert!(matches!(command, Command::UseDevice { .. }), "{command:?}");
    assert!(!answer.is_closed());
    drop(client);
    answer.closed().await;

    // Whoever wants it held and does not say so rightly must not believe that it is.
    let client = send(&act.replacen("\"command\"", "\"hold\":1,\"command\"", 1)).await;
    let told: Value =
        serde_json::from_str(&BufReader::new(client).lines().next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(told["error"]["code"], "malformed");

    // Another request on the same connection is no farewell, and is answered in its turn.
    let client = send(&format!("{act}\n{}", r#"{"request":2,"command":"connect"}"#)).await;
    let (_, answer) = asked.recv().await.unwrap();
    answer.send(Ok(Reply::Done)).unwrap();
    let (command, answer) = asked.recv().await.unwrap();
    assert_eq!(command, Command::Connect);
    answer.send(Ok(Reply::Done)).unwrap();
    let mut lines = BufReader::new(client).lines();
    for wanted in [1, 2] {
        let told: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(told["request"], wanted);
    }

    // What changes something is carried out to its end, whoever has gone.
    drop(send(r#"{"request":1,"command":"set_raised","raised":true}"#).await);
    let (command, answer) = asked.recv().await.unwrap();
    assert_eq!(command, Command::SetRaised { raised: true });
    assert!(answer.send(Ok(Reply::Done)).is_ok(), "the answer was waited for");
}
