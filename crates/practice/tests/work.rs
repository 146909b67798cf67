//! Folders, chats and requests: what the platform asks of a machine, how long it waits and what it makes of the answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm, missing_docs)]

mod machine;

use drawbridge_practice::{Clocks, Failure, Scope};
use machine::*;
use serde_json::{Value, json};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(30);

fn control() -> Scope {
    Scope::Control("m1".to_owned())
}

fn chat() -> Scope {
    Scope::Data("c1".to_owned())
}

#[tokio::test]
async fn activating_a_chat_waits_for_its_data_socket() {
    let p = platform().await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    attach(&p, &mut ws, "c1").await;

    let script = p.script();
    let activating = ask(async move { script.activate("c1").await });
    let asked = answer(&mut ws, "SESSION_ACTIVATED", activated("c1")).await;
    assert_eq!(asked["payload"], json!({"session_id": "c1", "revision": 1}));
    let _data = data(&p, &access, "c1").await;

    assert_eq!(activating.await.unwrap().unwrap(), activated("c1"));
    assert!(p.script().faults().is_empty());
}

#[tokio::test]
async fn activating_without_a_data_socket_times_out() {
    let p = with(Clocks { data_socket: SHORT, ..Clocks::default() }).await;
    let mut ws = up(&p, &access(&p).await).await;
    attach(&p, &mut ws, "c1").await;

    let script = p.script();
    let activating = ask(async move { script.activate("c1").await });
    answer(&mut ws, "SESSION_ACTIVATED", activated("c1")).await;

    assert_eq!(activating.await.unwrap(), Err(Failure::TimedOut));
}

#[tokio::test]
async fn a_restore_must_repeat_the_stored_record() {
    let p = platform().await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    attach(&p, &mut ws, "c1").await;
    for (key, value) in [
        ("allowed_root", json!("/home/ann/Work")),
        ("fingerprint", json!("b".repeat(64))),
        ("revision", json!(2)),
        ("root_grant", json!("v1.a.c")),
    ] {
        let script = p.script();
        let restoring = ask(async move { script.restore("c1").await });
        let mut other = record("c1");
        other[key] = value;
        let asked = answer(&mut ws, "SESSION_RESTORED", other).await;
        assert_eq!(asked["payload"], json!({"session_id": "c1", "root_grant": "v1.a.b"}));
        assert!(matches!(restoring.await.unwrap(), Err(Failure::Mismatch { .. })), "{key}");
        assert_eq!(p.script().faults().last().unwrap().kind, "record_mismatch", "{key}");
    }

    let script = p.script();
    let restoring = ask(async move { script.restore("c1").await });
    answer(&mut ws, "SESSION_RESTORED", record("c1")).await;
    let _data = data(&p, &access, "c1").await;
    assert_eq!(restoring.await.unwrap().unwrap(), record("c1"));
}

#[tokio::test]
async fn a_detached_chat_keeps_its_grant_for_a_later_restore() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    attach(&p, &mut ws, "c1").await;

    let script = p.script();
    let detaching = ask(async move { script.detach("c1").await });
    answer(&mut ws, "ACK", json!({})).await;

    assert_eq!(detaching.await.unwrap().unwrap().kind, "ACK");
    assert_eq!(p.script().chat("c1").unwrap().grant, Some(record("c1")));
}

#[tokio::test]
async fn each_kind_of_request_has_its_own_clock() {
    let p = with(Clocks { data: SHORT, detach: SHORT, ..Clocks::default() }).await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    attach(&p, &mut ws, "c1").await;
    let mut data = data(&p, &access, "c1").await;

    assert_eq!(p.script().detach("c1").await, Err(Failure::TimedOut));
    assert_eq!(p.script().request(&chat(), "FILE_STAT", json!({}), None).await, Err(Failure::TimedOut));
    let browsing = p.script().request(&control(), "DIRECTORY_LIST_REQUEST", json!({}), Some(SHORT)).await;
    assert_eq!(browsing, Err(Failure::TimedOut));

    // A late answer is still one that was asked for.
    answer(&mut data, "FILE_STAT_RESPONSE", json!({"exists": false})).await;
    p.script().frame(0, |f| f.from_machine && f.kind == "FILE_STAT_RESPONSE").await;
    assert!(p.script().faults().is_empty());
}

