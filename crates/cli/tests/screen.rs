//! The screen on a machine without a window: asked for by a flag, found or refused, and told.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use drawbridge_testkit::display::Display;
use rig::{Rig, finish, said, text, within};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_asked_for_the_screen_and_finds_none_ends_with_78() {
    let rig = Rig::signed_in().await;
    for display in [None, Some(":9871")] {
        let mut command = rig.command(&["start", "--headless", "--enable-computer-use"]);
        command.envs(display.map(|display| ("DISPLAY", display)));
        let output = finish(command).await;
        assert_eq!(output.status.code(), Some(78), "{display:?}: {}", said(&output));
        assert!(said(&output).contains("computer use was asked for"), "{}", said(&output));
    }
    assert!(rig.script.frames(0).is_empty(), "nobody was dialled");
    let told: Vec<Value> = rig.audit().into_iter().filter(|record| record["op"] == "DAEMON_PREFLIGHT_FAILED").collect();
    assert_eq!(told.len(), 2);
    for record in told {
        assert_eq!((&record["result"]["ok"], &record["result"]["exit_code"]), (&json!(false), &json!(78)));
        assert_eq!(
            (&record["details"]["platform"], &record["details"]["missing_permissions"]),
            (&json!("linux"), &json!([]))
        );
        assert!(text(&record["details"]["hint"]).contains("desktop session"));
    }
    // The clipboard alone, and a switch that does nothing by itself, stop no start.
    let mut command = rig.command(&["start", "--headless", "--enable-clipboard-read-foreign"]);
    command.stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    within(rig.script.machine()).await;
    child.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_with_a_display_offers_it_and_says_that_it_is_used() {
    let mut display = Display::start(640, 480).unwrap();
    display.manage_windows().unwrap();
    let rig = Rig::signed_in().await;
    let mut command = rig.command(&["start", "--headless", "--enable-computer-use", "--enable-clipboard"]);
    command.env("DISPLAY", display.name()).stdout(std::process::Stdio::null()).stderr(rig.log());
    let child = command.spawn().unwrap();
    let machine = within(rig.script.machine()).await;
    let started = rig::Started { child, machine };

    let hello = rig.hello(&started.control());
    let coarse = hello["payload"]["computer_use_features_coarse"].as_array().unwrap();
    assert!(coarse.contains(&json!("screenshot")) && coarse.contains(&json!("clipboard")), "{coarse:?}");
    assert_eq!(hello["payload"]["screen_resolution"], json!([640, 480]));
    let (chat, _) = rig.chat_in(&started, "project").await;
    rig.ask(&chat, "SCREENSHOT_REQUEST", json!({})).await.unwrap();

    // The picture that the engine publishes may be a moment behind its answer.
    let used = format!("screen: in use by {chat}, 1 picture, 0 acts");
    let status = within(async {
        loop {
            let status = rig.expect(0, &["status"]).await;
            if status.contains(&used) {
                break status;
            }
        }
    });
    let status = status.await;
    assert!(status.contains("computer_use allowed") && status.contains("clipboard allowed"), "{status}");
    let status: Value = serde_json::from_str(&rig.expect(0, &["status", "--json"]).await).unwrap();
    assert_eq!(status["screen"]["in_use"]["session_id"], json!(chat));
    // The engine says what it sees, also to a check-up that has no display of its own.
    let doctor = rig.expect(0, &["doctor"]).await;
    assert!(doctor.contains("OK    computer_use") && doctor.contains("OK    clipboard"), "{doctor}");
    let record = rig.audit().into_iter().find(|record| record["op"] == "SCREENSHOT_REQUEST").unwrap();
    assert_eq!((&record["result"]["ok"], &record["details"]["width"]), (&json!(true), &json!(640)));
    assert_eq!(started.stop().await, Some(0));
    assert!(rig.script.faults().is_empty(), "{:?}", rig.script.faults());
}
