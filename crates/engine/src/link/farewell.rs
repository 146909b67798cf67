//! How a connection ends on the wire: what is left is sent, then the close frame of whoever closes first is answered.
//!
//! It decides nothing about retries; that is the dialer's business. See spec 4.6 and RFC 6455, section 5.5.1.

use std::collections::VecDeque;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

/// Says goodbye and reads until the peer has ended too. A caller limits the time.
///
/// `closed_by_peer` says that a close frame of the peer has been read: then nothing but the answer to it, which the
/// library holds ready, may still be sent. Without it the peer would see the line as broken (1006).
///
/// # Errors
/// When the peer is gone already. Nothing is lost then.
pub(super) async fn farewell<S>(
    socket: &mut WebSocketStream<S>,
    left: &mut VecDeque<Message>,
    (code, reason): (u16, String),
    closed_by_peer: bool,
) -> Result<(), WsError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if closed_by_peer {
        left.clear();
        socket.flush().await?;
    } else {
        while let Some(message) = left.pop_front() {
            socket.feed(message).await?;
        }
        socket.close(Some(CloseFrame { code: code.into(), reason: reason.into() })).await?;
    }
    while let Some(frame) = socket.next().await {
        frame?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "farewell_tests.rs"]
mod tests;
