//! What is under way when contents begin to stay: read and not yet answered, answered and not yet sent, sent in part. The peer is a real
//! socket that does not read for a while, so that answers wait where they wait in life.

use std::collections::BTreeMap;

use super::*;

/// More than both systems together keep on the way of a connection on this computer.
const FULL: usize = 16 * 1024 * 1024;

fn stall(desk: &Desk, stalled: bool) {
    desk.rig.script.stall(&Scope::Data(desk.chat.clone()), stalled).unwrap();
}

/// Waits until so many acts of a kind are written down as done.
async fn done(desk: &Desk, operation: &str, count: usize) {
    let of = |picture: &Snapshot| picture.activity.iter().filter(|row| row.operation == operation && row.ok).count();
    desk.rig.until(|picture| of(picture) >= count).await;
}

/// Fills the way to the peer with what commands print, which privacy mode does not keep back.
async fn fill(desk: &Desk) -> Vec<JoinHandle<Result<Value, Failure>>> {
    let print = "head -c 8000000 /dev/zero | tr '\\0' x";
    let count = FULL / 8_000_000;
    let asked = (0..count).map(|_| desk.asked("EXECUTE_COMMAND", json!({ "command": print }))).collect();
    done(desk, "EXECUTE_COMMAND", count).await;
    asked
}

fn leaks(desk: &Desk) -> usize {
    let frames = desk.rig.script.frames(0);
    frames.iter().filter(|frame| SECRETS.iter().any(|one| !forms::found(one, frame.text.as_bytes()).is_empty())).count()
}

