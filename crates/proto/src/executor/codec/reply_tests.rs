use std::time::Duration;

use drawbridge_core::{FileFacts, SessionId};
use proptest::prelude::*;

use super::*;
use crate::executor::wire::{Envelope, FromClient};

const WALL: WallMs = WallMs(1_712_345_678_123);

fn id() -> RequestId {
    RequestId::parse("r-1").unwrap()
}

fn read_context() -> ReplyContext {
    ReplyContext::of_name("FILE_READ")
}

fn answer(outcome: &Outcome) -> Reply {
    Reply::encode(&id(), &read_context(), &Limits::default(), Ok(outcome))
}

fn frame(reply: Reply) -> String {
    reply.into_frame(WALL, "1.1", 3)
}

fn parsed(reply: Reply) -> FromClient {
    let envelope = Envelope::<FromClient>::from_text(&frame(reply)).unwrap();
    assert_eq!(envelope.id, "r-1");
    assert_eq!(envelope.pending_capacity, Some(3));
    assert_eq!(envelope.version.as_deref(), Some("1.1"));
    assert!((envelope.ts - 1_712_345_678.123).abs() < 0.0005);
    envelope.message
}

fn contents(bytes: Vec<u8>, form: ContentForm) -> Outcome {
    let size_bytes = bytes.len() as u64;
    Outcome::Contents(FileContents { bytes, form, size_bytes, truncated: false, lossy: false })
}

fn ran(stdout: String, stderr: String, output_truncated: bool) -> Outcome {
    Outcome::Command(CommandResult {
        stdout,
        stderr,
        exit_code: 0,
        timed_out: false,
        duration: Duration::from_millis(120),
        output_truncated,
    })
}

fn result_of(reply: Reply) -> wire::CommandResult {
    let FromClient::CommandResult(result) = parsed(reply) else { panic!("no result") };
    result
}

fn error_of(reply: Reply) -> wire::Error {
    let FromClient::Error(error) = parsed(reply) else { panic!("no error") };
    error
}

#[test]
fn file_content_travels_as_text_or_as_base64() {
    let FromClient::FileContents(wire::FileContents::Content(text)) =
        parsed(answer(&contents("a \"quoted\"\r\nline ✓".into(), ContentForm::Text)))
    else {
        panic!()
    };
    assert_eq!(text.content, "a \"quoted\"\r\nline ✓");
    assert_eq!(text.size_bytes, 20);
    assert!(!text.lossy);
    let FromClient::FileContents(wire::FileContents::Content(bytes)) =
        parsed(answer(&contents(vec![0, 255, 7, 8], ContentForm::Bytes)))
    else {
        panic!()
    };
    assert_eq!((bytes.content.as_str(), bytes.encoding), ("AP8HCA==", wire::Encoding::Base64));
}

#[test]
fn text_that_is_no_text_is_marked_even_when_nobody_marked_it_before() {
    let FromClient::FileContents(wire::FileContents::Content(content)) =
        parsed(answer(&contents(b"caf\xE9".to_vec(), ContentForm::Text)))
    else {
        panic!()
    };
    assert_eq!(content.content, "caf\u{FFFD}");
    assert!(content.lossy);
}

#[test]
fn five_mebibytes_of_text_fit() {
    let reply = answer(&contents(vec![b'x'; 5 * 1024 * 1024], ContentForm::Text));
    assert_eq!(reply.error_code(), None);
}

#[test]
fn a_frame_of_exactly_the_limit_goes_out_and_one_byte_more_does_not() {
    let around = frame(answer(&contents(Vec::new(), ContentForm::Text))).len();
    // size_bytes grows from one digit to eight.
    let room = FRAME_LIMIT_BYTES - around - 7;
    let exact = answer(&contents(vec![b'x'; room], ContentForm::Text));
    assert_eq!(exact.error_code(), None);
    assert_eq!(frame(exact).len(), FRAME_LIMIT_BYTES);
    let over = answer(&contents(vec![b'x'; room + 1], ContentForm::Text));
    assert_eq!(over.error_code(), Some("FILE_TOO_LARGE"));
    let details = error_of(over).details.unwrap();
    assert_eq!(details["attempted_bytes"], FRAME_LIMIT_BYTES + 1);
    assert_eq!(details["max_file_size_bytes"], 10_485_760);
    assert_eq!(details["op"], "FILE_READ");
}

