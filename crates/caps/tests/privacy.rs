//! Private files on a real disk, and a model server on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where its ground is missing"
)]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test that names what it did not expect")]
#![allow(clippy::print_stdout, reason = "a test says what it skips")]
#![cfg(target_os = "linux")]

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use drawbridge_caps::model::Model;
use drawbridge_caps::privacy::Privacy;
use drawbridge_caps::{Capability as _, Pieces, RunCtx};
use drawbridge_core::model::{FileStub, Knob, ModelAnswer, ModelOp, Piece, Sampling, Turn};
use drawbridge_core::{
    FileOp, IoReason, Limits, LinkId, OpError, Operation, Outcome, Power, PowerMode, RequestId, SessionId, SystemClock,
};
use drawbridge_os::root::{Root, RootOptions};
use drawbridge_policy::{ModelApi, ModelServer as Server, PolicyState, Verdict, authorize};
use drawbridge_practice::model::{ModelServer, Reply, Script, ScriptModel, Step};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "account 4711, balance 90210,55\n";

struct Desk {
    _dir: TempDir,
    base: PathBuf,
    root: Arc<Root>,
    server: ModelServer,
    model: Model,
    privacy: Privacy,
    cancel: CancellationToken,
}

fn chat(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn at(server: &ModelServer) -> Server {
    Server { url: server.url(), api: ModelApi::Auto, far: false, parallel: 1 }
}

impl Desk {
    async fn with(script: Script) -> Self {
        let dir = TempDir::new().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir(base.join("R")).unwrap();
        fs::create_dir(base.join("out")).unwrap();
        fs::write(base.join("out/f.txt"), "outside").unwrap();
        fs::write(base.join("R/pay.csv"), SECRET).unwrap();
        let root = Arc::new(Root::open_with(&base.join("R"), RootOptions::default()).unwrap());
        let server = ModelServer::start(script).await.unwrap();
        let clock = Arc::new(SystemClock);
        let model = Model::new(clock.clone());
        let privacy = Privacy::new(model.clone(), clock);
        let desk = Self { _dir: dir, base, root, server, model, privacy, cancel: CancellationToken::new() };
        desk.model.set_servers(vec![at(&desk.server)]);
        desk.model.look().await;
        assert_eq!(desk.model.offered(), ["small:1b"]);
        desk
    }

    async fn new() -> Self {
        Self::with(Script::ollama().with_models(&["small:1b"]).with_reply(Reply::pieces(&["It ", "is fine."]))).await
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.base.join("R").join(name)
    }

    async fn run(&self, operation: Operation, pieces: Option<Pieces>) -> Result<Outcome, OpError> {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::LocalModel, PowerMode::Allowed);
        state.privacy.all = true;
        let Verdict::Allowed(permit) = authorize(&state, operation, Some(chat("one"))) else { panic!("not allowed") };
        let ctx = RunCtx {
            root: Some(self.root.clone()),
            // No limit for files that stay here.
            limits: Limits { max_file_size_bytes: 1, ..Limits::default() },
            cancel: self.cancel.clone(),
            shown: None,
            holder: LinkId::new(1),
            pieces,
            computer: None,
        };
        self.privacy.run(permit, ctx).await
    }

    async fn stub(&self, path: &str) -> Result<FileStub, OpError> {
        match self.run(Operation::File(FileOp::Stub { path: path.to_owned(), preview_bytes: 0 }), None).await? {
            Outcome::Stub(stub) => Ok(stub),
            other => panic!("{other:?}"),
        }
    }

    fn turn(stubs: &[&str], verify: bool) -> Turn {
        let knob = |value| Knob::new(value).unwrap();
        Turn {
            model: "small:1b".to_owned(),
            task: "Is the balance fine?".to_owned(),
            stubs: stubs.iter().map(|id| (*id).to_owned()).collect(),
            context: Some("Sums are euros.".to_owned()),
            sampling: Sampling { max_tokens: 64, temperature: knob(0.0), top_p: knob(1.0) },
            verify,
        }
    }

    async fn ask(&self, stubs: &[&str], verify: bool) -> Result<ModelAnswer, OpError> {
        self.put(Self::turn(stubs, verify), None).await
    }

    async fn put(&self, turn: Turn, pieces: Option<Pieces>) -> Result<ModelAnswer, OpError> {
        match self.run(Operation::Model(ModelOp::Turn(turn)), pieces).await? {
            Outcome::Turn(answer) => Ok(answer),
            other => panic!("{other:?}"),
        }
    }

    /// Everything that the model was ever told.
    fn told(&self) -> String {
        let questions = self.server.requests().into_iter().filter(|asked| asked.path.ends_with("/chat"));
        questions.map(|asked| asked.body.to_string()).collect()
    }

    fn assert_nothing_was_told(&self) {
        assert_eq!(self.told(), "");
    }
}

