use drawbridge_practice::model::{ModelServer, Reply, Script};

use super::*;
use crate::doctor::tests::Rig;

fn keys(found: &[Finding]) -> Vec<(&str, FindingState)> {
    found.iter().map(|one| (one.key.as_str(), one.state)).collect()
}

async fn look(config: &str) -> Vec<Finding> {
    servers(&Rig::new().input(config), &Door::Stopped).await
}

fn with(server: &ModelServer) -> String {
    format!("enable_local_llm = true\nollama_url = \"{}\"\n", server.url())
}

#[tokio::test]
async fn a_server_that_answers_tells_what_it_is_and_what_it_has() {
    let server = ModelServer::start(Script::ollama().with_models(&["llama3.2:3b", "mistral:7b"])).await.unwrap();

    let found = look(&with(&server)).await;

    assert_eq!(keys(&found), [("model_there", FindingState::Ok)]);
    assert_eq!((found[0].params["count"].as_str(), found[0].params["url"].as_str()), ("2", server.url().as_str()));
    assert!(found[0].params["name"].contains("0.1.0-practice"), "{found:?}");
}

#[tokio::test]
async fn a_server_without_a_model_says_how_to_get_one() {
    let server = ModelServer::start(Script::ollama().with_models(&[])).await.unwrap();

    let found = look(&with(&server)).await;

    assert_eq!(keys(&found), [("model_empty", FindingState::Warn)]);
    assert!(found[0].fix.as_ref().unwrap().contains("ollama pull llama3.2:3b"), "{found:?}");
}

#[tokio::test]
async fn something_else_on_its_port_is_no_model_server_and_nothing_hidden_is_shown() {
    let mut script = Script::ollama();
    script.listing = Reply::status(200, "<html>\u{202e}");
    let server = ModelServer::start(script).await.unwrap();

    let found = look(&with(&server)).await;

    assert_eq!(keys(&found), [("model_missing", FindingState::Warn)]);
    assert!(!found[0].text.contains('\u{202e}') && found[0].fix.is_some(), "{found:?}");
}

#[tokio::test]
async fn one_that_is_down_matters_only_where_no_other_answers() {
    let server = ModelServer::start(Script::openai()).await.unwrap();
    let down = "enable_local_llm = true\nollama_url = \"http://127.0.0.1:1\"\n";

    assert_eq!(keys(&look(down).await), [("model_missing", FindingState::Warn)]);
    let both = look(&format!("{down}[models]\nservers = [\"{}\"]\n", server.url())).await;
    assert_eq!(keys(&both), [("model_missing", FindingState::Info), ("model_there", FindingState::Ok)]);
}

#[tokio::test]
async fn a_server_elsewhere_is_never_asked_and_one_nobody_wants_neither() {
    let far = look("enable_local_llm = true\nollama_url = \"http://192.0.2.1:11434\"\n").await;
    let unwanted = look("ollama_url = \"http://192.0.2.1:11434\"\n").await;

    assert_eq!(keys(&far), [("model_missing", FindingState::Warn)]);
    assert!(far[0].text.contains("not on this computer"), "{far:?}");
    assert_eq!(unwanted, []);
}