#[tokio::test]
async fn nothing_is_sent_while_the_last_capacity_was_none() {
    let p = with(Clocks { capacity: SHORT, ..Clocks::default() }).await;
    let access = access(&p).await;
    p.script().new_chat(Some("c1"));
    let mut data = data(&p, &access, "c1").await;
    let status =
        |free: u64| json!({"type": "STATUS", "id": "s", "payload": {"pending_capacity": free, "queue_depth": 3}});

    say(&mut data, &status(0)).await;
    p.script().frame(0, |f| f.kind == "STATUS").await;
    let state = p.script().state(0, 0);
    assert_eq!(state["links"][0]["status"]["queue_depth"], 3);
    assert_eq!(state["links"][0]["capacity"], 0);
    assert_eq!(p.script().request(&chat(), "FILE_LIST", json!({}), None).await, Err(Failure::Overloaded));

    say(&mut data, &status(4)).await;
    let script = p.script();
    script.frame(0, |f| f.text.contains("\"pending_capacity\":4")).await;
    let asking = ask(async move { script.request(&chat(), "FILE_LIST", json!({}), None).await });
    assert_eq!(answer(&mut data, "FILE_LIST_RESPONSE", json!({})).await["type"], "FILE_LIST");
    asking.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_257th_open_request_is_refused() {
    let p = platform().await;
    let access = access(&p).await;
    p.script().new_chat(Some("c1"));
    let mut data = data(&p, &access, "c1").await;
    let asking: Vec<_> = (0..256)
        .map(|_| {
            let script = p.script();
            ask(async move { script.request(&chat(), "FILE_MOVE", json!({}), None).await })
        })
        .collect();
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..256 {
        ids.insert(hear(&mut data).await["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), 256);

    assert_eq!(p.script().request(&chat(), "FILE_MOVE", json!({}), None).await, Err(Failure::Overloaded));

    p.script().cut(&chat()).unwrap();
    for each in asking {
        assert_eq!(each.await.unwrap(), Err(Failure::Disconnected));
    }
}

#[tokio::test]
async fn a_read_is_sent_again_after_a_reconnect_and_a_command_is_not() {
    let p = platform().await;
    let access = access(&p).await;
    p.script().new_chat(Some("c1"));
    let mut first = data(&p, &access, "c1").await;
    let (script, other) = (p.script(), p.script());
    let reading = ask(async move { script.request(&chat(), "FILE_READ", json!({"path": "a"}), None).await });
    let asked = hear(&mut first).await;
    let command = ask(async move { other.request(&chat(), "EXECUTE_COMMAND", json!({}), None).await });
    assert_eq!(hear(&mut first).await["type"], "EXECUTE_COMMAND");
    p.script().cut(&chat()).unwrap();
    assert_eq!(command.await.unwrap(), Err(Failure::Disconnected));

    let mut second = data(&p, &access, "c1").await;
    let again = answer(&mut second, "FILE_CONTENTS", json!({"content": "x"})).await;

    assert_eq!(again["payload"], asked["payload"]);
    assert_ne!(again["id"], asked["id"]);
    assert!(reading.await.unwrap().unwrap().retried);
}

#[tokio::test]
async fn a_read_is_given_up_when_the_socket_stays_away() {
    let p = with(Clocks { reconnect: SHORT, ..Clocks::default() }).await;
    let access = access(&p).await;
    p.script().new_chat(Some("c1"));
    let mut data = data(&p, &access, "c1").await;
    let script = p.script();
    let reading = ask(async move { script.request(&chat(), "FILE_READ", json!({}), None).await });
    hear(&mut data).await;
    p.script().cut(&chat()).unwrap();
    assert_eq!(reading.await.unwrap(), Err(Failure::Disconnected));
}

#[tokio::test]
async fn an_operation_restores_a_chat_whose_socket_is_gone() {
    let p = platform().await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    attach(&p, &mut ws, "c1").await;

    let script = p.script();
    let working = ask(async move { script.operate("c1", "FILE_DELETE", json!({"path": "a"}), None).await });
    assert_eq!(answer(&mut ws, "SESSION_RESTORED", record("c1")).await["type"], "RESTORE_SESSION");
    let mut socket = data(&p, &access, "c1").await;
    answer(&mut socket, "ACK", json!({})).await;
    assert!(working.await.unwrap().unwrap().restored);

    let script = p.script();
    let working = ask(async move { script.operate("c1", "FILE_DELETE", json!({"path": "a"}), None).await });
    answer(&mut socket, "ACK", json!({})).await;
    assert!(!working.await.unwrap().unwrap().restored);

    p.script().new_chat(Some("empty"));
    let none = p.script().operate("empty", "FILE_READ", json!({}), None).await;
    assert!(matches!(none, Err(Failure::Unknown { .. })));
}

#[tokio::test]
async fn pages_of_folders_out_of_bounds_are_refused() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    let folder = |name: &str| json!({"directory_ref": "d", "name": name, "path": "/home"});
    let cases = [
        ("browse_id", json!("")),
        ("browse_id", json!("x".repeat(257))),
        ("parent_ref", json!(3)),
        ("next_cursor", json!("")),
        ("current", json!({"directory_ref": "d", "name": "", "path": "/"})),
        ("entries", json!({})),
        ("entries", Value::Array(vec![folder("a"); 201])),
        ("entries", json!([folder(&"n".repeat(1025))])),
        ("truncated", json!("no")),
        ("expires_at", Value::Null),
    ];
    for (key, value) in cases {
        let script = p.script();
        let browsing = ask(async move { script.browse("m1", None, None).await });
        let mut page = roots();
        page[key] = value;
        answer(&mut ws, "DIRECTORY_LIST_RESPONSE", page).await;
        assert!(matches!(browsing.await.unwrap(), Err(Failure::Mismatch { .. })), "{key}");
        assert_eq!(p.script().faults().last().unwrap().kind, "bounds", "{key}");
    }
    p.script().clear_faults();

    let script = p.script();
    let browsing = ask(async move { script.browse("m1", None, None).await });
    let mut page = roots();
    page["entries"] = Value::Array(vec![folder(&"n".repeat(1024)); 200]);
    page["hint"] = json!("extra");
    answer(&mut ws, "DIRECTORY_LIST_RESPONSE", page).await;
    assert_eq!(browsing.await.unwrap().unwrap()["entries"].as_array().unwrap().len(), 200);
    assert_eq!(p.script().faults()[0].kind, "extra_key");
}

#[tokio::test]
async fn a_record_out_of_bounds_attaches_nothing() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    for (key, value) in [
        ("session_id", json!("c2")),
        ("allowed_root", json!("")),
        ("fingerprint", json!("A".repeat(64))),
        ("revision", json!(0)),
        ("root_grant", json!("x".repeat(131_073))),
    ] {
        let (script, id) = (p.script(), p.script().new_chat(Some("c1")));
        let attaching = ask(async move { script.attach("m1", &id, "b", "d").await });
        let mut wrong = record("c1");
        wrong[key] = value;
        answer(&mut ws, "SESSION_ATTACHED", wrong).await;
        assert!(matches!(attaching.await.unwrap(), Err(Failure::Mismatch { .. })), "{key}");
        assert_eq!(p.script().chat("c1").unwrap().grant, None, "{key}");
    }
}

#[tokio::test]
async fn an_answer_of_another_type_costs_the_connection() {
    let p = platform().await;
    let access = access(&p).await;
    p.script().new_chat(Some("c1"));
    let mut data = data(&p, &access, "c1").await;
    let script = p.script();
    let asking = ask(async move { script.request(&chat(), "FILE_WRITE", json!({}), None).await });
    answer(&mut data, "FILE_CONTENTS", json!({})).await;
    assert_eq!(asking.await.unwrap(), Err(Failure::Disconnected));
    assert_eq!(hear(&mut data).await["close"], 1008);
    assert_eq!(p.script().faults()[0].kind, "wrong_type");
}
