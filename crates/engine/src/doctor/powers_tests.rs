use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;
use crate::doctor::tests::Rig;

fn keys(found: &[Finding]) -> Vec<(&str, FindingState)> {
    found.iter().map(|one| (one.key.as_str(), one.state)).collect()
}

#[tokio::test]
async fn folders_to_look_in_are_tried_one_by_one() {
    let rig = Rig::new();
    let there = rig.home.path().join("there");
    std::fs::create_dir(&there).unwrap();
    let config = format!("[browse]\nroots = [{there:?}, {:?}]\n", rig.home.path().join("gone"));

    let found = browse_roots(&Arc::new(rig.input(&config))).await;

    assert_eq!(keys(&found), [("browse_fine", FindingState::Ok), ("browse_missing", FindingState::Warn)]);
    assert!(found[1].fix.is_some());
    assert_eq!(found[1].params["path"], rig.home.path().join("gone").display().to_string());
}

#[tokio::test]
async fn no_folder_at_all_is_not_the_usual_ones() {
    let rig = Rig::new();

    let none = browse_roots(&Arc::new(rig.input("[browse]\nroots = []\n"))).await;
    let usual = browse_roots(&Arc::new(rig.input(""))).await;

    assert_eq!(keys(&none), [("browse_nowhere", FindingState::Warn)]);
    assert_eq!(keys(&usual), [("browse_usual", FindingState::Ok)]);
}

#[test]
fn without_bubblewrap_the_layer_is_named_and_what_it_costs() {
    let gone = Path::new("/nowhere/bwrap");

    let found = walls(gone, true);
    let unwanted = walls(gone, false);

    assert!(found[0].key.starts_with("bubblewrap_"), "{found:?}");
    assert_eq!((found[0].state, found[3].state), (FindingState::Fail, FindingState::Fail));
    assert_eq!((found[1].key.as_str(), found[3].key.as_str()), ("name_spaces_untried", "confinement_missing"));
    assert_eq!((unwanted[0].state, unwanted[3].state), (FindingState::Warn, FindingState::Warn));
    if let Some(command) = install_command("bubblewrap") {
        assert_eq!(found[0].action.as_deref(), Some("copy_install_bubblewrap"));
        assert!(found[0].fix.as_ref().unwrap().ends_with(&command));
    }
}

#[test]
fn a_bubblewrap_that_is_refused_name_spaces_is_told_from_one_that_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let refusing = dir.path().join("bwrap");
    let script = "#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n";
    std::fs::write(&refusing, script).unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(&mut refusing.metadata().unwrap().permissions(), 0o755);
    std::fs::set_permissions(&refusing, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let found = walls(&refusing, false);

    assert_eq!(keys(&found)[..2], [("bubblewrap_fine", FindingState::Ok), ("name_spaces_refused", FindingState::Warn)]);
    assert!(found[1].text.contains("No permissions to create new namespace"));
}

#[test]
fn shells_are_those_of_the_path() {
    let rig = Rig::new();
    let mut input = rig.input("");

    input.environment.insert("PATH".to_owned(), rig.home.path().into());
    assert_eq!(keys(&shells(&input)), [("shells_none", FindingState::Warn)]);
    input.environment.insert("PATH".to_owned(), "/usr/bin:/bin".into());
    assert_eq!(keys(&shells(&input)), [("shells_found", FindingState::Ok)]);
}

#[test]
fn a_permission_matters_where_the_screen_was_asked_for() {
    use PermissionState::{Denied, Granted, NotApplicable, Stale};

    assert_eq!(
        keys(&permission_findings(NotApplicable, NotApplicable, true)),
        [("permissions_none", FindingState::Info)]
    );
    assert_eq!(
        keys(&permission_findings(Stale, Granted, true)),
        [("screen_stale", FindingState::Fail), ("accessibility_granted", FindingState::Ok)]
    );
    assert_eq!(
        keys(&permission_findings(Denied, Denied, false)),
        [("screen_denied", FindingState::Info), ("accessibility_denied", FindingState::Info)]
    );
}

/// Answers one question with these words, and returns what was asked.
fn server(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut visitor, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        let mut part = [0_u8; 1024];
        while !asked.ends_with(b"\r\n\r\n") {
            let count = visitor.read(&mut part).unwrap();
            assert!(count > 0, "the question ended early");
            asked.extend_from_slice(&part[..count]);
        }
        visitor.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(asked).unwrap()
    });
    (url, thread)
}

#[tokio::test]
async fn a_model_server_that_answers_tells_its_version() {
    let rig = Rig::new();
    let (url, asked) = server("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"version\":\"0.9.1\"}");

    let found = local_model(&rig.input(&format!("enable_local_llm = true\nollama_url = \"{url}\"\n"))).await;

    assert_eq!(keys(&found), [("model_there", FindingState::Ok)]);
    assert_eq!(found[0].params["version"], "0.9.1");
    assert!(asked.join().unwrap().starts_with("GET /api/version HTTP/1.0\r\n"));
}

#[tokio::test]
async fn something_else_on_its_port_is_no_model_server_and_nothing_hidden_is_shown() {
    let rig = Rig::new();
    for (answer, why) in [
        ("HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
        ("HTTP/1.1 200 OK\r\n\r\n<html>", "no JSON"),
        ("HTTP/1.1 200 OK\r\n\r\n{}", "names no version"),
        ("SSH-2.0-x\r\n", "no HTTP"),
    ] {
        let (url, asked) = server(answer);
        let found = local_model(&rig.input(&format!("enable_local_llm = true\nollama_url = \"{url}\"\n"))).await;

        assert_eq!(keys(&found), [("model_missing", FindingState::Warn)], "{answer}");
        assert!(found[0].text.contains(why), "{}", found[0].text);
        asked.join().unwrap();
    }
    let hidden = read_version("HTTP/1.1 200 OK\r\n\r\n{\"version\":\"1\\u202e2\"}".as_bytes()).unwrap();
    let shown = Finding::ok("local_model_server", &words::MODEL_THERE, &[("url", &"x"), ("version", &hidden)]);
    assert!(!shown.text.contains('\u{202e}') && !shown.params["version"].contains('\u{202e}'));
}

#[tokio::test]
async fn a_model_server_elsewhere_is_never_asked_and_one_nobody_wants_neither() {
    let rig = Rig::new();

    let far = local_model(&rig.input("enable_local_llm = true\nollama_url = \"http://192.0.2.1:11434\"\n")).await;
    let unwanted = local_model(&rig.input("ollama_url = \"http://192.0.2.1:11434\"\n")).await;

    assert_eq!(keys(&far), [("model_far", FindingState::Warn)]);
    assert_eq!(unwanted, []);
}

#[test]
fn what_this_version_lacks_is_said_where_it_was_asked_for() {
    let rig = Rig::new();

    let found = not_built(&rig.input("enable_local_llm = true\nenable_hardware = true\n"));

    let checks: Vec<(&str, FindingState)> = found.iter().map(|one| (one.check.as_str(), one.state)).collect();
    assert_eq!(checks, [("local_model", FindingState::Warn), ("hardware", FindingState::Warn)]);
    assert_eq!(not_built(&rig.input("enable_computer_use = true\nenable_clipboard = true\n")), []);
}
