//! Private files through a whole engine: what the local model is told reaches nobody else.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{ChatPrivacyView, PromptAnswer, PromptView, Snapshot};
use drawbridge_engine::{Command, CommandError, Reply};
use drawbridge_practice::model::{ModelServer, Reply as Answers, Script, Step};
use drawbridge_practice::{Failure, Scope};
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

#[tokio::test(flavor = "multi_thread")]
async fn a_private_file_is_answered_about_and_none_of_its_bytes_go_anywhere_else() {
    let mut desk = Desk::private().await;
    let file = desk.folder.join("konto.txt");
    let described = desk.stub(&file).await;
    assert_eq!((&described["mode"], &described["size_bytes"]), (&json!("stub"), &json!(content().len())));
    assert_eq!(described["schema_preview"], "");

    let answer = desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&text(&described["stub_id"]))).await.unwrap();

    assert_eq!(answer["output"], ANSWER);
    assert!(desk.chunks() > 0);
    let blocked = desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&file)).await;
    assert_eq!(blocked["code"], "PRIVACY_MODE_BLOCKED");
    let said = text(&blocked["message"]);
    assert!(said.contains("keeps contents of files on this computer") && said.contains("mode \"stub\""), "{said}");
    // Whatever else is done with it: moved, overwritten, deleted.
    let moved = json!({ "src": file, "dst": desk.folder.join("neu.txt"), "overwrite": false });
    desk.rig.ask(&desk.chat, "FILE_MOVE", moved).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_STAT", json!({ "path": desk.folder.join("neu.txt") })).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_LIST", json!({ "path": desk.folder, "recursive": true })).await.unwrap();

    let told = desk.told();
    for secret in SECRETS {
        assert!(told.contains(secret), "the model was told {secret}: {told}");
    }
    let counted = |chat: &ChatPrivacyView| chat.asked.first().is_some_and(|file| file.turns == 1);
    let picture = desk.rig.until(|picture| picture.chats.iter().any(|chat| counted(&chat.privacy))).await;
    let picture = serde_json::to_vec(&picture).unwrap();
    let view = desk.privacy_view();
    assert_eq!((view.on, view.own, view.asked.len()), (true, Some(true), 1));
    assert_eq!((view.asked[0].stubs, view.asked[0].turns), (1, 1));
    assert!(view.asked[0].path.ends_with("papers/konto.txt"));
    desk.rig.stop().await;
    let frames = desk.rig.script.frames(0);
    assert!(
        frames.iter().any(|frame| frame.kind == "LOCAL_LLM_TURN_RESPONSE") && frames.iter().all(|frame| !frame.cut)
    );
    let kept = files_below(&desk.rig.state_dir());
    assert!(kept.iter().any(|file| file.ends_with("audit.log")), "{kept:?}");
    for secret in SECRETS {
        for frame in &frames {
            let found = forms::found(secret, frame.text.as_bytes());
            assert!(found.is_empty(), "{secret} as {found:?} in a {}", frame.kind);
        }
        for file in &kept {
            let found = forms::found(secret, &fs::read(file).unwrap());
            assert!(found.is_empty(), "{secret} as {found:?} in {}", file.display());
        }
        assert!(forms::found(secret, &picture).is_empty(), "{secret} in the picture");
    }
    desk.rig.assert_no_faults();
    assert_audit(&desk, &described);
}

