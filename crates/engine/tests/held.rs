//! What an agent holds down is let go with a raise and with the end of its chat. This program is also the watchdog of what it holds,
//! as the real ones are, so it has a `main` of its own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::time::{Duration, Instant};

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::Command;
use drawbridge_engine::view::LinkState;
use drawbridge_os::seat::Seat;
use drawbridge_testkit::display::Display;
use drawbridge_testkit::scenarios;
use rig::{Rig, Wish};
use serde_json::json;

scenarios! {
    first: drawbridge_os::helper::run_if_asked;
    what_is_held_down_is_let_go_with_a_raise_and_with_the_end_of_a_chat,
    the_end_of_a_chat_takes_nothing_out_of_the_hand_of_another,
}

fn what_is_held_down_is_let_go_with_a_raise_and_with_the_end_of_a_chat() {
    tokio::runtime::Runtime::new().unwrap().block_on(let_go());
}

fn the_end_of_a_chat_takes_nothing_out_of_the_hand_of_another() {
    tokio::runtime::Runtime::new().unwrap().block_on(hand_of_another());
}

async fn hand_of_another() {
    let mut display = Display::start(640, 480).unwrap();
    display.manage_windows().unwrap();
    let wish = Wish::headless().on(Seat::x11(display.name())).with(Power::ComputerUse, PowerMode::Allowed);
    let rig = Rig::start(wish).await;
    let (ends, _) = rig.chat_in("ends").await;
    let (stays, _) = rig.chat_in("stays").await;
    let mut window = display.record(&["--plain", "--at", "0,0", "--size", "400,300"]).unwrap();
    rig.ask(&ends, "INPUT_ACTION", json!({"action": "mouse_move", "coordinate": [50, 60]})).await.unwrap();

    let held = Duration::from_millis(1500);
    let began = Instant::now();
    let hold = json!({"action": "drag", "path": [[20, 20], [200, 200]], "duration_ms": held.as_millis()});
    let (dragged, ()) = tokio::join!(rig.ask(&stays, "INPUT_ACTION", hold), async {
        tokio::time::sleep(held / 3).await;
        rig.handle.send(Command::Detach { session_id: ends.clone() }).await.unwrap();
    });

    dragged.unwrap();
    assert!(began.elapsed() >= held);
    let seen = window.until(|event| event["event"] == "button_up").unwrap();
    let up = seen.last().unwrap();
    assert_eq!((&up["x"], &up["y"]), (&json!(200), &json!(200)), "{up}");
    rig.assert_no_faults();
}

async fn let_go() {
    let mut display = Display::start(640, 480).unwrap();
    display.manage_windows().unwrap();
    let wish = Wish::headless().on(Seat::x11(display.name())).with(Power::ComputerUse, PowerMode::Allowed);
    let rig = Rig::start(wish).await;
    let (chat, _) = rig.chat_in("project").await;
    let mut window = display.record(&["--plain", "--at", "0,0", "--size", "400,300"]).unwrap();
    let down = json!({"action": "mouse_down", "coordinate": [50, 60]});

    rig.ask(&chat, "INPUT_ACTION", down.clone()).await.unwrap();
    window.until(|event| event["event"] == "button").unwrap();
    let used = rig.until(|picture| picture.screen.in_use.as_ref().is_some_and(|used| used.acts == 1)).await;
    assert_eq!(used.screen.in_use.unwrap().pictures, 0);
    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    let seen = window.until(|event| event["event"] == "button_up").unwrap();
    assert_eq!(seen.last().unwrap()["number"], 1);

    rig.handle.send(Command::SetRaised { raised: false }).await.unwrap();
    rig.until(|picture| picture.link.state == LinkState::Connected).await;
    let (chat, _) = rig.chat_in("another").await;
    rig.ask(&chat, "INPUT_ACTION", down).await.unwrap();
    window.until(|event| event["event"] == "button").unwrap();
    rig.handle.send(Command::Detach { session_id: chat }).await.unwrap();
    window.until(|event| event["event"] == "button_up").unwrap();
    rig.assert_no_faults();
}
