//! A platform that says just enough: HELLO in, HELLO_ACK out, then requests and their replies. It costs so little that
//! what is measured is the engine. It checks nothing; the practice platform does that in the tests.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// Nothing that is measured takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where engines and echoes connect to.
#[derive(Debug)]
pub(crate) struct Peer {
    listener: TcpListener,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: WebSocketStream<TcpStream>,
    /// The path of the upgrade.
    pub(crate) path: String,
}

impl Peer {
    pub(crate) async fn open() -> anyhow::Result<Self> {
        Ok(Self { listener: TcpListener::bind(("127.0.0.1", 0)).await? })
    }

    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// The `platform_url` of engines.
    pub(crate) fn url(&self) -> anyhow::Result<String> {
        Ok(format!("ws://{}", self.address()?))
    }

    /// Takes the next connection, whatever it is.
    pub(crate) async fn accept(&self) -> anyhow::Result<Link> {
        tokio::time::timeout(PATIENCE, async {
            let (stream, _) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            let mut path = String::new();
            #[expect(clippy::result_large_err, reason = "the library's own type")]
            let look = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
                request.uri().path().clone_into(&mut path);
                Ok(response)
            };
            let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
            let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, look, Some(config)).await?;
            Ok(Link { socket, path })
        })
        .await
        .context("nobody connected within 60 s")?
    }

    /// Takes the next connection of an engine up to its HELLO.
    pub(crate) async fn hello(&self) -> anyhow::Result<(Link, String)> {
        let mut link = self.accept().await?;
        let hello = link.text().await?;
        Ok((link, hello.to_string()))
    }

    /// Takes the next connection of an engine and answers its HELLO.
    pub(crate) async fn engine(&self) -> anyhow::Result<Link> {
        let (mut link, hello) = self.hello().await?;
        let hello: Value = serde_json::from_str(&hello)?;
        let chat = link.path.strip_prefix("/ws/local-executor/").map(str::to_owned);
        let ack = json!({
            "type": "HELLO_ACK",
            "id": hello["id"],
            "ts": 0,
            "payload": {
                "session_id": chat,
                "connection_id": "bench",
                "protocol_version": "1.1",
                "granted_capabilities": hello["payload"]["capabilities"],
                "max_file_size_bytes": 10_485_760,
                "command_timeout_seconds": 30,
                "max_concurrent": 4,
            },
        });
        link.send(ack.to_string()).await?;
        Ok(link)
    }
}

/// A request as a frame.
pub(crate) fn request(id: &str, kind: &str, payload: &Value) -> String {
    json!({ "type": kind, "id": id, "ts": 1_712_345_678.123, "payload": payload }).to_string()
}

impl Link {
    pub(crate) async fn send(&mut self, text: impl Into<Utf8Bytes>) -> anyhow::Result<()> {
        Ok(self.socket.send(Message::Text(text.into())).await?)
    }

    /// Waits for the next text frame.
    pub(crate) async fn text(&mut self) -> anyhow::Result<Utf8Bytes> {
        loop {
            match tokio::time::timeout(PATIENCE, self.socket.next()).await.context("no frame within 60 s")? {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(frame))) => bail!("the other side closed: {frame:?}"),
                Some(Ok(_)) => {}
                Some(Err(fault)) => bail!("the connection broke: {fault}"),
                None => bail!("the connection ended"),
            }
        }
    }

    /// Waits for the next reply; STATUS frames are passed over.
    pub(crate) async fn reply(&mut self) -> anyhow::Result<Utf8Bytes> {
        loop {
            let text = self.text().await?;
            let head = text.as_bytes().get(..64).unwrap_or(text.as_bytes());
            if !head.windows(15).any(|part| part == b"\"type\":\"STATUS\"") {
                return Ok(text);
            }
        }
    }

    /// Sends one request and waits for its reply, which must be of this type.
    pub(crate) async fn ask(&mut self, kind: &str, payload: &Value, wanted: &str) -> anyhow::Result<Value> {
        self.send(request(&format!("ask-{kind}"), kind, payload)).await?;
        let reply: Value = serde_json::from_str(&self.reply().await?)?;
        ensure!(reply["type"] == wanted, "{kind} was answered by {reply}");
        Ok(reply["payload"].clone())
    }

    /// Closes in order.
    pub(crate) async fn close(mut self) -> anyhow::Result<()> {
        // Without a code the engine takes it for a fault and waits longer each time.
        let frame = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
        self.socket.close(Some(frame)).await?;
        while let Some(Ok(_)) = self.socket.next().await {}
        Ok(())
    }
}
