use std::collections::BTreeMap;

use drawbridge_core::{CommandLine, CommandOp, Operation, Power, PowerMode, SessionId};
use drawbridge_policy::{
    ChatAllowance, CommandRule, Decision, Given, MAX_APPS, MAX_RULES, Network, Origin, PolicyState, Programs,
    ScreenRules, WordPattern, decide_resolved,
};
use serde_json::{Value, json};

use super::*;

const VERSION_1: &str = r#"{
  "v": 1, "raised": true, "raise_count": 7,
  "powers": {"files": "allowed", "shell": "ask_once_per_chat"},
  "shell_mode": "full", "shell_network": "loopback",
  "chat_allowances": [{"session": "chat-1", "power": "shell"}]
}"#;

fn chat(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn rule(number: u64) -> CommandRule {
    CommandRule {
        id: format!("r-{number}"),
        program: "/usr/bin/cat".to_owned(),
        words: vec![WordPattern::Exactly("notes v2.txt".to_owned()), WordPattern::Any],
        any_more: true,
        origin: Origin::Answered,
        at_ms: 1_790_000_000_000,
    }
}

fn full() -> PolicyState {
    let mut state = PolicyState::defaults();
    state.raised = true;
    state.raise_count = 3;
    state.modes.insert(Power::Shell, PowerMode::AskOncePerChat);
    state.shell_network = Network::Loopback;
    let given = Given { origin: Origin::Answered, at_ms: 1_790_000_000_001 };
    state.chat_allowances.insert(ChatAllowance { session: chat("chat-1"), power: Power::Shell }, given);
    state.chat_modes = BTreeMap::from([
        ((chat("chat-1"), Power::Files), PowerMode::Off),
        ((chat("chat-2"), Power::Shell), PowerMode::Allowed),
    ]);
    state.command_rules = vec![rule(2), rule(5)];
    state.rules_made = 5;
    state.browse_roots = vec!["/home/ada/work".to_owned()];
    state.screen = ScreenRules {
        only_apps: Some(vec!["org.gnome.TextEditor".to_owned(), "Écran".to_owned()]),
        never_apps: vec!["mail".to_owned()],
        full_resolution: true,
    };
    state.clipboard_foreign = true;
    later::desk(&mut state);
    state
}

/// A stored file as JSON, so that a test can change one thing in it.
fn stored(state: &PolicyState) -> Value {
    serde_json::from_slice(&document::write(state, DEFAULT, &Others::new()).unwrap()).unwrap()
}

#[test]
fn every_switch_and_rule_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (settings, _) = Settings::open(dir.path());
    settings.save(&full()).unwrap();

    assert_eq!(Settings::open(dir.path()).1, full());
    set_raised(dir.path(), false).unwrap();
    let after = Settings::open(dir.path()).1;
    assert!(!after.raised);
    assert_eq!(after.command_rules, full().command_rules);
}

#[test]
fn a_file_of_version_1_is_read_and_written_as_version_2() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::fs::write(&path, VERSION_1).unwrap();

    let (settings, state) = Settings::open(dir.path());
    let allowance = ChatAllowance { session: chat("chat-1"), power: Power::Shell };

    assert_eq!((state.raised, state.raise_count), (true, 7));
    assert_eq!(state.mode(Power::Shell), PowerMode::AskOncePerChat);
    assert_eq!(state.chat_allowances[&allowance], Given { origin: Origin::Answered, at_ms: 0 });
    assert_eq!((state.command_rules.len(), state.chat_modes.len(), state.rules_made), (0, 0, 0));
    settings.save(&state).unwrap();
    let written: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(written["v"], 2);
    assert_eq!(Settings::open(dir.path()).1, state);
}

#[test]
fn a_file_of_version_1_with_fields_of_version_2_is_not_trusted() {
    for (name, value) in [("command_rules", json!([])), ("browse_roots", json!([])), ("rules_made", json!(0))] {
        let mut file: Value = serde_json::from_str(VERSION_1).unwrap();
        file[name] = value;
        assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err(), "{name}");
    }
    let mut file: Value = serde_json::from_str(VERSION_1).unwrap();
    file["chat_allowances"][0]["at_ms"] = json!(5);
    assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err());
}

