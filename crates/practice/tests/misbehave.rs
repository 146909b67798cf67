//! Every way the platform can be made to misbehave, and every way a socket ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::wildcard_enum_match_arm, missing_docs)]

mod machine;

use drawbridge_practice::{Clocks, Failure, Refusal, Scope, Switches};
use futures_util::{SinkExt as _, StreamExt as _};
use machine::*;
use serde_json::json;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

const SHORT: Duration = Duration::from_millis(30);

fn control() -> Scope {
    Scope::Control("m1".to_owned())
}

/// Whether the connection ended without a close frame.
async fn broke(ws: &mut Ws) -> bool {
    loop {
        match ws.next().await {
            Some(Ok(Message::Close(_))) => return false,
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return true,
        }
    }
}

#[tokio::test]
async fn the_script_closes_at_each_step_of_a_connection() {
    let p = platform().await;
    let access = access(&p).await;
    let script = p.script();

    script.switches(Switches { close_on_accept: Some(4500), ..Switches::default() });
    assert_eq!(hear(&mut dial(&p, "", &access).await.unwrap()).await["close"], 4500);

    script.switches(Switches { close_on_hello: Some(4403), ..Switches::default() });
    let mut ws = dial(&p, "", &access).await.unwrap();
    say(&mut ws, &hello()).await;
    assert_eq!(hear(&mut ws).await["close"], 4403);

    script.switches(Switches::default());
    let mut ws = up(&p, &access).await;
    script.close(&control(), 4500, "Internal error").unwrap();
    assert_eq!(hear(&mut ws).await["close"], 4500);
    script.connected(&control(), false).await;

    let mut ws = up(&p, &access).await;
    let asking = script.clone();
    let asking = ask(async move { asking.browse("m1", None, None).await });
    hear(&mut ws).await;
    script.close(&control(), 1011, "").unwrap();
    assert_eq!(asking.await.unwrap(), Err(Failure::Disconnected));
    assert_eq!(hear(&mut ws).await["close"], 1011);

    let nobody = script.close(&control(), 4500, "");
    assert_eq!(nobody, Err(Failure::NotConnected));
    let ws = up(&p, &access).await;
    assert!(matches!(script.close(&control(), 999, ""), Err(Failure::Unknown { .. })));
    drop(ws);
}

#[tokio::test]
async fn a_hello_can_be_left_unanswered() {
    let p = platform().await;
    let access = access(&p).await;
    p.script().switches(Switches { ignore_hello: true, ..Switches::default() });
    let mut ws = dial(&p, "", &access).await.unwrap();
    say(&mut ws, &hello()).await;
    p.script().frame(0, |f| f.kind == "HELLO" && f.scope == control()).await;
    ws.close(None).await.unwrap();
    while let Some(Ok(message)) = ws.next().await {
        assert!(message.is_close());
    }
    assert!(p.script().frames(0).iter().all(|f| f.from_machine));
}

#[tokio::test]
async fn the_acknowledgement_can_be_bent_or_replaced() {
    let p = platform().await;
    let access = access(&p).await;
    p.script().switches(Switches {
        ack_payload: json!({"max_concurrent": 1, "session_id": "other", "connection_id": null}),
        ack_envelope: json!({"id": "not-yours", "version": "9.0"}),
        ..Switches::default()
    });
    let mut ws = dial(&p, "", &access).await.unwrap();
    say(&mut ws, &hello()).await;
    let ack = hear(&mut ws).await;
    assert_eq!((&ack["id"], &ack["version"]), (&json!("not-yours"), &json!("9.0")));
    assert_eq!(ack["payload"]["session_id"], "other");
    assert_eq!(ack["payload"]["connection_id"], json!(null));
    assert_eq!(p.script().state(0, 0)["links"][0]["max_concurrent"], 1);

    p.script().switches(Switches { ack_raw: Some("{\"type\":".to_owned()), ..Switches::default() });
    let mut ws = dial(&p, "", &access).await.unwrap();
    say(&mut ws, &hello()).await;
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::text("{\"type\":"));
}

