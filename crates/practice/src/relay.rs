//! The life of one socket after its upgrade: one task writes, one reads, and neither waits for the other, so that a peer
//! that stops reading can still be read from, timed out and closed.

use crate::agent::ask_link;
use crate::inbound;
use crate::outbox::{Ending, Out, Queue};
use crate::state::Shared;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes of a close reason that fit into a close frame.
const REASON_MAX: usize = 123;

/// How the reading of a socket ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// We close, with this code and reason.
    Close(u16, String),
    /// The other side closed.
    Closed,
    /// The connection broke, or somebody else ends it.
    Broken,
}

impl End {
    pub(crate) fn close(code: u16, reason: &str) -> Self {
        Self::Close(code, reason.to_owned())
    }
}

/// Sends what is queued, until a close frame or the end of the connection.
pub(crate) async fn write(
    shared: std::sync::Arc<Shared>,
    n: u64,
    mut queue: Queue,
    mut sink: SplitSink<WebSocket, Message>,
) {
    while let Some(out) = queue.next().await {
        let message = match out {
            Out::Text(text) => {
                shared.record(n, false, &text);
                Message::Text(text.into())
            }
            Out::Binary(bytes) => {
                shared.record_binary(n, false, &bytes);
                Message::Binary(bytes.into())
            }
            Out::Close(code, mut reason) => {
                while reason.len() > REASON_MAX {
                    reason.pop();
                }
                let _ = sink.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
                return;
            }
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// Waits until somebody wants the socket to end.
pub(crate) async fn ending(ends: &mut watch::Receiver<Ending>) -> End {
    let _ = ends.wait_for(|e| *e != Ending::Open).await;
    End::Broken
}

/// Reads frames of a machine past its handshake.
pub(crate) async fn read(
    shared: &Shared,
    stream: &mut SplitStream<WebSocket>,
    n: u64,
    expires: Instant,
    stall: &mut watch::Receiver<bool>,
) -> End {
    let mut every = shared.ping_every.subscribe();
    let mut last_ping = Instant::now();
    loop {
        let reading = !*stall.borrow_and_update();
        let period = *every.borrow_and_update();
        let wake = period.map(|p| wake(shared, n, last_ping + p));
        tokio::select! {
            biased;
            _ = stall.changed() => {}
            _ = every.changed() => {}
            () = tokio::time::sleep_until(expires.into()) => return End::close(4401, "Access token expired"),
            () = tokio::time::sleep_until(wake.unwrap_or(expires).into()), if wake.is_some() => {
                if !ping(shared, n) {
                    shared.fault(n, "no_pong", "PING was not answered in time");
                    return End::Broken;
                }
                if period.is_some_and(|p| last_ping.elapsed() >= p) {
                    last_ping = Instant::now();
                    shared.change(|s| s.links.get_mut(&n).map(|l| ask_link(l, "PING", &json!({}), None)));
                }
            }
            message = stream.next(), if reading => match message {
                Some(Ok(Message::Text(text))) => {
                    shared.record(n, true, &text);
                    if let Err((kind, why)) = inbound::frame(shared, n, &text) {
                        shared.fault(n, kind, why);
                        return End::close(1008, "Protocol fault");
                    }
                }
                Some(Ok(Message::Binary(bytes))) => {
                    shared.record_binary(n, true, &bytes);
                    shared.fault(n, "bad_frame", "a binary frame; machines send text");
                    return End::close(1008, "Protocol fault");
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) => return End::Closed,
                Some(Err(error)) => {
                    shared.fault(n, "broken", format!("the connection broke, or a frame was above 16 MiB: {error}"));
                    return End::Broken;
                }
                None => return End::Broken,
            },
        }
    }
}

/// When a PING is next due, or one that was sent is overdue.
fn wake(shared: &Shared, n: u64, due: Instant) -> Instant {
    let s = shared.look();
    let pings = s.links.get(&n).into_iter().flat_map(|l| l.asked.values()).filter(|a| a.kind == "PING");
    pings.map(|a| a.born + shared.clocks.pong).chain([due]).min().unwrap_or(due)
}

/// Whether no PING is overdue.
fn ping(shared: &Shared, n: u64) -> bool {
    let s = shared.look();
    let mut asked = s.links.get(&n).into_iter().flat_map(|l| l.asked.values());
    !asked.any(|a| a.kind == "PING" && a.born.elapsed() >= shared.clocks.pong)
}

/// Ends a socket in order: nothing more is asked of it, what is queued and our close frame get a short time, then the
/// other side's close gets the same. A cut skips both.
pub(crate) async fn finish(
    shared: &Shared,
    n: u64,
    end: End,
    mut stream: SplitStream<WebSocket>,
    mut writing: JoinHandle<()>,
    mut ends: watch::Receiver<Ending>,
) {
    shared.change(|s| {
        if let Some(link) = s.links.get_mut(&n) {
            link.ready = false;
            link.asked.clear();
            match &end {
                End::Close(code, reason) => drop(link.out.close(*code, reason)),
                End::Broken if *ends.borrow() == Ending::Open => link.out.cut(),
                End::Closed | End::Broken => {}
            }
        }
    });
    let closing: Duration = shared.clocks.closing;
    let drained = async { while let Some(Ok(_)) = stream.next().await {} };
    let sent = async {
        let sent = end != End::Closed && tokio::time::timeout(closing, &mut writing).await.is_ok();
        if sent || end == End::Closed {
            tokio::time::sleep(closing).await;
        }
    };
    tokio::select! {
        biased;
        _ = ends.wait_for(|e| *e == Ending::Cut) => {}
        () = drained => {}
        () = sent => {}
    }
    writing.abort();
    shared.change(|s| s.links.remove(&n));
}
