//! A whole state folder in use, searched for what must never stand in a file (`cli.md`, Files).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use drawbridge_core::{Power, PowerMode, SessionId, SystemClock};
use drawbridge_os::keychain::Keychain;
use drawbridge_store::audit::{AuditLog, AuditOptions, AuditPaths, Record, RecordResult, SyncMode, export};
use drawbridge_store::bindings::Bindings;
use drawbridge_store::secrets::{SecretStore as _, audit_key, entries, open_secrets};
use drawbridge_store::settings::Settings;
use drawbridge_store::state_dir::StateDir;
use secrecy::SecretString;

const PASSPHRASE: &str = "correct horse battery staple";
const ACCESS: &str = "acc-5f0b2c7e9d1a4e38";
const REFRESH: &str = "ref-90c1d3e5f7a9b2c4";

#[test]
fn no_file_of_a_state_folder_in_use_holds_a_secret_in_clear() {
    let home = tempfile::tempdir().unwrap();
    let state = StateDir::open(&home.path().join("state")).unwrap();
    let _owner = state.lock().unwrap();
    let keychain = Keychain::for_service("drawbridge-test-nowhere");
    keychain.give_up();
    let secrets = open_secrets(state.path(), Some(SecretString::from(PASSPHRASE)), &keychain).unwrap();
    let key = audit_key(secrets.as_ref(), false).unwrap();
    let times = SecretString::from("{\"got\":1}");
    secrets
        .set_all(&[
            (entries::ACCESS_TOKEN, &SecretString::from(ACCESS)),
            (entries::REFRESH_TOKEN, &SecretString::from(REFRESH)),
            (entries::TOKEN_TIMES, &times),
        ])
        .unwrap();
    let (settings, mut switches) = Settings::open(state.path());
    switches.modes.insert(Power::Shell, PowerMode::AskEachTime);
    settings.save(&switches).unwrap();
    let chat = SessionId::parse("chat-1").unwrap();
    Bindings::open(state.path()).unwrap().attach(&chat, "/home/zoe/p", "fingerprint", 1).unwrap();
    let paths = AuditPaths { log: state.path().join("audit.log"), state_dir: state.path().to_owned() };
    let log = AuditLog::open(AuditOptions {
        paths: paths.clone(),
        key: key.clone(),
        machine_id: "m-1".to_owned(),
        shim_version: "drawbridge-0.1.0".to_owned(),
        sync: SyncMode::Record,
        clock: Arc::new(SystemClock),
        secrets: Some(secrets.clone()),
    })
    .unwrap();
    let result = RecordResult::happened();
    let record = Record {
        session_id: Some(chat),
        request_id: None,
        op: "SHIM_START".into(),
        details: serde_json::Map::new(),
        result,
    };
    log.append(record).unwrap();
    log.rotate().unwrap();
    log.close();
    let now = drawbridge_core::Clock::wall(&SystemClock);
    export(&paths, &key, entries::AUDIT_KEY, now, &state.path().join("bundle.zip")).unwrap();

    let mut needles: Vec<(String, Vec<u8>)> = vec![("audit key".to_owned(), key.bytes().to_vec())];
    for text in [PASSPHRASE, ACCESS, REFRESH, key.to_hex().as_str(), entries::REFRESH_TOKEN] {
        needles.push((text.to_owned(), text.as_bytes().to_vec()));
        // In base64 a text can stand at three offsets; its middle looks the same in each.
        for shift in 0..3 {
            let shifted = [&b"xx"[..shift], text.as_bytes()].concat();
            let encoded = base64::engine::general_purpose::STANDARD.encode(shifted);
            needles.push((format!("{text} in base64"), encoded.as_bytes()[4..encoded.len() - 4].to_vec()));
        }
    }
    needles.push((
        "audit key in base64".to_owned(),
        base64::engine::general_purpose::STANDARD.encode(key.bytes()).into_bytes(),
    ));
    let mut searched = 0;
    search(state.path(), &needles, &mut searched);
    assert!(searched >= 8, "{searched} files");
}

fn search(folder: &Path, needles: &[(String, Vec<u8>)], searched: &mut usize) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            search(&path, needles, searched);
            continue;
        }
        *searched += 1;
        let bytes = std::fs::read(&path).unwrap();
        for (what, needle) in needles {
            let found = bytes.windows(needle.len()).any(|part| part == needle);
            assert!(!found, "{what} in {}", path.display());
        }
    }
}