fn stale<T>(result: Result<T, OpError>) -> &'static str {
    match result {
        Err(OpError::StubStale { reason, .. }) => reason,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it should be stale"),
    }
}

fn failed<T>(result: Result<T, OpError>) -> String {
    match result {
        Err(OpError::ModelFailed { why }) => why,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it should fail"),
    }
}

#[tokio::test]
async fn a_file_is_described_and_the_local_model_answers_about_it() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap();
    let digest = drawbridge_core::hex::encode(Sha256::digest(SECRET));
    assert_eq!((stub.size_bytes, stub.sha256.as_str()), (SECRET.len() as u64, digest.as_str()));
    assert_eq!(stub.mime_type.as_deref(), Some("text/csv"));
    assert_eq!(stub.path, desk.inside("pay.csv").to_str().unwrap());
    assert!(stub.stub_id.starts_with("stub_") && stub.stub_id.len() == 41, "{}", stub.stub_id);
    desk.assert_nothing_was_told();

    let (out, mut parts) = mpsc::channel(16);
    let pieces = Pieces::new(RequestId::parse("q-1").unwrap(), out);
    let answer = desk.put(Desk::turn(&[&stub.stub_id], true), Some(pieces)).await.unwrap();

    assert_eq!((answer.content.as_str(), answer.model.as_str()), ("It is fine.", "small:1b"));
    let mut streamed = String::new();
    while let Some((_, piece)) = parts.recv().await {
        let Piece::Delta(text) = piece else { panic!("the end is not told: {piece:?}") };
        streamed.push_str(&text);
    }
    assert_eq!(streamed, "It is fine.");
    let told = desk.told();
    for wanted in ["account 4711", "pay.csv", "Sums are euros.", "Is the balance fine?"] {
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
    assert!(!told.contains(desk.base.to_str().unwrap()), "the model need not know where the folder is");
}

#[tokio::test]
async fn what_was_asked_about_is_counted_by_file() {
    let desk = Desk::new().await;
    symlink("pay.csv", desk.inside("again.csv")).unwrap();
    let one = desk.stub("pay.csv").await.unwrap();
    let two = desk.stub("again.csv").await.unwrap();
    assert_ne!(one.stub_id, two.stub_id);
    desk.ask(&[&one.stub_id, &two.stub_id, &one.stub_id], true).await.unwrap();

    let asked = desk.privacy.asked(&chat("one"));

    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].path.as_str(), asked[0].stubs, asked[0].turns), (one.path.as_str(), 2, 2));
    assert!(desk.privacy.asked(&chat("two")).is_empty());
    let paths = desk.privacy.paths(&chat("one"), &[one.stub_id, "stub_x".to_owned()]);
    assert_eq!(paths, [Some(one.path), None]);
}

#[tokio::test]
async fn what_cannot_be_read_cannot_be_described() {
    let desk = Desk::new().await;
    fs::create_dir(desk.inside("folder")).unwrap();
    symlink(desk.base.join("out/f.txt"), desk.inside("out.txt")).unwrap();
    symlink("/dev/zero", desk.inside("zero")).unwrap();
    let pipe = CString::new(desk.inside("pipe").to_str().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(pipe.to_str().unwrap()).status().unwrap().success());

    assert!(matches!(desk.stub("none.txt").await, Err(OpError::NotFound { .. })));
    for outside in ["../out/f.txt", "/etc/passwd", "out.txt", "zero"] {
        assert!(matches!(desk.stub(outside).await, Err(OpError::OutsideRoot { .. })), "{outside}");
    }
    let reason = |result: Result<FileStub, OpError>| match result {
        Err(OpError::File { reason, .. }) => reason,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("described"),
    };
    assert_eq!(reason(desk.stub("folder").await), IoReason::IsDirectory);
    assert_eq!(reason(desk.stub(".").await), IoReason::IsDirectory);
    assert_eq!(reason(desk.stub("pipe").await), IoReason::NotRegularFile);
    assert!(desk.privacy.asked(&chat("one")).is_empty());
}

#[tokio::test]
async fn a_file_that_changed_is_refused_unless_what_is_there_now_is_wanted() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    fs::write(desk.inside("pay.csv"), SECRET.replace("4711", "4712")).unwrap();

    assert_eq!(stale(desk.ask(&[&stub], true).await), "changed");
    desk.assert_nothing_was_told();

    desk.ask(&[&stub], false).await.unwrap();
    assert!(desk.told().contains("account 4712"));

    // The same bytes in a new file are the same.
    fs::write(desk.inside("new"), SECRET).unwrap();
    fs::rename(desk.inside("new"), desk.inside("pay.csv")).unwrap();
    desk.ask(&[&stub], true).await.unwrap();

    fs::remove_file(desk.inside("pay.csv")).unwrap();
    assert_eq!(stale(desk.ask(&[&stub], true).await), "gone");
    assert_eq!(stale(desk.ask(&[&stub], false).await), "gone");
}

