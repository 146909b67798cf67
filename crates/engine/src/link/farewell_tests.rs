#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::collections::VecDeque;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{DuplexStream, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::farewell;

async fn pair() -> (WebSocketStream<DuplexStream>, WebSocketStream<DuplexStream>) {
    let (ours, theirs) = duplex(64 * 1024);
    (
        WebSocketStream::from_raw_socket(ours, Role::Client, None).await,
        WebSocketStream::from_raw_socket(theirs, Role::Server, None).await,
    )
}

fn code(message: &Message) -> u16 {
    let Message::Close(Some(frame)) = message else { panic!("no close frame with a code: {message:?}") };
    u16::from(frame.code)
}

#[tokio::test]
async fn a_close_of_the_peer_is_answered_with_its_code_and_nothing_else_is_sent() {
    for given in [1000, 1011, 4401, 4427, 4500] {
        let (mut ours, mut theirs) = pair().await;
        let frame = CloseFrame { code: given.into(), reason: "enough".into() };
        theirs.send(Message::Close(Some(frame))).await.unwrap();
        assert_eq!(code(&ours.next().await.unwrap().unwrap()), given);

        let mut left = VecDeque::from([Message::text("late")]);
        let peer = tokio::spawn(async move {
            let answer = theirs.next().await.unwrap().unwrap();
            drop(theirs);
            answer
        });
        let _ = farewell(&mut ours, &mut left, (1000, String::new()), true).await;
        drop(ours);

        assert_eq!(code(&peer.await.unwrap()), given);
        assert!(left.is_empty());
    }
}

#[tokio::test]
async fn what_is_left_goes_out_before_our_own_close() {
    let (mut ours, mut theirs) = pair().await;
    let peer = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(Ok(message)) = theirs.next().await {
            seen.push(message);
        }
        seen
    });
    let mut left = VecDeque::from([Message::text("last")]);

    farewell(&mut ours, &mut left, (4428, "SESSION_REVOKED".to_owned()), false).await.unwrap();

    let seen = peer.await.unwrap();
    assert_eq!(seen[0], Message::text("last"));
    assert_eq!(code(&seen[1]), 4428);
}
