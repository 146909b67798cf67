//! A server that takes a question and never says a word, by a clock that no test waits for.

use std::sync::Mutex;

use drawbridge_core::SystemClock;
use drawbridge_core::model::{ChatRole, Knob};
use tokio::io::DuplexStream;
use tokio::time::Instant;

use super::address::Address;
use super::backend::Found;
use super::*;

/// A server at the other end of a pipe, which stays open and is never read.
#[derive(Default)]
struct Silent(Mutex<Vec<DuplexStream>>);

impl Dial for Silent {
    fn dial<'a>(&'a self, _: &'a Address, _: bool) -> BoxFuture<'a, Result<Box<dyn Io>, Fault>> {
        Box::pin(async move {
            let (client, server) = tokio::io::duplex(1024 * 1024);
            self.0.lock().unwrap().push(server);
            Ok(Box::new(client) as Box<dyn Io>)
        })
    }
}

fn model() -> Model {
    let servers: Arc<Servers> = Arc::default();
    let url = "http://127.0.0.1:11434".to_owned();
    servers.set(vec![ModelServer { url, api: ModelApi::Ollama, far: false, parallel: 1 }]);
    let facts = ModelFacts {
        name: "a:1b".to_owned(),
        size_bytes: None,
        context_tokens: Some(8192),
        elsewhere: false,
        missing: false,
    };
    let found = Found { name: None, models: vec![facts], exact: true };
    servers.found(servers.targets()[0].number, Ok((ModelApi::Ollama, found)));
    Model {
        inner: Arc::new(Inner {
            clock: Arc::new(SystemClock),
            limits: ModelLimits::default(),
            servers,
            network: Arc::new(Network::new(System)),
            dial: Arc::new(Silent::default()),
            looks: AtomicU64::new(0),
            looking: tokio::sync::Mutex::default(),
        }),
    }
}

fn question() -> Ask {
    let (temperature, top_p) = (Knob::new(0.0).unwrap(), Knob::new(1.0).unwrap());
    Ask {
        model: "a:1b".to_owned(),
        messages: vec![ChatMessage { role: ChatRole::User, content: "Hi".to_owned() }],
        sampling: Sampling { max_tokens: 16, temperature, top_p },
        whole: false,
        near_only: false,
        pieces: None,
        tell_end: true,
        cancel: CancellationToken::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_never_answered_is_given_up_after_ten_minutes_and_frees_its_server() {
    let model = model();
    let began = Instant::now();

    let failed = model.ask(question()).await.unwrap_err();

    assert!(matches!(failed, OpError::ModelFailed { .. }), "{failed:?}");
    assert_eq!(began.elapsed().as_secs(), 600);
    assert_eq!(model.servers()[0].running, 0);
}
