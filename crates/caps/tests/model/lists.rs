//! What is found at servers, and which servers are found.

use std::sync::Arc;

use drawbridge_caps::model::{Model, ModelFacts};
use drawbridge_core::SystemClock;
use drawbridge_policy::ModelApi;
use drawbridge_practice::model::{ModelServer as Server, Reply, Script, ScriptModel, Step};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{BOTH, asked, at, model_of, script, server};

#[tokio::test]
async fn a_server_tells_its_interface_its_name_and_its_models() {
    let ollama = server(ModelApi::Ollama).await;
    let openai = server(ModelApi::OpenAi).await;

    let model = model_of(&[&ollama, &openai]).await;

    let found = model.servers();
    assert_eq!((found[0].api, found[0].name.as_deref()), (ModelApi::Ollama, Some("Ollama 0.1.0-practice")));
    assert_eq!((found[1].api, found[1].name.as_deref()), (ModelApi::OpenAi, Some("Practice model")));
    let facts = |size_bytes| {
        let (name, context_tokens) = ("practice-model".to_owned(), Some(8192));
        ModelFacts { name, size_bytes, context_tokens, elsewhere: false, missing: false }
    };
    assert_eq!(found[0].models, [facts(Some(42_000_000))]);
    assert_eq!(found[1].models, [facts(None)]);
    assert_eq!((found[0].trouble.as_ref(), found[1].trouble.as_ref()), (None, None));
}

#[tokio::test]
async fn a_name_at_two_servers_is_offered_once_and_asked_at_the_first() {
    let first = Server::start(Script::ollama().with_models(&["llama3", "practice-model"])).await.unwrap();
    let second = Server::start(Script::openai().with_models(&["practice-model", "mistral"])).await.unwrap();
    let model = model_of(&[&first, &second]).await;

    let answer = model.ask(asked("Hello")).await;

    assert_eq!(model.offered(), ["llama3", "practice-model", "mistral"]);
    assert!(answer.is_ok());
    assert_eq!(first.until(|seen| Some(seen.questions)).await, 1);
    assert_eq!(second.until(|seen| Some(seen.questions)).await, 0);
}

#[tokio::test]
async fn a_look_tells_whether_what_is_offered_changed() {
    for api in BOTH {
        let server = server(api).await;
        let model = Model::new(Arc::new(SystemClock));
        model.set_servers(vec![at(&server.url())]);

        assert!(model.look().await, "the first look finds a model");
        assert!(!model.look().await, "nothing is new");
        server.change(|script| script.models.push(ScriptModel::named("another")));
        assert!(model.look().await);
        assert_eq!(model.offered(), ["practice-model", "another"]);
        server.change(|script| script.models.clear());
        assert!(model.look().await);
        assert_eq!((model.offered(), model.servers()[0].trouble.clone()), (Vec::new(), None));
    }
}

#[tokio::test]
async fn those_who_look_at_the_same_time_share_looks() {
    let server = server(ModelApi::OpenAi).await;
    let model = model_of(&[&server]).await;
    let before = server.requests().len();

    futures_util::future::join_all((0..8).map(|_| model.look())).await;

    // The one that runs, and one for all who came while it ran. Each tries Ollama's interface first.
    assert_eq!(server.requests().iter().skip(before).filter(|asked| asked.path == "/v1/models").count(), 2);
}

