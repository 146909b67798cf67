//! Devices through a whole engine and a platform: a pair of pseudo-terminals stands for a port and what is behind it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::path::Path;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::device_act::{DeviceAct, DeviceBytes, DeviceResult};
use drawbridge_engine::view::{DeviceView, PromptAnswer, Snapshot};
use drawbridge_engine::{Command, CommandError, EngineHandle, Reply};
use drawbridge_store::config::DeviceMatch;
use drawbridge_testkit::pair::PtyPair;
use rig::{Rig, Wish, text};
use serde_json::Value;

fn shared(port: &Path) -> Wish {
    let mut wish = Wish::headless().with(Power::Hardware, PowerMode::Allowed);
    wish.devices = vec![DeviceMatch::Port(port.to_str().unwrap().to_owned())];
    wish
}

fn row<'a>(picture: &'a Snapshot, port: &Path) -> Option<&'a DeviceView> {
    let path = port.to_str().unwrap();
    picture.devices.devices.iter().find(|row| row.place == path || row.added.as_deref() == Some(path))
}

/// The name of a port, once it is there and shared.
async fn ready(rig: &Rig, port: &Path) -> String {
    let picture = rig.until(|now| row(now, port).is_some_and(|row| row.present && row.shared)).await;
    row(&picture, port).unwrap().id.clone()
}

async fn act(handle: &EngineHandle, device: &str, act: DeviceAct) -> Result<DeviceResult, CommandError> {
    let reply = handle.send(Command::UseDevice { device: device.to_owned(), act, hold: None }).await?;
    let Reply::Device { result } = reply else { panic!("another answer: {reply:?}") };
    Ok(result)
}

fn open() -> DeviceAct {
    DeviceAct::SerialOpen {
        baud: 115_200,
        data_bits: 8,
        parity: "none".to_owned(),
        stop_bits: 1,
        flow: "none".to_owned(),
    }
}

fn write(bytes: &[u8]) -> DeviceAct {
    DeviceAct::SerialWrite { data: DeviceBytes::of(bytes) }
}

fn read(until: &[u8]) -> DeviceAct {
    DeviceAct::SerialRead { until: Some(DeviceBytes::of(until)), max_bytes: 4096, timeout_ms: 60_000 }
}

/// What the newest HELLO of the control link said of devices, and which capabilities it named.
fn said(rig: &Rig) -> (Vec<Value>, Vec<String>) {
    let state = rig.script.state(0, 0);
    let links = state["links"].as_array().unwrap();
    // Between two HELLOs the link is away for a moment.
    let Some(control) = links.iter().rev().find(|link| link["scope"].to_string().contains(&rig.machine)) else {
        return (Vec::new(), Vec::new());
    };
    let hello = &control["hello"];
    let capabilities = hello["capabilities"].as_array().into_iter().flatten().map(text).collect();
    (hello["hardware_devices"].as_array().cloned().unwrap_or_default(), capabilities)
}

