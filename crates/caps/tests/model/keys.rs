//! Servers that want a key: who gets it, and what is said where it is missing, wrong or must not be sent.

use drawbridge_caps::model::{KnownKey, Model, ServerKey};
use drawbridge_core::SystemClock;
use drawbridge_policy::{ModelApi, ModelServer};
use drawbridge_practice::model::{ModelServer as Server, Reply, Script, Step};
use serde_json::json;

use crate::{BOTH, asked, at, script, server, why};

const KEY: &str = "sk-test-4f1c9a";

fn known(key: &str) -> KnownKey {
    KnownKey::Set(ServerKey::parse(key).unwrap())
}

async fn looked(servers: Vec<ModelServer>, key_of: impl Fn(&str) -> KnownKey) -> Model {
    let model = Model::new(std::sync::Arc::new(SystemClock));
    model.set_servers(servers);
    model.set_keys(key_of);
    model.look().await;
    model
}

async fn locked(api: ModelApi) -> Server {
    Server::start(Script { key: Some(KEY.to_owned()), ..script(api) }).await.unwrap()
}

#[tokio::test]
async fn a_server_that_wants_a_key_answers_whoever_bears_it() {
    for api in BOTH {
        let server = locked(api).await;
        let model = looked(vec![at(&server.url())], |_| known(KEY)).await;

        assert_eq!(model.offered(), ["practice-model"], "{api:?}");
        model.ask(asked("Hello")).await.unwrap();

        let bearer = Some(format!("Bearer {KEY}"));
        assert!(server.requests().iter().all(|request| request.authorization == bearer));
    }
}

#[tokio::test]
async fn without_a_key_with_a_wrong_one_and_with_one_that_cannot_be_read_it_says_what_to_do() {
    for api in BOTH {
        let server = locked(api).await;
        let cases = [
            (KnownKey::None, "wants a key and none is set"),
            (known("sk-wrong"), "refused the key that is set"),
            (KnownKey::Unreadable, "unlock the keychain"),
        ];
        for (key, told) in cases {
            let model = looked(vec![at(&server.url())], |_| key.clone()).await;
            let trouble = model.servers()[0].trouble.clone().unwrap();
            assert!(trouble.contains(told) && trouble.contains("Models page"), "{api:?}: {trouble}");
            assert!(!trouble.contains("sk-") && trouble.chars().count() <= 200);
            assert!(model.offered().is_empty());
        }
    }
}

#[tokio::test]
async fn a_key_that_is_taken_back_by_the_server_fails_the_question_and_the_right_one_mends_it() {
    let server = server(ModelApi::OpenAi).await;
    let model = looked(vec![at(&server.url())], |_| KnownKey::None).await;
    server.change(|script| script.key = Some(KEY.to_owned()));
    assert!(why(model.ask(asked("Hello")).await).contains("wants a key"));

    model.set_keys(|_| known(KEY));

    model.ask(asked("Hello")).await.unwrap();
}

#[tokio::test]
async fn each_key_goes_to_its_own_server_and_to_no_other() {
    let (one, other) = (server(ModelApi::Ollama).await, server(ModelApi::OpenAi).await);
    let own = one.url();
    let model =
        looked(vec![at(&one.url()), at(&other.url())], |url| if url == own { known(KEY) } else { KnownKey::None })
            .await;

    assert!(!model.find_at(&[other.port()]).await.iter().any(|found| found.trouble.is_some()));

    assert!(one.requests().iter().all(|request| request.authorization.is_some()));
    assert!(!other.requests().is_empty());
    assert!(other.requests().iter().all(|request| request.authorization.is_none()));
}

#[tokio::test]
async fn a_server_that_is_only_found_gets_no_key() {
    let stranger = server(ModelApi::Ollama).await;
    let model = looked(Vec::new(), |_| known(KEY)).await;

    assert_eq!(model.find_at(&[stranger.port()]).await.len(), 1);

    assert!(stranger.requests().iter().all(|request| request.authorization.is_none()));
}

#[tokio::test]
async fn a_redirect_leads_no_key_elsewhere() {
    for api in BOTH {
        let (server, elsewhere) = (locked(api).await, Server::start(script(api)).await.unwrap());
        let model = looked(vec![at(&server.url())], |_| known(KEY)).await;
        server.next(Reply::redirect(&format!("{}/api/chat", elsewhere.url())));

        assert!(why(model.ask(asked("Hello")).await).contains("is not followed"));
        server.change(|script| script.listing = Reply::redirect(&elsewhere.url()));
        model.look().await;

        assert!(model.servers()[0].trouble.is_some());
        assert_eq!(elsewhere.requests(), []);
    }
}

#[tokio::test]
async fn a_key_is_not_sent_in_the_clear_to_another_computer() {
    // Nobody is dialled, so nothing has to be there: the address is one of those that are kept for documents.
    let far = ModelServer { far: true, ..at("http://192.0.2.7:8000") };
    let model = looked(vec![far], |_| known(KEY)).await;

    let trouble = model.servers()[0].trouble.clone().unwrap();
    assert!(trouble.contains("not sent to another computer unencrypted") && trouble.contains("https"), "{trouble}");
    assert!(trouble.chars().count() <= 200);

    // To this computer it goes without, also where another one would be allowed.
    let server = locked(ModelApi::OpenAi).await;
    let here = ModelServer { far: true, ..at(&server.url()) };
    assert_eq!(looked(vec![here], |_| known(KEY)).await.offered(), ["practice-model"]);
}

#[tokio::test]
async fn what_a_server_says_of_a_fault_never_repeats_its_key() {
    for api in BOTH {
        let server = locked(api).await;
        let model = looked(vec![at(&server.url())], |_| known(KEY)).await;
        let long = format!("{} {KEY}", "x".repeat(150));
        for words in [format!("bad key: {KEY}"), format!("{{\"error\": \"Bearer {KEY}\"}}"), long] {
            for status in [400, 402, 429, 500, 503] {
                server.next(Reply::status(status, &json!({ "error": { "message": words } }).to_string()));
                let told = why(model.ask(asked("Hello")).await);
                assert!(!told.contains(KEY.get(..11).unwrap()), "{api:?} {status}: {told}");
            }
            server.next(Reply::Steps(vec![Step::text("so "), Step::Error(words.clone())]));
            let told = why(model.ask(asked("Hello")).await);
            assert!(!told.contains(KEY.get(..11).unwrap()), "{api:?}: {told}");

            let refusal = Reply::status(500, &json!({ "error": words }).to_string());
            server.change(|script| script.listing = refusal);
            model.look().await;
            let told = format!("{:?}", model.servers());
            assert!(told.contains("status 500") && !told.contains(KEY.get(..11).unwrap()), "{told}");
            server.change(|script| script.listing = Reply::Practice);
            model.look().await;
        }
        // What says nothing of the key is told.
        server.next(Reply::status(500, r#"{"error": "out of memory"}"#));
        assert!(why(model.ask(asked("Hello")).await).contains("out of memory"));
    }
}
