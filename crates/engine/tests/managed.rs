//! What an organisation has fixed, over real sockets: nobody gets beyond it, and everything that explains says so.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::path::PathBuf;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::managed::ManagedOptions;
use drawbridge_engine::view::{PowerView, PromptAnswer};
use drawbridge_engine::{Command, CommandError, Engine, Reply, StartError};
use drawbridge_policy::Network;
use drawbridge_practice::Scope;
use drawbridge_store::managed::Managed;
use rig::{Rig, Wish, read};
use serde_json::json;

/// Commands ask once per chat at most and run confined, and nobody uses the clipboard.
fn policy() -> Managed {
    Managed {
        path: PathBuf::from("/etc/drawbridge/policy.toml"),
        locked: ["powers.shell", "powers.clipboard", "shell.network", "browse.roots"].map(str::to_owned).to_vec(),
        organisation: Some("Example\u{202e} Ltd".to_owned()),
        powers: [(Power::Shell, PowerMode::AskOncePerChat), (Power::Clipboard, PowerMode::Off)].into(),
        shell_network: Some(Network::Loopback),
        ..Managed::default()
    }
}

fn managed(mut wish: Wish, policy: Managed) -> Wish {
    wish.managed = ManagedOptions { policy: Some(policy), ..ManagedOptions::default() };
    wish
}

fn refusal(answer: Result<Reply, CommandError>) -> String {
    let fault = answer.unwrap_err();
    assert_eq!(fault.code, "managed", "{fault:?}");
    assert!(!fault.message.contains('\u{202e}'), "{fault:?}");
    fault.message
}

async fn set_power(rig: &Rig, power: &str, mode: &str) -> Result<Reply, CommandError> {
    rig.handle.send(Command::SetPower { power: power.to_owned(), mode: mode.to_owned() }).await
}

