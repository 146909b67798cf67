//! What a question may take, servers that are busy, and models that a server lists and does not have.

use std::sync::Arc;

use drawbridge_caps::model::{Model, ModelLimits};
use drawbridge_core::model::FinishReason;
use drawbridge_core::{OpError, SystemClock};
use drawbridge_policy::ModelApi;
use drawbridge_practice::model::{ModelServer as Server, Reply, Script};

use crate::{BOTH, asked, at, model_of, script, server, why};

async fn limited(server: &Server, context_tokens: u64, answer_tokens: u32) -> Model {
    let model = Model::limited(Arc::new(SystemClock), ModelLimits { context_tokens, answer_tokens });
    model.set_servers(vec![at(&server.url())]);
    model.look().await;
    model
}

/// What the server was asked for: the longest answer and the room.
fn options(server: &Server) -> (u64, Option<u64>) {
    let body = server.requests().pop().unwrap().body;
    let most = body.pointer("/options/num_predict").or_else(|| body.get("max_tokens")).unwrap();
    (most.as_u64().unwrap(), body.pointer("/options/num_ctx").and_then(serde_json::Value::as_u64))
}

#[tokio::test]
async fn a_million_tokens_of_an_answer_take_no_more_room_than_the_limits_and_the_model_allow() {
    let mut ask = asked("Hello");
    ask.sampling.max_tokens = 1_000_000;
    let again = |max_tokens| {
        let mut ask = asked("Hello");
        ask.sampling.max_tokens = max_tokens;
        ask
    };

    let small = server(ModelApi::Ollama).await;
    model_of(&[&small]).await.ask(ask).await.unwrap();
    assert_eq!(options(&small), (8189, Some(8192)), "the model reads 8192, a little of it is the prompt");

    let mut script = script(ModelApi::Ollama);
    script.models[0].context_tokens = 131_072;
    let large = Server::start(script).await.unwrap();
    model_of(&[&large]).await.ask(again(1_000_000)).await.unwrap();
    assert_eq!(options(&large), (8192, Some(10_240)));
    limited(&large, 6144, 5000).await.ask(again(1_000_000)).await.unwrap();
    assert_eq!(options(&large), (5000, Some(6144)));
    // What fits into the usual room asks for none: another size makes the server load the model once more.
    model_of(&[&large]).await.ask(again(1024)).await.unwrap();
    assert_eq!(options(&large), (1024, None));

    let shared = server(ModelApi::OpenAi).await;
    model_of(&[&shared]).await.ask(again(1_000_000)).await.unwrap();
    assert_eq!(options(&shared), (8189, None));
}

#[tokio::test]
async fn an_answer_that_the_limit_cuts_says_so() {
    for api in BOTH {
        let server = server(api).await;

        let answer = limited(&server, 32_768, 2).await.ask(asked("Hello")).await.unwrap();

        assert_eq!((answer.finish, answer.tokens.completion), (FinishReason::Length, Some(2)), "{api:?}");
    }
}

#[tokio::test]
async fn a_prompt_beyond_the_limit_is_refused_with_the_name_of_the_limit() {
    let mut script = script(ModelApi::Ollama);
    script.models[0].context_tokens = 131_072;
    let server = Server::start(script).await.unwrap();
    let model = limited(&server, 8192, 8192).await;

    for whole in [false, true] {
        let mut ask = asked(&"word ".repeat(30_000));
        ask.whole = whole;
        let failed = why(model.ask(ask).await);
        let expected = "the prompt is too long: about 30008 tokens, and 8192 are allowed here (max_context under [models] in \
                        config.toml)";
        assert_eq!(failed, expected);
    }
    assert_eq!(server.until(|seen| Some(seen.questions)).await, 0);
}

#[tokio::test]
async fn a_busy_server_is_told_as_busy_and_stays_on_the_list() {
    let busy = |status, after: Option<&str>, body: &str| Reply::Plain {
        status,
        headers: after.map(|after| ("retry-after".to_owned(), after.to_owned())).into_iter().collect(),
        body: body.to_owned(),
    };
    let cases = [
        (busy(429, Some("7"), "{}"), "the model server is busy; ask again in 7 seconds"),
        (busy(503, Some("1"), "{}"), "the model server is busy; ask again in a second"),
        (
            busy(503, None, r#"{"error":"Loading model"}"#),
            "the model server is busy; ask again in a moment: Loading model",
        ),
        (busy(429, Some("Fri, 31 Dec 1999 23:59:59 GMT"), ""), "the model server is busy; ask again in a moment"),
        (busy(429, Some("99999999999999999999"), ""), "the model server is busy; ask again in a moment"),
    ];
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        for (reply, told) in &cases {
            server.next(reply.clone());
            assert_eq!(why(model.ask(asked("Hello")).await), *told, "{api:?}");
            server.change(|script| script.listing = reply.clone());
            assert!(!model.look().await, "the list is the same");
            let state = model.servers().remove(0);
            assert_eq!((state.trouble, model.offered()), (None, vec!["practice-model".to_owned()]));
        }
        server.change(|script| script.listing = Reply::Practice);
        assert!(model.ask(asked("Hello")).await.is_ok());
    }
}

#[tokio::test]
async fn a_model_that_is_listed_and_not_there_stays_off_the_list_until_something_changes() {
    for api in BOTH {
        let server = Server::start(script(api).with_models(&["practice-model", "other"])).await.unwrap();
        let model = model_of(&[&server]).await;
        server.next(Reply::status(404, "{}"));
        let gone = model.ask(asked("Hello")).await;
        assert!(matches!(gone, Err(OpError::ModelNotAvailable { .. })), "{gone:?}");

        for _ in 0..5 {
            assert!(!model.look().await, "a look brings it back");
            assert_eq!(model.offered(), ["other"]);
            assert!(model.servers()[0].models[0].missing && !model.servers()[0].models[1].missing);
        }

        // The person asks for it once more, which is worth one more try.
        model.retry_missing();
        assert_eq!(model.offered(), ["practice-model", "other"]);
        server.next(Reply::status(404, "{}"));
        assert!(model.ask(asked("Hello")).await.is_err());
        model.retry_missing();
        assert_eq!(model.offered(), ["other"]);
        // The server has another list.
        server.change(|script| script.models.swap(0, 1));
        assert!(model.look().await);
        assert_eq!(model.offered(), ["other", "practice-model"]);
    }
}

#[tokio::test]
async fn a_server_that_was_away_is_believed_anew() {
    let server = Server::start(Script::ollama()).await.unwrap();
    let model = model_of(&[&server]).await;
    server.next(Reply::status(404, "{}"));
    assert!(model.ask(asked("Hello")).await.is_err());
    server.change(|script| script.listing = Reply::status(500, "{}"));
    model.look().await;

    server.change(|script| script.listing = Reply::Practice);
    model.look().await;

    assert_eq!(model.offered(), ["practice-model"]);
    assert!(model.ask(asked("Hello")).await.is_ok());
}
