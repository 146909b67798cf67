#![allow(clippy::panic, reason = "a fault under test")]

use std::panic::AssertUnwindSafe;

use super::*;

fn chat(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn row(session: &str, operation: &str) -> ActivityRow {
    ActivityRow { session_id: Some(session.to_owned()), operation: operation.to_owned(), ..ActivityRow::default() }
}

#[tokio::test]
async fn what_runs_is_counted_until_it_ends_is_given_up_or_breaks() {
    let board = Arc::new(Board::new());
    let shell = |name: &str| board.running(Some(Power::Shell), Some(&chat(name)));

    let first = shell("a");
    let held = shell("b");
    let task = tokio::spawn(async move {
        let _held = held;
        std::future::pending::<()>().await;
    });
    assert_eq!((board.running_now(Power::Shell), board.running_now(Power::Files)), (2, 0));
    task.abort();
    let _ = task.await;
    assert_eq!(board.running_now(Power::Shell), 1);
    let broken = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let _running = shell("c");
        panic!("a broken assertion")
    }));
    drop(first);

    assert!(broken.is_err());
    assert_eq!(board.running_now(Power::Shell), 0);
    assert_eq!(board.doings("c").powers, BTreeSet::from([Power::Shell]));
}

#[test]
fn rows_and_chats_stay_bounded_and_the_newest_stay() {
    let board = Arc::new(Board::new());
    for number in 0..1000 {
        board.act(row(&format!("chat-{number}"), "FILE_READ"));
    }
    board.act(row("chat-999", "FILE_WRITE"));

    let rows = board.rows();
    assert_eq!((rows.len(), rows[0].operation.as_str(), rows[0].number), (50, "FILE_WRITE", 1001));
    assert_eq!(board.doings("chat-999").last_operation.as_deref(), Some("FILE_WRITE"));
    assert_eq!(board.doings("chat-900").last_operation.as_deref(), Some("FILE_READ"));
    assert_eq!(board.doings("chat-1"), Doings::default());
}

#[test]
fn a_notice_replaces_the_one_of_the_same_kind() {
    let board = Board::new();
    let notice = |code: &str, message: &str| Notice { code: code.to_owned(), message: message.to_owned() };
    board.add_notice(notice("a", "first"));
    board.add_notice(notice("b", "other"));
    board.add_notice(notice("a", "second"));

    assert_eq!(board.notices(), [notice("b", "other"), notice("a", "second")]);
}
