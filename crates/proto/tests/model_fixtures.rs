//! The local model and privacy mode, as files: what each request means, and what each answer, part and error looks like as a frame.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what went wrong by panicking")]

mod fixture_files;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use drawbridge_core::model::{
    ChatMessage, ChatRole, Completion, FileStub, FinishReason, Knob, ModelAnswer, ModelOp, Piece, Sampling,
    TokenCounts, Turn,
};
use drawbridge_core::{ContentForm, FileOp, Limits, OpError, Operation, Outcome, RequestId, SessionId, WallMs};
use drawbridge_proto::executor::codec::{Incoming, Reply, ReplyContext, decode};
use drawbridge_proto::executor::machine::{Effect, HelloFacts, Machine, MachineConfig, Role};
use drawbridge_proto::executor::wire::{Capability, HardwareDevice};
use fixture_files::files;
use serde_json::{Value, json};

const ID: &str = "5b0c2f6e-1111-4222-8333-444455556666";
const STUB: &str = "stub_5b0c2f6e-1111-4222-8333-444455556666";
const WALL: WallMs = WallMs(1_712_345_678_250);

fn sampling(max_tokens: u32, temperature: f64, top_p: f64) -> Sampling {
    Sampling { max_tokens, temperature: Knob::new(temperature).unwrap(), top_p: Knob::new(top_p).unwrap() }
}

fn completion(messages: &[(ChatRole, &str)], sampling: Sampling, stream: bool) -> Operation {
    let message = |(role, content): &(ChatRole, &str)| ChatMessage { role: *role, content: (*content).to_owned() };
    let messages = messages.iter().map(message).collect();
    Operation::Model(ModelOp::Completion(Completion { model: "llama3.2:3b".into(), messages, sampling, stream }))
}

fn turn(task: &str, stubs: &[&str], context: Option<&str>, sampling: Sampling, verify: bool) -> Operation {
    Operation::Model(ModelOp::Turn(Turn {
        model: "llama3.2:3b".into(),
        task: task.into(),
        stubs: stubs.iter().map(|&stub| stub.to_owned()).collect(),
        context: context.map(str::to_owned),
        sampling,
        verify,
    }))
}

fn described(preview_bytes: u16) -> Operation {
    Operation::File(FileOp::Stub { path: "data.csv".into(), preview_bytes })
}

fn meanings() -> Vec<(&'static str, Operation)> {
    let hi = [(ChatRole::User, "Hi")];
    let usual = sampling(1024, 0.0, 1.0);
    let asked = [(ChatRole::System, "You are a helpful assistant."), (ChatRole::User, "Summarize X in 3 bullets.")];
    let talk = [(ChatRole::User, "Hi"), (ChatRole::Assistant, "Hello."), (ChatRole::User, "Bye")];
    let both = [STUB, "stub_0b0c2f6e-1111-4222-8333-444455556666"];
    let read = FileOp::Read { path: "data.csv".into(), form: ContentForm::Text, offset: 0, length: None };
    vec![
        ("local_llm_completion", completion(&asked, usual, true)),
        ("local_llm_completion.attachment", completion(&hi, usual, true)),
        ("local_llm_completion.bare", completion(&hi, usual, true)),
        ("local_llm_completion.numbers-with-point", completion(&hi, sampling(16, 1.0, 1.0), true)),
        ("local_llm_completion.whole", completion(&talk, sampling(16, 0.7, 0.9), false)),
        ("local_llm_turn", turn("Count the rows.", &[STUB], Some("one file"), sampling(512, 0.0, 1.0), true)),
        ("local_llm_turn.bare", turn("Count the rows.", &[STUB], None, usual, true)),
        ("local_llm_turn.unverified", turn("Compare both.", &both, None, sampling(64, 1.0, 1.0), false)),
        ("file_read.content", Operation::File(read)),
        ("file_read.stub", described(256)),
        ("file_read.stub.bare", described(0)),
        ("file_read.stub.with-range", described(0)),
    ]
}