async fn until_said(rig: &Rig, port: Option<&Path>) -> Vec<Value> {
    // Where the link leads to: its own name may hold a serial number.
    let wanted = port.map(|port| port.canonicalize().unwrap().to_str().unwrap().to_owned());
    rig.until(|_| {
        let (devices, capabilities) = said(rig);
        let named = devices.first().map(|device| text(&device["port"]));
        named == wanted && capabilities.contains(&"hardware_serial".to_owned()) == wanted.is_some()
    })
    .await;
    said(rig).0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_port_is_told_used_and_recorded_without_its_bytes() {
    let mut pair = PtyPair::start().unwrap();
    let rig = Rig::start(shared(pair.port())).await;
    let id = ready(&rig, pair.port()).await;

    // The platform grants none of it, and the link goes on.
    let told = until_said(&rig, Some(pair.port())).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["type"], "serial");
    let (chat, folder) = rig.chat_in("project").await;
    std::fs::write(folder.join("a.txt"), "x").unwrap();
    assert_eq!(rig.ask(&chat, "FILE_READ", rig::read(&folder.join("a.txt"))).await.unwrap()["content"], "x");

    assert_eq!(act(&rig.handle, &id, open()).await.unwrap(), DeviceResult::Done);
    let picture = rig.until(|now| row(now, pair.port()).unwrap().held_by.as_deref() == Some("cli")).await;
    assert!(row(&picture, pair.port()).unwrap().how.as_deref().unwrap().starts_with("115200 8N1"));
    assert_eq!(act(&rig.handle, &id, write(b"PIN 4711\n")).await.unwrap(), DeviceResult::Written { bytes: 9 });
    assert_eq!(pair.receive(9).unwrap(), b"PIN 4711\n");
    pair.send(b"ok 0815\nmore").unwrap();
    let DeviceResult::Read { data, ended, lost, .. } = act(&rig.handle, &id, read(b"\n")).await.unwrap() else {
        panic!("no bytes")
    };
    assert_eq!((data.bytes().unwrap(), ended.as_str(), lost), (b"ok 0815\n".to_vec(), "pattern", 0));
    let rest = DeviceAct::SerialRead { until: None, max_bytes: 4, timeout_ms: 60_000 };
    let DeviceResult::Read { data, ended, .. } = act(&rig.handle, &id, rest).await.unwrap() else { panic!("no bytes") };
    assert_eq!((data.bytes().unwrap(), ended.as_str()), (b"more".to_vec(), "length"));
    assert_eq!(act(&rig.handle, &id, DeviceAct::SerialClose).await.unwrap(), DeviceResult::Done);
    assert_eq!(act(&rig.handle, &id, write(b"late")).await.unwrap_err().code, "device_not_open");
    let told = rig.until(|now| now.activity.iter().any(|row| row.error_code.is_some())).await;
    assert!(told.activity.iter().any(|row| row.error_code.as_deref() == Some("DEVICE_NOT_OPEN")));

    let audit = rig.audit();
    let of = |op: &str| audit.iter().find(|record| record["op"] == op).unwrap_or_else(|| panic!("no {op}"));
    let details = &of("HARDWARE_SERIAL_OPEN")["details"];
    assert_eq!((&details["device"], &details["settings"]), (&id.clone().into(), &"115200 8N1".into()));
    assert_eq!(details["place"], pair.port().to_str().unwrap());
    assert_eq!((&details["kind"], details["label"].is_string()), (&"serial".into(), true));
    assert_eq!(details["decision"]["verdict"], "allow");
    let details = &of("HARDWARE_SERIAL_WRITE")["details"];
    assert_eq!((&details["size_bytes"], &details["size_bytes_written"]), (&9.into(), &9.into()));
    let details = &of("HARDWARE_SERIAL_READ")["details"];
    assert_eq!(
        [&details["max_bytes"], &details["until_length"], &details["size_bytes_returned"], &details["lost"]],
        [&Value::from(4096), &1.into(), &8.into(), &0.into()]
    );
    assert_eq!(details["ended"], "pattern");
    assert_eq!(of("HARDWARE_SERIAL_CLOSE")["result"]["ok"], true);
    let log = std::fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    // Not the digits alone: they come up in hashes by chance.
    assert!(!log.contains("PIN 4711") && !log.contains("ok 0815"));
    let shown = rig.handle.snapshot().activity.clone();
    assert!(shown.iter().any(|row| row.operation == "HARDWARE_SERIAL_OPEN" && row.subject.contains("115200 8N1")));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_person_adds_shares_and_takes_back_in_the_window() {
    let pair = PtyPair::start().unwrap();
    let port = pair.port().to_str().unwrap().to_owned();
    let rig = Rig::start(Wish::headless().with_window()).await;
    let send = async |command| rig.handle.send(command).await;
    assert!(!rig.handle.snapshot().devices.looked, "nobody looks while the power is off");

    send(Command::AddPort { path: port.clone() }).await.unwrap();
    let picture = rig.until(|now| row(now, pair.port()).is_some_and(|row| row.present && !row.shared)).await;
    let id = row(&picture, pair.port()).unwrap().id.clone();
    assert!(picture.devices.looked);
    send(Command::ShareDevice { id: id.clone(), shared: true }).await.unwrap();
    assert_eq!(act(&rig.handle, &id, open()).await.unwrap_err().code, "power_off");
    assert_eq!(said(&rig).0, [] as [Value; 0]);
    send(Command::SetPower { power: "hardware".to_owned(), mode: "allowed".to_owned() }).await.unwrap();
    until_said(&rig, Some(pair.port())).await;
    act(&rig.handle, &id, open()).await.unwrap();

    // A read that waits ends with the sharing.
    let (handle, device) = (rig.handle.clone(), id.clone());
    let waits = tokio::spawn(async move { act(&handle, &device, read(b"never")).await });
    rig.until(|now| now.powers.iter().any(|power| power.power == "hardware" && power.running == 1)).await;
    send(Command::ShareDevice { id: id.clone(), shared: false }).await.unwrap();
    waits.await.unwrap().unwrap_err();
    until_said(&rig, None).await;
    assert_eq!(act(&rig.handle, &id, open()).await.unwrap_err().code, "device_not_shared");
    rig.until(|now| row(now, pair.port()).unwrap().held_by.is_none()).await;

    send(Command::ShareDevice { id: id.clone(), shared: true }).await.unwrap();
    send(Command::RemovePort { path: port }).await.unwrap();
    let picture = rig.until(|now| row(now, pair.port()).is_none()).await;
    assert!(picture.devices.devices.iter().all(|row| row.id != id), "the sharing went with the port");
    let changes: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    let shares: Vec<&Value> = changes.iter().map(|record| &record["details"]["shared"]).collect();
    assert_eq!(shares.iter().filter(|shared| shared.is_boolean()).count(), 3, "{changes:?}");
    assert!(changes.iter().any(|record| record["details"]["label"].is_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_goes_and_comes_back_is_followed() {
    let mut pair = PtyPair::start().unwrap();
    let rig = Rig::start(shared(pair.port())).await;
    let id = ready(&rig, pair.port()).await;
    until_said(&rig, Some(pair.port())).await;
    act(&rig.handle, &id, open()).await.unwrap();

    pair.unplug().unwrap();
    let fault = act(&rig.handle, &id, read(b"x")).await.unwrap_err();
    assert!(["device_unplugged", "device_not_open", "device_absent"].contains(&fault.code.as_str()), "{fault:?}");
    until_said(&rig, None).await;
    rig.until(|now| row(now, pair.port()).is_some_and(|row| !row.present && row.shared)).await;
    assert_eq!(act(&rig.handle, &id, open()).await.unwrap_err().code, "device_absent");

    pair.plug_in().unwrap();
    assert_eq!(ready(&rig, pair.port()).await, id, "the name is the same");
    until_said(&rig, Some(pair.port())).await;
    act(&rig.handle, &id, open()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raise_and_the_power_end_what_waits_and_close_everything() {
    let pair = PtyPair::start().unwrap();
    let mut wish = shared(pair.port());
    wish.can_ask = true;
    let rig = Rig::start(wish).await;
    let id = ready(&rig, pair.port()).await;
    let running = |now: &Snapshot| now.powers.iter().any(|power| power.power == "hardware" && power.running == 1);
    let raise = |raised| Command::SetRaised { raised };
    let power = |mode: &str| Command::SetPower { power: "hardware".to_owned(), mode: mode.to_owned() };

    for (ends, begins, code) in [(raise(true), raise(false), "raised"), (power("off"), power("allowed"), "power_off")] {
        act(&rig.handle, &id, open()).await.unwrap();
        let (handle, device) = (rig.handle.clone(), id.clone());
        let waits = tokio::spawn(async move { act(&handle, &device, read(b"never")).await });
        rig.until(running).await;
        rig.handle.send(ends).await.unwrap();
        // It had ended when the command was answered.
        waits.await.unwrap().unwrap_err();
        assert!(rig.handle.snapshot().devices.devices.iter().all(|row| row.held_by.is_none()));
        assert_eq!(act(&rig.handle, &id, open()).await.unwrap_err().code, code);
        rig.handle.send(begins).await.unwrap();
        ready(&rig, pair.port()).await;
    }
    let raise = rig.audit().into_iter().find(|record| record["op"] == "STOP_ALL").unwrap();
    assert!(raise["details"]["ended_ms"].as_u64().unwrap() < 500, "{raise}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_it_asks_the_person_sees_the_bytes_and_decides() {
    let mut pair = PtyPair::start().unwrap();
    let mut wish = shared(pair.port()).with(Power::Hardware, PowerMode::AskEachTime);
    wish.can_ask = true;
    let rig = Rig::start(wish).await;
    let id = ready(&rig, pair.port()).await;
    let asked = async |wanted: DeviceAct, answer: PromptAnswer| {
        let (handle, device) = (rig.handle.clone(), id.clone());
        let acting = tokio::spawn(async move { act(&handle, &device, wanted).await });
        let prompt = rig.until(|now| !now.prompts.is_empty()).await.prompts[0].clone();
        let (id, revision) = (prompt.id, prompt.revision);
        rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
        rig.handle.send(Command::AnswerPrompt { id, revision, answer }).await.unwrap();
        (prompt, acting.await.unwrap())
    };
    let detail = |prompt: &drawbridge_engine::view::PromptView, label: &str| {
        prompt.details.iter().find(|detail| detail.label == label).map(|detail| detail.value.clone())
    };

    let (prompt, opened) = asked(open(), PromptAnswer::AllowOnce).await;
    assert_eq!(opened.unwrap(), DeviceResult::Done);
    assert_eq!(prompt.operation, "HARDWARE_SERIAL_OPEN");
    assert_eq!(detail(&prompt, "port_settings").as_deref(), Some("115200 8N1"));
    assert_eq!(detail(&prompt, "device_place").as_deref(), pair.port().to_str());
    let (prompt, refused) = asked(write(b"M104 S200\n"), PromptAnswer::Deny).await;
    assert!(detail(&prompt, "text").unwrap().starts_with("M104 S200"));
    assert_eq!(detail(&prompt, "size").as_deref(), Some("10"));
    assert_eq!(refused.unwrap_err().code, "declined");
    let (_, written) = asked(write(b"M105\n"), PromptAnswer::AllowOnce).await;
    written.unwrap();
    assert_eq!(pair.receive(5).unwrap(), b"M105\n", "what was denied never left");
    // Letting go asks nobody.
    act(&rig.handle, &id, DeviceAct::SerialClose).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_and_what_was_not_shared_is_refused() {
    let pair = PtyPair::start().unwrap();
    let rig = Rig::start(shared(pair.port()).with(Power::Hardware, PowerMode::AskEachTime)).await;
    let id = ready(&rig, pair.port()).await;

    assert_eq!(act(&rig.handle, &id, open()).await.unwrap_err().code, "no_ui");
    assert_eq!(act(&rig.handle, "serial-000000000000", open()).await.unwrap_err().code, "device_not_shared");
    assert_eq!(act(&rig.handle, "/dev/mem", open()).await.unwrap_err().code, "unknown_device");
    let wrong = DeviceAct::SerialRead { until: None, max_bytes: 0, timeout_ms: 1 };
    assert_eq!(act(&rig.handle, &id, wrong).await.unwrap_err().code, "bad_act");
    let unshare = Command::ShareDevice { id: id.clone(), shared: false };
    assert_eq!(rig.handle.send(unshare).await.unwrap_err().code, "from_config");
    let share = |id: &str| Command::ShareDevice { id: id.to_owned(), shared: true };
    assert_eq!(rig.handle.send(share("serial-000000000000")).await.unwrap_err().code, "unknown_device");
    for path in ["ttyUSB0", "/dev/null", "/etc/passwd", "/dev/there-is-none", "/dev/tty\u{1b}"] {
        let add = Command::AddPort { path: path.to_owned() };
        assert_eq!(rig.handle.send(add).await.unwrap_err().code, "bad_port", "{path}");
    }
    let remove = |path: &str| Command::RemovePort { path: path.to_owned() };
    assert_eq!(rig.handle.send(remove("/dev/ttyS99")).await.unwrap_err().code, "unknown_port");
    let configured = pair.port().to_str().unwrap();
    assert_eq!(rig.handle.send(remove(configured)).await.unwrap_err().code, "from_config");
    let refused = rig.audit().into_iter().find(|record| record["op"] == "HARDWARE_SERIAL_OPEN").unwrap();
    assert_eq!(refused["result"]["ok"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_wait_hold_up_no_other_command() {
    let pair = PtyPair::start().unwrap();
    let rig = Rig::start(shared(pair.port())).await;
    let id = ready(&rig, pair.port()).await;
    act(&rig.handle, &id, open()).await.unwrap();
    let waits: Vec<_> = (0..8)
        .map(|_| {
            let (handle, device) = (rig.handle.clone(), id.clone());
            tokio::spawn(async move { act(&handle, &device, read(b"never")).await })
        })
        .collect();
    rig.until(|now| now.powers.iter().any(|power| power.power == "hardware" && power.running == 8)).await;

    assert_eq!(act(&rig.handle, &id, read(b"x")).await.unwrap_err().code, "busy");
    rig.handle.send(Command::LookAtDevices).await.unwrap();
    rig.handle.send(Command::AuditVerify).await.unwrap();
    // Whoever asked goes: their acts end, and there is room again.
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    rig.until(|now| now.powers.iter().any(|power| power.power == "hardware" && power.running == 0)).await;
    act(&rig.handle, &id, DeviceAct::SerialClose).await.unwrap();
    let cancelled = |record: &Value| record["op"] == "HARDWARE_SERIAL_READ" && record["result"]["ok"] == false;
    assert_eq!(rig.audit().iter().filter(|record| cancelled(record)).count(), 8, "each has its record");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_whose_power_is_off_is_told_of_no_device() {
    let pair = PtyPair::start().unwrap();
    let rig = Rig::start(shared(pair.port()).with_window()).await;
    until_said(&rig, Some(pair.port())).await;
    let (chat, _) = rig.chat_in("project").await;
    let told = || {
        let state = rig.script.state(0, 0);
        let links = state["links"].as_array().unwrap().clone();
        let link = links.into_iter().rev().find(|link| link["scope"].to_string().contains(&chat))?;
        let hello = &link["hello"];
        Some((hello["hardware_devices"].as_array()?.len(), hello["capabilities"].to_string().contains("hardware")))
    };
    rig.until(|_| told() == Some((1, true))).await;

    let off = Some("off".to_owned());
    let off = Command::SetChatPower { session_id: chat.clone(), power: "hardware".to_owned(), mode: off };
    rig.handle.send(off).await.unwrap();

    rig.until(|_| told() == Some((0, false))).await;
    assert_eq!(until_said(&rig, Some(pair.port())).await.len(), 1, "the others are told as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_configuration_shares_is_never_stored() {
    let pair = PtyPair::start().unwrap();
    let mut rig = Rig::start(shared(pair.port())).await;
    ready(&rig, pair.port()).await;
    rig.handle.send(Command::LookAtDevices).await.unwrap();
    rig.stop().await;

    rig.options_mut().overlay.devices.clear();
    rig.start_again().await;
    rig.handle.send(Command::LookAtDevices).await.unwrap();

    assert!(row(&rig.handle.snapshot(), pair.port()).is_none());
}
