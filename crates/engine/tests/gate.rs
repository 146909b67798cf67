//! What stands in for an engine that cannot start, and how it makes way.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use drawbridge_engine::control::{Client, ControlError};
use drawbridge_engine::gate::{self, Begun, Prepare};
use drawbridge_engine::view::{GateKind, LinkState, Snapshot, TrayState};
use drawbridge_engine::{Command, CommandError, EngineHandle, EngineOptions, ExitKind, Passphrase, Reply};
use drawbridge_store::settings::Settings;
use drawbridge_store::state_dir::{OwnerFault, StateDir};
use rig::{Rig, Wish, read, until};

const RIGHT: &str = "a passphrase for tests";

#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_is_asked_for_until_it_fits_and_the_same_handle_goes_on() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    let (_, folder) = rig.chat_in("project").await;
    rig.stop().await;
    let secrets = rig.state_dir().join("secrets.enc");
    let sealed = fs::read(&secrets).unwrap();
    let begun = gate_on(&rig, None).await;
    let handle = begun.handle();

    let shown = handle.snapshot();
    let gate = shown.gate.clone().unwrap();
    assert_eq!((gate.kind, gate.can_set_aside, gate.can_make_file), (GateKind::PassphraseWanted, true, false));
    assert!(gate.path.unwrap().ends_with("secrets.enc"));
    assert_eq!(refusal(&handle, Command::SignIn).await.code, "not_started");
    assert_eq!(refusal(&handle, Command::SetRaised { raised: false }).await.code, "not_started");
    let made = refusal(&handle, Command::GateNewFile { passphrase: pass("another passphrase") }).await;
    assert_eq!(made.code, "not_offered");

    // A second start hands over, and the command line learns what is wrong and can do nothing about it.
    let second = gate::begin(rig.options().folders, prepare(rig.options())).await;
    assert!(matches!(second, Err(OwnerFault::Owned { .. })), "{second:?}");
    let mut client = client(&rig).await;
    let trouble = client.snapshot().await.unwrap().trouble.unwrap();
    assert!(trouble.message.starts_with("Drawbridge has not started."), "{trouble:?}");
    client.send(&Command::ShowWindow).await.unwrap();
    assert_eq!(handle.snapshot().window_wanted, 1);
    let typed = client.send(&Command::GateUnlock { passphrase: pass(RIGHT) }).await;
    assert!(matches!(typed, Err(ControlError::Refused(refused)) if refused.code == "window_only"));
    handle.send(Command::ReportTray { tray: TrayState::Shown }).await.unwrap();

    for wrong in ["another one", "a passphrase for test", "A passphrase for tests"] {
        assert_eq!(refusal(&handle, Command::GateUnlock { passphrase: pass(wrong) }).await.code, "wrong_passphrase");
        let shown = handle.snapshot();
        let gate = shown.gate.clone().unwrap();
        assert!(gate.problem.unwrap().contains("does not open"), "{shown:?}");
        assert!(!gate.busy && !format!("{shown:?}").contains(wrong), "{shown:?}");
        assert_eq!(fs::read(&secrets).unwrap(), sealed);
    }
    assert_eq!(refusal(&handle, Command::GateUnlock { passphrase: pass("") }).await.code, "no_passphrase");

    // The stop holds also for the engine that comes later.
    handle.send(Command::SetRaised { raised: true }).await.unwrap();
    assert!(handle.snapshot().raised && Settings::peek(&rig.state_dir()).raised);
    handle.send(Command::GateUnlock { passphrase: pass(RIGHT) }).await.unwrap();

    let shown = handle.snapshot();
    assert!(shown.gate.is_none() && shown.raised && shown.trouble.is_none(), "{shown:#?}");
    assert_eq!((shown.tray, shown.chats[0].folder.as_str()), (TrayState::Shown, folder.to_str().unwrap()));
    assert_eq!(refusal(&handle, Command::GateRetry).await.code, "no_gate");
    handle.send(Command::SetRaised { raised: false }).await.unwrap();
    until(&handle, |picture| picture.link.state == LinkState::Connected).await;
    // Also for those who had connected before.
    assert_eq!(client.snapshot().await.unwrap().link.state, LinkState::Connected);
    assert!(StateDir::open(&rig.state_dir()).unwrap().is_owned());

    handle.send(Command::Shutdown).await.unwrap();
    assert_eq!(begun.wait().await, ExitKind::Stopped);
    assert!(!StateDir::open(&rig.state_dir()).unwrap().is_owned());
    no_passphrase_in(&rig.state_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_cannot_be_read_is_set_aside_only_by_wish_and_old_grants_are_worthless() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::write(folder.join("a"), "a").unwrap();
    rig.ask(&chat, "FILE_READ", read(&folder.join("a"))).await.unwrap();
    rig.stop().await;
    let list = rig.state_dir().join("bindings.json");
    for (number, broken) in ["{\"v\":1,", "", "{\"v\":9,\"sessions\":{},\"more\":1}"].into_iter().enumerate() {
        fs::write(&list, broken).unwrap();
        let begun = gate_on(&rig, Some(RIGHT)).await;
        let handle = begun.handle();

        let gate = handle.snapshot().gate.clone().unwrap();
        assert_eq!((gate.kind, gate.can_set_aside), (GateKind::BrokenFile, true), "{gate:?}");
        assert!(gate.message.contains("bindings.json") && gate.path.unwrap().ends_with("bindings.json"));
        assert_eq!(refusal(&handle, Command::GateRetry).await.code, "still_there");
        assert_eq!(fs::read_to_string(&list).unwrap(), broken);

        assert_eq!(handle.send(Command::GateSetAside).await, Ok(Reply::Done));

        assert!(handle.snapshot().gate.is_none());
        let aside = rig.state_dir().join(format!("bindings.json.broken-{}", number + 1));
        assert_eq!(fs::read_to_string(aside).unwrap(), broken);
        assert!(fs::read_to_string(&list).unwrap().contains("\"all_revoked_at\":1"), "older grants are worthless");
        end(begun).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_of_secrets_and_then_the_log_without_its_key_are_set_aside_step_by_step() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.handle.send(Command::AuditRotate).await.unwrap();
    rig.stop().await;
    let secrets = rig.state_dir().join("secrets.enc");
    let whole = fs::read(&secrets).unwrap();
    fs::write(&secrets, &whole[..whole.len() / 2]).unwrap();
    let evidence = audit_files(&rig.state_dir());
    assert!(evidence.len() >= 3, "{evidence:?}");
    let begun = gate_on(&rig, Some(RIGHT)).await;
    let handle = begun.handle();
    let gate = handle.snapshot().gate.clone().unwrap();
    assert_eq!((gate.kind, gate.can_set_aside), (GateKind::BrokenFile, true), "{gate:?}");

    // The next obstacle shows itself, and is not cleared away by the same wish.
    assert_eq!(refusal(&handle, Command::GateSetAside).await.code, "broken_file");
    let gate = handle.snapshot().gate.clone().unwrap();
    assert!(gate.path.clone().unwrap().ends_with("audit.log") && gate.problem.is_none(), "{gate:?}");
    assert_eq!(fs::read(rig.state_dir().join("secrets.enc.broken-1")).unwrap(), &whole[..whole.len() / 2]);
    assert_eq!(audit_files(&rig.state_dir()), evidence);

    handle.send(Command::GateSetAside).await.unwrap();

    assert!(handle.snapshot().gate.is_none());
    assert_eq!(audit_files(&rig.state_dir().join("audit-aside-1")), evidence);
    end(begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_cannot_be_used_is_told_and_taken_as_soon_as_it_can() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.stop().await;
    let (state, away) = (rig.state_dir(), rig.state_dir().with_file_name("away"));
    fs::rename(&state, &away).unwrap();
    fs::write(&state, "a file").unwrap();
    let begun = gate_on(&rig, Some(RIGHT)).await;
    let handle = begun.handle();

    let gate = handle.snapshot().gate.clone().unwrap();
    assert_eq!((gate.kind, gate.can_set_aside), (GateKind::Other, false));
    assert!(gate.message.contains("state folder"), "{gate:?}");
    assert_eq!(refusal(&handle, Command::SetRaised { raised: true }).await.code, "not_stored");
    assert_eq!(refusal(&handle, Command::GateRetry).await.code, "still_there");
    assert_eq!(fs::read_to_string(&state).unwrap(), "a file");
    fs::remove_file(&state).unwrap();
    fs::rename(&away, &state).unwrap();
    handle.send(Command::GateRetry).await.unwrap();

    // The stop that could not be stored before is not forgotten.
    until(&handle, |picture| picture.gate.is_none() && picture.raised).await;
    assert!(client(&rig).await.snapshot().await.unwrap().raised);
    end(begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_read_is_read_again_at_each_attempt() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.stop().await;
    let (options, why) = (rig.options(), Arc::new(Mutex::new(Some("config.toml, line 3: there is no key `colour`"))));
    let (for_gate, its_why) = (options.clone(), why.clone());
    let prepare: Prepare = Arc::new(move || match *its_why.lock().unwrap() {
        Some(why) => Err(why.to_owned()),
        None => Ok(for_gate.clone()),
    });
    let begun = gate::begin(options.folders, prepare).await.unwrap();
    let handle = begun.handle();
    let gate = handle.snapshot().gate.clone().unwrap();
    assert!(gate.message.starts_with("Config.toml, line 3") && gate.kind == GateKind::Other, "{gate:?}");

    *why.lock().unwrap() = None;
    handle.send(Command::GateRetry).await.unwrap();

    until(&handle, |picture| picture.link.state == LinkState::Connected).await;
    end(begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_the_middle_of_an_attempt_leaves_no_engine_behind() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.stop().await;
    let begun = gate_on(&rig, None).await;
    let handle = begun.handle();
    let (unlock, trying) = (handle.clone(), Command::GateUnlock { passphrase: pass(RIGHT) });
    let unlocking = tokio::spawn(async move { unlock.send(trying).await });
    until(&handle, |picture| picture.gate.as_ref().is_none_or(|gate| gate.busy)).await;

    // Whether the engine is there already or not.
    handle.send(Command::Shutdown).await.unwrap();

    assert_eq!(begun.wait().await, ExitKind::Stopped);
    drop(unlocking.await.unwrap());
    assert!(!StateDir::open(&rig.state_dir()).unwrap().is_owned());
    rig.start_again().await;
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_one_attempt_runs_another_is_refused_and_the_stop_is_not() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.stop().await;
    let begun = gate_on(&rig, None).await;
    let handle = begun.handle();
    let (first, second) = (handle.clone(), handle.clone());

    // They reach the gate in this order, and deriving a key takes longer than reading the next command.
    let (unlocked, refused, raised) = tokio::join!(
        first.send(Command::GateUnlock { passphrase: pass(RIGHT) }),
        second.send(Command::GateUnlock { passphrase: pass(RIGHT) }),
        handle.send(Command::SetRaised { raised: true }),
    );

    assert_eq!((unlocked, raised), (Ok(Reply::Done), Ok(Reply::Done)));
    assert!(refused.is_err_and(|refused| ["busy", "no_gate"].contains(&refused.code.as_str())));
    until(&handle, |picture| picture.gate.is_none() && picture.raised).await;
    end(begun).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_can_start_is_simply_there() {
    let mut rig = Rig::start(Wish::headless().with_window().in_a_file()).await;
    rig.stop().await;

    let begun = gate_on(&rig, Some(RIGHT)).await;

    assert!(begun.handle().snapshot().gate.is_none());
    end(begun).await;
}

fn prepare(options: EngineOptions) -> Prepare {
    Arc::new(move || Ok(options.clone()))
}

/// Begins on the rig's folders; with this passphrase in the environment, so to say.
async fn gate_on(rig: &Rig, passphrase: Option<&str>) -> Begun {
    let options = EngineOptions { passphrase: passphrase.map(Into::into), ..rig.options() };
    gate::begin(options.folders.clone(), prepare(options)).await.unwrap()
}

async fn end(begun: Begun) {
    begun.handle().send(Command::Shutdown).await.unwrap();
    assert_eq!(begun.wait().await, ExitKind::Stopped);
}

async fn refusal(handle: &EngineHandle, command: Command) -> CommandError {
    handle.send(command).await.unwrap_err()
}

async fn client(rig: &Rig) -> Client {
    let socket = StateDir::open(&rig.state_dir()).unwrap().control_socket();
    loop {
        match Client::connect(&socket).await {
            Err(ControlError::NotRunning) => tokio::task::yield_now().await,
            other => return other.unwrap(),
        }
    }
}

fn pass(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned())
}

/// Names and contents of the files of the log.
fn audit_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| name.starts_with("audit") && !name.ends_with("lock"))
        .collect();
    found.sort();
    found
}

fn no_passphrase_in(folder: &Path) {
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).unwrap();
                let found = bytes.windows(RIGHT.len()).any(|part| part == RIGHT.as_bytes());
                assert!(!found, "{}", entry.path().display());
            }
        }
    }
}

/// A picture of a gate is small, and holds nothing that was typed.
#[test]
fn a_command_with_a_passphrase_shows_none() {
    let command = Command::GateNewFile { passphrase: pass(RIGHT) };
    assert_eq!(format!("{command:?}"), "GateNewFile { passphrase: Passphrase(..) }");
    assert!(Snapshot::default().gate.is_none());
}
