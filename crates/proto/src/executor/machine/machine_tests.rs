use std::collections::BTreeSet;

use drawbridge_core::computer::ComputerOp;
use drawbridge_core::{CommandResult, FileContents, Limits, Outcome, SessionId};
use drawbridge_core::{ContentForm, OpError, Operation};
use serde_json::{Value, json};

use super::*;
use crate::executor::codec::ReplyContext;
use crate::executor::wire::{Capability, ErrorCode, HardwareDevice};

const CHAT: &str = "chat-1";

/// A connection with both clocks in hand.
struct Link {
    machine: Machine,
    now: Instant,
    wall: WallMs,
}

impl Link {
    fn new(role: Role, capabilities: &[Capability]) -> Self {
        let config = MachineConfig {
            role,
            hello: HelloFacts {
                machine_id: "m-1".into(),
                shim_version: "drawbridge-0.1.0".into(),
                platform: "linux".into(),
                arch: "x86_64".into(),
                display_name: "zoe".into(),
                capabilities: capabilities.iter().copied().collect(),
                local_llm_models: vec!["m".into()],
                ..HelloFacts::default()
            },
            local: Limits::default(),
        };
        let mut next = 0;
        let ids = Box::new(move || {
            next += 1;
            format!("id-{next}")
        });
        Self { machine: Machine::new(config, ids), now: Instant::now(), wall: WallMs(1_712_345_678_000) }
    }

    fn control() -> Self {
        Self::new(Role::Control, &[Capability::Files, Capability::Shell])
    }

    fn data() -> Self {
        let role = Role::Data { session: SessionId::parse(CHAT).unwrap(), allowed_root: "/w".into() };
        Self::new(role, &[Capability::Files, Capability::Shell])
    }

    /// A data link after its handshake.
    fn ready() -> Self {
        Self::ready_with(&json!({}))
    }

    fn ready_with(more: &Value) -> Self {
        let mut link = Self::data();
        let _ = link.open();
        let effects = link.ack(&data_ack(more));
        assert!(matches!(effects[..], [Effect::Ready(_)]), "{effects:?}");
        link
    }

    fn ready_control() -> Self {
        let mut link = Self::control();
        let _ = link.open();
        let effects = link.ack(&control_ack(&json!({})));
        assert!(matches!(effects[..], [Effect::Ready(_)]), "{effects:?}");
        link
    }

    fn open(&mut self) -> Vec<Effect> {
        self.machine.on_open(self.now, self.wall)
    }

    fn ack(&mut self, payload: &Value) -> Vec<Effect> {
        self.text(&json!({"type": "HELLO_ACK", "id": "id-1", "payload": payload}))
    }

    fn text(&mut self, frame: &Value) -> Vec<Effect> {
        self.machine.on_text(&frame.to_string(), self.now, self.wall)
    }

    fn request(&mut self, type_name: &str, id: &str, payload: &Value) -> Vec<Effect> {
        self.text(&json!({"type": type_name, "id": id, "ts": 1.0, "payload": payload}))
    }

    fn read(&mut self, id: &str) -> Vec<Effect> {
        self.request("FILE_READ", id, &json!({"path": "x"}))
    }

    fn done(&mut self, id: &str) -> Vec<Effect> {
        let reply =
            Reply::encode(&rid(id), &ReplyContext::of_name("FILE_READ"), &Limits::default(), Ok(&Outcome::Done));
        self.machine.on_reply(reply, self.now, self.wall)
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.wall = self.wall.plus(Duration::from_secs(seconds));
    }

    fn tick(&mut self) -> Vec<Effect> {
        self.machine.on_tick(self.now, self.wall)
    }

    /// Lives on as a well-behaved peer would let it: every ping answered.
    fn live(&mut self, seconds: u64) -> Vec<Effect> {
        let end = self.now + Duration::from_secs(seconds);
        let mut all = Vec::new();
        while let Some(due) = self.machine.deadline().filter(|due| *due <= end) {
            let step = due.saturating_duration_since(self.now);
            self.now = due.max(self.now);
            self.wall = self.wall.plus(step);
            let effects = self.tick();
            if effects.iter().any(|effect| matches!(effect, Effect::WsPing)) {
                self.machine.on_pong(self.now, self.wall);
            }
            all.extend(effects);
        }
        self.wall = self.wall.plus(end.saturating_duration_since(self.now));
        self.now = end;
        all
    }