#[tokio::test]
async fn token_requests_can_be_refused_or_need_json() {
    let p = platform().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/api/oauth/token", p.base_url());
    p.script().switches(Switches {
        refuse_token: Some(Refusal { status: 503, times: 1, retry_after: Some(9) }),
        json_only: true,
        ..Switches::default()
    });
    let mut body = exchange(&code(&p).await);

    let busy = http.post(&url).form(&body).send().await.unwrap();
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (503, "9"));
    assert_eq!(http.post(&url).form(&body).send().await.unwrap().status(), 422);
    assert_eq!(http.post(&url).json(&body).send().await.unwrap().status(), 422);
    body["client_secret"] = json!("");
    assert_eq!(http.post(&url).json(&body).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn revoking_over_http_ends_the_sockets_of_the_family() {
    let p = platform().await;
    let tokens = signed_in(&p).await;
    let mut ws = up(&p, tokens["access_token"].as_str().unwrap()).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let revoke = |body: serde_json::Value| http.post(format!("{}/api/oauth/revoke", p.base_url())).json(&body).send();

    assert_eq!(revoke(json!({"token": 1})).await.unwrap().status(), 422);
    let stranger = json!({"token": tokens["access_token"], "client_id": "stranger"});
    assert_eq!(revoke(stranger).await.unwrap().status(), 401);
    let own = json!({"token": tokens["access_token"], "token_type_hint": "access_token", "client_id": "autogpt-local-executor", "client_secret": ""});
    assert_eq!(revoke(own).await.unwrap().status(), 200);

    assert_eq!(hear(&mut ws).await["payload"]["reason"], "user_revoked");
    assert_eq!(hear(&mut ws).await["close"], 4428);
    assert_eq!(token(&p, refresh(&tokens["refresh_token"])).await.0, 400);
}

#[tokio::test]
async fn a_socket_is_closed_with_4401_when_its_token_runs_out() {
    let p = with(Clocks { access_token: Duration::from_secs(2), ..Clocks::default() }).await;
    let access = access(&p).await;
    let mut ws = up(&p, &access).await;
    assert_eq!(hear(&mut ws).await["close"], 4401);
    assert_eq!(dial(&p, "", &access).await.unwrap_err(), 401);
}

#[tokio::test]
async fn a_stopping_platform_says_4429_and_a_dropped_one_only_ends() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    let stopping = tokio::spawn(p.stop());
    assert_eq!(hear(&mut ws).await["close"], 4429);
    while ws.next().await.is_some() {}
    stopping.await.unwrap();

    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    drop(p);
    assert!(broke(&mut ws).await);
}

#[tokio::test]
async fn a_cut_connection_ends_without_a_close_frame() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    p.script().cut(&control()).unwrap();
    assert!(broke(&mut ws).await);
}

#[tokio::test]
async fn a_stalled_socket_is_read_again_when_it_is_resumed() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    let script = p.script();
    script.stall(&control(), true).unwrap();
    let asking = script.clone();
    let asking = ask(async move { asking.request(&control(), "PING", json!({}), Some(SHORT)).await });
    let asked = hear(&mut ws).await;
    say(&mut ws, &json!({"type": "PONG", "id": asked["id"], "payload": {}})).await;
    assert_eq!(asking.await.unwrap(), Err(Failure::TimedOut));
    assert!(script.frames(0).iter().all(|f| f.kind != "PONG"));

    script.stall(&control(), false).unwrap();
    script.frame(0, |f| f.kind == "PONG" && f.id == asked["id"].as_str().unwrap()).await;
    assert!(script.faults().is_empty());
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_closed_all_the_same() {
    let p = with(Clocks { closing: SHORT, ..Clocks::default() }).await;
    let _unread = up(&p, &access(&p).await).await;
    let script = p.script();
    let piece = "x".repeat(15 * 1024 * 1024);
    let mut sent = 0;
    let full = loop {
        match script.send_text(&control(), piece.clone()) {
            Ok(()) => sent += 1,
            Err(failure) => break failure,
        }
    };
    assert_eq!(full, Failure::Overloaded);
    assert!((4..12).contains(&sent), "{sent}");

    script.close(&control(), 4500, "Internal error").unwrap();

    script.connected(&control(), false).await;
    assert_eq!(script.state(0, 0)["links"], json!([]));
}