#[test]
fn text_that_grows_past_the_frame_by_escaping_is_refused_with_its_real_size() {
    let reply = answer(&contents(vec![1; 3 * 1024 * 1024], ContentForm::Text));
    assert_eq!(reply.error_code(), Some("FILE_TOO_LARGE"));
    let attempted = error_of(reply).details.unwrap()["attempted_bytes"].as_u64().unwrap();
    assert!(attempted > 18 * 1024 * 1024 && attempted < 18 * 1024 * 1024 + 300, "{attempted}");
}

#[test]
fn ordinary_output_is_not_touched() {
    let reply = answer(&ran("total 48\n".into(), String::new(), false));
    assert!(!reply.output_cut());
    let result = result_of(reply);
    assert_eq!(result.stdout, "total 48\n");
    assert!((result.duration_seconds - 0.12).abs() < 1e-9);
    assert!(!result.output_truncated);
}

#[test]
fn output_that_grows_past_the_frame_is_cut_from_the_end_of_stdout() {
    let reply = answer(&ran("\u{1}".repeat(3 * 1024 * 1024), "it failed".into(), false));
    assert!(reply.output_cut());
    assert_eq!(reply.error_code(), None);
    let text = frame(reply);
    assert!(text.len() <= FRAME_LIMIT_BYTES && text.len() > FRAME_LIMIT_BYTES - 6, "{}", text.len());
    let FromClient::CommandResult(result) = Envelope::<FromClient>::from_text(&text).unwrap().message else { panic!() };
    assert!(result.output_truncated);
    assert_eq!(result.stderr, "it failed\n[command output truncated]\n");
    assert!(result.stdout.len() > 2_700_000);
}

#[test]
fn a_long_stderr_is_cut_only_when_stdout_is_gone() {
    let reply = answer(&ran("out".repeat(9), "\u{2}".repeat(3 * 1024 * 1024), false));
    let result = result_of(reply);
    assert_eq!(result.stdout, "");
    assert!(result.stderr.ends_with("\u{2}\n[command output truncated]\n"));
}

#[test]
fn a_marker_that_is_there_already_is_not_repeated() {
    let stderr = format!("{}{CUT_MARKER}", "\u{3}".repeat(10));
    let result = result_of(answer(&ran("\u{1}".repeat(3 * 1024 * 1024), stderr, true)));
    assert_eq!(result.stderr, format!("{}{CUT_MARKER}", "\u{3}".repeat(10)));
}

#[test]
fn cut_output_keeps_whole_letters_and_the_size_limit() {
    for lead in 0..3 {
        let stdout = format!("{}{}", "a".repeat(lead), "\u{1}✓".repeat(1_900_000));
        let limits = Limits { max_file_size_bytes: 7_600_006, ..Limits::default() };
        let outcome = ran(stdout.clone(), String::new(), false);
        let result = result_of(Reply::encode(&id(), &read_context(), &limits, Ok(&outcome)));
        assert!(stdout.starts_with(&result.stdout));
        assert!((result.stdout.len() + result.stderr.len()) as u64 <= limits.max_file_size_bytes);
    }
}

#[test]
fn entries_of_a_listing_are_written_as_serde_would() {
    let entry = |name: &str, mtime: f64| FileEntry {
        name: name.to_owned(),
        path: format!("/w/{name}"),
        is_file: true,
        is_dir: false,
        is_symlink: false,
        size_bytes: 16,
        mtime,
    };
    let entries = vec![entry("a\"b", 1_712_345_678.0), entry("ü\n", 0.25), entry("strange", f64::NAN)];
    let FromClient::FileListResponse(list) = parsed(answer(&Outcome::List { entries, truncated: true })) else {
        panic!()
    };
    assert!(list.truncated);
    assert_eq!(list.entries.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["a\"b", "ü\n", "strange"]);
    assert!((list.entries[1].mtime - 0.25).abs() < 1e-9);
}