/// The records of readings: for each request what was said of it, in order.
fn records(desk: &Desk) -> BTreeMap<String, Vec<(Value, Value)>> {
    let mut told: BTreeMap<String, Vec<(Value, Value)>> = BTreeMap::new();
    for record in desk.rig.audit().into_iter().filter(|record| record["op"] == "FILE_READ") {
        let said = (record["result"]["error_code"].clone(), record["details"]["held_back"].clone());
        told.entry(text(&record["request_id"])).or_default().push(said);
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_waits_for_the_socket_gives_way_to_the_refusal() {
    for session in [false, true] {
        let desk = Desk::new(wish().with(Power::Shell, PowerMode::Allowed)).await;
        stall(&desk, true);
        let printed = fill(&desk).await;
        let asked = desk.asked("FILE_READ", rig::read(&desk.folder.join("konto.txt")));
        done(&desk, "FILE_READ", 1).await;

        let session_id = session.then(|| desk.chat.clone());
        desk.rig.handle.send(Command::SetPrivacy { session_id, on: Some(true) }).await.unwrap();
        stall(&desk, false);

        let error = refused(asked).await;
        assert_eq!(error["code"], "PRIVACY_MODE_BLOCKED", "{error}");
        assert!(text(&error["message"]).contains("mode \"stub\""), "{error}");
        assert_eq!(leaks(&desk), 0);
        for one in printed {
            one.await.unwrap().unwrap();
        }
        let told: Vec<_> = records(&desk).into_values().collect();
        assert_eq!(told, [[(Value::Null, Value::Null), (json!("PRIVACY_MODE_BLOCKED"), json!("all"))]]);
        desk.rig.assert_no_faults();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_may_leave_again_when_its_turn_comes_leaves() {
    let desk = Desk::new(wish().with(Power::Shell, PowerMode::Allowed)).await;
    stall(&desk, true);
    let _printed = fill(&desk).await;
    let asked = desk.asked("FILE_READ", rig::read(&desk.folder.join("konto.txt")));
    done(&desk, "FILE_READ", 1).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_privacy(Some(false)).await.unwrap();
    stall(&desk, false);

    assert_eq!(asked.await.unwrap().unwrap()["content"], content());
    assert_eq!(records(&desk).into_values().map(|said| said.len()).collect::<Vec<_>>(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_being_sent_is_cut_off_and_the_log_says_so() {
    const READS: usize = 6;
    let desk = Desk::new(wish()).await;
    let large = desk.folder.join("large.txt");
    fs::write(&large, format!("{}{}", "x".repeat(FULL / READS), content())).unwrap();
    stall(&desk, true);
    let mut asked = Vec::new();
    for count in 1..=READS {
        asked.push(desk.asked("FILE_READ", rig::read(&large)));
        done(&desk, "FILE_READ", count).await;
    }

    let after = desk.rig.script.frames(0).last().unwrap().n;
    desk.set_privacy(Some(true)).await.unwrap();
    stall(&desk, false);

    // A new connection takes the place of the one that was cut.
    let scope = Scope::Data(desk.chat.clone());
    desk.rig.script.frame(after, |frame| frame.scope == scope && frame.kind == "HELLO_ACK").await;
    desk.rig.script.connected(&scope, true).await;
    let mut came = 0;
    for one in asked {
        came += usize::from(one.await.unwrap().is_ok());
    }
    let told = records(&desk);
    let stayed = |how: &str| told.values().filter(|said| said.last().unwrap().1 == json!(how)).count();
    assert!(stayed("rest") >= 1, "{told:?}");
    assert!(came + stayed("rest") + stayed("all") <= READS, "{came} came: {told:?}");
    assert!(leaks(&desk) <= came);
    assert_eq!(desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&large)).await["code"], "PRIVACY_MODE_BLOCKED");
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_switch_comes_a_reading_is_answered_or_refused_and_recorded_as_it_was() {
    let desk = Desk::new(wish()).await;
    let large = desk.folder.join("large.txt");
    fs::write(&large, "x".repeat(8 * 1024 * 1024)).unwrap();
    let scope = Scope::Data(desk.chat.clone());
    for _ in 0..12 {
        desk.rig.script.connected(&scope, true).await;
        let asked = desk.asked("FILE_READ", rig::read(&large));
        desk.set_privacy(Some(true)).await.unwrap();
        match asked.await.unwrap() {
            Ok(read) => assert_eq!(text(&read["content"]).len(), 8 * 1024 * 1024),
            Err(Failure::Refused { reply }) => assert_eq!(reply.payload["code"], "PRIVACY_MODE_BLOCKED"),
            // It was cut off in the middle.
            Err(_) => {}
        }
        desk.set_privacy(Some(false)).await.unwrap();
    }
    for said in records(&desk).into_values() {
        let ok = |(code, _): &(Value, Value)| code.is_null();
        let as_it_was =
            matches!(said.as_slice(), [_]) || matches!(said.as_slice(), [first, last] if ok(first) && !ok(last));
        assert!(as_it_was, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_an_answer_that_wait_for_the_socket_wait_for_the_person_who_wants_to_read_it_first() {
    for answer in [PromptAnswer::Deny, PromptAnswer::AllowOnce] {
        let desk = Desk::new(wish().with_window().with(Power::Shell, PowerMode::Allowed)).await;
        desk.set_privacy(Some(true)).await.unwrap();
        let stub = desk.stub_id().await;
        stall(&desk, true);
        let printed = fill(&desk).await;
        let mut steps = vec![Step::text(&"There is one. ".repeat(20)); 40];
        steps.extend([Step::Hold, Step::text("And it is fine."), Step::finish("stop")]);
        desk.server.next(Answers::Steps(steps));
        let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
        desk.server.until_holding(1).await;

        desk.set_review(true).await;
        desk.server.release();
        let prompt = desk.question().await;
        stall(&desk, false);
        for one in printed {
            one.await.unwrap().unwrap();
        }
        assert_eq!(desk.chunks(), 0, "what waited for the socket waits on");
        desk.answer(&prompt, answer).await;
        let said = asked.await.unwrap();
        assert_eq!((said.is_ok(), desk.chunks() > 0), (answer == PromptAnswer::AllowOnce, said.is_ok()));
        desk.rig.assert_no_faults();
    }
}
