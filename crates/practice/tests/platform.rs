//! The platform's own checks, seen by a bare client over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm, missing_docs)]

mod machine;

use drawbridge_practice::{Clocks, ConsentMode, Failure, Practice, PracticeOptions, Refusal, Scope, Switches};
use machine::*;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_code_is_used_once_and_needs_its_verifier() {
    let p = platform().await;
    let mut wrong = exchange(&code(&p).await);
    wrong["code_verifier"] = json!("x".repeat(50));
    assert_eq!(token(&p, wrong).await.0, 400);
    let right = exchange(&code(&p).await);
    assert_eq!(token(&p, right.clone()).await.0, 200);
    assert_eq!(token(&p, right).await.0, 400);
}

#[tokio::test]
async fn an_old_refresh_token_ends_the_family_and_its_sockets() {
    let p = platform().await;
    let first = signed_in(&p).await;
    let mut ws = up(&p, first["access_token"].as_str().unwrap()).await;
    let (status, second) = token(&p, refresh(&first["refresh_token"])).await;
    assert_eq!(status, 200);
    assert_eq!(token(&p, refresh(&first["refresh_token"])).await.0, 400);
    assert_eq!(hear(&mut ws).await["payload"]["reason"], "user_revoked");
    assert_eq!(hear(&mut ws).await["close"], 4428);
    assert_eq!(token(&p, refresh(&second["refresh_token"])).await.0, 400);
}

#[tokio::test]
async fn upgrades_are_refused_by_token_chat_and_script() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    assert_eq!(dial(&p, "", "nonsense").await.unwrap_err(), 401);
    assert_eq!(dial(&p, "/no-such-chat", &access).await.unwrap_err(), 403);
    p.script().switches(Switches {
        refuse_upgrade: Some(Refusal { status: 429, times: 1, retry_after: Some(7) }),
        ..Switches::default()
    });
    assert_eq!(dial(&p, "", &access).await.unwrap_err(), 429);
    up(&p, &access).await;
}

#[tokio::test]
async fn each_wrong_hello_is_closed_with_its_code() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut cases = vec![(json!("not an object"), 4400), (json!({"type": "PONG", "id": "1", "payload": {}}), 4400)];
    for (key, value, code) in [
        ("allowed_root", json!("/x"), 4400),
        ("arch", json!("vax"), 4400),
        ("protocol_version", json!("2.0"), 4426),
        ("protocol_version", json!("1.0"), 4426),
        ("capabilities", json!(["files"]), 4426),
        ("shim_version", json!("x".repeat(70_000)), 4400),
    ] {
        let mut frame = hello();
        frame["payload"][key] = value;
        cases.push((frame, code));
    }
    for (frame, code) in cases {
        let mut ws = dial(&p, "", &access).await.unwrap();
        say(&mut ws, &frame).await;
        assert_eq!(hear(&mut ws).await["close"], code, "{}", frame.to_string().chars().take(200).collect::<String>());
    }
}

#[tokio::test]
async fn silence_instead_of_hello_is_closed_with_4408() {
    let clocks = Clocks { hello: Duration::from_millis(20), ..Clocks::default() };
    let p = Practice::start(PracticeOptions { clocks, consent: ConsentMode::Allow, ..PracticeOptions::default() })
        .await
        .unwrap();
    let mut ws = dial(&p, "", signed_in(&p).await["access_token"].as_str().unwrap()).await.unwrap();
    assert_eq!(hear(&mut ws).await["close"], 4408);
}

#[tokio::test]
async fn the_older_connection_of_a_machine_is_evicted() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut old = up(&p, &access).await;
    let _new = up(&p, &access).await;
    assert_eq!(hear(&mut old).await["payload"]["reason"], "another_shim_connected");
    assert_eq!(hear(&mut old).await["close"], 4427);
}

#[tokio::test]
async fn an_answer_is_matched_and_a_second_one_is_a_fault() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    let script = p.script();
    let machine = script.machine().await;
    let asking = tokio::spawn(async move { script.browse(&machine, None, None).await });
    let asked = hear(&mut ws).await;
    let answer =
        json!({"type": "DIRECTORY_LIST_RESPONSE", "id": asked["id"], "payload": roots(), "pending_capacity": 4});
    say(&mut ws, &answer).await;
    assert_eq!(asking.await.unwrap().unwrap()["entries"], json!([]));
    assert!(p.script().faults().is_empty());
    say(&mut ws, &answer).await;
    p.script().connected(&Scope::Control("m1".to_owned()), false).await;
    assert_eq!(p.script().faults()[0].kind, "stray_response");
}

#[tokio::test]
async fn a_wrong_capacity_is_a_fault() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    let script = p.script();
    let asking = tokio::spawn(async move { script.browse("m1", None, None).await });
    let asked = hear(&mut ws).await;
    say(
        &mut ws,
        &json!({"type": "ERROR", "id": asked["id"], "payload": {"code": "INTERNAL_ERROR"}, "pending_capacity": 3}),
    )
    .await;
    assert!(matches!(asking.await.unwrap(), Err(Failure::Refused { .. })));
    p.script().machine().await;
    assert_eq!(p.script().faults().iter().filter(|f| f.kind == "capacity").count(), 1);
}

#[tokio::test]
async fn expired_tokens_close_sockets_with_4401() {
    let p = platform().await;
    let mut ws = up(&p, signed_in(&p).await["access_token"].as_str().unwrap()).await;
    p.script().expire_access_tokens();
    assert_eq!(hear(&mut ws).await["close"], 4401);
}

#[tokio::test]
async fn foreign_pages_and_calls_without_the_token_are_refused() {
    let p = platform().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = || http.post(format!("{}/api/practice/chat", p.base_url())).body("{}");
    assert_eq!(call().send().await.unwrap().status(), 401);
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let answer = call().header("origin", origin).header("x-practice-token", p.api_token()).send().await.unwrap();
        assert_eq!(answer.status(), 403, "{origin}");
    }
    assert_eq!(
        call().header("host", "evil.example").header("x-practice-token", p.api_token()).send().await.unwrap().status(),
        403
    );
    assert_eq!(call().header("x-practice-token", p.api_token()).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_data_socket_must_name_the_folder_of_the_grant() {
    let p = platform().await;
    let access = signed_in(&p).await["access_token"].as_str().unwrap().to_owned();
    let mut ws = up(&p, &access).await;
    let chat = p.script().new_chat(Some("chat-1"));
    let script = p.script();
    let attaching = tokio::spawn(async move { script.attach("m1", &chat, "b", "d").await });
    let asked = hear(&mut ws).await;
    let record = json!({"session_id": "chat-1", "allowed_root": "/home/ann/work", "fingerprint": "a".repeat(64), "revision": 1, "root_grant": "v1.a.b"});
    say(&mut ws, &json!({"type": "SESSION_ATTACHED", "id": asked["id"], "payload": record, "pending_capacity": 4}))
        .await;
    attaching.await.unwrap().unwrap();
    let mut frame = hello();
    frame["payload"]["allowed_root"] = json!("/home/ann/other");
    let mut data = dial(&p, "/chat-1", &access).await.unwrap();
    say(&mut data, &frame).await;
    assert_eq!(hear(&mut data).await["close"], 4403);
    assert_eq!(p.script().faults()[0].kind, "root_mismatch");
    frame["payload"]["allowed_root"] = json!("/home/ann/work");
    let mut data = dial(&p, "/chat-1", &access).await.unwrap();
    say(&mut data, &frame).await;
    assert_eq!(hear(&mut data).await["payload"]["session_id"], "chat-1");
}
