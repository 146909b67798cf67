//! The model server as a client of either interface sees it.
#![allow(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use drawbridge_practice::model::{ModelServer, Reply, Script, Step};
use serde_json::{Value, json};

#[tokio::test]
async fn ollamas_interface_tells_models_and_streams_lines() {
    let server = ModelServer::start(Script::ollama()).await.unwrap();
    let question = json!({"model": "practice-model", "messages": [{"role": "user", "content": "Hello there"}]});

    let tags = get(&server, "/api/tags").await;
    let facts: Value = post(&server, "/api/show", &json!({"model": "practice-model"})).await.json().await.unwrap();
    let lines = post(&server, "/api/chat", &question).await.text().await.unwrap();

    assert_eq!(tags["models"][0]["name"], "practice-model");
    assert_eq!(facts["model_info"]["practice.context_length"], 8192);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: String = lines.iter().map(|line| line["message"]["content"].as_str().unwrap()).collect();
    assert!(said.starts_with("I read 1 line and 2 words; the last message begins with “Hello there”."), "{said}");
    let last = lines.last().unwrap();
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("stop")));
    assert_eq!(last["eval_count"], json!(lines.len() - 1));
    assert_eq!(reqwest::get(format!("{}/v1/models", server.url())).await.unwrap().status(), 404);
}

#[tokio::test]
async fn the_shared_interface_streams_events_with_counts_and_an_end() {
    let server = ModelServer::start(Script::openai()).await.unwrap();
    let question = json!({
        "model": "practice-model", "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 3,
        "stream": true, "stream_options": {"include_usage": true},
    });

    let models = get(&server, "/v1/models").await;
    let events = post(&server, "/v1/chat/completions", &question).await.text().await.unwrap();

    assert_eq!(models["data"][0]["id"], "practice-model");
    let events: Vec<&str> =
        events.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap()).collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": null}));
    assert_eq!(chunks[4]["choices"][0]["finish_reason"], "length");
    assert_eq!(chunks[5]["usage"]["completion_tokens"], 3);
}

#[tokio::test]
async fn a_script_holds_and_cuts_an_answer() {
    let steps = vec![Step::text("one"), Step::Hold, Step::Cut];
    let server = ModelServer::start(Script::ollama().with_reply(Reply::Steps(steps))).await.unwrap();
    let mut answer = post(&server, "/api/chat", &json!({"model": "practice-model", "messages": []})).await;

    let first = answer.chunk().await.unwrap().unwrap();
    server.until_holding(1).await;
    server.release();

    assert!(String::from_utf8_lossy(&first).contains("\"one\""));
    assert!(answer.chunk().await.is_err());
}

#[tokio::test]
async fn who_hangs_up_is_noticed_and_a_missing_key_is_refused() {
    let steps = vec![Step::text("one"), Step::Hold];
    let server = ModelServer::start(Script::ollama().with_reply(Reply::Steps(steps))).await.unwrap();
    let answer = post(&server, "/api/chat", &json!({"model": "practice-model", "messages": []})).await;
    server.until_holding(1).await;

    drop(answer);

    server.until_hung_up(1).await;
    server.change(|script| script.key = Some("secret".to_owned()));
    assert_eq!(reqwest::get(format!("{}/api/tags", server.url())).await.unwrap().status(), 401);
    assert_eq!(server.requests()[0].path, "/api/chat");
}

async fn get(server: &ModelServer, path: &str) -> Value {
    reqwest::get(format!("{}{path}", server.url())).await.unwrap().json().await.unwrap()
}

async fn post(server: &ModelServer, path: &str, body: &Value) -> reqwest::Response {
    reqwest::Client::new().post(format!("{}{path}", server.url())).json(body).send().await.unwrap()
}
