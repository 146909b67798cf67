//! What a person sees of what was done, and how it is taken back, through a whole engine.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod rig;

use std::fs;
use std::path::Path;

use drawbridge_core::{Power, PowerMode};
use drawbridge_engine::view::{ActivityFilter, ActivityRow, ChangeCounts, ChatView, RecordView, Snapshot, UndoView};
use drawbridge_engine::{Command, Reply};
use rig::{Rig, Wish, read, write};
use serde_json::json;

fn chat_of<'a>(picture: &'a Snapshot, chat: &str) -> &'a ChatView {
    picture.chats.iter().find(|one| one.session_id == chat).unwrap()
}

fn running(picture: &Snapshot, power: &str) -> u32 {
    picture.powers.iter().find(|one| one.power == power).unwrap().running
}

async fn page(rig: &Rig, filter: ActivityFilter) -> Vec<ActivityRow> {
    let reply = rig.handle.send(Command::ActivityPage { filter, skip: 0, limit: 50 }).await.unwrap();
    let Reply::Activity { rows, .. } = reply else { panic!("{reply:?}") };
    rows
}

async fn record(rig: &Rig, row: &ActivityRow) -> RecordView {
    let command = Command::AuditRecord { seq: row.seq.unwrap(), file: row.file.clone() };
    let reply = rig.handle.send(command).await.unwrap();
    let Reply::Record { record } = reply else { panic!("{reply:?}") };
    *record
}

async fn changes(rig: &Rig, chat: &str) -> Vec<UndoView> {
    let reply = rig.handle.send(Command::UndoList { session_id: Some(chat.to_owned()) }).await.unwrap();
    let Reply::Undo { entries } = reply else { panic!("{reply:?}") };
    entries
}

/// A chat that made one change of each kind in its folder.
async fn busy_chat(rig: &Rig) -> (String, std::path::PathBuf) {
    let (chat, folder) = rig.chat_in("project").await;
    fs::write(folder.join("kept"), "before").unwrap();
    fs::write(folder.join("here"), "moved").unwrap();
    fs::create_dir(folder.join("tree")).unwrap();
    fs::write(folder.join("tree/leaf"), "leaf").unwrap();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("new"), "by the agent")).await.unwrap();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("kept"), "by the agent")).await.unwrap();
    let moved = json!({ "src": folder.join("here"), "dst": folder.join("there") });
    rig.ask(&chat, "FILE_MOVE", moved).await.unwrap();
    let deleted = json!({ "path": folder.join("tree"), "recursive": true });
    rig.ask(&chat, "FILE_DELETE", deleted).await.unwrap();
    (chat, folder)
}

fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_chat_is_taken_back_around_one_obstacle_and_the_obstacle_is_told() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = busy_chat(&rig).await;
    let each = ChangeCounts { created: 1, written: 1, moved: 1, deleted: 1 };
    let fits = |chat: &ChatView| chat.changes == each && chat.last_operation.as_deref() == Some("FILE_DELETE");
    let picture = rig.until(|picture| fits(chat_of(picture, &chat))).await;
    let shown = chat_of(&picture, &chat).clone();
    fs::remove_file(folder.join("there")).unwrap();

    let restored = rig.handle.send(Command::UndoRestoreChat { session_id: chat.clone() }).await.unwrap();

    assert_eq!(shown.powers_used, ["files", "attach"]);
    assert_eq!(shown.last_operation.as_deref(), Some("FILE_DELETE"));
    assert!(shown.attached_ms > 1_600_000_000_000, "{}", shown.attached_ms);
    let Reply::Restored { count, failed } = restored else { panic!("{restored:?}") };
    assert_eq!((count, failed.len()), (3, 1));
    assert_eq!(failed[0].label, folder.join("here").display().to_string());
    assert!(failed[0].value.contains("no longer at"), "{failed:?}");
    assert_eq!(content(&folder.join("kept")), "before");
    assert_eq!(content(&folder.join("tree/leaf")), "leaf");
    assert!(!folder.join("new").exists());
    let after = rig.handle.snapshot();
    assert_eq!(chat_of(&after, &chat).changes, ChangeCounts { moved: 1, ..ChangeCounts::default() });
    assert_eq!(rig.audit_ops().iter().filter(|op| *op == "UNDO_RESTORED").count(), 3);
    let again = rig.handle.send(Command::UndoRestoreChat { session_id: chat }).await.unwrap();
    assert!(matches!(again, Reply::Restored { count: 0, ref failed } if failed.len() == 1), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_changes_are_taken_back_up_to_the_first_that_fails_and_the_error_names_both_sides() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = busy_chat(&rig).await;
    let numbers: Vec<u64> = changes(&rig, &chat).await.iter().map(|change| change.number).collect();
    let [deleted, moved, written, created] = numbers[..] else { panic!("{numbers:?}") };
    fs::remove_file(folder.join("there")).unwrap();

    let refused = rig.handle.send(Command::UndoRestore { numbers: numbers.clone() }).await.unwrap_err();

    assert_eq!(refused.code, "undo_failed");
    for words in [
        format!("change {moved}."),
        format!("Taken back before it: {deleted}."),
        format!("Not tried any more: {written}, {created}."),
    ] {
        assert!(refused.message.contains(&words), "{words} is not in {}", refused.message);
    }
    assert!(folder.join("tree/leaf").exists() && folder.join("new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_the_window_opens_to_its_record_also_after_a_rotation() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    fs::write(folder.join("a"), "x").unwrap();
    rig.ask(&chat, "FILE_READ", read(&folder.join("a"))).await.unwrap();
    rig.refused(&chat, "FILE_READ", read(Path::new("/etc/hostname"))).await;
    let picture = rig.until(|picture| picture.activity.first().is_some_and(|row| !row.ok)).await;
    let (refused, done) = (&picture.activity[0], &picture.activity[1]);
    rig.handle.send(Command::AuditRotate).await.unwrap();
    rig.ask(&chat, "FILE_STAT", json!({ "path": folder.join("a") })).await.unwrap();

    let read_record = record(&rig, done).await;
    let rows = page(&rig, ActivityFilter { session_id: Some(chat.clone()), ..ActivityFilter::default() }).await;

    let path = read_record.fields.iter().find(|field| field.label == "details.path").unwrap();
    assert_eq!(path.value, folder.join("a").display().to_string());
    let why = read_record.why.unwrap();
    assert_eq!((why.decision.as_str(), why.rule.as_str(), why.power.as_deref()), ("allow", "mode", Some("files")));
    assert_eq!(Some(&why), done.why.as_ref(), "what was decided then is told in the same words");
    assert_eq!(read_record.now.unwrap().decision, "allow");
    let ops: Vec<&str> = rows.iter().map(|row| row.operation.as_str()).collect();
    assert_eq!(ops[..3], ["FILE_STAT", "FILE_READ", "FILE_READ"]);
    for (paged, live) in [(&rows[1], refused), (&rows[2], done)] {
        assert_eq!((paged.seq, &paged.file, &paged.subject), (live.seq, &live.file, &live.subject));
        assert_eq!(
            (&paged.error_code, &paged.why, paged.at_ms / 10_000),
            (&live.error_code, &live.why, live.at_ms / 10_000)
        );
    }
    let files = |text: &str| ActivityFilter { text: Some(text.to_owned()), ..ActivityFilter::default() };
    assert_eq!(page(&rig, files("hostname")).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_checked_and_handed_on_while_the_engine_runs() {
    let rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = rig.chat_in("project").await;
    let archive = folder.parent().unwrap().join("audit.zip").display().to_string();

    let (checked, exported) = tokio::join!(
        rig.handle.send(Command::AuditVerify),
        rig.handle.send(Command::AuditExport { path: archive.clone() }),
    );
    let again = rig.handle.send(Command::AuditExport { path: archive.clone() }).await.unwrap_err();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("after"), "x")).await.unwrap();

    let Reply::Verified { report } = checked.unwrap() else { panic!("not checked") };
    assert!(report.sound && report.records > 5, "{report:?}");
    let Reply::Exported { path, records } = exported.unwrap() else { panic!("not exported") };
    assert!(path == archive && records > 5);
    assert_eq!(again.code, "exists");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raise_ends_what_runs_and_tells_how_long_that_took() {
    let rig = Rig::start(Wish::headless().with(Power::Shell, PowerMode::Allowed)).await;
    let (chat, _folder) = rig.chat_in("project").await;
    assert_eq!(rig.handle.snapshot().last_raise, None);
    let command = json!({ "argv": ["sleep", "600"], "timeout_seconds": 20 });
    let (script, its_chat) = (rig.script.clone(), chat.clone());
    let asked = tokio::spawn(async move {
        script.request(&drawbridge_practice::Scope::Data(its_chat), "EXECUTE_COMMAND", command, None).await.map(drop)
    });
    rig.until(|picture| running(picture, "shell") == 1).await;

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();

    let picture = rig.until(|picture| running(picture, "shell") == 0).await;
    let raise = picture.last_raise.unwrap();
    assert!(raise.stored_ms <= raise.ended_ms && raise.at_ms > 0, "{raise:?}");
    let stop = rig.audit().into_iter().find(|record| record["op"] == "STOP_ALL").unwrap();
    assert_eq!(stop["details"], json!({ "raised": true, "stored_ms": raise.stored_ms, "ended_ms": raise.ended_ms }));
    assert!(chat_of(&picture, &chat).powers_used.contains(&"shell".to_owned()));
    assert!(asked.await.unwrap().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_list_that_was_set_aside_is_told_and_stops_nothing() {
    let mut rig = Rig::start(Wish::headless()).await;
    let (chat, folder) = busy_chat(&rig).await;
    assert_eq!(rig.handle.snapshot().notices, []);
    rig.stop().await;
    fs::write(rig.state_dir().join("undo/journal.jsonl"), "no journal\n").unwrap();
    rig.start_again().await;

    let picture = rig.handle.snapshot();

    assert_eq!(picture.trouble, None);
    assert_eq!(picture.notices.len(), 1);
    assert_eq!(picture.notices[0].code, "undo_set_aside");
    assert!(picture.notices[0].message.contains("journal.jsonl.broken-1"), "{:?}", picture.notices);
    rig.until(|picture| picture.link.state == drawbridge_engine::view::LinkState::Connected).await;
    rig.script.restore(&chat).await.unwrap();
    rig.ask(&chat, "FILE_WRITE", write(&folder.join("more"), "x")).await.unwrap();
    assert_eq!(changes(&rig, &chat).await.len(), 1);
}

/// Prints what a picture costs: `cargo nextest run --release … --run-ignored only figures_of_a_picture`. The time is that of
/// a command with the picture composed for it, so it is more than the picture alone.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures; run by hand in release"]
#[allow(clippy::print_stderr, reason = "figures are what it is for")]
async fn figures_of_a_picture_with_eight_chats_and_ten_thousand_changes() {
    const ROUNDS: u32 = 2000;
    let mut rig = Rig::start(Wish::headless()).await;
    let mut chats = Vec::new();
    for number in 0..8 {
        let (chat, folder) = rig.chat_in(&format!("project-{number}")).await;
        rig.ask(&chat, "FILE_WRITE", write(&folder.join("a"), "x")).await.unwrap();
        chats.push(chat);
    }
    rig.stop().await;
    let mut journal = String::new();
    for number in 100..10_091 {
        let entry = json!({
            "number": number, "at_ms": 4_000_000_000_000_i64, "session": chats[number % 8], "kind": "created", "state": "done",
            "root": "/r", "root_device": 1, "root_inode": "1", "bytes": 0,
            "at": { "names_base64": ["YQ=="], "text": format!("/r/{number}") },
        });
        journal += &format!("{}\n", json!({ "entry": entry }));
    }
    let path = rig.state_dir().join("undo/journal.jsonl");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &journal).unwrap();
    rig.start_again().await;
    let picture = rig.until(|picture| picture.chats.len() == 8).await;
    assert_eq!(picture.chats.iter().map(|chat| chat.changes.created).sum::<u64>(), 9_999);

    let began = std::time::Instant::now();
    for _ in 0..ROUNDS {
        let tray = drawbridge_engine::view::TrayState::Shown;
        rig.handle.send(Command::ReportTray { tray }).await.unwrap();
    }
    eprintln!("a command with its picture: {:.1} µs", began.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
}