#[test]
fn every_request_means_what_is_written_here() {
    let meanings: BTreeMap<&str, Operation> = meanings().into_iter().collect();
    let mut seen = BTreeSet::new();
    for (name, text) in files("in") {
        let Some(wanted) = meanings.get(name.as_str()) else {
            assert!(!name.starts_with("local_llm") || name.ends_with(".later-role"), "{name} means nothing yet");
            continue;
        };
        let Incoming::Request(request) = decode(&text) else { panic!("{name}") };
        assert!(request.operation().is_ok_and(|operation| operation == *wanted), "{name}");
        seen.insert(name);
    }
    assert_eq!(seen.len(), meanings.len());
}

fn answer(content: &str, finish: FinishReason, tokens: [Option<u64>; 2], ms: u64) -> ModelAnswer {
    ModelAnswer {
        model: "llama3.2:3b".into(),
        content: content.into(),
        finish,
        tokens: TokenCounts { prompt: tokens[0], completion: tokens[1] },
        duration: Duration::from_millis(ms),
    }
}

fn answers() -> Vec<(&'static str, Outcome)> {
    let stub = |path: &str, size_bytes, mime_type: Option<&str>, sha256: &str, preview: &[u8]| {
        Outcome::Stub(FileStub {
            path: path.into(),
            size_bytes,
            mime_type: mime_type.map(str::to_owned),
            sha256: sha256.into(),
            stub_id: STUB.into(),
            preview: preview.to_vec(),
        })
    };
    let (csv, none) = (
        "6709c5eb858a8b39dc3a29a9f251505b330fbf6107a283edf98e699a59a72811",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    let said = |content: &str, finish, tokens, ms| Outcome::Completion(answer(content, finish, tokens, ms));
    let told = |content: &str, finish, tokens, ms| Outcome::Turn(answer(content, finish, tokens, ms));
    vec![
        ("local_llm_completion_response", said("The user spent ...", FinishReason::Stop, [Some(42), Some(384)], 4200)),
        ("local_llm_completion_response.filtered", said("", FinishReason::ContentFilter, [Some(42), None], 4)),
        ("local_llm_completion_response.uncounted", said("x", FinishReason::Length, [None, None], 500)),
        ("local_llm_turn_response", told("12 rows", FinishReason::Stop, [Some(30), Some(10)], 1250)),
        ("local_llm_turn_response.uncounted", told("12 \"rows\"\n", FinishReason::Length, [None, None], 0)),
        ("file_contents.stub", stub("/Users/alice/data.csv", 14, Some("text/csv"), csv, &[])),
        ("file_contents.stub.preview", stub("/Users/alice/data.csv", 14, Some("text/csv"), csv, b"name,pay\n")),
        ("file_contents.stub.unknown-type", stub("/w/README", 0, None, none, &[])),
    ]
}

fn errors() -> Vec<(&'static str, &'static str, OpError)> {
    let (completion, turn) = ("LOCAL_LLM_COMPLETION", "LOCAL_LLM_TURN");
    let missing = |available: &[&str]| OpError::ModelNotAvailable {
        requested: "x:1b".into(),
        available: available.iter().map(|&model| model.to_owned()).collect(),
    };
    let failed = |why: &str| OpError::ModelFailed { why: why.into() };
    let stale = OpError::StubStale { stub_id: STUB.into(), reason: "changed", why: "the file has changed" };
    let plain =
        OpError::Unsupported { feature: "FILE_READ.mode".into(), why: "contents may be read in this chat".into() };
    vec![
        ("local_llm_busy", completion, OpError::ModelBusy { model: "llama3.2:3b".into() }),
        ("local_llm_failed", completion, failed("connection refused")),
        ("local_llm_failed.early-end", turn, failed("stream ended early")),
        ("model_not_available", completion, missing(&["llama3.2:3b", "mistral:7b"])),
        ("model_not_available.none", completion, missing(&[])),
        ("privacy_mode_blocked", "FILE_READ", OpError::PrivacyMode { path: "data.csv".into() }),
        ("stub_stale", turn, stale),
        ("feature_not_supported.no-privacy", "FILE_READ", plain),
    ]
}

fn frame(op: &'static str, result: Result<&Outcome, &OpError>) -> Value {
    let id = RequestId::parse(ID).unwrap();
    let reply = Reply::encode(&id, &ReplyContext::of_name(op), &Limits::default(), result);
    serde_json::from_str(&reply.into_frame(WALL, "1.1", 3)).unwrap()
}

fn file(name: &str) -> Value {
    let files: BTreeMap<String, String> = files("out").into_iter().collect();
    serde_json::from_str(files.get(name).unwrap_or_else(|| panic!("there is no out/{name}"))).unwrap()
}

#[test]
fn every_answer_and_error_is_written_as_its_file_says() {
    for (name, outcome) in answers() {
        assert_eq!(frame("LOCAL_LLM_COMPLETION", Ok(&outcome)), file(name), "out/{name}");
    }
    for (name, op, error) in errors() {
        assert_eq!(frame(op, Err(&error)), file(&format!("error.{name}")), "out/error.{name}");
    }
}

/// A data link that offers everything, with what it said so far.
fn link() -> (Machine, Vec<Effect>) {
    let config = MachineConfig {
        role: Role::Data { session: SessionId::parse("chat-1").unwrap(), allowed_root: "/w".into() },
        hello: HelloFacts {
            capabilities: Capability::ALL.into(),
            local_llm_models: vec!["llama3.2:3b".into(), "mistral:7b".into()],
            hardware_devices: vec![
                HardwareDevice::Serial { port: "/dev/ttyUSB0".into(), desc: "Arduino Uno".into() },
                HardwareDevice::Usb { vid: "2341".into(), pid: "0043".into(), desc: "Arduino Uno".into() },
                HardwareDevice::Gpio { chip: "gpiochip0".into(), desc: "header".into() },
            ],
            ..HelloFacts::default()
        },
        local: Limits::default(),
    };
    let mut machine = Machine::new(config, Box::new(|| "id".to_owned()));
    let hello = machine.on_open(Instant::now(), WALL);
    (machine, hello)
}

fn sent(effects: &[Effect]) -> Vec<Value> {
    let text = |effect: &Effect| {
        if let Effect::Send(text) = effect { Some(serde_json::from_str(text).unwrap()) } else { None }
    };
    effects.iter().filter_map(text).collect()
}

#[test]
fn every_part_is_written_as_its_file_says() {
    let (mut machine, _) = link();
    let now = Instant::now();
    let ack = json!({"type": "HELLO_ACK", "id": "id", "payload": {
        "session_id": "chat-1", "granted_capabilities": ["files", "local_llm"], "protocol_version": "1.1"}});
    let _ = machine.on_text(&ack.to_string(), now, WALL);
    let id = RequestId::parse(ID).unwrap();
    for (request, parts) in [
        (
            "local_llm_completion",
            vec![
                ("local_llm_completion_chunk", Piece::Delta("The user spent ".into())),
                ("local_llm_completion_chunk.stop", Piece::Finish(FinishReason::Stop)),
                ("local_llm_completion_chunk.length", Piece::Finish(FinishReason::Length)),
                ("local_llm_completion_chunk.last", Piece::Finish(FinishReason::ContentFilter)),
            ],
        ),
        ("local_llm_turn", vec![("local_llm_turn_chunk", Piece::Delta("12 ".into()))]),
    ] {
        let (_, text) = files("in").into_iter().find(|(name, _)| name == request).unwrap();
        let started = machine.on_text(&text, now, WALL);
        assert!(matches!(&started[..], [Effect::Start { .. }]), "{started:?}");
        for (name, piece) in parts {
            assert_eq!(sent(&machine.on_piece(&id, &piece, WALL)), [file(name)], "out/{name}");
        }
        let context = ReplyContext::of_name("LOCAL_LLM_COMPLETION");
        let reply = Reply::encode(&id, &context, &Limits::default(), Err(&OpError::Cancelled));
        let _ = machine.on_reply(reply, now, WALL);
    }
}

#[test]
fn a_greeting_names_models_and_devices_as_its_file_does() {
    let (_, hello) = link();
    let [hello] = &sent(&hello)[..] else { panic!("{hello:?}") };
    let file = file("hello.everything");
    for field in ["local_llm_models", "hardware_devices"] {
        assert_eq!(hello["payload"][field], file["payload"][field], "{field}");
    }
    let offered = hello["payload"]["capabilities"].as_array().unwrap();
    for capability in ["local_llm", "hardware_serial", "hardware_usb", "hardware_gpio"] {
        assert!(offered.contains(&json!(capability)), "{capability}");
    }
}