fn power(rig: &Rig, name: &str) -> PowerView {
    rig.handle.snapshot().powers.iter().find(|power| power.power == name).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_gets_no_further_than_the_ceiling_by_any_way() {
    // The stored setting would allow commands without a question.
    let wish = Wish::headless().with(Power::Shell, PowerMode::Allowed).with_window();
    let rig = Rig::start(managed(wish, policy())).await;
    let (chat, _) = rig.chat_in("project").await;
    let shell = power(&rig, "shell");
    assert_eq!((shell.mode.as_str(), shell.locked_by), ("ask_once_per_chat", None));
    let ceiling = shell.ceiling.unwrap();
    assert_eq!((ceiling.mode.as_str(), ceiling.by.as_str()), ("ask_once_per_chat", "Example\\u{202E} Ltd"));

    assert!(refusal(set_power(&rig, "shell", "allowed").await).contains("no further than ask_once_per_chat"));
    assert!(refusal(set_power(&rig, "clipboard", "ask_each_time").await).contains("switched off on this computer"));
    let for_chat = |mode: &str| Command::SetChatPower {
        session_id: chat.clone(),
        power: "shell".to_owned(),
        mode: Some(mode.to_owned()),
    };
    refusal(rig.handle.send(for_chat("allowed")).await);
    rig.handle.send(for_chat("ask_each_time")).await.unwrap();
    let run = |network: &str| Command::SetShell { mode: "confined".to_owned(), network: network.to_owned() };
    refusal(rig.handle.send(run("all")).await);
    rig.handle.send(run("loopback")).await.unwrap();

    let (script, scope) = (rig.script.clone(), Scope::Data(chat.clone()));
    let asked = tokio::spawn(async move {
        script.request(&scope, "EXECUTE_COMMAND", json!({ "argv": ["/usr/bin/id"] }), None).await
    });
    let prompt = rig.until(|picture| !picture.prompts.is_empty()).await.prompts[0].clone();
    assert_eq!((prompt.always, prompt.can_allow_chat), (None, false), "nothing would spare the next question");
    let (id, revision) = (prompt.id, prompt.revision);
    rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
    let always = Command::AnswerPrompt { id, revision, answer: PromptAnswer::AllowAlways };
    assert!(rig.handle.send(always).await.is_err());
    rig.handle.send(Command::AnswerPrompt { id, revision, answer: PromptAnswer::Deny }).await.unwrap();
    assert!(asked.await.unwrap().is_err());
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_that_is_off_for_everybody_is_refused_explained_and_shown_alike() {
    let off = Managed { powers: [(Power::Files, PowerMode::Off)].into(), ..policy() };
    let rig = Rig::start(managed(Wish::headless().with(Power::Files, PowerMode::Allowed), off)).await;
    let (chat, folder) = rig.chat_in("project").await;
    std::fs::write(folder.join("a.txt"), "secret").unwrap();

    let refused = rig.refused(&chat, "FILE_READ", read(&folder.join("a.txt"))).await;

    assert_eq!(refused["code"], "CAPABILITY_NOT_GRANTED", "{refused}");
    let explain = Command::Explain { operations: vec!["FILE_READ".to_owned()], session_id: Some(chat) };
    let Reply::Explained { explanations } = rig.handle.send(explain).await.unwrap() else { panic!("no answer") };
    assert_eq!((explanations[0].decision.as_str(), explanations[0].rule.as_str()), ("deny", "locked_off"));
    assert!(explanations[0].why.contains("switched off by Example"), "{}", explanations[0].why);
    let files = power(&rig, "files");
    assert_eq!((files.mode.as_str(), files.locked_by.as_deref()), ("off", Some("Example\\u{202E} Ltd")));
    let told = rig.handle.snapshot().managed.clone().unwrap();
    assert_eq!(told.organisation.as_deref(), Some("Example\\u{202E} Ltd"));
    assert_eq!(told.path, "/etc/drawbridge/policy.toml");
    assert!(told.locked.contains(&"powers.clipboard".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_the_organisation_says_is_stored_with_the_persons_settings() {
    let mut rig = Rig::start(managed(Wish::headless(), policy())).await;
    set_power(&rig, "shell", "ask_each_time").await.unwrap();
    let stored = std::fs::read_to_string(rig.state_dir().join("settings.json")).unwrap();
    assert!(!stored.contains("Example") && !stored.contains("ceiling"), "{stored}");

    rig.stop().await;
    rig.start_again().await;

    assert_eq!(power(&rig, "shell").ceiling.unwrap().mode, "ask_once_per_chat");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_organisations_folders_are_listed_attached_and_added() {
    let mut wish = managed(Wish::headless(), policy());
    let outside = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let roots = vec![work.path().canonicalize().unwrap()];
    wish.managed.policy.as_mut().unwrap().browse_roots = Some(roots);
    let rig = Rig::start(wish).await;

    let elsewhere = rig::path(&outside.path().canonicalize().unwrap());
    refusal(rig.handle.send(Command::AddBrowseRoot { path: elsewhere.clone() }).await);
    refusal(rig.handle.send(Command::RemoveBrowseRoot { path: elsewhere.clone() }).await);
    let offered = rig.handle.send(Command::OfferFolder { path: Some(elsewhere) }).await.unwrap_err();
    assert_eq!(offered.code, "folder_unusable");
    assert!(offered.message.contains("allows only other folders on this computer"), "{}", offered.message);
    // What the platform browses to lies outside, so that it is not attached.
    let folder = rig.home.join("project");
    std::fs::create_dir_all(&folder).unwrap();
    let chat = rig.script.new_chat(None);
    let (browse, reference) = rig.browse_to(&["project"]).await;
    assert!(rig.script.attach(&rig.machine, &chat, &browse, &reference).await.is_err());
    assert!(rig.handle.snapshot().chats.is_empty());
    let inside = rig::path(&work.path().canonicalize().unwrap());
    rig.handle.send(Command::OfferFolder { path: Some(inside) }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_is_not_allowed_is_never_talked_to() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    let before = rig.script.frames(0).len();
    let only = Managed { allowed_platforms: Some(vec!["https://platform.example".to_owned()]), ..policy() };

    let fault =
        Engine::start(rig.options_with(ManagedOptions { policy: Some(only), ..ManagedOptions::default() })).await;

    let fault = fault.unwrap_err();
    assert!(matches!(fault, StartError::Platform(_)), "{fault:?}");
    assert_eq!(fault.exit_code(), 78);
    assert!(fault.to_string().contains("/etc/drawbridge/policy.toml"), "{fault}");
    assert_eq!(rig.script.frames(0).len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_that_the_organisation_keeps_are_let_go_by_nobody() {
    let fixed = Managed { locked: vec!["privacy.all".to_owned()], private: true, ..policy() };
    let rig = Rig::start(managed(Wish::headless(), fixed)).await;
    let (chat, folder) = rig.chat_in("project").await;
    std::fs::write(folder.join("a.txt"), "kept").unwrap();
    assert!(rig.handle.snapshot().models.private_all);
    for (session_id, on) in [(None, Some(false)), (Some(chat.clone()), Some(false)), (Some(chat.clone()), None)] {
        let told = refusal(rig.handle.send(Command::SetPrivacy { session_id, on }).await);
        assert!(told.contains("keeps contents of files on this computer"), "{told}");
    }
    rig.handle.send(Command::SetPrivacy { session_id: Some(chat.clone()), on: Some(true) }).await.unwrap();

    let error = rig.refused(&chat, "FILE_READ", read(&folder.join("a.txt"))).await;

    assert_eq!(error["code"], "PRIVACY_MODE_BLOCKED");
}