#[test]
fn broken_or_newer_settings_deny_and_stay_until_the_person_acts() {
    let newer = r#"{"v":3}"#;
    for text in ["", "{", "[]", newer, r#"{"v":1,"raised":false}"#, r#"{"v":2,"raised":false}"#] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::fs::write(&path, text).unwrap();
        let (settings, state) = Settings::open(dir.path());

        assert!(state.broken.is_some());
        assert!(!state.offers(Power::Files));
        assert!(matches!(settings.save(&state), Err(SettingsFault::Broken { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

        let fresh = settings.start_afresh(true, 4).unwrap();
        assert_eq!(fresh, PolicyState { raised: true, raise_count: 4, ..PolicyState::defaults() });
        assert_eq!(Settings::open(dir.path()).1, fresh);
        assert_eq!(std::fs::read_to_string(dir.path().join("settings.json.broken-1")).unwrap(), text);
    }
}

#[test]
fn a_raised_bridge_stays_raised_when_its_settings_break_or_are_a_newer_versions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    set_raised(dir.path(), true).unwrap();
    let sound = std::fs::read_to_string(&path).unwrap();
    let newer = sound.replacen("\"v\": 2", "\"v\": 3", 1);
    assert_ne!(newer, sound);
    for text in [newer.as_str(), &sound[..60], r#"{"moon":1,"raised" : true}"#] {
        std::fs::write(&path, text).unwrap();

        let (settings, state) = Settings::open(dir.path());

        assert!(state.raised && state.broken.is_some(), "{text}");
        assert!(Settings::peek(dir.path()).raised);
        assert!(set_raised(dir.path(), false).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(settings.start_afresh(state.raised, state.raise_count).unwrap().raised);
    }
    std::fs::write(&path, sound.replace("\"raised\": true", "\"raised\": false").replace("\"v\": 2", "\"v\": 3"))
        .unwrap();
    assert!(!Settings::peek(dir.path()).raised);
}

/// Changes one thing in a sound file.
type Damage = fn(&mut Value);

#[test]
fn a_rule_or_mode_that_no_version_can_have_made_makes_the_file_worthless() {
    let damages: [(&str, Damage); 13] = [
        ("an unknown field", |file| file["moon"] = json!(1)),
        ("an unknown field of a rule", |file| file["command_rules"][0]["shell"] = json!(true)),
        ("a program that is no path", |file| file["command_rules"][0]["program"] = json!("cat")),
        ("a word as a plain text", |file| file["command_rules"][0]["words"] = json!(["*"])),
        ("an unknown kind of word", |file| file["command_rules"][0]["words"] = json!(["most"])),
        ("a name twice", |file| file["command_rules"][0]["id"] = json!("r-5")),
        ("a name that was never given", |file| file["command_rules"][0]["id"] = json!("r-6")),
        ("another name for a number", |file| file["command_rules"][0]["id"] = json!("r-02")),
        ("an unknown origin", |file| file["chat_allowances"][0]["origin"] = json!("rumour")),
        ("an unknown mode", |file| file["chat_modes"][0]["mode"] = json!("sometimes")),
        ("an unknown power", |file| file["chat_modes"][0]["power"] = json!("flight")),
        ("two modes of one power in a chat", |file| {
            let first = file["chat_modes"][0].clone();
            file["chat_modes"].as_array_mut().unwrap().push(first);
        }),
        ("a chosen folder that is no whole path", |file| file["browse_roots"] = json!(["work"])),
    ];
    parse(stored(&full()).to_string().as_bytes(), DEFAULT).unwrap();
    for (what, damage) in damages {
        let mut file = stored(&full());
        damage(&mut file);
        assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err(), "{what}");
    }
}

#[test]
fn a_rule_that_a_newer_version_would_refuse_is_read_and_allows_nothing() {
    let mut state = full();
    state.raised = false;
    state.command_rules[0].program = "/usr/bin/bash".to_owned();
    let (read, _) = parse(stored(&state).to_string().as_bytes(), DEFAULT).unwrap();
    let line = CommandLine::Argv(["bash", "notes v2.txt", "x"].map(str::to_owned).to_vec());
    let op = Operation::Command(CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() });
    let programs = Programs::new(None, vec![Some("/usr/bin/bash".to_owned())]);

    assert_eq!(read, state);
    assert_eq!(decide_resolved(&read, &op, None, &programs).decision, Decision::Deny);
}

#[test]
fn more_rules_than_are_allowed_are_said_so() {
    let mut state = full();
    let most = u64::try_from(MAX_RULES).unwrap();
    state.rules_made = most + 1;
    state.command_rules = (1..=most).map(rule).collect();
    assert_eq!(parse(stored(&state).to_string().as_bytes(), DEFAULT).unwrap().0.command_rules.len(), MAX_RULES);
    state.command_rules.push(rule(most + 1));

    let why = parse(stored(&state).to_string().as_bytes(), DEFAULT).unwrap_err();

    assert!(why.contains("501 rules") && why.contains("500"), "{why}");
}

#[test]
fn what_only_has_the_name_of_the_settings_is_told_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    let plant: [(&str, &[&str]); 3] = [("mkfifo", &[]), ("ln", &["-s", "/dev/zero"]), ("truncate", &["-s", "3G"])];
    for (program, words) in plant {
        let _ = std::fs::remove_file(&path);
        assert!(std::process::Command::new(program).args(words).arg(&path).status().unwrap().success());

        let state = Settings::open(dir.path()).1;

        assert!(state.broken.is_some(), "{program}");
        assert!(!state.offers(Power::Files));
    }
}

#[test]
fn a_crash_while_saving_keeps_the_old_switches() {
    let dir = tempfile::tempdir().unwrap();
    let (settings, mut state) = Settings::open(dir.path());
    state.raised = true;
    settings.save(&state).unwrap();
    for left in ["", "{\"v\":1,\"raised\":false", "{\"v\":1}"] {
        let temporary = dir.path().join(".settings.json.0123456789abcdef.tmp");
        std::fs::write(&temporary, left).unwrap();

        assert_eq!(Settings::open(dir.path()).1, state);
        assert!(!temporary.exists());
    }
}

#[test]
fn what_holds_for_a_chat_never_holds_for_one_of_the_same_id_in_another_account() {
    let dir = tempfile::tempdir().unwrap();
    let (settings, _) = Settings::open(dir.path());
    settings.save(&full()).unwrap();

    let (work, mut state) = Settings::open_of(dir.path(), "work");
    assert!(state.chat_allowances.is_empty() && state.chat_modes.is_empty());
    assert_eq!((state.raised, state.mode(Power::Shell)), (true, PowerMode::AskOncePerChat), "powers are the person's");
    assert_eq!(state.command_rules, full().command_rules);
    state.chat_modes.insert((chat("chat-1"), Power::Files), PowerMode::AskEachTime);
    state.raised = false;
    work.save(&state).unwrap();

    let default = Settings::open(dir.path()).1;
    assert_eq!(default, PolicyState { raised: false, ..full() }, "strict modes of the other account wait for it");
    assert_eq!(Settings::peek_of(dir.path(), "work"), state);
    assert!(Settings::peek_of(dir.path(), "third").chat_modes.is_empty());

    set_raised(dir.path(), true).unwrap();
    assert_eq!(Settings::peek_of(dir.path(), "work").chat_modes, state.chat_modes);
    let (settings, state) = Settings::open(dir.path());
    settings.forget_account("work");
    settings.save(&state).unwrap();
    assert!(Settings::peek_of(dir.path(), "work").chat_modes.is_empty());
    assert_eq!(Settings::peek(dir.path()), PolicyState { raise_count: 4, ..full() });
}

#[test]
fn a_fault_in_what_another_account_has_makes_the_whole_file_worthless() {
    for accounts in [
        json!({ "work": { "chat_allowances": [], "chat_modes": [{ "session": "c", "power": "shell", "mode": "wild" }] } }),
        json!({ "work": { "chat_allowances": [], "chat_modes": [], "more": 1 } }),
        json!({ "default": { "chat_allowances": [], "chat_modes": [] } }),
    ] {
        let mut file = stored(&full());
        file["accounts"] = accounts.clone();
        assert!(parse(file.to_string().as_bytes(), DEFAULT).is_err(), "{accounts}");
    }
}

#[test]
fn rules_for_the_screen_that_cannot_be_understood_deny_everything() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("settings.json");
    let plain = stored(&PolicyState::defaults());
    // A version that does not know them must still read what says nothing about them.
    assert!(plain.get("screen").is_none() && plain.get("clipboard_foreign").is_none());
    let screen = |only: Value, never: Value| json!({"only_apps": only, "never_apps": never, "full_resolution": false});
    for (key, value) in [
        ("screen", screen(json!(["x"]), json!(["a\u{0}"]))),
        ("screen", screen(json!([""]), json!([]))),
        ("screen", screen(json!(null), json!(vec!["a"; MAX_APPS + 1]))),
        ("screen", screen(json!("all"), json!([]))),
        ("screen", json!({"only_apps": null, "never_apps": []})),
        ("screen", json!({"only_apps": null, "never_apps": [], "full_resolution": false, "terminals": true})),
        ("clipboard_foreign", json!("yes")),
    ] {
        let mut document = plain.clone();
        document[key] = value.clone();
        std::fs::write(&file, document.to_string()).unwrap();
        let state = Settings::peek(dir.path());
        assert!(state.broken.is_some(), "{key}: {value}");
        assert!(!state.offers(Power::ComputerUse) && !state.clipboard_foreign, "{key}: {value}");
    }
    let mut old: Value = serde_json::from_str(VERSION_1).unwrap();
    old["clipboard_foreign"] = json!(true);
    std::fs::write(&file, old.to_string()).unwrap();
    assert!(Settings::peek(dir.path()).broken.is_some());
    let mut none = plain;
    none["screen"] = screen(json!([]), json!([]));
    std::fs::write(&file, none.to_string()).unwrap();
    // No app at all is not the same as every app.
    assert_eq!(Settings::peek(dir.path()).screen.only_apps, Some(Vec::new()));
}

#[path = "later_tests.rs"]
mod later;