#[tokio::test]
async fn why_a_server_cannot_be_asked_is_told_in_a_sentence() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let mut far = at("http://192.0.2.1:11434");
    let trouble = async |servers: Vec<_>| {
        let model = Model::new(Arc::new(SystemClock));
        model.set_servers(servers);
        model.look().await;
        assert!(model.offered().is_empty());
        model.servers()[0].trouble.clone().unwrap()
    };

    assert!(trouble(vec![at(&closed)]).await.starts_with("Nothing listens at the model server's address;"));
    assert!(trouble(vec![far.clone()]).await.contains("another computer"), "an address of another computer");
    far.url = "https://localhost".to_owned();
    assert!(trouble(vec![far]).await.contains("https"));
    let replies = [
        (Reply::redirect("http://127.0.0.1:1/api/version"), "sends to another address"),
        (Reply::status(401, "{}"), "wants a key"),
        (Reply::status(500, r#"{"error":"disk is full"}"#), "status 500 (it failed): disk is full"),
        (
            Reply::status(503, r#"{"error":{"message":"Loading model"}}"#),
            "is busy; ask again in a moment: Loading model",
        ),
        (Reply::status(200, "<html>hello</html>"), "is no model server"),
        (Reply::status(200, r#"{"models":7,"data":"x","version":1}"#), "is no model server"),
        (Reply::status(404, "not here"), "is no model server"),
        (Reply::Silent, "sent nothing for 2 seconds"),
    ];
    for (reply, told) in replies {
        let server = Server::start(Script { listing: reply, ..Script::default() }).await.unwrap();
        let sentence = trouble(vec![at(&server.url())]).await;
        assert!(sentence.contains(told) && sentence.ends_with('.'), "{sentence}");
    }
}

#[tokio::test]
async fn a_redirect_of_a_list_is_not_followed() {
    let target = server(ModelApi::Ollama).await;
    let listing = Reply::redirect(&format!("{}/api/version", target.url()));
    let server = Server::start(Script { listing, ..Script::ollama() }).await.unwrap();

    let model = model_of(&[&server]).await;

    assert!(model.offered().is_empty());
    assert_eq!(target.requests(), []);
}

#[tokio::test]
async fn a_list_without_bounds_is_given_up() {
    let models = json!({"version": "1", "data": [{"id": "x".repeat(5 * 1024 * 1024)}]}).to_string();
    let server = Server::start(Script { listing: Reply::status(200, &models), ..Script::default() }).await.unwrap();

    let model = model_of(&[&server]).await;

    assert_eq!(model.servers()[0].trouble.as_deref(), Some("The model server sent too much: the answer is too long."));
}

#[tokio::test]
async fn a_server_that_only_looks_like_ollama_is_asked_as_what_it_is() {
    // llama.cpp lists its models under Ollama's path, too, and answers neither the version nor questions as Ollama does.
    let listing = json!({"models": [{"name": "gpt.gguf"}], "object": "list", "data": [{"id": "gpt.gguf", "owned_by": "llamacpp"}]});
    let server =
        Server::start(Script { listing: Reply::status(200, &listing.to_string()), ..Script::default() }).await.unwrap();

    let model = model_of(&[&server]).await;

    let found = &model.servers()[0];
    assert_eq!((found.api, found.name.as_deref()), (ModelApi::OpenAi, Some("llama.cpp")));
    assert_eq!(model.offered(), ["gpt.gguf"]);
}

#[tokio::test]
async fn a_server_that_tells_nothing_while_it_answers_keeps_its_models() {
    let server = server(ModelApi::OpenAi).await;
    let model = model_of(&[&server]).await;
    server.next(Reply::Steps(vec![Step::Hold, Step::text("late"), Step::finish("stop")]));
    let asking = tokio::spawn({
        let model = model.clone();
        async move { model.ask(asked("one")).await }
    });
    server.until_holding(1).await;
    server.change(|script| script.listing = Reply::Silent);

    assert!(!model.look().await);

    assert_eq!(model.offered(), ["practice-model"]);
    server.release();
    assert_eq!(asking.await.unwrap().unwrap().content, "late");
    assert!(model.look().await, "now its silence says that something is wrong");
}

#[tokio::test]
async fn servers_at_usual_ports_are_found_if_they_prove_to_be_some_and_are_not_in_use() {
    let ollama = server(ModelApi::Ollama).await;
    let openai = Server::start(script(ModelApi::OpenAi).with_models(&[])).await.unwrap();
    let used = server(ModelApi::Ollama).await;
    let web = Server::start(Script { ollama: false, openai: false, ..Script::default() }).await.unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let model = model_of(&[&used]).await;

    let found = model.find_at(&[ollama.port(), used.port(), web.port(), closed, openai.port()]).await;

    let expected = [(ollama.port(), ModelApi::Ollama, 1), (openai.port(), ModelApi::OpenAi, 0)];
    let found: Vec<_> = found.iter().map(|state| (state.server.url.clone(), state.api, state.models.len())).collect();
    assert_eq!(found, expected.map(|(port, api, models)| (format!("http://localhost:{port}"), api, models)));
    assert!(model.servers().len() == 1, "what is found is not in use by that");
}

#[tokio::test]
async fn what_a_server_calls_itself_is_short_and_can_be_seen() {
    for odd in ["1".repeat(3_000_000), "0.5.1\u{202e}\u{1b}[2J".to_owned(), String::new()] {
        let server = server(ModelApi::Ollama).await;
        server.change(|script| script.version.clone_from(&odd));

        let model = model_of(&[&server]).await;

        assert_eq!(model.servers()[0].name.as_deref(), Some("Ollama"));
        assert_eq!(model.offered(), ["practice-model"]);
    }
}
