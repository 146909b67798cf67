//! Answers over a pipe in memory, so that time stands still until a test moves it.

use std::time::Duration;

use drawbridge_core::RequestId;
use drawbridge_core::model::{FinishReason, Piece};
use drawbridge_policy::ModelApi;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Heard, Lines, MAX_ANSWER_BYTES, Unheard, fitting, hear};
use crate::Pieces;
use crate::model::backend::of;
use crate::model::fault::Fault;
use crate::model::http::{Call, send};

/// A server at the other end of a pipe that has been asked.
struct Wire {
    server: DuplexStream,
    heard: JoinHandle<Result<Heard, Unheard>>,
    pieces: mpsc::Receiver<(RequestId, Piece)>,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";

impl Wire {
    async fn asked(api: ModelApi, room: usize) -> Self {
        let (client, mut server) = tokio::io::duplex(64 * 1024);
        let (out, pieces) = mpsc::channel(room);
        let heard = tokio::spawn(async move {
            let call = Call { path: "/", body: None };
            let answer = send(Box::new(client), "localhost", None, call, |_| None).await?;
            let pieces = Pieces::new(RequestId::parse("r1").unwrap(), out);
            hear(answer, of(api).unwrap(), Some(pieces), true).await
        });
        let mut asked = [0; 4];
        server.read_exact(&mut asked).await.unwrap();
        Self { server, heard, pieces }
    }

    async fn say(&mut self, text: &str) {
        self.server.write_all(text.as_bytes()).await.unwrap();
    }

    async fn piece(&mut self) -> Piece {
        self.pieces.recv().await.unwrap().1
    }
}

fn line(text: &str) -> String {
    serde_json::json!({"message": {"content": text}, "done": false}).to_string() + "\n"
}

const END: &str = "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n";

#[tokio::test(start_paused = true)]
async fn a_server_may_think_long_before_its_first_line_and_not_after_it() {
    let mut wire = Wire::asked(ModelApi::Ollama, 8).await;
    let began = Instant::now();
    tokio::time::advance(Duration::from_secs(500)).await;
    wire.say(HEAD).await;
    wire.say(&line("one")).await;
    assert_eq!(wire.piece().await, Piece::Delta("one".to_owned()));

    let heard = wire.heard.await.unwrap();

    assert_eq!(heard.err(), Some(Unheard::Fault(Fault::Slow(Duration::from_secs(60)))));
    assert_eq!(began.elapsed().as_secs(), 560);
}

#[tokio::test(start_paused = true)]
async fn the_first_piece_leaves_at_once_and_what_follows_is_put_together() {
    let mut wire = Wire::asked(ModelApi::Ollama, 8).await;
    let began = Instant::now();
    wire.say(HEAD).await;
    wire.say(&line("first")).await;
    assert_eq!(wire.piece().await, Piece::Delta("first".to_owned()));
    assert_eq!(began.elapsed(), Duration::ZERO);
    for text in [" second", "", " third"] {
        wire.say(&line(text)).await;
    }

    assert_eq!(wire.piece().await, Piece::Delta(" second third".to_owned()));
    assert!((29..=32).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    wire.say(&line(" last")).await;
    wire.say(END).await;

    // The end does not wait.
    let before = Instant::now();
    assert_eq!(wire.piece().await, Piece::Delta(" last".to_owned()));
    assert_eq!(wire.piece().await, Piece::Finish(FinishReason::Stop));
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(wire.heard.await.unwrap().ok().unwrap().content, "first second third last");
}

#[tokio::test(start_paused = true)]
async fn while_the_peer_is_slow_the_server_is_still_read_and_pieces_become_one() {
    let mut wire = Wire::asked(ModelApi::Ollama, 1).await;
    wire.say(HEAD).await;
    // More than the pipe holds, so all of it passes only if it is read on.
    for _ in 0..5000 {
        wire.say(&line("0123456789")).await;
        tokio::task::yield_now().await;
    }
    wire.say(END).await;

    let mut pieces = Vec::new();
    while let Some((_, piece)) = wire.pieces.recv().await {
        pieces.push(piece);
    }

    let heard = wire.heard.await.unwrap().ok().unwrap();
    assert_eq!(heard.content, "0123456789".repeat(5000));
    assert!(pieces.len() <= 6, "{} pieces", pieces.len());
    assert_eq!(pieces.pop(), Some(Piece::Finish(FinishReason::Stop)));
    let said: String = pieces
        .into_iter()
        .map(|piece| if let Piece::Delta(text) = piece { text } else { panic!("two ends") })
        .collect();
    assert_eq!(said, heard.content);
}

#[tokio::test(start_paused = true)]
async fn counts_may_lag_behind_the_end_but_not_for_long() {
    let mut wire = Wire::asked(ModelApi::OpenAi, 8).await;
    wire.say(HEAD).await;
    wire.say("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"length\"}]}\n\n").await;
    let began = Instant::now();

    // The server keeps the connection open and says no more.
    let heard = wire.heard.await.unwrap().ok().unwrap();

    assert_eq!((heard.content.as_str(), heard.finish), ("hi", FinishReason::Length));
    assert_eq!(began.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_listening_ends_the_asking() {
    let mut wire = Wire::asked(ModelApi::Ollama, 8).await;
    wire.pieces.close();
    wire.say(HEAD).await;
    wire.say(&line("one")).await;

    assert_eq!(wire.heard.await.unwrap().err(), Some(Unheard::Cancelled));
    // The connection is gone: reading it comes to its end.
    let mut rest = Vec::new();
    wire.server.read_to_end(&mut rest).await.unwrap();
}

#[test]
fn lines_are_put_together_from_any_pieces() {
    let mut lines = Lines::default();
    let mut found = Vec::new();
    for byte in "ä\r\n\nwörter\nrest".bytes() {
        lines.push(&[byte]).unwrap();
        found.extend(std::iter::from_fn(|| lines.next()));
    }

    assert_eq!(found, ["ä".as_bytes(), b"", "wörter".as_bytes()]);
    assert_eq!(lines.rest(), b"rest");
    let mut endless = Lines::default();
    let parts = std::iter::repeat_with(|| endless.push(&[b'x'; 4096]).map(|()| endless.next()));
    assert_eq!(parts.take(300).find_map(Result::err), Some(Fault::TooMuch("one line of its answer is too long")));
}

#[test]
fn an_answer_is_cut_where_its_frame_is_full_and_never_within_a_letter() {
    assert_eq!(fitting("añb", 3), ("añ", 3));
    assert_eq!(fitting("añb", 2), ("a", 1));
    assert_eq!(fitting("a\"\u{1}b", 9), ("a\"\u{1}", 9));
    assert_eq!(fitting("a\"\u{1}b", 8), ("a\"", 3));
    assert_eq!(fitting("", 0), ("", 0));
    const { assert!(MAX_ANSWER_BYTES < drawbridge_core::FRAME_LIMIT_BYTES) };
}