#[tokio::test]
async fn nothing_that_takes_the_place_of_a_file_leads_anywhere_else() {
    let desk = Desk::new().await;
    fs::create_dir(desk.inside("a")).unwrap();
    fs::create_dir(desk.inside("b")).unwrap();
    fs::write(desk.inside("a/x.txt"), "the same").unwrap();
    fs::write(desk.inside("b/x.txt"), "the same").unwrap();
    fs::write(desk.base.join("out/x.txt"), "the same").unwrap();
    let stub = desk.stub("a/x.txt").await.unwrap().stub_id;
    let swaps: [(&str, PathBuf, &str); 4] = [
        ("a/x.txt", desk.inside("b/x.txt"), "changed"),
        ("a/x.txt", desk.base.join("out/x.txt"), "changed"),
        ("a", desk.inside("b"), "changed"),
        ("a", desk.base.join("out"), "changed"),
    ];
    for (name, target, reason) in swaps {
        fs::rename(desk.inside(name), desk.base.join("kept")).unwrap();
        symlink(&target, desk.inside(name)).unwrap();
        for verify in [true, false] {
            assert_eq!(stale(desk.ask(&[&stub], verify).await), reason, "{name} -> {}", target.display());
        }
        fs::remove_file(desk.inside(name)).unwrap();
        fs::rename(desk.base.join("kept"), desk.inside(name)).unwrap();
    }
    fs::rename(desk.base.join("R"), desk.base.join("moved")).unwrap();
    fs::create_dir_all(desk.inside("a")).unwrap();
    fs::write(desk.inside("a/x.txt"), "the same").unwrap();
    assert_eq!(stale(desk.ask(&[&stub], true).await), "gone");
    desk.assert_nothing_was_told();
}

#[tokio::test]
async fn a_stub_of_nobody_or_of_another_chat_or_from_before_is_unknown() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    assert_eq!(stale(desk.ask(&["stub_00000000-0000-4000-8000-000000000000"], true).await), "unknown");
    assert_eq!(stale(desk.ask(&[&stub, ""], true).await), "unknown");
    desk.privacy.forget_stubs(&chat("two"));
    desk.ask(&[&stub], true).await.unwrap();

    desk.privacy.forget_stubs_of_open(|session| *session != chat("one"));
    assert_eq!(stale(desk.ask(&[&stub], true).await), "unknown");
}

#[tokio::test]
async fn what_the_model_cannot_read_is_said_by_name_and_told_nobody() {
    let desk = Desk::new().await;
    fs::write(desk.inside("photo.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF\0").unwrap();
    let large = fs::File::create(desk.inside("large.txt")).unwrap();
    large.set_len(8 * 1024 * 1024 + 1).unwrap();
    fs::write(desk.inside("half.txt"), "x".repeat(4 * 1024 * 1024 + 1)).unwrap();
    fs::write(desk.inside("other.txt"), "y".repeat(4 * 1024 * 1024)).unwrap();
    let mut stubs = Vec::new();
    for name in ["photo.jpg", "large.txt", "half.txt", "other.txt", "pay.csv"] {
        stubs.push(desk.stub(name).await.unwrap().stub_id);
    }

    let why = failed(desk.ask(&[&stubs[4], &stubs[0]], true).await);
    assert!(why.starts_with("photo.jpg is not a text"), "{why}");
    let why = failed(desk.ask(&[&stubs[1]], true).await);
    assert!(why.contains("large.txt has 8388609 bytes") && why.contains("8388608 together"), "{why}");
    let why = failed(desk.ask(&[&stubs[2], &stubs[3]], true).await);
    assert!(why.contains("other.txt has 4194304 bytes"), "{why}");
    desk.assert_nothing_was_told();

    // What does not fit into the model is not cut in silence.
    let why = failed(desk.ask(&[&stubs[3]], true).await);
    assert!(!why.contains("yyyy"), "{why}");
}

/// Lets a server be reached at an address of this machine that is not loopback, as one elsewhere is; none where there is no network.
async fn elsewhere(server: &ModelServer) -> Option<String> {
    // Connecting a datagram socket sends nothing and tells which address would be used.
    let probe = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    probe.connect("192.0.2.1:9").ok()?;
    let address = probe.local_addr().ok()?.ip();
    let listener = TcpListener::bind((address, 0)).await.ok().filter(|_| !address.is_loopback())?;
    let (url, port) = (format!("http://{}", listener.local_addr().ok()?), server.port());
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut to = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            });
        }
    });
    Some(url)
}

