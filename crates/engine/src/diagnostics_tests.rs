//! What people copy when they ask for help tells what helps, and nobody's names.

use std::path::PathBuf;

use drawbridge_policy::{ModelApi, ModelServer, PolicyState};
use drawbridge_store::settings::Settings;

use crate::view::{
    AccountRow, AccountView, ChatView, LinkView, ManagedView, ModelServerView, ModelsView, Notice, PowerView,
    SecretsView,
};

use super::*;

/// None of these may be in the text.
const NAMES: [&str; 10] = [
    "Zapfenstreich",
    "Heimlich Werk",
    "chat-of-anna-7",
    "castle.example",
    "Work account",
    "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    "Order of the Moat",
    "my-own-client",
    "Annas Rechner",
    "sekret-token-value",
];

fn picture() -> Snapshot {
    Snapshot {
        version: "0.1.0".to_owned(),
        account: AccountView {
            state: AccountState::SignedIn,
            platform_url: "wss://castle.example:8443".to_owned(),
            ..AccountView::default()
        },
        accounts: vec![AccountRow {
            id: "work-account".to_owned(),
            name: "Work account".to_owned(),
            platform_url: "wss://castle.example:8443".to_owned(),
            client_id: "my-own-client".to_owned(),
            ..AccountRow::default()
        }],
        link: LinkView {
            state: LinkState::Waiting,
            reason: Some("castle.example:8443 refused".to_owned()),
            ..LinkView::default()
        },
        chats: vec![ChatView {
            session_id: "chat-of-anna-7".to_owned(),
            folder: "/srv/Zapfenstreich/Heimlich Werk".to_owned(),
            active: true,
            ..ChatView::default()
        }],
        powers: vec![PowerView { power: "shell".to_owned(), mode: "ask_each_time".to_owned(), ..PowerView::default() }],
        browse_roots: vec!["/srv/Zapfenstreich".to_owned()],
        managed: Some(ManagedView {
            organisation: Some("Order of the Moat".to_owned()),
            locked: vec!["powers.shell".to_owned()],
            ..ManagedView::default()
        }),
        models: ModelsView { servers: vec![castle_models()], ..ModelsView::default() },
        notices: vec![Notice { code: "undo_aside".to_owned(), message: "in /srv/Zapfenstreich".to_owned() }],
        secrets: SecretsView { place: "keychain".to_owned(), ..SecretsView::default() },
        ..Snapshot::default()
    }
}

fn castle_models() -> ModelServerView {
    ModelServerView { url: "https://models.castle.example".to_owned(), ..ModelServerView::default() }
}

fn input(state: &std::path::Path) -> Input {
    let folder = PathBuf::from(state);
    let finding =
        |check: &str, state, text: String| Finding { check: check.to_owned(), state, text, ..Finding::default() };
    Input {
        folders: Folders { state: folder.clone(), config: folder.join("config"), logs: folder },
        snapshot: Some(Arc::new(picture())),
        findings: vec![
            finding("state_folder", FindingState::Ok, format!("{} is private", state.display())),
            finding("network", FindingState::Fail, "castle.example:8443 refused at step tcp".to_owned()),
            finding(
                "local_model_server",
                FindingState::Warn,
                "The model server https://models.castle.example cannot be asked".to_owned(),
            ),
            finding("browse", FindingState::Warn, "/srv/Zapfenstreich/Heimlich Werk/x is gone".to_owned()),
        ],
        facts: vec![("WebKit", "2.48.1".to_owned())],
        names: vec!["Annas Rechner".to_owned()],
    }
}

#[test]
fn it_tells_what_helps_and_nobodys_names() {
    let dir = tempfile::tempdir().unwrap();
    let user = about::names().into_iter().next().unwrap_or_else(|| "nobody".to_owned());
    std::fs::write(
        dir.path().join(log::FILE),
        format!(
            "INFO link: machine 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0 as \"Annas Rechner\" of {user} to wss://castle.example:8443/ws\n\
             WARN files: /srv/Zapfenstreich/Heimlich Werk/plan.txt in chat-of-anna-7, token=sekret-token-value\n\
             INFO drawbridge_engine::link: could not connect step=tcp\n"
        ),
    )
    .unwrap();

    let text = collect(&input(dir.path()));

    assert!(text.contains("as \"<name>\" of <name> to wss://<platform>/ws"), "{text}");
    for name in NAMES.iter().copied().chain([dir.path().to_str().unwrap()]) {
        assert!(!text.contains(name), "{name} in:\n{text}");
    }
    for wanted in [
        "Drawbridge: 0.1.0",
        "WebKit: 2.48.1",
        "Account: signed in at another platform",
        "Link: waiting to dial again, <platform> refused",
        "Chats: 1, of them 1 active and 0 taken back",
        "Powers: shell=ask_each_time",
        "Fixed by an organisation: powers.shell",
        "Notices: undo_aside",
        "Secrets: keychain",
        "Running: no",
        "ok    state_folder: <state folder> is private",
        "FAIL  network: <platform> refused at step tcp",
        "The model server https://<model server> cannot be asked",
        "could not connect step=tcp",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
}

#[test]
fn without_an_engine_and_without_a_log_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("never made");
    let text = collect(&Input { snapshot: None, findings: Vec::new(), ..input(&missing) });
    assert!(!missing.exists(), "looking makes nothing");
    assert!(text.contains("Running: no") && text.contains("(there is no log)"), "{text}");
    assert!(!text.contains("Chats:"));
}

#[test]
fn without_an_engine_the_names_of_the_configuration_and_the_accounts_are_taken_out_too() {
    let dir = tempfile::tempdir().unwrap();
    let book = crate::accounts::open_book(dir.path());
    book.add("Work account", "https://work.castle.example", "my-own-client").unwrap();
    let mut state = PolicyState::defaults();
    let server = "http://models.castle.example:8000".to_owned();
    state.model_servers = vec![ModelServer { url: server, api: ModelApi::Auto, far: true, parallel: 1 }];
    Settings::open(dir.path()).0.save(&state).unwrap();
    let told = [
        "The platform is https://gate.castle.example:8443/base.",
        "The host gate.castle.example was not found (DNS)",
        "The host of the proxy, moat.castle.example, was not found (DNS)",
        "work.castle.example refused my-own-client of \"Work account\"",
        "The model server http://models.castle.example:8000 cannot be asked",
        "127.0.0.1 is an address already.",
    ];
    let findings = told.map(|text| Finding { text: text.to_owned(), ..Finding::default() }).to_vec();
    let names =
        ["wss://gate.castle.example:8443/base", "http://anna:pw@moat.castle.example:3128", "http://127.0.0.1:9"];

    let names = names.map(ToOwned::to_owned).to_vec();
    let text = collect(&Input { snapshot: None, findings, names, ..input(dir.path()) });

    for name in NAMES {
        assert!(!text.contains(name), "{name} in:\n{text}");
    }
    for wanted in [
        "https://<host>/base",
        "The host <host> was",
        "the proxy, <host>,",
        "<platform> refused <client>",
        "http://<model server> cannot",
        "127.0.0.1 is",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in:\n{text}");
    }
}

#[test]
fn only_the_end_of_a_long_log_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = (0..1000).map(|number| format!("line {number:04}\n")).collect();
    std::fs::write(dir.path().join(log::FILE), lines).unwrap();
    let text = collect(&input(dir.path()));
    assert!(text.ends_with("line 0999\n") && text.contains("line 0800\n") && !text.contains("line 0799"));
}