fn assert_audit(desk: &Desk, described: &Value) {
    let records = desk.rig.audit();
    let of =
        |op: &str| records.iter().find(|record| record["op"] == op).unwrap_or_else(|| panic!("{op} in {records:?}"));
    let without_decision = |op: &str| {
        let mut details = of(op)["details"].clone();
        details.as_object_mut().unwrap().remove("decision");
        details
    };
    assert_eq!(
        without_decision("FILE_READ_STUB"),
        json!({
            "path": desk.folder.join("konto.txt"),
            "mode": "stub",
            "sha256": described["sha256"],
            "size_bytes": described["size_bytes"],
        })
    );
    assert_eq!(
        without_decision("LOCAL_LLM_TURN"),
        json!({
            "model": "small:1b",
            "stub_ids": [described["stub_id"]],
            "task_length": "Count the accounts".len(),
            "output_length": ANSWER.len(),
        })
    );
    assert_eq!(of("POLICY_CHANGED")["details"], json!({ "chat": desk.chat, "private": true }));
    let log = fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    for never in ["Count the accounts", ANSWER] {
        assert!(!log.contains(never), "{never}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_was_swapped_or_is_gone_is_stale_and_so_is_a_stub_from_before() {
    let desk = Desk::private().await;
    let (file, kept) = (desk.folder.join("konto.txt"), desk.folder.join("kept.txt"));
    let stub = desk.stub_id().await;
    let stale = async |stub: &str| {
        let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(stub)).await;
        assert_eq!(error["code"], "STUB_STALE", "{error}");
        text(&error["details"]["reason"])
    };
    fs::write(desk.folder.join("other.txt"), "another file").unwrap();
    fs::write(&file, "changed").unwrap();
    assert_eq!(stale(&stub).await, "changed");
    fs::rename(&file, &kept).unwrap();
    assert_eq!(stale(&stub).await, "gone");
    symlink(desk.folder.join("other.txt"), &file).unwrap();
    assert_eq!(stale(&stub).await, "changed");
    fs::remove_file(&file).unwrap();
    fs::write(&file, content()).unwrap();
    desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await.unwrap();
    assert_eq!(stale("stub_no").await, "unknown");

    // A HELLO anew wipes them.
    let after = desk.rig.script.frames(0).last().unwrap().n;
    let scope = Scope::Data(desk.chat.clone());
    desk.rig.script.cut(&scope).unwrap();
    desk.rig.script.frame(after, |frame| frame.scope == scope && frame.kind == "HELLO_ACK").await;
    desk.rig.script.connected(&scope, true).await;
    assert_eq!(stale(&stub).await, "unknown");
    assert!(!desk.told().contains("another file"));
    assert_eq!(desk.privacy_view().asked.len(), 1, "what was asked about is still told");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_that_may_leave_again_are_read_as_ever_and_old_stubs_are_worth_nothing() {
    let desk = Desk::private().await;
    let stub = desk.stub_id().await;

    desk.set_privacy(None).await.unwrap();

    let read = desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&desk.folder.join("konto.txt"))).await.unwrap();
    assert_eq!(read["content"], content());
    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert_eq!(error["code"], "FEATURE_NOT_SUPPORTED");
    desk.set_privacy(Some(true)).await.unwrap();
    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("STUB_STALE"), &json!("unknown")));
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_never_heard_of_it_is_unharmed() {
    let desk = Desk::new(wish()).await;
    let file = desk.folder.join("konto.txt");

    assert_eq!(desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&file)).await.unwrap()["content"], content());
    let content_mode = json!({ "path": file, "encoding": "utf-8", "mode": "content" });
    assert_eq!(desk.rig.ask(&desk.chat, "FILE_READ", content_mode).await.unwrap()["content"], content());
    for payload in
        [json!({ "path": file, "encoding": "utf-8", "mode": "stub" }), json!({ "path": file, "mode": "magic" })]
    {
        let error = desk.rig.refused(&desk.chat, "FILE_READ", payload).await;
        assert_eq!(error["code"], "FEATURE_NOT_SUPPORTED", "{error}");
    }
    let frames = desk.rig.script.frames(0);
    let hello = frames.iter().filter(|frame| frame.kind == "HELLO");
    assert!(hello.into_iter().all(|frame| !frame.text.contains("privacy") && !frame.text.contains("stub")));
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_reads_first_leaves_only_when_they_say_so_and_then_whole() {
    let desk = Desk::new(wish().with_window()).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_review(true).await;
    let stub = desk.stub_id().await;

    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    let fact = |label: &str| {
        let details = prompt.details.iter().filter(|detail| detail.label == label);
        details.map(|detail| detail.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!((prompt.operation.as_str(), prompt.can_allow_chat, prompt.cut), ("LOCAL_LLM_RELEASE", false, false));
    assert_eq!((fact("answer"), fact("model")), (vec![ANSWER.to_owned()], vec!["small:1b".to_owned()]));
    assert_eq!(fact("private_file"), ["konto.txt"]);
    let leaks = |desk: &Desk| desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine"));
    assert!(!leaks(&desk), "it waits");
    desk.answer(&prompt, PromptAnswer::Deny).await;
    let error = refused(asked).await;
    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CAPABILITY_NOT_GRANTED"), &json!("declined")));
    assert!(!leaks(&desk) && desk.chunks() == 0);

    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;
    assert_eq!(asked.await.unwrap().unwrap()["output"], ANSWER);
    assert_eq!(desk.chunks(), 0);

    let answers: Vec<String> = desk
        .rig
        .audit()
        .iter()
        .filter(|record| record["op"] == "CONSENT_ANSWERED")
        .map(|record| format!("{}: {}", text(&record["details"]["operation"]), text(&record["details"]["answer"])))
        .collect();
    assert_eq!(answers, ["LOCAL_LLM_RELEASE: deny", "LOCAL_LLM_RELEASE: allow_once"]);
    let log = fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("it is fine"));

    desk.set_review(false).await;
    desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await.unwrap();
    assert!(desk.chunks() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_to_read_answers_while_one_comes_reads_it_before_the_rest_of_it_leaves() {
    let desk = Desk::new(wish().with_window()).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let steps = || vec![Step::text("There is "), Step::Hold, Step::text("one, and it is fine."), Step::finish("stop")];
    let leaks = |desk: &Desk| desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine"));

    for (answer, chunks) in [(PromptAnswer::Deny, 1), (PromptAnswer::AllowOnce, 3)] {
        desk.server.next(Answers::Steps(steps()));
        let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
        desk.server.until_holding(1).await;
        let scope = Scope::Data(desk.chat.clone());
        let before = chunks.min(2);
        while desk.chunks() < before {
            desk.rig.script.frame(0, |frame| frame.scope == scope && frame.kind == "LOCAL_LLM_TURN_CHUNK").await;
            tokio::task::yield_now().await;
        }
        desk.set_review(true).await;
        desk.server.release();
        let prompt = desk.question().await;
        let said = prompt.details.iter().find(|detail| detail.label == "answer").unwrap();
        assert_eq!(said.value, "There is one, and it is fine.");
        assert!(!leaks(&desk), "the rest waits");
        desk.answer(&prompt, answer).await;
        let end = asked.await.unwrap();
        assert_eq!(desk.chunks(), chunks);
        assert_eq!(end.is_ok(), answer == PromptAnswer::AllowOnce, "{end:?}");
        assert_eq!(leaks(&desk), end.is_ok());
        desk.set_review(false).await;
    }
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_no_question_can_show_is_lost_and_says_so() {
    let mut wish = wish().with(Power::Shell, PowerMode::AskEachTime).with_window();
    wish.limits.max_concurrent = 2;
    let desk = Desk::new(wish).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_review(true).await;
    let stub = desk.stub_id().await;
    let _waits = desk.asked("EXECUTE_COMMAND", json!({ "argv": ["true"] }));
    desk.question().await;

    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;

    assert_eq!(
        (&error["code"], &error["details"]["reason"]),
        (&json!("SHIM_OVERLOADED"), &json!("open_questions")),
        "{error}"
    );
    assert!(text(&error["message"]).contains("is lost"), "{error}");
    assert!(!desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_one_server_reading_files_is_none_to_another_one() {
    let second = ModelServer::start(Script::ollama().with_models(&["small:1b"])).await.unwrap();
    let mut wish = wish().with_window().with(Power::LocalModel, PowerMode::AskEachTime);
    wish.models.servers = vec![second.url()];
    let desk = Desk::new(wish).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    let server = |prompt: &PromptView| {
        prompt.details.iter().find(|detail| detail.label == "model_server").unwrap().value.clone()
    };
    assert_eq!(server(&prompt), desk.server.url());

    desk.server.change(|script| script.models.clear());
    desk.rig.handle.send(Command::LookAtModels).await.unwrap();
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;

    let shows_second = |picture: &Snapshot| picture.prompts.first().is_some_and(|one| server(one) == second.url());
    let picture = desk.rig.until(shows_second).await;
    assert_eq!(second.requests().iter().filter(|asked| asked.path.ends_with("/chat")).count(), 0);
    desk.answer(&picture.prompts[0], PromptAnswer::AllowOnce).await;
    asked.await.unwrap().unwrap();
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_waits_to_be_read_stays_when_the_bridge_goes_up_or_the_chat_ends() {
    for end in ["raise", "detach"] {
        let desk = Desk::new(wish().with_window()).await;
        desk.set_privacy(Some(true)).await.unwrap();
        desk.set_review(true).await;
        let stub = desk.stub_id().await;
        let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
        desk.question().await;

        let command = match end {
            "raise" => Command::SetRaised { raised: true },
            _ => Command::Detach { session_id: desk.chat.clone() },
        };
        desk.rig.handle.send(command).await.unwrap();

        assert!(asked.await.unwrap().is_err(), "{end}");
        desk.rig.until(|picture| picture.prompts.is_empty()).await;
        let frames = desk.rig.script.frames(0);
        assert!(!frames.iter().any(|frame| frame.text.contains("it is fine")), "{end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_read_an_answer_first_the_model_is_not_asked() {
    let desk = Desk::private().await;
    desk.set_review(true).await;
    let stub = desk.stub_id().await;

    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;

    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CAPABILITY_NOT_GRANTED"), &json!("no_ui")));
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_waits_for_an_answer_is_refused_when_contents_are_kept_meanwhile() {
    let desk = Desk::new(wish().with_window().with(Power::Files, PowerMode::AskEachTime)).await;
    let asked = desk.asked("FILE_READ", rig::read(&desk.folder.join("konto.txt")));
    desk.question().await;

    desk.set_privacy(Some(true)).await.unwrap();

    assert_eq!(refused(asked).await["code"], "PRIVACY_MODE_BLOCKED");
    desk.rig.until(|picture| picture.prompts.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_turn_shows_files_by_path_and_all_that_the_model_is_told() {
    let desk = Desk::new(wish().with_window().with(Power::LocalModel, PowerMode::AskEachTime)).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let mut turn = Desk::turn(&stub);
    turn["stub_refs"] = json!([stub, "stub_no"]);
    turn["context"] = json!("Accounts begin with IBAN");

    let asked = desk.asked("LOCAL_LLM_TURN", turn);
    let prompt = desk.question().await;

    let facts: Vec<(&str, &str)> =
        prompt.details.iter().map(|detail| (detail.label.as_str(), detail.value.as_str())).collect();
    let server = desk.server.url();
    assert_eq!(
        facts,
        [
            ("model", "small:1b"),
            ("model_server", server.as_str()),
            ("private_file", "konto.txt"),
            ("unknown_stub", "stub_no"),
            ("task", "Count the accounts"),
            ("context", "Accounts begin with IBAN"),
        ]
    );
    assert_eq!(desk.told(), "");
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;
    assert_eq!(refused(asked).await["code"], "STUB_STALE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_or_repeats_what_it_was_told_gives_nothing_away() {
    let desk = Desk::private().await;
    let stub = desk.stub_id().await;
    desk.server.next(Answers::status(500, &content()));
    desk.server.next(Answers::Steps(vec![Step::text("There "), Step::Error(content())]));
    for _ in 0..2 {
        let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
        assert_eq!(error["code"], "LOCAL_LLM_FAILED", "{error}");
        for secret in SECRETS {
            assert!(forms::found(secret, error.to_string().as_bytes()).is_empty(), "{error}");
        }
    }
    let Desk { rig, server, chat, .. } = desk;
    drop(server);
    let error = rig.refused(&chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert!(["LOCAL_LLM_FAILED", "MODEL_NOT_AVAILABLE"].contains(&error["code"].as_str().unwrap()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_kept_in_all_chats_are_kept_unless_one_chat_says_otherwise_and_survive_a_restart() {
    let mut desk = Desk::new(wish()).await;
    let file = desk.folder.join("konto.txt");
    desk.rig.handle.send(Command::SetPrivacy { session_id: None, on: Some(true) }).await.unwrap();
    assert_eq!(desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&file)).await["code"], "PRIVACY_MODE_BLOCKED");
    desk.set_privacy(Some(false)).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&file)).await.unwrap();
    desk.set_privacy(None).await.unwrap();

    desk.rig.stop().await;
    desk.rig.start_again().await;

    let now = desk.rig.until(|picture| picture.models.private_all).await;
    assert!(!now.models.review);
    let unknown = Command::SetPrivacy { session_id: Some("nobody".to_owned()), on: Some(false) };
    assert_eq!(desk.rig.handle.send(unknown).await.unwrap_err().code, "unknown_chat");
    let neither = Command::SetPrivacy { session_id: None, on: None };
    assert!(desk.rig.handle.send(neither).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_chat_comes_back_no_less_private() {
    let desk = Desk::new(wish()).await;
    desk.rig.handle.send(Command::SetPrivacy { session_id: None, on: Some(true) }).await.unwrap();
    desk.set_privacy(Some(false)).await.unwrap();

    desk.rig.handle.send(Command::Detach { session_id: desk.chat.clone() }).await.unwrap();
    desk.rig.script.restore(&desk.chat).await.unwrap();
    desk.rig.script.connected(&Scope::Data(desk.chat.clone()), true).await;

    let error = desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&desk.folder.join("konto.txt"))).await;
    assert_eq!(error["code"], "PRIVACY_MODE_BLOCKED");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_chat_that_can_let_the_same_files_go_is_told_of() {
    let desk = Desk::private().await;
    let (other, _) = desk.rig.chat_in("papers").await;
    let (apart, _) = desk.rig.chat_in("papers of others").await;

    let told = desk.rig.until(|picture| picture.chats.len() == 3).await;
    let of = |id: &str| told.chats.iter().find(|chat| chat.session_id == id).unwrap().privacy.open_elsewhere.clone();
    assert_eq!(of(&desk.chat), std::slice::from_ref(&other));
    assert!(of(&other).is_empty() && of(&apart).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_closed_chats_that_are_forgotten_nothing_is_kept() {
    let desk = Desk::private().await;
    desk.stub_id().await;
    let stricter = Command::SetChatPower {
        session_id: desk.chat.clone(),
        power: "files".to_owned(),
        mode: Some("off".to_owned()),
    };
    desk.rig.handle.send(stricter).await.unwrap();
    desk.rig.handle.send(Command::Detach { session_id: desk.chat.clone() }).await.unwrap();

    desk.rig.handle.send(Command::ForgetClosed).await.unwrap();

    let (browse, reference) = desk.rig.browse_to(&["papers"]).await;
    desk.rig.script.attach(&desk.rig.machine, &desk.chat, &browse, &reference).await.unwrap();
    let seen = desk.rig.until(|picture| picture.chats.iter().any(|chat| chat.attached)).await;
    let chat = seen.chats.iter().find(|chat| chat.session_id == desk.chat).unwrap();
    assert!(chat.privacy.asked.is_empty() && chat.modes.is_empty(), "{chat:?}");
    assert!(chat.privacy.on, "its files stay here under any word but the person's own");
}