#[tokio::test]
async fn a_model_elsewhere_is_never_told() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    let mut turn = Desk::turn(&[&stub], true);
    turn.model = "gpt-oss:120b-cloud".to_owned();
    let why = failed(desk.put(turn, None).await);
    assert!(why.contains("another computer"), "{why}");

    let other = ModelServer::start(Script::ollama().with_models(&["small:1b"])).await.unwrap();
    let Some(url) = elsewhere(&other).await else {
        println!("skipped: this machine has no address but loopback");
        return;
    };
    let far = Server { url, api: ModelApi::Auto, far: true, parallel: 1 };
    desk.model.set_servers(vec![far.clone()]);
    desk.model.look().await;
    assert_eq!(desk.model.offered(), ["small:1b"]);

    let why = failed(desk.ask(&[&stub], true).await);
    assert!(why.contains("another computer"), "{why}");

    // The one here is asked, also where one elsewhere comes first.
    desk.model.set_servers(vec![far, at(&desk.server)]);
    desk.model.look().await;
    desk.ask(&[&stub], true).await.unwrap();
    assert!(desk.told().contains("account 4711"));
    assert!(other.requests().iter().all(|asked| !asked.path.ends_with("/chat")));
}

#[tokio::test]
async fn a_model_that_a_server_here_passes_on_is_never_told_whatever_its_name() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    let pass_on = || desk.server.change(|script| script.models = vec![ScriptModel::passed_on("small:1b")]);

    // Since the last look.
    pass_on();
    let why = failed(desk.ask(&[&stub], true).await);
    assert!(why.contains("passes questions on"), "{why}");
    // And as the list says it.
    desk.model.look().await;
    assert!(desk.model.offered().is_empty(), "nobody said that questions may leave");
    let why = failed(desk.ask(&[&stub], true).await);
    assert!(why.contains("passes questions on"), "{why}");
    // Nor where other questions may leave.
    desk.model.set_servers(vec![Server { far: true, ..at(&desk.server) }]);
    desk.model.look().await;
    assert_eq!(desk.model.offered(), ["small:1b"]);
    let why = failed(desk.ask(&[&stub], true).await);
    assert!(why.contains("passes questions on"), "{why}");

    // Nor where it is asked through the interface that says nothing of it.
    desk.server.change(|script| script.openai = true);
    desk.model.set_servers(vec![Server { api: ModelApi::OpenAi, ..at(&desk.server) }]);
    desk.model.look().await;
    assert_eq!(desk.model.offered(), ["small:1b"]);
    let why = failed(desk.ask(&[&stub], true).await);
    assert!(why.contains("passes questions on"), "{why}");

    assert_eq!(desk.told(), "");
    let asks = |path: &str| path.ends_with("/chat") || path.ends_with("/completions");
    assert!(desk.server.requests().iter().all(|asked| !asks(&asked.path)));
}

#[tokio::test]
async fn a_server_that_repeats_what_it_was_told_cannot_carry_it_out_in_its_error() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    let error = format!("cannot parse: {SECRET}");
    for reply in [
        Reply::status(400, &error),
        Reply::Steps(vec![Step::text("It "), Step::Error(error.clone())]),
        Reply::status(500, &serde_json::json!({ "error": error }).to_string()),
    ] {
        desk.server.next(reply);
        let why = failed(desk.ask(&[&stub], true).await);
        assert!(!why.contains("4711") && !why.contains("90210"), "{why}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_ends_at_the_server() {
    let hold = Reply::Steps(vec![Step::text("It "), Step::Hold]);
    let desk = Desk::with(Script::ollama().with_models(&["small:1b"]).with_reply(hold)).await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;

    let stubs = [stub.as_str()];
    let (asked, ()) = tokio::join!(desk.ask(&stubs, true), async {
        desk.server.until_holding(1).await;
        desk.cancel.cancel();
    });

    assert!(matches!(asked, Err(OpError::Cancelled)));
    desk.server.until_hung_up(1).await;
}

#[tokio::test]
async fn without_a_server_the_files_are_not_even_read() {
    let desk = Desk::new().await;
    let stub = desk.stub("pay.csv").await.unwrap().stub_id;
    desk.model.set_servers(Vec::new());

    let result = desk.ask(&[&stub], true).await;

    assert!(matches!(result, Err(OpError::ModelNotAvailable { .. } | OpError::ModelFailed { .. })));
    assert_eq!(desk.privacy.asked(&chat("one"))[0].turns, 0, "nobody was asked");
}
