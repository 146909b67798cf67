//! The person's own tries.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_persons_own_try_is_decided_recorded_and_read_while_it_comes() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![
        Step::text("line one\n"),
        Step::Hold,
        Step::text("line two"),
        Step::finish("stop"),
    ]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;

    let id = try_model(&rig, "a:1b", QUESTION).await.unwrap();
    let part = until_trial(&rig, id, |now| !now.text.is_empty()).await;
    assert_eq!((part.text.as_str(), part.state.as_str()), ("line one\n", "running"));
    let picture = serde_json::to_string(&*rig.handle.snapshot()).unwrap();
    assert!(!picture.contains("line one") && !picture.contains("harbour"));
    server.release();
    let done = until_trial(&rig, id, |now| now.state != "running").await;
    assert_eq!((done.text.as_str(), done.state.as_str()), ("line one\nline two", "done"));
    assert_eq!((done.finish.as_deref(), done.problem), (Some("stop"), None));

    let records: Vec<_> = rig.audit().into_iter().filter(|record| record["op"] == "LOCAL_LLM_COMPLETION").collect();
    assert_eq!(records.len(), 1);
    assert_eq!((&records[0]["session_id"], &records[0]["request_id"]), (&json!("-"), &json!(format!("try-{id}"))));
    assert_eq!(records[0]["details"]["decision"]["rule"], "mode");
    let log = std::fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("harbour") && !log.contains("line two"));
    let used = rig.until(|picture| !picture.models.uses.is_empty()).await;
    assert_eq!((used.models.uses[0].session_id.clone(), used.models.uses[0].completions), (None, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_is_stopped_by_hand_by_a_raise_and_never_more_than_two_run() {
    let mut script = Script::ollama().with_models(&["a:1b"]);
    script.reply = Answers::Steps(vec![Step::text("begun"), Step::Hold, Step::finish("stop")]);
    let server = ModelServer::start(script).await.unwrap();
    let rig = rig_of(Wish::headless().with(Power::LocalModel, PowerMode::Allowed)).await;
    let add = |parallel| Command::AddModelServer { url: server.url(), api: "ollama".to_owned(), far: false, parallel };
    rig.handle.send(add(4)).await.unwrap();
    rig.until(|picture| server_views(picture).iter().any(|one| one.answers)).await;

    assert_eq!(try_model(&rig, "a:1b", "  \n").await.unwrap_err().code, "empty_text");
    assert_eq!(try_model(&rig, "a:1b", &"x".repeat(70_000)).await.unwrap_err().code, "text_too_long");
    assert_eq!(rig.handle.send(Command::StopTrial { id: 7 }).await.unwrap_err().code, "unknown_trial");
    let one = try_model(&rig, "a:1b", "hello").await.unwrap();
    let two = try_model(&rig, "a:1b", "hello").await.unwrap();
    server.until_holding(2).await;
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "busy");
    until_trial(&rig, one, |now| now.text == "begun").await;
    rig.handle.send(Command::StopTrial { id: one }).await.unwrap();
    assert_eq!(until_trial(&rig, one, |now| now.state != "running").await.state, "stopped");
    server.until_hung_up(1).await;

    // The finished one makes room, and is forgotten.
    let three = try_model(&rig, "a:1b", "hello").await.unwrap();
    assert_eq!(rig.handle.send(Command::TrialText { id: one }).await.unwrap_err().code, "unknown_trial");
    server.until_holding(2).await;
    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    for id in [two, three] {
        assert_eq!(trial(&rig, id).await.state, "stopped");
    }
    server.until_hung_up(3).await;
    let failed = try_model(&rig, "a:1b", "hello").await.unwrap_err();
    assert_eq!(failed.code, "raised");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_that_fails_says_why() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("half"), Step::Cut]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;

    let id = try_model(&rig, "a:1b", "hello").await.unwrap();
    let failed = until_trial(&rig, id, |now| now.state != "running").await;
    assert_eq!((failed.state.as_str(), failed.text.as_str()), ("failed", "half"));
    assert!(failed.problem.is_some(), "{failed:?}");

    let id = try_model(&rig, "zebra", "hello").await.unwrap();
    let failed = until_trial(&rig, id, |now| now.state != "running").await;
    assert!(failed.problem.as_ref().unwrap().contains("zebra"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_engine_ends_what_is_asked() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("one"), Step::Hold, Step::finish("stop")]));
    let mut rig = rig_with(&server, PowerMode::Allowed).await;
    rig.until(|picture| server_views(picture)[0].answers).await;
    try_model(&rig, "a:1b", "hello").await.unwrap();
    server.until_holding(1).await;

    rig.stop().await;

    server.until_hung_up(1).await;
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!(record["result"]["ok"], false);
    let engine = Engine::start(rig.options()).await.unwrap();
    engine.stop();
    engine.wait().await;
}
