//! The practice model server that a platform may bring along, so that somebody without a model of their own has something to ask.

use crate::model::{ModelServer, Script};
use std::time::Duration;
use tokio::net::TcpStream;

/// How long somebody at an address of this computer may take to accept a connection.
const ANSWERS_WITHIN: Duration = Duration::from_millis(300);

/// Whether a platform brings the practice model server along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Beside {
    /// No model server.
    #[default]
    Nothing,
    /// The practice model server.
    Model,
    /// The practice model server, unless somebody listens at this address: then the person has one of their own.
    ModelUnless(String),
}

impl Beside {
    /// Starts what is wanted.
    ///
    /// # Errors
    /// When no port can be bound.
    pub(crate) async fn start(&self) -> std::io::Result<Option<ModelServer>> {
        let wanted = match self {
            Self::Nothing => false,
            Self::Model => true,
            Self::ModelUnless(url) => !listens(url).await,
        };
        if wanted { ModelServer::start(Script::practice()).await.map(Some) } else { Ok(None) }
    }
}

/// Tells whether somebody accepts a connection there. Nothing is said to them.
async fn listens(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let plain = if url.starts_with("https:") { 443 } else { 80 };
    let with_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if with_port { place.to_owned() } else { format!("{place}:{plain}") };
    matches!(tokio::time::timeout(ANSWERS_WITHIN, TcpStream::connect(place)).await, Ok(Ok(_)))
}
