//! Several accounts: one engine, two platforms, and nothing that passes from one to the other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::fs;

use drawbridge_engine::accounts::Fixed;
use drawbridge_engine::view::{AccountRow, AccountState, LinkState};
use drawbridge_engine::{Command, Engine, StartError};
use drawbridge_practice::{ConsentMode, Failure, Practice, PracticeOptions, Scope};
use rig::{Rig, Wish, read, sign_in, write};
use serde_json::json;

/// A second platform, which knows this program by another client id.
async fn second_platform() -> Practice {
    let extra_clients = vec!["desk-7".to_owned()];
    Practice::start(PracticeOptions { consent: ConsentMode::Allow, extra_clients, ..Default::default() }).await.unwrap()
}

fn add(platform: &Practice) -> Command {
    Command::AddAccount {
        name: "Work".to_owned(),
        platform_url: platform.ws_url(),
        client_id: Some("desk-7".to_owned()),
    }
}

fn choose(id: &str) -> Command {
    Command::UseAccount { id: id.to_owned() }
}

async fn restart(rig: &mut Rig) {
    rig.stop().await;
    rig.start_again().await;
}

fn row<'a>(rows: &'a [AccountRow], id: &str) -> &'a AccountRow {
    rows.iter().find(|row| row.id == id).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_platform_gets_nothing_of_the_first_and_the_first_finds_everything_again() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let off = Command::SetChatPower {
        session_id: chat.clone(),
        power: "files".to_owned(),
        mode: Some("ask_each_time".to_owned()),
    };
    rig.handle.send(off).await.unwrap();
    let grant = rig.script.chat(&chat).unwrap().grant.unwrap()["root_grant"].clone();
    let other = second_platform().await;

    rig.handle.send(add(&other)).await.unwrap();
    assert_eq!(rig.handle.snapshot().accounts.len(), 2);
    rig.handle.send(choose("work")).await.unwrap();
    assert_eq!(rig.handle.snapshot().account.id, "default", "the choice is for the next start");
    restart(&mut rig).await;

    let now = rig.handle.snapshot();
    assert_eq!((now.account.id.as_str(), now.account.state.clone()), ("work", AccountState::SignedOut));
    assert_eq!(now.account.platform_url, other.base_url());
    assert!(now.chats.is_empty(), "{:?}", now.chats);
    let (work, default) = (row(&now.accounts, "work"), row(&now.accounts, "default"));
    assert!(work.active && !work.signed_in && !work.fixed && now.accounts[0] == *work);
    assert!(!default.active && default.signed_in && default.fixed);
    assert_eq!(work.client_id, "desk-7");
    assert_eq!(other.script().machines(), Vec::<String>::new(), "no token of the first platform was tried here");

    sign_in(&rig.handle).await;
    let (script, control) = (other.script(), Scope::Control(other.script().machine().await));
    assert_eq!(script.new_chat(Some(&chat)), chat);
    for (kind, payload) in [
        ("ACTIVATE_SESSION", json!({ "session_id": chat, "revision": 1 })),
        ("RESTORE_SESSION", json!({ "session_id": chat, "root_grant": grant })),
    ] {
        let refused = script.request(&control, kind, payload, None).await;
        assert!(matches!(refused, Err(Failure::Refused { .. })), "{kind}: {refused:?}");
    }
    let now = rig.handle.snapshot();
    assert!(now.chats.iter().all(|one| !one.attached && !one.active && one.modes.is_empty()), "{:?}", now.chats);

    rig.handle.send(choose("default")).await.unwrap();
    restart(&mut rig).await;
    let now = rig.until(|picture| picture.link.state == LinkState::Connected).await;
    assert_eq!(now.account.id, "default");
    let known = now.chats.iter().find(|one| one.session_id == chat).unwrap();
    assert_eq!((known.attached, known.modes[0].mode.as_str()), (true, "ask_each_time"));
    rig.script.restore(&chat).await.unwrap();
    let error = rig.refused(&chat, "FILE_WRITE", write(&folder.join("a"), "x")).await;
    assert_eq!(error["code"], "CAPABILITY_NOT_GRANTED", "its stricter mode has waited for it: {error}");
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_of_the_second_account_works_and_its_grant_dies_with_the_account() {
    let mut rig = Rig::start(Wish::headless()).await;
    let other = second_platform().await;
    rig.handle.send(add(&other)).await.unwrap();
    rig.handle.send(choose("work")).await.unwrap();
    restart(&mut rig).await;
    sign_in(&rig.handle).await;
    let first_script = std::mem::replace(&mut rig.script, other.script());
    rig.machine = rig.script.machine().await;
    let (chat, folder) = rig.chat_in("project").await;
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("a"), "of work")).await.unwrap();

    restart(&mut rig).await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    rig.script.restore(&chat).await.unwrap();
    let got = rig.ask(&chat, "FILE_READ", read(&folder.join("a"))).await.unwrap();
    assert_eq!(got["content"], "of work");

    let busy = rig.handle.send(Command::RemoveAccount { id: "work".to_owned() }).await.unwrap_err();
    assert_eq!(busy.code, "account_needed");
    rig.handle.send(choose("default")).await.unwrap();
    restart(&mut rig).await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    assert!(row(&rig.handle.snapshot().accounts, "work").signed_in);
    rig.handle.send(Command::RemoveAccount { id: "work".to_owned() }).await.unwrap();
    assert_eq!(rig.handle.snapshot().accounts.len(), 1);
    assert!(!rig.state_dir().join("accounts/work").exists());

    // The same name, platform and client id once more: it is another account.
    rig.handle.send(add(&other)).await.unwrap();
    assert!(!row(&rig.handle.snapshot().accounts, "work").signed_in, "its tokens went with it");
    rig.handle.send(choose("work")).await.unwrap();
    restart(&mut rig).await;
    sign_in(&rig.handle).await;
    assert!(matches!(rig.script.restore(&chat).await, Err(Failure::Refused { .. })));
    assert!(first_script.faults().is_empty());

    rig.stop().await;
    let changes: Vec<_> = rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    for (key, id) in
        [("account_added", "work"), ("account", "work"), ("account", "default"), ("account_removed", "work")]
    {
        assert!(changes.iter().any(|record| record["details"][key] == id), "{key} {id}: {changes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_added_chosen_or_removed_is_said_with_its_field() {
    let rig = Rig::start(Wish::headless()).await;
    let add = |name: &str, url: &str, client: Option<&str>| Command::AddAccount {
        name: name.to_owned(),
        platform_url: url.to_owned(),
        client_id: client.map(str::to_owned),
    };
    let code = async |command: Command| rig.handle.send(command).await.unwrap_err().code;
    rig.handle.send(add("Work", "https://work.example/base/", None)).await.unwrap();

    assert_eq!(code(add("\u{202E}kroW", "https://x.example", None)).await, "account_name");
    assert_eq!(code(add("WORK", "https://x.example", None)).await, "account_name_taken");
    assert_eq!(code(add("New", "x.example", None)).await, "account_platform");
    assert_eq!(code(add("New", "https://me:pw@x.example", None)).await, "account_platform");
    assert_eq!(code(add("New", "http://x.example", None)).await, "account_platform_plain");
    assert_eq!(code(add("New", "https://x.example", Some("two words"))).await, "account_client");
    assert_eq!(code(choose("nobody")).await, "unknown_account");
    for id in ["default", "nobody"] {
        let wanted = if id == "default" { "account_needed" } else { "unknown_account" };
        assert_eq!(code(Command::RemoveAccount { id: id.to_owned() }).await, wanted);
    }
    rig.handle.send(Command::SignIn).await.unwrap();
    assert_eq!(code(choose("work")).await, "signing_in");
    rig.handle.send(Command::CancelSignIn).await.unwrap();

    let rows = rig.handle.snapshot().accounts.clone();
    assert_eq!(row(&rows, "work").platform_url, "https://work.example/base");
    assert_eq!(row(&rows, "work").client_id, "autogpt-local-executor");
    assert_eq!(rows.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_named_for_this_run_is_used_whatever_was_chosen() {
    let mut rig = Rig::start(Wish::headless()).await;
    let other = second_platform().await;
    rig.handle.send(add(&other)).await.unwrap();
    rig.handle.send(choose("work")).await.unwrap();
    rig.options_mut().accounts_fixed = Some(Fixed::Run);

    restart(&mut rig).await;

    let now = rig.until(|picture| picture.link.state == LinkState::Connected).await;
    assert_eq!((now.account.id.as_str(), now.accounts_fixed.as_deref()), ("default", Some("run")));
    let refused = rig.handle.send(choose("default")).await.unwrap_err();
    assert_eq!(refused.code, "account_fixed");
    assert!(refused.message.contains("flag or the environment"), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_accounts_that_cannot_be_read_stays_and_leaves_the_default_account() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    let file = rig.state_dir().join("accounts.json");
    let newer = r#"{"v":7,"in_use":"work","accounts":[],"more":true}"#;
    fs::write(&file, newer).unwrap();

    rig.start_again().await;

    let now = rig.until(|picture| picture.link.state == LinkState::Connected).await;
    let notice = now.notices.iter().find(|notice| notice.code == "accounts_broken").unwrap();
    assert!(notice.message.contains("version 7") && notice.message.contains("accounts.json"), "{}", notice.message);
    assert_eq!(now.accounts.len(), 1);
    let refused = rig.handle.send(add(&second_platform().await)).await.unwrap_err();
    assert_eq!(refused.code, "accounts_broken");
    assert_eq!(fs::read_to_string(file).unwrap(), newer);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_not_shown_to_another_platform_that_the_configuration_names_later() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    let (first, other) = (rig.practice.base_url(), second_platform().await);
    rig.options_mut().platform_url = other.base_url();

    rig.start_again().await;
    let now = rig.handle.snapshot();
    assert_eq!((now.account.state.clone(), now.link.state), (AccountState::SignedOut, LinkState::Off));
    assert_eq!(now.account.problem_code.as_deref(), Some("other_platform"));
    assert!(now.account.problem.as_ref().unwrap().contains(&first), "{:?}", now.account.problem);
    assert_eq!(rig.handle.send(Command::SignOut).await.unwrap_err().code, "other_platform");
    rig.stop().await;
    rig.options_mut().headless = true;
    let fault = Engine::start(rig.options()).await.unwrap_err();
    assert!(matches!(fault, StartError::SignedInElsewhere(_)) && fault.exit_code() == 77, "{fault}");
    assert_eq!(other.script().machines(), Vec::<String>::new());

    // The socket form of the first address is the same platform, and the sign-in is still there.
    rig.options_mut().headless = false;
    rig.options_mut().platform_url = rig.practice.ws_url();
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_the_configuration_names_later_gets_no_folder_of_the_first() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let off = Command::SetChatPower {
        session_id: chat.clone(),
        power: "files".to_owned(),
        mode: Some("ask_each_time".to_owned()),
    };
    rig.handle.send(off).await.unwrap();
    let grant = rig.script.chat(&chat).unwrap().grant.unwrap()["root_grant"].clone();
    rig.stop().await;
    let (first, other) = (rig.practice.base_url(), second_platform().await);
    rig.options_mut().platform_url = other.base_url();
    rig.start_again().await;
    sign_in(&rig.handle).await;

    let (script, control) = (other.script(), Scope::Control(other.script().machine().await));
    assert_eq!(script.new_chat(Some(&chat)), chat);
    for (kind, payload) in [
        ("ACTIVATE_SESSION", json!({ "session_id": chat, "revision": 1 })),
        ("ACTIVATE_SESSION", json!({ "session_id": chat, "revision": 2 })),
        ("RESTORE_SESSION", json!({ "session_id": chat, "root_grant": grant })),
    ] {
        let refused = script.request(&control, kind, payload, None).await;
        let Err(Failure::Refused { reply }) = refused else { panic!("{kind}: {refused:?}") };
        assert!(!reply.payload.to_string().contains("current"), "not even its revision: {}", reply.payload);
    }
    let now = rig.handle.snapshot();
    assert!(now.chats.iter().all(|one| !one.attached && !one.active && one.modes.is_empty()), "{:?}", now.chats);

    // A folder that it gets itself works, and comes back after a restart.
    rig.script = script;
    rig.machine = rig.script.machine().await;
    let (own, own_folder) = rig.chat_in("other").await;
    restart(&mut rig).await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    rig.script.restore(&own).await.unwrap();
    rig.ask(&own, "FILE_WRITE", write(&own_folder.join("a"), "x")).await.unwrap();
    assert!(rig.handle.snapshot().chats.iter().all(|one| one.session_id != chat));

    // Back at the first, everything of it is there again; only the sign-in was replaced.
    rig.stop().await;
    rig.script = rig.practice.script();
    rig.options_mut().platform_url = first.replace("http://", "ws://");
    rig.start_again().await;
    sign_in(&rig.handle).await;
    let now = rig.handle.snapshot();
    assert!(now.chats.iter().all(|one| one.session_id != own), "{:?}", now.chats);
    let known = now.chats.iter().find(|one| one.session_id == chat).unwrap();
    assert_eq!((known.attached, known.modes[0].mode.as_str()), (true, "ask_each_time"));
    rig.script.restore(&chat).await.unwrap();
    let error = rig.refused(&chat, "FILE_WRITE", write(&folder.join("a"), "x")).await;
    assert_eq!(error["code"], "CAPABILITY_NOT_GRANTED", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forgetting_here_ends_the_link_and_leaves_the_platform_as_it_is() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.practice.script().switches(drawbridge_practice::Switches { ignore_revoke: true, ..Default::default() });

    rig.handle.send(Command::ForgetTokens).await.unwrap();

    let now = rig.until(|picture| picture.account.state == AccountState::SignedOut).await;
    assert_eq!(now.link.state, LinkState::Off);
    assert!(!now.accounts[0].signed_in);
    restart(&mut rig).await;
    assert_eq!(rig.handle.snapshot().account.state, AccountState::SignedOut);
    sign_in(&rig.handle).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_dialled_with_tokens_that_are_being_revoked() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.script.switches(drawbridge_practice::Switches { ignore_revoke: true, ..Default::default() });
    let dials = |rig: &Rig| rig.script.frames(0).iter().filter(|frame| frame.kind == "HELLO").count();
    let before = dials(&rig);
    let handle = rig.handle.clone();
    let sign_out = tokio::spawn(async move { handle.send(Command::SignOut).await });
    rig.until(|picture| picture.link.state == LinkState::Off).await;

    // The platform has not answered yet. Neither the person nor a late sign-in may bring the link back meanwhile.
    rig.handle.send(Command::Connect).await.unwrap();
    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    rig.handle.send(Command::SetRaised { raised: false }).await.unwrap();
    assert_eq!((rig.handle.snapshot().link.state, dials(&rig)), (LinkState::Off, before));

    // Whoever ends the program does not wait for the platform either.
    rig.stop().await;
    assert_eq!(sign_out.await.unwrap().unwrap_err().code, "engine_gone");
    rig.start_again().await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_whose_platform_comes_back_on_another_port_signs_in_anew() {
    let mut rig = Rig::start(Wish::headless()).await;
    rig.stop().await;
    let other = second_platform().await;
    rig.options_mut().platform_url = other.ws_url();
    rig.options_mut().accounts_fixed = Some(Fixed::Practice);
    rig.start_again().await;

    sign_in(&rig.handle).await;

    let now = rig.handle.snapshot();
    assert_eq!((now.account.state.clone(), now.account.problem.clone()), (AccountState::SignedIn, None));
    assert_eq!(rig.handle.send(add(&other)).await.unwrap_err().code, "account_fixed");
    restart(&mut rig).await;
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
}
