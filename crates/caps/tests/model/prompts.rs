//! Prompts that are too long, must not be cut, or must not leave this computer.

use drawbridge_core::model::ChatRole;
use drawbridge_policy::ModelApi;
use drawbridge_practice::model::{ModelServer as Server, Script};

use crate::{BOTH, asked, model_of, script, server, why};

#[tokio::test]
async fn a_prompt_of_a_million_tokens_is_refused_before_it_is_sent() {
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;

        let failed = why(model.ask(asked(&"word ".repeat(1_000_000))).await);

        assert_eq!(failed, "the prompt is too long: about 1000008 tokens, and the model reads at most 8192");
        assert_eq!(server.until(|seen| Some(seen.questions)).await, 0);
    }
}

#[tokio::test]
async fn where_nobody_knows_how_much_fits_the_server_says_it() {
    let mut script = script(ModelApi::OpenAi);
    script.models[0].context_tokens = 0;
    let server = Server::start(script).await.unwrap();
    let model = model_of(&[&server]).await;

    let failed = why(model.ask(asked(&"word ".repeat(1_000_000))).await);

    let expected = "the model server answered with status 400 (it refused the request): the request exceeds the available \
                    context size";
    assert!(failed.starts_with(expected), "{failed}");
    assert!(failed.chars().count() <= 200);
}

#[tokio::test]
async fn a_prompt_that_must_not_be_cut_gets_a_window_that_holds_it() {
    let server = server(ModelApi::Ollama).await;
    let model = model_of(&[&server]).await;
    let mut ask = asked(&"word ".repeat(4500));
    ask.whole = true;

    let answer = model.ask(ask).await.unwrap();

    assert_eq!(answer.tokens.prompt, Some(4500 * 5 / 4 + 4), "the whole prompt was read");
    let request = server.requests().pop().unwrap().body;
    assert_eq!((&request["options"]["num_ctx"], &request["truncate"]), (&6144.into(), &false.into()));
}

#[tokio::test]
async fn a_prompt_that_may_not_fit_is_refused_where_the_server_would_cut_it_and_left_to_one_that_would_not() {
    // Digits may take one token each or a third of that: whether they fit is known to the server alone.
    let doubtful = "7".repeat(10_000);
    for (version, left_to_the_server) in [("0.5.1", false), ("0.13.0", true)] {
        let server = Server::start(Script { version: version.to_owned(), ..Script::ollama() }).await.unwrap();
        let model = model_of(&[&server]).await;
        let mut ask = asked(&doubtful);
        ask.whole = true;

        let asked = model.ask(ask).await;

        if left_to_the_server {
            assert!(asked.is_ok());
            assert_eq!(server.requests().pop().unwrap().body["options"]["num_ctx"], 8192);
        } else {
            let expected = "the prompt is too long: about 10008 tokens, and the model reads at most 8192";
            assert_eq!(why(asked), expected);
        }
    }
}

#[tokio::test]
async fn a_plain_question_is_asked_as_the_protocol_says_and_nothing_more() {
    let server = server(ModelApi::Ollama).await;
    let model = model_of(&[&server]).await;
    let mut ask = asked("Hello");
    ask.messages[0].role = ChatRole::System;
    ask.sampling.max_tokens = 7;

    model.ask(ask).await.unwrap();

    let request = server.requests().pop().unwrap();
    let expected = serde_json::json!({
        "model": "practice-model", "messages": [{"role": "system", "content": "Hello"}], "stream": true,
        "options": {"temperature": 0.0, "top_p": 1.0, "num_predict": 7},
    });
    assert_eq!((request.path.as_str(), request.body), ("/api/chat", expected));
    assert_eq!(request.host, format!("127.0.0.1:{}", server.port()));
}

#[tokio::test]
async fn a_conversation_without_messages_fails_without_asking() {
    let server = server(ModelApi::OpenAi).await;
    let mut ask = asked("Hello");
    ask.messages.clear();

    assert_eq!(why(model_of(&[&server]).await.ask(ask).await), "there is no message to answer");
    assert_eq!(server.until(|seen| Some(seen.questions)).await, 0);
}