#[test]
fn a_missing_file_is_an_answer_with_a_path_and_nothing_else() {
    let stat = FileStat { path: "/w/gone".into(), found: None };
    let text = frame(answer(&Outcome::Stat(stat)));
    assert!(text.contains("\"exists\":false,\"is_file\":null"), "{text}");
    assert!(text.contains("\"path\":\"/w/gone\""));
    let facts = FileFacts {
        is_file: true,
        is_dir: false,
        is_symlink: false,
        size_bytes: 1,
        mtime: 1.5,
        ctime: 1.5,
        mode: 0o104_755,
        owner_uid: Some(501),
        owner_gid: None,
        mime_type: None,
    };
    let FromClient::FileStatResponse(stat) =
        parsed(answer(&Outcome::Stat(FileStat { path: "/w/x".into(), found: Some(facts) })))
    else {
        panic!()
    };
    assert_eq!(stat.mode.as_deref(), Some("4755"));
}

#[test]
fn answers_about_chats_repeat_exactly_what_was_bound() {
    let binding = Binding {
        session: SessionId::parse("chat-1").unwrap(),
        allowed_root: "/home/zoë/Projekte".into(),
        fingerprint: "6".repeat(64),
        revision: 3,
    };
    let restored = Outcome::Restored { binding: binding.clone(), root_grant: "v1.a.b".into() };
    let FromClient::SessionRestored(granted) = parsed(answer(&restored)) else { panic!() };
    assert_eq!(
        (granted.allowed_root.as_str(), granted.revision, granted.root_grant.as_str()),
        ("/home/zoë/Projekte", 3, "v1.a.b")
    );
    assert!(matches!(parsed(answer(&Outcome::Activated(binding.clone()))), FromClient::SessionActivated(_)));
    let attached = Outcome::Attached { binding, root_grant: "v1.a.b".into() };
    assert!(matches!(parsed(answer(&attached)), FromClient::SessionAttached(_)));
    assert_eq!(parsed(answer(&Outcome::Done)), FromClient::Ack(wire::Ack { ok: true, pid: None }));
}

#[test]
fn a_page_of_folders_has_its_end_in_seconds() {
    let folder = DirectoryEntry { directory_ref: "d".into(), name: "alice".into(), path: "/Users/alice".into() };
    let page = DirectoryPage {
        browse_id: "b".into(),
        current: None,
        parent_ref: None,
        entries: vec![folder],
        next_cursor: None,
        truncated: false,
        expires_at: WallMs(1_712_345_978_250),
    };
    let FromClient::DirectoryListResponse(page) = parsed(answer(&Outcome::Directory(page))) else { panic!() };
    assert!((page.expires_at - 1_712_345_978.25).abs() < 1e-6);
    assert_eq!(page.entries.len(), 1);
}

#[test]
fn an_error_about_an_endless_path_stays_short() {
    let error = OpError::NotFound { path: "é".repeat(9 * 1024 * 1024) };
    let text = frame(Reply::encode(&id(), &read_context(), &Limits::default(), Err(&error)));
    assert!(text.len() < 100_000, "{}", text.len());
}

#[test]
fn nothing_of_the_content_shows_in_a_log() {
    let reply = answer(&contents(b"secret".to_vec(), ContentForm::Text));
    assert!(!format!("{reply:?}").contains("secret"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_arrive_as_they_were(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let FromClient::FileContents(wire::FileContents::Content(content)) =
            parsed(answer(&contents(bytes.clone(), ContentForm::Bytes))) else { panic!() };
        prop_assert_eq!(STANDARD.decode(content.content).unwrap(), bytes.clone());
        let FromClient::FileContents(wire::FileContents::Content(content)) =
            parsed(answer(&contents(bytes.clone(), ContentForm::Text))) else { panic!() };
        prop_assert_eq!(content.content, String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn output_is_cut_to_the_room_there_is(stdout in "(.|[\\x00-\\x1f]){0,60}", stderr in "(.|[\\x00-\\x1f]){0,60}", room in 280_usize..900) {
        let Outcome::Command(result) = ran(stdout.clone(), stderr.clone(), false) else { panic!() };
        let (body, cut) = command(&id(), &result, &Limits::default(), room);
        prop_assert!(body.len() <= room, "{} of {}", body.len(), room);
        let whole = serde_json::from_str::<Value>(&format!("{body}}}")).unwrap();
        if cut {
            prop_assert!(stdout.starts_with(whole["payload"]["stdout"].as_str().unwrap()));
            let rest = whole["payload"]["stderr"].as_str().unwrap().strip_suffix(CUT_MARKER).unwrap();
            prop_assert!(stderr.starts_with(rest));
        } else {
            prop_assert_eq!(whole["payload"]["stdout"].as_str().unwrap(), stdout);
        }
    }
}
