use std::sync::Arc;

use drawbridge_core::OpError;
use drawbridge_policy::{ModelApi, ModelServer};

use super::Servers;
use crate::model::ModelFacts;
use crate::model::backend::Found;
use crate::model::fault::Fault;

#[test]
fn what_must_stay_here_is_asked_at_servers_on_this_computer_alone() {
    let servers =
        servers(&[("http://192.0.2.1:11434", true), ("http://localhost:8080", false), ("http://[::1]:1", true)]);
    find(&servers, 1, &["llama3", "far-only"]);
    find(&servers, 2, &["llama3"]);
    find(&servers, 3, &["here-too"]);

    let near = |model| servers.seat(model, true).map(|seat| seat.target.number);

    assert_eq!(servers.seat("llama3", false).map(|seat| seat.target.number).ok(), Some(1));
    assert_eq!(near("llama3").ok(), Some(2));
    assert_eq!(near("here-too").ok(), Some(3), "allowed to be elsewhere, and is here");
    let Err(OpError::ModelNotAvailable { requested, available }) = near("far-only") else { panic!("it is elsewhere") };
    assert_eq!(requested, "far-only");
    assert_eq!(available, ["llama3", "here-too"]);
}

#[test]
fn a_busy_server_is_not_passed_over_for_another_one() {
    let servers = servers(&[("http://localhost:1", false), ("http://localhost:2", false)]);
    find(&servers, 1, &["llama3"]);
    find(&servers, 2, &["llama3"]);

    let seat = servers.seat("llama3", false);

    assert!(seat.is_ok());
    assert!(matches!(servers.seat("llama3", false), Err(OpError::ModelBusy { .. })));
    drop(seat);
    assert!(servers.seat("llama3", false).is_ok());
}

#[test]
fn what_comes_late_for_a_server_that_is_gone_meets_no_other() {
    let servers = servers(&[("http://localhost:1", false)]);
    let seat_of_old = {
        find(&servers, 1, &["llama3"]);
        servers.seat("llama3", false)
    };
    servers.set(vec![server("http://localhost:2", false)]);

    find(&servers, 1, &["llama3"]);
    drop(seat_of_old);

    assert!(servers.offered().is_empty());
    assert_eq!(servers.states()[0].running, 0);
}

#[test]
fn a_server_that_fails_offers_nothing_and_says_why() {
    let servers = servers(&[("http://localhost:1", false)]);
    find(&servers, 1, &["llama3"]);

    servers.found(1, Err(Fault::Broken));

    assert!(servers.offered().is_empty());
    assert_eq!(servers.states()[0].trouble.as_deref(), Some("The connection to the model server broke."));
    assert_eq!(servers.states()[0].api, ModelApi::Auto);
}

#[test]
fn a_model_that_its_server_passes_on_is_offered_only_where_questions_may_leave_and_never_near() {
    for (far, offered) in [(false, vec!["llama3"]), (true, vec!["mine", "llama3"])] {
        let servers = servers(&[("http://localhost:1", far)]);
        let mine = ModelFacts { elsewhere: true, ..facts("mine") };
        servers.found(1, Ok((ModelApi::Ollama, found(vec![mine, facts("llama3")]))));

        assert_eq!(servers.offered(), offered);
        assert_eq!(servers.names(true), ["llama3"]);
        assert_eq!(servers.seat("mine", false).is_ok(), far);
        assert!(matches!(servers.seat("mine", true), Err(OpError::ModelNotAvailable { .. })));
        assert_eq!(servers.asked_at("mine", true), None);
    }
}

#[test]
fn what_is_known_of_models_goes_with_them() {
    let servers = servers(&[("http://localhost:1", false)]);
    for round in 0..3 {
        let model = facts(&format!("model-{round}"));
        servers.found(1, Ok((ModelApi::Ollama, found(vec![model.clone()]))));
        servers.learn(1, &model, 4096);
        assert_eq!(servers.states()[0].models[0].context_tokens, Some(4096));
    }
    assert_eq!(servers.lock().entries[0].contexts.len(), 1);
}

fn servers(list: &[(&str, bool)]) -> Arc<Servers> {
    let servers = Arc::new(Servers::default());
    servers.set(list.iter().map(|(url, far)| server(url, *far)).collect());
    servers
}

fn server(url: &str, far: bool) -> ModelServer {
    ModelServer { url: url.to_owned(), api: ModelApi::Auto, far, parallel: 1 }
}

fn find(servers: &Servers, number: u64, names: &[&str]) {
    servers.found(number, Ok((ModelApi::Ollama, found(names.iter().map(|name| facts(name)).collect()))));
}

fn facts(name: &str) -> ModelFacts {
    ModelFacts { name: name.to_owned(), size_bytes: None, context_tokens: None, elsewhere: false, missing: false }
}

fn found(models: Vec<ModelFacts>) -> Found {
    Found { name: None, models, exact: true }
}
