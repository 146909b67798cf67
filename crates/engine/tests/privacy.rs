//! Private files through a whole engine: what the local model is told reaches nobody else.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

#[path = "privacy/answers.rs"]
mod answers;
#[path = "privacy/chats.rs"]
mod chats;
#[path = "privacy/preview.rs"]
mod preview;
#[path = "privacy/reading.rs"]
mod reading;
mod rig;
#[path = "privacy/under_way.rs"]
mod under_way;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::managed::ManagedOptions;
use drawbridge_engine::view::{ChatPrivacyView, PromptAnswer, PromptView, Snapshot};
use drawbridge_engine::{Command, CommandError, Reply};
use drawbridge_practice::model::{ModelServer, Reply as Answers, Script, Step};
use drawbridge_practice::{Failure, Scope};
use drawbridge_store::managed::Managed;
use drawbridge_testkit::forms;
use rig::{Rig, Wish, text};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// What is in the private file: parts that nothing else can hold by chance.
const SECRETS: [&str; 3] = ["IBAN-DE44-5001-0517", "Kontostand «8817,4711» übrig", "token=\"qX7\\tRw2-zzN0\""];
const ANSWER: &str = "There is one account, and it is fine.";

struct Desk {
    rig: Rig,
    server: ModelServer,
    chat: String,
    folder: PathBuf,
}

impl Desk {
    async fn new(wish: Wish) -> Self {
        let script = Script::ollama().with_models(&["small:1b"]);
        let server =
            ModelServer::start(script.with_reply(Answers::pieces(&["There is one account, ", "and it is fine."])));
        let server = server.await.unwrap();
        let rig = Rig::start(wish.at_models(&server.url())).await;
        rig.handle.send(Command::LookAtModels).await.unwrap();
        let (chat, folder) = rig.chat_in("papers").await;
        fs::write(folder.join("konto.txt"), content()).unwrap();
        let desk = Self { rig, server, chat, folder };
        desk.until_offered().await;
        desk
    }

    async fn private() -> Self {
        let desk = Self::new(wish()).await;
        desk.set_privacy(Some(true)).await.unwrap();
        desk
    }

    async fn until_offered(&self) {
        let scope = Scope::Data(self.chat.clone());
        self.rig
            .script
            .frame(0, |frame| frame.scope == scope && frame.kind == "HELLO" && frame.text.contains("small:1b"))
            .await;
        self.rig.script.connected(&scope, true).await;
    }

    async fn set_privacy(&self, on: Option<bool>) -> Result<Reply, CommandError> {
        self.rig.handle.send(Command::SetPrivacy { session_id: Some(self.chat.clone()), on }).await
    }

    async fn set_review(&self, on: bool) {
        self.rig.handle.send(Command::SetPrivacyReview { on }).await.unwrap();
    }

    async fn stub(&self, path: &Path) -> Value {
        self.rig
            .ask(&self.chat, "FILE_READ", json!({ "path": path, "encoding": "utf-8", "mode": "stub" }))
            .await
            .unwrap()
    }

    async fn stub_id(&self) -> String {
        text(&self.stub(&self.folder.join("konto.txt")).await["stub_id"])
    }

    fn turn(stub: &str) -> Value {
        json!({ "model": "small:1b", "task": "Count the accounts", "stub_refs": [stub], "verify_sha256": true })
    }

    /// Asks in the background, as an agent would.
    fn asked(&self, kind: &str, payload: Value) -> JoinHandle<Result<Value, Failure>> {
        let (script, scope, kind) = (self.rig.script.clone(), Scope::Data(self.chat.clone()), kind.to_owned());
        tokio::spawn(async move { script.request(&scope, &kind, payload, None).await.map(|reply| reply.payload) })
    }

    fn privacy_view(&self) -> ChatPrivacyView {
        let picture = self.rig.handle.snapshot();
        picture.chats.iter().find(|chat| chat.session_id == self.chat).unwrap().privacy.clone()
    }

    async fn question(&self) -> PromptView {
        self.rig.until(|picture| !picture.prompts.is_empty()).await.prompts[0].clone()
    }

    async fn answer(&self, prompt: &PromptView, answer: PromptAnswer) {
        let (id, revision) = (prompt.id, prompt.revision);
        self.rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
        self.rig.handle.send(Command::AnswerPrompt { id, revision, answer }).await.unwrap();
    }

    fn chunks(&self) -> usize {
        self.rig.script.frames(0).iter().filter(|frame| frame.kind == "LOCAL_LLM_TURN_CHUNK").count()
    }

    /// Everything that the model was ever told.
    fn told(&self) -> String {
        let questions = self.server.requests().into_iter().filter(|asked| asked.path.ends_with("/chat"));
        questions
            .map(|asked| {
                asked.body["messages"].as_array().unwrap().iter().map(|one| text(&one["content"])).collect::<String>()
            })
            .collect()
    }
}

fn wish() -> Wish {
    Wish::headless().with(Power::LocalModel, PowerMode::Allowed)
}

fn content() -> String {
    SECRETS.join("\n")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

async fn refused(asked: JoinHandle<Result<Value, Failure>>) -> Value {
    match asked.await.unwrap() {
        Err(Failure::Refused { reply }) => reply.payload,
        other => panic!("it should be refused: {other:?}"),
    }
}
