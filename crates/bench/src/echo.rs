//! The physical limit of a wire: a bare tokio-tungstenite client in a process of its own that answers each frame with one
//! of the size asked for. It does nothing else.

use std::net::SocketAddr;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::engine::{Killed, cpu_of};
use crate::peer::{Link, Peer};

/// First word of the command line of the echo's own process.
pub(crate) const ROLE: &str = "--echo";

/// An echo and the connection to it.
pub(crate) struct Echo {
    pub(crate) link: Link,
    process: Killed,
}

impl Echo {
    pub(crate) async fn start(peer: &Peer) -> anyhow::Result<Self> {
        let child: Child = Command::new(std::env::current_exe()?).args([ROLE, &peer.address()?.to_string()]).spawn()?;
        let process = Killed(child);
        Ok(Self { link: peer.accept().await?, process })
    }

    /// Processor time of its process so far.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.process.0.id())
    }
}

/// A frame of `size` bytes that asks the echo for one of `answer` bytes.
pub(crate) fn frame(answer: usize, size: usize) -> Utf8Bytes {
    format!("{answer} {}", "x".repeat(size.saturating_sub(answer.to_string().len() + 1))).into()
}

/// The echo's own process: connects and answers until the connection ends.
pub(crate) async fn run(address: &str) -> anyhow::Result<()> {
    let address: SocketAddr = address.parse()?;
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
    let (mut socket, _) =
        tokio_tungstenite::client_async_with_config(format!("ws://{address}/echo"), stream, Some(config)).await?;
    let mut answer = Utf8Bytes::default();
    while let Some(frame) = socket.next().await {
        let Message::Text(text) = frame? else { continue };
        let size: usize = text.split(' ').next().context("an empty frame")?.parse()?;
        if answer.len() != size {
            answer = "y".repeat(size).into();
        }
        socket.send(Message::Text(answer.clone())).await?;
    }
    Ok(())
}