#[tokio::test]
async fn pings_are_sent_when_asked_for_and_must_be_answered() {
    let every = Switches { ping_every_ms: Some(5), ..Switches::default() };
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    p.script().switches(every.clone());
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let ping = hear(&mut ws).await;
        assert_eq!(ping["type"], "PING");
        say(&mut ws, &json!({"type": "PONG", "id": ping["id"], "payload": {}})).await;
        asked.insert(ping["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(asked.len(), 3);
    assert!(p.script().faults().is_empty());

    let p = with(Clocks { pong: SHORT, ..Clocks::default() }).await;
    let mut ws = up(&p, &access(&p).await).await;
    p.script().switches(every);
    assert!(broke(&mut ws).await);
    assert_eq!(p.script().faults()[0].kind, "no_pong");
}

#[tokio::test]
async fn a_binary_frame_is_recorded_and_costs_the_connection() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    p.script().send_binary(&control(), vec![0xab; 100]).unwrap();
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::binary(vec![0xab; 100]));
    ws.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(hear(&mut ws).await["close"], 1008);
    let frames: Vec<_> = p.script().frames(0).into_iter().filter(|f| f.binary).collect();
    assert_eq!((frames[0].bytes, frames[0].cut, frames[0].text.as_str()), (100, true, "ab".repeat(64).as_str()));
    assert_eq!((frames[1].bytes, frames[1].cut, frames[1].text.as_str()), (2, false, "0102"));
}

#[tokio::test]
async fn recorded_frames_hold_bounded_memory() {
    let p = platform().await;
    let mut ws = up(&p, &access(&p).await).await;
    let status = |n: u64, size: usize| json!({"type": "STATUS", "id": n.to_string(), "payload": {"pending_capacity": 4, "pad": "é".repeat(size)}});
    for n in 0..1200 {
        say(&mut ws, &status(n, 10_000)).await;
    }
    say(&mut ws, &status(1200, 1_000_000)).await;
    let last = p.script().frame(0, |f| f.id == "1200").await;

    assert!(last.cut && last.bytes > 2_000_000 && (16_380..=16_384).contains(&last.text.len()));
    let frames = p.script().frames(0);
    assert!(frames.iter().map(|f| f.text.len()).sum::<usize>() <= 16 * 1024 * 1024);
    assert!((900..1200).contains(&frames.len()), "{}", frames.len());
}

#[tokio::test]
async fn each_hello_out_of_bounds_is_closed_with_4400() {
    let p = platform().await;
    let access = access(&p).await;
    let cases = [
        ("computer_use_features", json!(vec!["click"; 129])),
        ("computer_use_features", json!(["x".repeat(129)])),
        ("computer_use_features", json!([" click"])),
        ("computer_use_features_coarse", json!(["<b>"])),
        ("computer_use_features", json!(["a\u{7}"])),
        ("recording_channels", json!(["eyes"])),
        ("recording_routes", json!("local_vlm")),
        ("capabilities", json!([1])),
        ("machine_id", json!("-starts-wrong")),
        ("machine_id", json!("m".repeat(129))),
        ("platform", json!("plan9")),
        ("display_name", json!("a\u{202e}b")),
        ("shim_version", json!("a b")),
        ("protocol_version", json!("1.1.1")),
    ];
    for (key, value) in cases {
        let mut frame = hello();
        frame["payload"][key] = value;
        let mut ws = dial(&p, "", &access).await.unwrap();
        say(&mut ws, &frame).await;
        assert_eq!(hear(&mut ws).await["close"], 4400, "{}", frame["payload"][key].to_string().len());
        assert!(p.script().faults().last().unwrap().text.starts_with(key), "{key}");
    }
    let mut frame = hello();
    frame["payload"]["computer_use_features"] = json!(vec!["x".repeat(128); 128]);
    let mut ws = dial(&p, "", &access).await.unwrap();
    say(&mut ws, &frame).await;
    assert_eq!(hear(&mut ws).await["type"], "HELLO_ACK");

    p.script().new_chat(Some("c1"));
    for root in [json!(null), json!(""), json!("/a<b"), json!("/a\u{200d}b"), json!("/".repeat(4097))] {
        let mut frame = hello();
        frame["payload"]["allowed_root"] = root;
        let mut ws = dial(&p, "/c1", &access).await.unwrap();
        say(&mut ws, &frame).await;
        assert_eq!(hear(&mut ws).await["close"], 4400);
    }
}
