//! Looks that nobody asked for, by a clock that a test moves.

use drawbridge_core::{ManualClock, PowerMode, WallMs};
use drawbridge_practice::model::{ModelServer as Server, Script};

use super::*;
use crate::net::NetSettings;

/// Models of one server, with the power on.
struct Rig {
    server: Server,
    clock: Arc<ManualClock>,
    models: Arc<Models>,
}

impl Rig {
    async fn start() -> Self {
        let server = Server::start(Script::ollama().with_models(&["a:1b"])).await.unwrap();
        let configured = ConfiguredModels { ollama_url: server.url(), ..ConfiguredModels::default() };
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::LocalModel, PowerMode::Allowed);
        let policy = Arc::new(PolicyCell::new(state.clone(), state, Box::new(|_| Ok(()))));
        let clock = Arc::new(ManualClock::starting_at(WallMs(0)));
        let net = NetConfig::new(&NetSettings::default()).unwrap();
        let models = Models::new(&configured, net, Keys::new(None), policy, Arc::new(Board::new()), clock.clone());
        models.follow();
        while models.looking().pace.is_first() {
            tokio::task::yield_now().await;
        }
        Self { server, clock, models }
    }

    fn set(&self, names: &'static [&'static str]) {
        self.server.change(move |script| *script = Script::ollama().with_models(names));
    }

    /// How often the server was asked for its list.
    fn looks(&self) -> usize {
        self.server.requests().iter().filter(|asked| asked.path == "/api/tags").count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rounds_find_what_a_server_gained_and_lost_and_ask_no_more_often_than_that() {
    let rig = Rig::start().await;
    assert_eq!(rig.models.offer(None), ["a:1b"], "HELLO says it");
    let before = rig.looks();

    rig.set(&["a:1b", "b:2b"]);
    rig.clock.advance(Duration::from_secs(30));
    rig.models.round();
    rig.models.look_now().await;
    let at_thirty = rig.looks();
    assert_eq!(at_thirty, before + 1, "the round was too early, so the look by hand was the only one");
    tokio::time::timeout(Duration::from_secs(30), rig.models.changed()).await.unwrap();
    assert_eq!(rig.models.offer(None), ["a:1b", "b:2b"]);

    rig.set(&["b:2b"]);
    rig.clock.advance(Duration::from_secs(60));
    rig.models.round();
    tokio::time::timeout(Duration::from_secs(30), rig.models.changed()).await.unwrap();
    assert_eq!(rig.models.offer(None), ["b:2b"]);
}
