//! Finding out what servers have, and which servers there are.

use std::sync::Arc;
use std::time::Duration;

use drawbridge_policy::{ModelApi, ModelServer};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;
use tokio::time::{Instant, timeout, timeout_at};

use super::address::{Address, Host};
use super::backend::{self, Found, Place};
use super::dial::Dial;
use super::fault::Fault;
use super::key::KnownKey;
use super::servers::{Servers, Target};
use super::{ModelFacts, ServerState};

/// How long a server may take to tell what it has (spec 11).
pub(crate) const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// How long details of models may take on top of their list. HELLO waits for it.
const DETAILS_LIMIT: Duration = Duration::from_millis(500);
/// Details that are asked for at once.
const DETAILS_AT_ONCE: usize = 4;
/// How long whatever listens at a usual port may take to prove a model server.
const FIND_LIMIT: Duration = Duration::from_secs(1);
/// The ports that model servers take by default: Ollama, LM Studio, llama.cpp and LocalAI, vLLM, Jan, KoboldCpp, GPT4All,
/// text-generation-webui.
pub(crate) const USUAL_PORTS: [u16; 8] = [11434, 1234, 8080, 8000, 1337, 5001, 4891, 5000];

/// Asks all servers at the same time what they have, and remembers it.
pub(crate) async fn look_at_all(servers: &Servers, dial: &Arc<dyn Dial>) {
    join_all(servers.targets().into_iter().map(|target| look_at(servers, dial, target))).await;
}

async fn look_at(servers: &Servers, dial: &Arc<dyn Dial>, target: Target) {
    let looked = match &target.address {
        // The settings were written by another hand: nothing is asked.
        Err(fault) => Err(Fault::from(*fault)),
        Ok(address) => {
            let place = Place { address, far: target.server.far, key: &target.key, dial: dial.as_ref() };
            ask(&place, target.server.api, LOOK_LIMIT).await
        }
    };
    let api = looked.as_ref().map_or(ModelApi::Auto, |(api, _)| *api);
    let unknown = servers.found(target.number, looked);
    if let (Some(backend), Ok(address)) = (backend::of(api), &target.address) {
        let place = Place { address, far: target.server.far, key: &target.key, dial: dial.as_ref() };
        let until = Instant::now() + DETAILS_LIMIT;
        let details = stream::iter(unknown).map(|model| details(backend, &place, model));
        let mut details = details.buffer_unordered(DETAILS_AT_ONCE);
        while let Ok(Some((model, context))) = timeout_at(until, details.next()).await {
            if let Some(context) = context {
                servers.learn(target.number, &model, context);
            }
        }
    }
}

async fn details(
    backend: &'static dyn backend::Backend,
    place: &Place<'_>,
    model: ModelFacts,
) -> (ModelFacts, Option<u64>) {
    let context = backend.context(place, &model.name).await;
    (model, context)
}

/// Asks one server what it has, and finds out which interface it speaks if that is not known.
async fn ask(place: &Place<'_>, api: ModelApi, limit: Duration) -> Result<(ModelApi, Found), Fault> {
    let asked = async {
        match backend::of(api) {
            Some(backend) => Ok((api, backend.look(place).await?)),
            None => find_out(place).await,
        }
    };
    timeout(limit, asked).await.unwrap_or(Err(Fault::Slow(limit)))
}

async fn find_out(place: &Place<'_>) -> Result<(ModelApi, Found), Fault> {
    let mut told = Fault::NoModelServer;
    for api in [ModelApi::Ollama, ModelApi::OpenAi] {
        let Some(backend) = backend::of(api) else { continue };
        match backend.look(place).await {
            Ok(found) => return Ok((api, found)),
            // Another way of asking changes nothing about these.
            Err(
                fault @ (Fault::Address(_)
                | Fault::NoSuchHost
                | Fault::Far
                | Fault::NoTls
                | Fault::Tls(_)
                | Fault::Refused
                | Fault::Slow(_)
                | Fault::NoHttp
                | Fault::KeyInClear),
            ) => return Err(fault),
            // What says more than that it is of another kind is told in the end. A server may refuse even with its key what it does
            // not know.
            Err(Fault::NoModelServer) => {}
            Err(fault) => told = fault,
        }
    }
    Err(told)
}

/// Looks for servers at these ports of this computer that are not among `known`.
pub(crate) async fn find(known: &[Target], dial: &Arc<dyn Dial>, ports: &[u16]) -> Vec<ServerState> {
    let fresh = ports.iter().copied().filter(|port| !known.iter().any(|target| is_here_at(target, *port)));
    join_all(fresh.map(|port| try_port(dial, port))).await.into_iter().flatten().collect()
}

async fn try_port(dial: &Arc<dyn Dial>, port: u16) -> Option<ServerState> {
    let address = Address { secure: false, host: Host::Name("localhost".to_owned()), port };
    // Whatever listens there gets no key.
    let place = Place { address: &address, far: false, key: &KnownKey::None, dial: dial.as_ref() };
    let (api, found) = ask(&place, ModelApi::Auto, FIND_LIMIT).await.ok()?;
    let server = ModelServer { url: address.to_string(), api: ModelApi::Auto, far: false, parallel: 1 };
    Some(ServerState { server, api, name: found.name, models: found.models, trouble: None, running: 0 })
}

fn is_here_at(target: &Target, port: u16) -> bool {
    target.address.as_ref().is_ok_and(|address| address.host.is_here() && address.port == port)
}
