//! What later versions added: contents that stay, servers of models, shared devices.

use drawbridge_core::hardware::DeviceId;
use drawbridge_policy::{MAX_DEVICES, MAX_MODEL_SERVERS, ModelApi, ModelServer, SharedDevice};

use super::*;

const LATER: [&str; 7] =
    ["private", "private_all", "review_answers", "preview_bytes", "model_servers", "devices", "added_ports"];

/// Sets everything that this file is about.
pub(super) fn desk(state: &mut PolicyState) {
    state.privacy.all = true;
    state.privacy.review = true;
    state.privacy.preview_bytes = Some(64);
    state.privacy.chats = BTreeMap::from([(chat("chat-1"), true), (chat("chat-2"), false)]);
    let server = |url: &str, api, far, parallel| ModelServer { url: url.to_owned(), api, far, parallel };
    state.model_servers = vec![
        server("http://127.0.0.1:11434", ModelApi::Auto, false, 1),
        server("https://models.example", ModelApi::OpenAi, true, 16),
    ];
    let shared = SharedDevice { label: "Arduino Uno, Écran".to_owned(), at_ms: 1_790_000_000_002 };
    state.devices = BTreeMap::from([(DeviceId::parse("serial-0a1b2c3d4e5f").unwrap(), shared)]);
    state.added_ports = vec!["/dev/pts/7".to_owned(), "/dev/ttyUSB\u{e9}".to_owned()];
}

#[test]
fn a_file_from_before_says_nothing_of_them_and_none_is_written_while_nothing_is_said() {
    let file = stored(&PolicyState::defaults());
    for name in LATER {
        assert!(file.get(name).is_none(), "{name}");
    }
    let (state, _) = parse(file.to_string().as_bytes(), DEFAULT).unwrap();
    assert_eq!(state, PolicyState::defaults());
    assert!(!state.is_private(Some(&chat("chat-1"))));
}

#[test]
fn a_file_of_version_1_cannot_hold_them() {
    let full = stored(&full());
    for name in LATER {
        let mut file: Value = serde_json::from_str(VERSION_1).unwrap();
        file[name] = full[name].clone();
        let told = parse(file.to_string().as_bytes(), DEFAULT).unwrap_err();
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn what_cannot_be_understood_makes_the_whole_file_worthless() {
    let server =
        |url: &str, api: &str, parallel: u8| json!([{ "url": url, "api": api, "far": false, "parallel": parallel }]);
    let many = |count: usize, one: Value| Value::Array(vec![one; count]);
    let device = json!({ "label": "x", "at_ms": 1 });
    for (name, value) in [
        ("private", json!({ "chat-1": "yes" })),
        ("private", json!({ "": true })),
        ("private", json!(true)),
        ("private_all", json!("all")),
        ("private_all", Value::Null),
        ("review_answers", json!(1)),
        ("preview_bytes", json!(257)),
        ("preview_bytes", json!(-1)),
        ("preview_bytes", json!(true)),
        ("model_servers", server("http://127.0.0.1:1", "telepathy", 1)),
        ("model_servers", server("http://127.0.0.1:1", "auto", 0)),
        ("model_servers", server("http://127.0.0.1:1", "auto", 17)),
        ("model_servers", server("file:///etc/passwd", "auto", 1)),
        ("model_servers", server("http://127.0.0.1:1\n", "auto", 1)),
        ("model_servers", json!([{ "url": "http://127.0.0.1:1", "api": "auto", "parallel": 1 }])),
        ("model_servers", json!([{ "url": "http://a", "api": "auto", "far": true, "parallel": 1, "token": "t" }])),
        ("model_servers", many(2, server("http://127.0.0.1:1", "auto", 1)[0].clone())),
        ("devices", json!({ "Serial 1": device })),
        ("devices", json!({ "serial-1": { "label": "x" } })),
        ("devices", json!({ "serial-1": { "label": "x", "at_ms": 1, "open": true } })),
        ("added_ports", json!(["ttyUSB0"])),
        ("added_ports", json!("/dev/ttyUSB0")),
        ("added_ports", many(MAX_DEVICES + 1, json!("/dev/ttyUSB0"))),
    ] {
        let mut file = stored(&full());
        file[name] = value.clone();
        assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err(), "{name}: {value}");
    }
    let mut file = stored(&full());
    let servers =
        (0..=MAX_MODEL_SERVERS).map(|number| server(&format!("http://127.0.0.1:{number}"), "auto", 1)[0].clone());
    file["model_servers"] = servers.collect();
    assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err());
    let mut file = stored(&full());
    file["devices"] = (0..=MAX_DEVICES).map(|number| (format!("serial-{number}"), device.clone())).collect();
    assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err());
}

#[test]
fn whether_contents_stay_is_said_for_the_chats_of_one_account() {
    let dir = tempfile::tempdir().unwrap();
    let (settings, mut state) = Settings::open_of(dir.path(), "work");
    state.privacy.chats.insert(chat("chat-1"), true);
    settings.save(&state).unwrap();
    let (settings, mut state) = Settings::open(dir.path());
    assert!(state.privacy.chats.is_empty(), "a chat of the same id at another platform is another chat");
    state.privacy.chats.insert(chat("chat-1"), false);
    settings.save(&state).unwrap();

    assert_eq!(Settings::peek_of(dir.path(), "work").privacy.chats, BTreeMap::from([(chat("chat-1"), true)]));
    assert_eq!(Settings::peek(dir.path()).privacy.chats, BTreeMap::from([(chat("chat-1"), false)]));
    settings.forget_account("work");
    settings.save(&Settings::peek(dir.path())).unwrap();
    assert!(Settings::peek_of(dir.path(), "work").privacy.chats.is_empty());
}

#[test]
fn a_fault_in_what_another_account_says_of_its_chats_makes_the_whole_file_worthless() {
    let mut file = stored(&full());
    let chats = |id: &str| json!({ "chat_allowances": [], "chat_modes": [], "private": { id: true } });
    file["accounts"] = json!({ "work": chats("chat-9") });
    assert!(parse(file.to_string().as_bytes(), DEFAULT).is_ok());
    file["accounts"] = json!({ "work": chats("") });
    assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err());
}

#[test]
fn settings_that_cannot_be_read_do_not_let_contents_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = stored(&full());
    file["private"] = json!(["chat-1"]);
    std::fs::write(dir.path().join("settings.json"), file.to_string()).unwrap();

    let (_, state) = Settings::open(dir.path());

    assert!(state.broken.is_some() && !state.offers(Power::Files));
}