    fn close(&mut self, code: u16) -> End {
        match &self.machine.on_closed(Some(code), "", self.now)[..] {
            [.., Effect::Ended(end)] => end.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn rid(id: &str) -> RequestId {
    RequestId::parse(id).unwrap()
}

fn merged(mut base: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

fn data_ack(more: &Value) -> Value {
    merged(json!({"session_id": CHAT, "protocol_version": "1.1", "granted_capabilities": ["files", "shell"]}), more)
}

fn control_ack(more: &Value) -> Value {
    let ack = json!({
        "session_id": null,
        "connection_id": "c-1",
        "protocol_version": "1.1",
        "granted_capabilities": ["directory_browse", "files"],
    });
    merged(ack, more)
}

fn sent(effects: &[Effect]) -> Vec<Value> {
    effects
        .iter()
        .filter_map(
            |effect| if let Effect::Send(text) = effect { Some(serde_json::from_str(text).unwrap()) } else { None },
        )
        .collect()
}

fn refusal(effects: &[Effect]) -> (ErrorCode, Value) {
    match effects {
        [Effect::Refused { code, .. }, Effect::Send(text)] => {
            let frame: Value = serde_json::from_str(text).unwrap();
            assert_eq!(frame["type"], "ERROR");
            assert_eq!(frame["payload"]["code"], code.as_str());
            (*code, frame)
        }
        other => panic!("{other:?}"),
    }
}

/// The close code and the end.
fn ended(effects: &[Effect]) -> (u16, &End) {
    match effects {
        [.., Effect::Close { code, reason }, Effect::Ended(end)] => {
            assert!(reason.len() <= 123, "{reason}");
            (*code, end)
        }
        other => panic!("{other:?}"),
    }
}

fn halted(effects: &[Effect]) -> (u16, HaltKind) {
    match ended(effects) {
        (code, End::Halt(halt)) => (code, halt.kind),
        other => panic!("{other:?}"),
    }
}

// ---- 4.1, 4.2: HELLO

#[test]
fn a_control_link_offers_folders_and_names_none() {
    let mut link = Link::new(Role::Control, &[Capability::Files, Capability::Recording]);
    let effects = link.open();
    let hello = &sent(&effects)[0];
    assert_eq!(hello["type"], "HELLO");
    assert_eq!(hello["version"], "1.1");
    assert!(hello.get("pending_capacity").is_none());
    assert_eq!(hello["payload"]["allowed_root"], Value::Null);
    assert_eq!(hello["payload"]["capabilities"], json!(["directory_browse", "files"]));
}

#[test]
fn a_data_link_names_its_folder_and_offers_no_others() {
    let role = Role::Data { session: SessionId::parse(CHAT).unwrap(), allowed_root: "/home/zoë".into() };
    let mut link = Link::new(role, &[Capability::Files, Capability::DirectoryBrowse]);
    let hello = &sent(&link.open())[0];
    assert_eq!(hello["payload"]["allowed_root"], "/home/zoë");
    assert_eq!(hello["payload"]["capabilities"], json!(["files"]));
}

#[test]
fn a_hello_too_long_for_the_platform_loses_models_first() {
    let mut link = Link::control();
    link.machine.config.hello.local_llm_models = (0..5000).map(|n| format!("model-number-{n}")).collect();
    let effects = link.open();
    let Some(Effect::Note(Note::HelloTrimmed { models, devices: 0 })) = effects.first() else { panic!("{effects:?}") };
    let [_, Effect::Send(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.len() <= 64 * 1024 && text.len() > 60 * 1024, "{}", text.len());
    let kept = sent(&effects)[0]["payload"]["local_llm_models"].as_array().unwrap().len();
    assert_eq!(kept + models, 5000);
}

fn gpio(desc: String) -> HardwareDevice {
    HardwareDevice::Gpio { chip: "gpiochip0".into(), desc }
}

#[test]
fn what_no_longer_fits_is_not_offered_and_may_not_be_granted() {
    let all = [Capability::Files, Capability::LocalLlm, Capability::HardwareUsb, Capability::HardwareGpio];
    let mut link = Link::new(Role::Control, &all);
    let usb = HardwareDevice::Usb { vid: "2341".into(), pid: "0043".into(), desc: "x".repeat(40_000) };
    link.machine.config.hello.hardware_devices = vec![usb, gpio("y".repeat(40_000))];
    let effects = link.open();

    assert!(matches!(effects.first(), Some(Effect::Note(Note::HelloTrimmed { models: 1, devices: 1 }))), "{effects:?}");
    let hello = &sent(&effects)[0]["payload"];
    assert_eq!(hello["capabilities"], json!(["directory_browse", "files", "hardware_usb"]));
    assert_eq!(hello["local_llm_models"], json!([]));
    assert_eq!(hello["hardware_devices"].as_array().unwrap().len(), 1);
    let granted = json!({"granted_capabilities": ["directory_browse", "files", "local_llm"]});
    assert_eq!(halted(&link.ack(&control_ack(&granted))), (4400, HaltKind::Protocol));
}

#[test]
fn a_capability_with_nothing_behind_it_is_not_offered() {
    let all = [Capability::LocalLlm, Capability::HardwareSerial, Capability::HardwareGpio];
    let mut link = Link::new(Role::Control, &all);
    link.machine.config.hello.local_llm_models = Vec::new();
    link.machine.config.hello.hardware_devices = vec![gpio("header".into())];
    let effects = link.open();

    assert!(matches!(effects[..], [Effect::Send(_)]), "{effects:?}");
    assert_eq!(sent(&effects)[0]["payload"]["capabilities"], json!(["directory_browse", "hardware_gpio"]));
}

#[test]
fn a_model_that_no_request_could_name_is_left_out() {
    let mut link = Link::new(Role::Control, &[Capability::LocalLlm]);
    link.machine.config.hello.local_llm_models =
        vec!["llama3.2:3b".into(), String::new(), "x".repeat(201), "two\nlines".into(), "y".repeat(200)];
    let effects = link.open();

    assert!(matches!(effects.first(), Some(Effect::Note(Note::HelloTrimmed { models: 3, devices: 0 }))), "{effects:?}");
    assert_eq!(sent(&effects)[0]["payload"]["local_llm_models"], json!(["llama3.2:3b", "y".repeat(200)]));
}

#[test]
fn a_display_name_holds_nothing_that_the_platform_refuses() {
    let mut link = Link::control();
    link.machine.config.hello.display_name = format!(" <b>Zoë\u{202E}\n's</b>{} ", "x".repeat(200));
    let hello = &sent(&link.open())[0];
    let name = hello["payload"]["display_name"].as_str().unwrap();
    assert!(name.starts_with("bZoë's/b"), "{name}");
    assert!(name.chars().count() <= 128);
}

// ---- 4.3: HELLO_ACK, row by row

#[test]
fn row_1_anything_but_a_well_formed_ack_closes_1002_and_may_be_tried_again() {
    let frames = [
        json!({"type": "PING", "id": "p", "payload": {}}).to_string(),
        json!({"type": "FILE_READ", "id": "r", "payload": {"path": "x"}}).to_string(),
        json!({"type": "HELLO_ACK", "id": "id-1"}).to_string(),
        json!({"type": "HELLO_ACK", "id": "id-1", "payload": {"granted_capabilities": "files"}}).to_string(),
        json!({"type": "HELLO_ACK", "id": "id-1", "payload": data_ack(&json!({"max_concurrent": "four"}))}).to_string(),
        json!({"type": "WHAT", "id": "x", "payload": {}}).to_string(),
        "hello".to_owned(),
    ];
    for frame in frames {
        let mut link = Link::data();
        let _ = link.open();
        let effects = link.machine.on_text(&frame, link.now, link.wall);
        let (code, End::Retry(retry)) = ended(&effects) else { panic!("{effects:?}") };
        assert_eq!(code, 1002);
        assert!(retry.bad_handshake);
    }
    let mut link = Link::data();
    let _ = link.open();
    assert_eq!(ended(&link.machine.on_binary(&[0xFF, 0xFE], link.now, link.wall)).0, 1002);
}

#[test]
fn no_ack_within_ten_seconds_is_tried_again_and_is_no_wrong_answer() {
    let mut link = Link::data();
    let _ = link.open();
    link.pass(9);
    assert!(link.tick().is_empty());
    link.pass(1);
    let effects = link.tick();
    let (_, End::Retry(retry)) = ended(&effects) else { panic!("{effects:?}") };
    assert!(!retry.bad_handshake);
}

#[test]
fn row_2_an_ack_for_another_hello_is_the_end() {
    let mut link = Link::data();
    let _ = link.open();
    let effects = link.text(&json!({"type": "HELLO_ACK", "id": "other", "payload": data_ack(&json!({}))}));
    assert_eq!(halted(&effects), (4400, HaltKind::Protocol));
}

#[test]
fn row_3_an_ack_for_another_session_is_an_authentication_failure() {
    for session in [json!("chat-2"), json!(null), json!("")] {
        let mut link = Link::data();
        let _ = link.open();
        let effects = link.ack(&data_ack(&json!({"session_id": session})));
        assert_eq!(halted(&effects), (4403, HaltKind::Auth));
    }
    let mut link = Link::control();
    let _ = link.open();
    let effects = link.ack(&control_ack(&json!({"session_id": CHAT})));
    assert_eq!(halted(&effects), (4403, HaltKind::Auth));
    assert_eq!(HaltKind::Auth.exit_code(), 77);
}

#[test]
fn row_3_an_empty_session_counts_as_none_on_control() {
    let mut link = Link::control();
    let _ = link.open();
    assert!(matches!(link.ack(&control_ack(&json!({"session_id": ""})))[..], [Effect::Ready(_)]));
}

#[test]
fn row_4_more_than_was_offered_is_the_end() {
    for granted in [json!(["files", "computer_use"]), json!(["files", "teleport"]), json!(["directory_browse"])] {
        let mut link = Link::data();
        let _ = link.open();
        let effects = link.ack(&data_ack(&json!({"granted_capabilities": granted})));
        assert_eq!(halted(&effects), (4400, HaltKind::Protocol));
    }
}

#[test]
fn rows_5_and_6_another_or_an_unreadable_version_closes_4426_with_the_json_reason() {
    for version in [
        "2.0",
        "0.9",
        "one",
        "1",
        "123456789012345.1",
        "\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
        "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}",
    ] {
        let mut link = Link::data();
        let _ = link.open();
        let effects = link.ack(&data_ack(&json!({"protocol_version": version})));
        assert_eq!(halted(&effects), (4426, HaltKind::Protocol));
        let Effect::Close { reason, .. } = &effects[0] else { panic!() };
        let reason: Value = serde_json::from_str(reason).unwrap();
        if version == "2.0" {
            assert_eq!(reason["error"], "PROTOCOL_VERSION_MISMATCH");
            assert_eq!(reason["shim_max"], "1.1");
            assert_eq!(reason["platform_max"], "2.0");
            assert_eq!(reason["hint"], "Update Drawbridge");
        }
    }
}

#[test]
fn rows_5_and_6_the_smaller_minor_holds_and_silence_means_1_1() {
    for (platform, negotiated) in [(json!("1.0"), "1.0"), (json!("1.7"), "1.1"), (json!(null), "1.1")] {
        let mut link = Link::data();
        let _ = link.open();
        let effects = link.ack(&data_ack(&json!({"protocol_version": platform})));
        let [Effect::Ready(ready)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(ready.version, negotiated);
    }
}

#[test]
fn row_7_control_needs_1_1_folders_and_a_name() {
    for (more, code) in [
        (json!({"protocol_version": "1.0"}), 4426),
        (json!({"granted_capabilities": ["files"]}), 4426),
        (json!({"connection_id": null}), 4426),
        (json!({"connection_id": ""}), 4426),
    ] {
        let mut link = Link::control();
        let _ = link.open();
        assert_eq!(halted(&link.ack(&control_ack(&more))), (code, HaltKind::Protocol), "{more}");
    }
}

#[test]
fn row_8_limits_must_be_positive() {
    for field in ["max_file_size_bytes", "command_timeout_seconds", "max_concurrent"] {
        for value in [0, -1] {
            let mut link = Link::data();
            let _ = link.open();
            assert_eq!(halted(&link.ack(&data_ack(&json!({field: value})))), (4400, HaltKind::Protocol));
        }
    }
}

#[test]
fn earlier_rows_speak_first() {
    let mut link = Link::data();
    let _ = link.open();
    let wrong = json!({"session_id": "chat-2", "granted_capabilities": ["computer_use"], "protocol_version": "9.0"});
    assert_eq!(halted(&link.ack(&data_ack(&wrong))).0, 4403);
}

#[test]
fn a_limit_beyond_every_number_of_ours_is_no_limit() {
    let mut link = Link::data();
    let _ = link.open();
    let huge =
        json!({"max_file_size_bytes": u64::MAX, "command_timeout_seconds": u64::MAX, "max_concurrent": u64::MAX});
    let effects = link.ack(&data_ack(&huge));
    let [Effect::Ready(ready)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(ready.limits, Limits::default());
}

#[test]
fn each_limit_is_the_lower_of_both_sides() {
    let mut link = Link::data();
    let _ = link.open();
    let effects =
        link.ack(&data_ack(&json!({"max_file_size_bytes": 1000, "command_timeout_seconds": 999, "max_concurrent": 2})));
    let [Effect::Ready(ready)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(
        ready.limits,
        Limits { max_concurrent: 2, max_file_size_bytes: 1000, command_timeout: Duration::from_secs(30) }
    );
    assert_eq!(ready.granted, BTreeSet::from([Capability::Files, Capability::Shell]));
}

// ---- 4.4: requests

#[test]
fn a_request_starts_with_the_negotiated_limits() {
    let mut link = Link::ready_with(&json!({"max_file_size_bytes": 77}));
    let effects = link.read("r-1");
    let [Effect::Start { id, limits, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((id.as_str(), limits.max_file_size_bytes), ("r-1", 77));
    assert_eq!(link.machine.running(), [rid("r-1")]);
}

#[test]
fn capacity_counts_down_with_what_was_admitted() {
    let mut link = Link::ready();
    for id in ["a", "b", "c"] {
        assert!(matches!(link.read(id)[..], [Effect::Start { .. }]));
    }
    assert_eq!(sent(&link.done("b"))[0]["pending_capacity"], 2);
    assert_eq!(sent(&link.done("a"))[0]["pending_capacity"], 3);
    let last = sent(&link.done("c"));
    assert_eq!(last.len(), 1);
    assert_eq!(last[0]["pending_capacity"], 4);
    assert_eq!(last[0]["id"], "c");
    assert_eq!(last[0]["type"], "ACK");
}

#[test]
fn a_fifth_request_is_refused_at_once_and_leaves_no_trace() {
    let mut link = Link::ready();
    for id in ["a", "b", "c", "d"] {
        let _ = link.read(id);
    }
    let (code, frame) = refusal(&link.read("e"));
    assert_eq!(code, ErrorCode::ShimOverloaded);
    assert_eq!(frame["pending_capacity"], 0);
    assert_eq!(frame["payload"]["details"]["max_concurrent"], 4);
    assert_eq!(link.machine.running().len(), 4);
}

#[test]
fn leaving_a_full_connection_says_so_right_after_the_answer() {
    let mut link = Link::ready();
    for id in ["a", "b", "c", "d"] {
        let _ = link.read(id);
    }
    link.machine.set_status_facts(StatusFacts { audit_log_bytes: 12_345, queue_depth: 2 });
    link.pass(7);
    let frames = sent(&link.done("a"));
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[0]["pending_capacity"], 1);
    assert_eq!(frames[1]["type"], "STATUS");
    assert_eq!(frames[1]["pending_capacity"], 1);
    let wanted =
        json!({"in_flight": 3, "max_concurrent": 4, "queue_depth": 2, "audit_log_bytes": 12345, "uptime_seconds": 7.0});
    assert_eq!(frames[1]["payload"], wanted);
    assert_eq!(sent(&link.done("b")).len(), 1);
}

#[test]
fn status_comes_every_thirty_seconds_and_only_after_the_handshake() {
    let mut link = Link::ready();
    let statuses = |effects: &[Effect]| sent(effects).iter().filter(|frame| frame["type"] == "STATUS").count();
    assert_eq!(statuses(&link.live(29)), 0);
    assert_eq!(statuses(&link.live(1)), 1);
    assert_eq!(statuses(&link.live(90)), 3);
}

#[test]
fn a_second_request_with_a_running_id_is_dropped() {
    let mut link = Link::ready();
    let _ = link.read("a");
    assert!(matches!(&link.read("a")[..], [Effect::Note(Note::DuplicateId(_))]));
    assert_eq!(link.machine.running().len(), 1);
    let _ = link.done("a");
    assert!(matches!(link.read("a")[..], [Effect::Start { .. }]), "an id may come back after its answer");
}

#[test]
fn there_is_one_answer_for_one_request() {
    let mut link = Link::ready();
    let _ = link.read("a");
    assert_eq!(sent(&link.done("a")).len(), 1);
    assert!(matches!(&link.done("a")[..], [Effect::Note(Note::ReplyWithoutRequest(_))]));
    assert!(matches!(&link.done("never-asked")[..], [Effect::Note(Note::ReplyWithoutRequest(_))]));
}

#[test]
fn ten_minutes_are_the_longest_a_request_may_take() {
    let mut link = Link::ready();
    let _ = link.request("EXECUTE_COMMAND", "a", &json!({"argv": ["sleep", "9999"]}));
    let before = link.live(599);
    assert!(!before.iter().any(|effect| matches!(effect, Effect::Abort(_))));
    let effects = link.live(1);
    let at = effects.iter().position(|effect| matches!(effect, Effect::Abort(id) if *id == rid("a"))).unwrap();
    let (code, frame) = refusal(&effects[at + 1..at + 3]);
    assert_eq!(code, ErrorCode::InternalError);
    assert_eq!(frame["payload"]["details"]["reason"], "took_too_long");
    assert_eq!(frame["pending_capacity"], 4);
    assert!(matches!(&link.done("a")[..], [Effect::Note(Note::ReplyWithoutRequest(_))]));
}

#[test]
fn an_overdue_request_on_a_full_connection_is_followed_by_status() {
    let mut link = Link::ready_with(&json!({"max_concurrent": 1}));
    link.pass(1);
    let _ = link.read("a");
    let effects = link.live(600);
    let error = effects.iter().rposition(|effect| matches!(effect, Effect::Refused { .. })).unwrap();
    let frames = sent(&effects[error..]);
    assert_eq!((&frames[0]["type"], &frames[1]["type"]), (&json!("ERROR"), &json!("STATUS")));
}

#[test]
fn what_was_not_granted_is_refused_request_by_request() {
    let mut link = Link::ready_with(&json!({"granted_capabilities": ["files"]}));
    assert!(matches!(link.read("a")[..], [Effect::Start { .. }]));
    let (code, frame) = refusal(&link.request("EXECUTE_COMMAND", "b", &json!({"command": "ls"})));
    assert_eq!(code, ErrorCode::CapabilityNotGranted);
    let details = &frame["payload"]["details"];
    assert_eq!(details["required_capability"], "shell");
    assert_eq!(details["capability"], "shell");
    assert_eq!(details["granted_capabilities"], json!(["files"]));
    assert_eq!(frame["pending_capacity"], 3);
}

#[test]
fn requests_that_this_version_never_offers_are_not_granted() {
    let mut link = Link::ready();
    for type_name in [
        "SCREENSHOT_REQUEST",
        "INPUT_ACTION",
        "CLIPBOARD_READ",
        "LOCAL_LLM_COMPLETION",
        "LOCAL_LLM_TURN",
        "START_RECORDING",
        "RECORDING_FETCH",
    ] {
        assert_eq!(
            refusal(&link.request(type_name, "x", &json!({}))).0,
            ErrorCode::CapabilityNotGranted,
            "{type_name}"
        );
    }
}

fn link_with(capability: Capability) -> Link {
    let role = Role::Data { session: SessionId::parse(CHAT).unwrap(), allowed_root: "/w".into() };
    let mut link = Link::new(role, &[capability]);
    let _ = link.open();
    let _ = link.ack(&data_ack(&json!({"granted_capabilities": [capability.name()]})));
    link
}

#[test]
fn computer_use_starts_when_it_is_granted_and_a_bad_payload_of_it_names_its_field() {
    let mut link = link_with(Capability::ComputerUse);
    let effects = link.request("SCREENSHOT_REQUEST", "s", &json!({"monitor": -1}));
    let [Effect::Start { operation, .. }] = &effects[..] else { panic!("{effects:?}") };
    let Operation::Computer(ComputerOp::Screenshot(op)) = operation else { panic!("{operation:?}") };
    assert_eq!(op.monitor, -1);

    let (code, frame) = refusal(&link.request("INPUT_ACTION", "i", &json!({"action": "key", "key": "ctrl+sss"})));
    assert_eq!(code, ErrorCode::InternalError);
    let wanted = json!({"reason": "invalid_payload", "field": "key", "op": "INPUT_ACTION"});
    assert_eq!(frame["payload"]["details"], wanted);
    assert!(frame["payload"]["message"].as_str().unwrap().contains("\"sss\""), "{frame}");
}

#[test]
fn a_control_link_takes_nothing_but_folders_and_chats() {
    let mut link = Link::ready_control();
    for type_name in ["FILE_READ", "EXECUTE_COMMAND", "SCREENSHOT_REQUEST", "START_RECORDING"] {
        let (code, frame) = refusal(&link.request(type_name, "x", &json!({})));
        assert_eq!(code, ErrorCode::FeatureNotSupported, "{type_name}");
        assert_eq!(frame["payload"]["details"]["op"], type_name);
    }
    let effects = link.request("DIRECTORY_LIST_REQUEST", "y", &json!({}));
    assert!(matches!(effects[..], [Effect::Start { .. }]), "{effects:?}");
}

#[test]
fn a_data_link_takes_no_control_messages() {
    let mut link = Link::ready();
    for type_name in ["DIRECTORY_LIST_REQUEST", "ATTACH_SESSION", "DETACH_SESSION"] {
        assert_eq!(refusal(&link.request(type_name, "x", &json!({}))).0, ErrorCode::CapabilityNotGranted);
    }
}

#[test]
fn a_bad_payload_of_a_known_request_is_answered_and_takes_no_slot() {
    let mut link = Link::ready();
    let (code, frame) = refusal(&link.request("FILE_READ", "a", &json!({"path": "x", "length": 0})));
    assert_eq!(code, ErrorCode::InternalError);
    assert_eq!(frame["payload"]["details"], json!({"reason": "invalid_payload", "field": "length", "op": "FILE_READ"}));
    assert_eq!(frame["pending_capacity"], 4);
    assert!(link.machine.running().is_empty());
}

#[test]
fn frames_that_are_no_requests_are_dropped_without_a_word_to_the_platform() {
    let mut link = Link::ready();
    assert!(matches!(
        &link.text(&json!({"type": "NEW", "id": "x", "payload": {}}))[..],
        [Effect::Note(Note::UnknownType(_))]
    ));
    assert!(matches!(
        &link.text(&json!({"type": "ACK", "id": "x", "payload": {}}))[..],
        [Effect::Note(Note::AnswerFromPlatform(_))]
    ));
    let other = json!({"type": "FILE_READ", "id": "x", "version": "2.1", "payload": {"path": "x"}});
    assert!(matches!(&link.text(&other)[..], [Effect::Note(Note::OtherMajor { .. })]));
    assert!(matches!(&link.ack(&data_ack(&json!({})))[..], [Effect::Note(Note::AnswerFromPlatform(_))]));
}

#[test]
fn malformed_frames_are_mentioned_once_a_minute() {
    let mut link = Link::ready();
    let bad = |link: &mut Link| link.machine.on_text("[]", link.now, link.wall);
    assert!(matches!(&bad(&mut link)[..], [Effect::Note(Note::MalformedFrames { count: 1, .. })]));
    for _ in 0..9 {
        assert!(bad(&mut link).is_empty());
    }
    let _ = link.live(60);
    assert!(matches!(&bad(&mut link)[..], [Effect::Note(Note::MalformedFrames { count: 11, .. })]));
    assert!(link.machine.on_binary(&[0xC3], link.now, link.wall).is_empty());
}

#[test]
fn a_binary_frame_with_text_counts_as_text() {
    let mut link = Link::ready();
    let frame = json!({"type": "FILE_READ", "id": "a", "payload": {"path": "x"}}).to_string();
    assert!(matches!(link.machine.on_binary(frame.as_bytes(), link.now, link.wall)[..], [Effect::Start { .. }]));
}

#[test]
fn answers_carry_the_negotiated_version() {
    let mut link = Link::ready_with(&json!({"protocol_version": "1.0"}));
    let _ = link.read("a");
    assert_eq!(sent(&link.done("a"))[0]["version"], "1.0");
}

#[test]
fn a_big_answer_passes_through_whole() {
    let mut link = Link::ready();
    let _ = link.read("a");
    let outcome = Outcome::Contents(FileContents {
        bytes: vec![b'x'; 9_000_000],
        form: ContentForm::Text,
        size_bytes: 9_000_000,
        truncated: false,
        lossy: false,
    });
    let reply = Reply::encode(&rid("a"), &ReplyContext::of_name("FILE_READ"), &Limits::default(), Ok(&outcome));
    let frames = sent(&link.machine.on_reply(reply, link.now, link.wall));
    assert_eq!(frames[0]["payload"]["content"].as_str().unwrap().len(), 9_000_000);
}

#[test]
fn an_error_of_an_operation_frees_its_slot_like_any_answer() {
    let mut link = Link::ready();
    let _ = link.read("a");
    let error = OpError::NotFound { path: "x".into() };
    let reply = Reply::encode(&rid("a"), &ReplyContext::of_name("FILE_READ"), &Limits::default(), Err(&error));
    assert_eq!(reply.error_code(), Some("PATH_NOT_FOUND"));
    assert_eq!(sent(&link.machine.on_reply(reply, link.now, link.wall))[0]["pending_capacity"], 4);
}

#[test]
fn a_timed_out_command_is_a_result_and_not_an_error() {
    let outcome = Outcome::Command(CommandResult {
        stdout: String::new(),
        stderr: String::new(),
        exit_code: -1,
        timed_out: true,
        duration: Duration::from_secs(27),
        output_truncated: false,
    });
    let reply = Reply::encode(&rid("a"), &ReplyContext::of_name("EXECUTE_COMMAND"), &Limits::default(), Ok(&outcome));
    assert_eq!(reply.error_code(), None);
}

// ---- 4.5: keepalive

#[test]
fn a_ping_is_answered_at_once_even_when_full() {
    let mut link = Link::ready_with(&json!({"max_concurrent": 1}));
    let _ = link.read("a");
    let frames = sent(&link.request("PING", "p-1", &json!({})));
    assert_eq!((&frames[0]["type"], &frames[0]["id"]), (&json!("PONG"), &json!("p-1")));
    assert_eq!(frames[0]["payload"], json!({}));
    assert!(frames[0].get("pending_capacity").is_none());
}

#[test]
fn silence_of_the_platform_alone_never_closes() {
    let mut link = Link::ready();
    let effects = link.live(3600);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Ended(_))));
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::WsPing)).count(), 180);
}

#[test]
fn a_ping_without_answer_ends_the_link_after_ten_seconds() {
    let mut link = Link::ready();
    let _ = link.read("a");
    link.pass(20);
    assert!(matches!(link.tick()[..], [Effect::WsPing]));
    link.pass(9);
    assert!(link.tick().is_empty());
    link.pass(1);
    let effects = link.tick();
    assert!(matches!(&effects[0], Effect::Abort(id) if *id == rid("a")));
    let (code, End::Retry(_)) = ended(&effects) else { panic!("{effects:?}") };
    assert_eq!(code, 1011);
}

#[test]
fn after_sleep_the_link_is_tried_at_once_and_given_up_after_five_seconds() {
    let mut link = Link::ready();
    link.pass(1);
    link.wall = link.wall.plus(Duration::from_secs(3600));
    let effects = link.tick();
    assert!(matches!(effects[..], [Effect::Note(Note::ClockJump { seconds: 3600 }), Effect::WsPing]), "{effects:?}");
    link.pass(5);
    let effects = link.tick();
    assert!(matches!(ended(&effects), (1011, End::Retry(_))));
}

#[test]
fn a_link_that_answers_after_sleep_goes_on() {
    let mut link = Link::ready();
    link.pass(1);
    link.wall = WallMs(link.wall.0 - 31_000);
    assert!(matches!(link.tick()[..], [Effect::Note(Note::ClockJump { seconds: -31 }), Effect::WsPing]));
    link.machine.on_pong(link.now, link.wall);
    link.pass(6);
    assert!(link.tick().is_empty());
    link.wall = link.wall.plus(Duration::from_secs(29));
    assert!(link.tick().is_empty(), "a small correction is no sleep");
}

#[test]
fn sleep_that_both_clocks_count_is_noticed_too() {
    let mut link = Link::ready();
    link.pass(600);
    let effects = link.tick();
    assert!(matches!(effects[..2], [Effect::Note(Note::ClockJump { seconds: 600 }), Effect::WsPing]), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Ended(_))), "{effects:?}");
}

// ---- 4.6: ends

#[test]
fn a_revocation_ends_everything_and_nothing_is_sent_after() {
    let mut link = Link::ready();
    let _ = link.read("a");
    let frame = json!({"type": "SESSION_REVOKED", "id": "x", "payload": {"reason": "another_shim_connected", "new_shim_machine_id": "m-2"}});
    let effects = link.text(&frame);
    assert!(
        matches!(&effects[..], [Effect::Abort(_), Effect::Close { code: 4428, .. }, Effect::Ended(_)]),
        "{effects:?}"
    );
    let (_, End::Revoked(revoked)) = ended(&effects) else { panic!() };
    assert_eq!(revoked.reason, "another_shim_connected");
    assert_eq!(revoked.source.name(), "frame");
    assert_eq!(revoked.new_shim_machine_id.as_deref(), Some("m-2"));
    assert!(link.done("a").is_empty());
    assert!(link.read("b").is_empty());
    assert!(link.request("PING", "p", &json!({})).is_empty());
    link.pass(100);
    assert!(link.tick().is_empty());
    assert!(link.machine.on_closed(Some(4427), "", link.now).is_empty());
    assert_eq!(link.machine.deadline(), None);
}

#[test]
fn a_revocation_counts_before_the_handshake_as_well() {
    let mut link = Link::data();
    let _ = link.open();
    let effects = link.text(&json!({"type": "SESSION_REVOKED", "id": "x", "payload": {"reason": "user_revoked"}}));
    assert!(matches!(ended(&effects), (4428, End::Revoked(_))));
}

#[test]
fn the_fatal_close_codes_end_until_the_person_acts() {
    for (code, label) in [
        (4426, "protocol_version_mismatch"),
        (4427, "session_taken_over"),
        (4428, "session_revoked"),
        (4429, "platform_shutdown"),
    ] {
        for mut link in [Link::ready(), Link::data()] {
            let _ = link.open();
            let End::Revoked(revoked) = link.close(code) else { panic!("{code}") };
            assert_eq!((revoked.reason.as_str(), revoked.close_code), (label, Some(code)));
            assert_eq!(revoked.source.name(), "ws_close_code");
        }
    }
}

#[test]
fn rejected_and_denied_are_the_end_and_an_expired_token_is_not() {
    assert!(matches!(Link::ready().close(4400), End::Halt(Halt { kind: HaltKind::Protocol, .. })));
    assert!(matches!(Link::ready().close(4403), End::Halt(Halt { kind: HaltKind::Auth, .. })));
    assert!(matches!(Link::ready().close(4401), End::Retry(Retry { refresh_first: true, .. })));
}

#[test]
fn passing_faults_are_tried_again() {
    for code in [1001, 1006, 1009, 1011, 1012, 4408, 4500] {
        assert!(matches!(Link::ready().close(code), End::Retry(Retry { pace: Pace::Grow, refresh_first: false, .. })));
    }
    assert!(matches!(Link::ready().close(1000), End::Retry(Retry { pace: Pace::Base, .. })));
    let mut link = Link::ready();
    let _ = link.read("a");
    let effects = link.machine.on_closed(None, "", link.now);
    assert!(matches!(effects[..], [Effect::Abort(_), Effect::Ended(End::Retry(_))]), "{effects:?}");
}

#[test]
fn a_stop_cancels_everything_and_closes_in_order() {
    let mut link = Link::ready();
    let _ = link.read("a");
    let _ = link.read("b");
    let effects = link.machine.on_stop(link.now);
    assert!(matches!(
        effects[..],
        [Effect::Abort(_), Effect::Abort(_), Effect::Close { code: 1000, .. }, Effect::Ended(End::Stopped)]
    ));
    assert!(link.machine.on_stop(link.now).is_empty());
}

#[test]
fn a_frame_over_the_limit_closes_1009() {
    let mut link = Link::ready();
    let frame = format!(r#"{{"type": "PING", "id": "a", "payload": {{"x": "{}"}}}}"#, "y".repeat(FRAME_LIMIT_BYTES));
    assert!(matches!(ended(&link.machine.on_text(&frame, link.now, link.wall)), (1009, End::Retry(_))));
}

#[test]
fn effects_show_no_content_in_a_log() {
    let mut link = Link::ready();
    let effects = link.request("FILE_WRITE", "a", &json!({"path": "x", "content": "secret"}));
    assert!(!format!("{effects:?}").contains("secret"));
}

#[path = "model_tests.rs"]
mod model;
