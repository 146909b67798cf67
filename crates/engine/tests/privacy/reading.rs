//! What is read of private files, described of them and told to the local model.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_private_file_is_answered_about_and_none_of_its_bytes_go_anywhere_else() {
    let mut desk = Desk::private().await;
    let file = desk.folder.join("konto.txt");
    let described = desk.stub(&file).await;
    assert_eq!((&described["mode"], &described["size_bytes"]), (&json!("stub"), &json!(content().len())));
    assert_eq!(described["schema_preview"], "");

    let answer = desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&text(&described["stub_id"]))).await.unwrap();

    assert_eq!(answer["output"], ANSWER);
    assert!(desk.chunks() > 0);
    let blocked = desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&file)).await;
    assert_eq!(blocked["code"], "PRIVACY_MODE_BLOCKED");
    let said = text(&blocked["message"]);
    assert!(said.contains("keeps contents of files on this computer") && said.contains("mode \"stub\""), "{said}");
    // Whatever else is done with it: moved, overwritten, deleted.
    let moved = json!({ "src": file, "dst": desk.folder.join("neu.txt"), "overwrite": false });
    desk.rig.ask(&desk.chat, "FILE_MOVE", moved).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_STAT", json!({ "path": desk.folder.join("neu.txt") })).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_LIST", json!({ "path": desk.folder, "recursive": true })).await.unwrap();

    let told = desk.told();
    for secret in SECRETS {
        assert!(told.contains(secret), "the model was told {secret}: {told}");
    }
    let counted = |chat: &ChatPrivacyView| chat.asked.first().is_some_and(|file| file.turns == 1);
    let picture = desk.rig.until(|picture| picture.chats.iter().any(|chat| counted(&chat.privacy))).await;
    let picture = serde_json::to_vec(&picture).unwrap();
    let view = desk.privacy_view();
    assert_eq!((view.on, view.own, view.asked.len()), (true, Some(true), 1));
    assert_eq!((view.asked[0].stubs, view.asked[0].turns), (1, 1));
    assert!(view.asked[0].path.ends_with("papers/konto.txt"));
    desk.rig.stop().await;
    let frames = desk.rig.script.frames(0);
    assert!(
        frames.iter().any(|frame| frame.kind == "LOCAL_LLM_TURN_RESPONSE") && frames.iter().all(|frame| !frame.cut)
    );
    let kept = files_below(&desk.rig.state_dir());
    assert!(kept.iter().any(|file| file.ends_with("audit.log")), "{kept:?}");
    for secret in SECRETS {
        for frame in &frames {
            let found = forms::found(secret, frame.text.as_bytes());
            assert!(found.is_empty(), "{secret} as {found:?} in a {}", frame.kind);
        }
        for file in &kept {
            let found = forms::found(secret, &fs::read(file).unwrap());
            assert!(found.is_empty(), "{secret} as {found:?} in {}", file.display());
        }
        assert!(forms::found(secret, &picture).is_empty(), "{secret} in the picture");
    }
    desk.rig.assert_no_faults();
    assert_audit(&desk, &described);
}

fn assert_audit(desk: &Desk, described: &Value) {
    let records = desk.rig.audit();
    let of =
        |op: &str| records.iter().find(|record| record["op"] == op).unwrap_or_else(|| panic!("{op} in {records:?}"));
    let without_decision = |op: &str| {
        let mut details = of(op)["details"].clone();
        details.as_object_mut().unwrap().remove("decision");
        details
    };
    assert_eq!(
        without_decision("FILE_READ_STUB"),
        json!({
            "path": desk.folder.join("konto.txt"),
            "mode": "stub",
            "sha256": described["sha256"],
            "size_bytes": described["size_bytes"],
        })
    );
    assert_eq!(
        without_decision("LOCAL_LLM_TURN"),
        json!({
            "model": "small:1b",
            "stub_ids": [described["stub_id"]],
            "task_length": "Count the accounts".len(),
            "output_length": ANSWER.len(),
        })
    );
    assert_eq!(of("POLICY_CHANGED")["details"], json!({ "chat": desk.chat, "private": true }));
    let log = fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    for never in ["Count the accounts", ANSWER] {
        assert!(!log.contains(never), "{never}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_was_swapped_or_is_gone_is_stale_and_so_is_a_stub_from_before() {
    let desk = Desk::private().await;
    let (file, kept) = (desk.folder.join("konto.txt"), desk.folder.join("kept.txt"));
    let stub = desk.stub_id().await;
    let stale = async |stub: &str| {
        let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(stub)).await;
        assert_eq!(error["code"], "STUB_STALE", "{error}");
        text(&error["details"]["reason"])
    };
    fs::write(desk.folder.join("other.txt"), "another file").unwrap();
    fs::write(&file, "changed").unwrap();
    assert_eq!(stale(&stub).await, "changed");
    fs::rename(&file, &kept).unwrap();
    assert_eq!(stale(&stub).await, "gone");
    symlink(desk.folder.join("other.txt"), &file).unwrap();
    assert_eq!(stale(&stub).await, "changed");
    fs::remove_file(&file).unwrap();
    fs::write(&file, content()).unwrap();
    desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await.unwrap();
    assert_eq!(stale("stub_no").await, "unknown");

    // A HELLO anew wipes them.
    let after = desk.rig.script.frames(0).last().unwrap().n;
    let scope = Scope::Data(desk.chat.clone());
    desk.rig.script.cut(&scope).unwrap();
    desk.rig.script.frame(after, |frame| frame.scope == scope && frame.kind == "HELLO_ACK").await;
    desk.rig.script.connected(&scope, true).await;
    assert_eq!(stale(&stub).await, "unknown");
    assert!(!desk.told().contains("another file"));
    assert_eq!(desk.privacy_view().asked.len(), 1, "what was asked about is still told");
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_that_may_leave_again_are_read_as_ever_and_old_stubs_are_worth_nothing() {
    let desk = Desk::private().await;
    let stub = desk.stub_id().await;

    desk.set_privacy(None).await.unwrap();

    let read = desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&desk.folder.join("konto.txt"))).await.unwrap();
    assert_eq!(read["content"], content());
    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert_eq!(error["code"], "FEATURE_NOT_SUPPORTED");
    desk.set_privacy(Some(true)).await.unwrap();
    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("STUB_STALE"), &json!("unknown")));
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_never_heard_of_it_is_unharmed() {
    let desk = Desk::new(wish()).await;
    let file = desk.folder.join("konto.txt");

    assert_eq!(desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&file)).await.unwrap()["content"], content());
    let content_mode = json!({ "path": file, "encoding": "utf-8", "mode": "content" });
    assert_eq!(desk.rig.ask(&desk.chat, "FILE_READ", content_mode).await.unwrap()["content"], content());
    for payload in
        [json!({ "path": file, "encoding": "utf-8", "mode": "stub" }), json!({ "path": file, "mode": "magic" })]
    {
        let error = desk.rig.refused(&desk.chat, "FILE_READ", payload).await;
        assert_eq!(error["code"], "FEATURE_NOT_SUPPORTED", "{error}");
    }
    let frames = desk.rig.script.frames(0);
    let hello = frames.iter().filter(|frame| frame.kind == "HELLO");
    assert!(hello.into_iter().all(|frame| !frame.text.contains("privacy") && !frame.text.contains("stub")));
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_waits_for_an_answer_is_refused_when_contents_are_kept_meanwhile() {
    let desk = Desk::new(wish().with_window().with(Power::Files, PowerMode::AskEachTime)).await;
    let asked = desk.asked("FILE_READ", rig::read(&desk.folder.join("konto.txt")));
    desk.question().await;

    desk.set_privacy(Some(true)).await.unwrap();

    assert_eq!(refused(asked).await["code"], "PRIVACY_MODE_BLOCKED");
    desk.rig.until(|picture| picture.prompts.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_or_repeats_what_it_was_told_gives_nothing_away() {
    let desk = Desk::private().await;
    let stub = desk.stub_id().await;
    desk.server.next(Answers::status(500, &content()));
    desk.server.next(Answers::Steps(vec![Step::text("There "), Step::Error(content())]));
    for _ in 0..2 {
        let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
        assert_eq!(error["code"], "LOCAL_LLM_FAILED", "{error}");
        for secret in SECRETS {
            assert!(forms::found(secret, error.to_string().as_bytes()).is_empty(), "{error}");
        }
    }
    let Desk { rig, server, chat, .. } = desk;
    drop(server);
    let error = rig.refused(&chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;
    assert!(["LOCAL_LLM_FAILED", "MODEL_NOT_AVAILABLE"].contains(&error["code"].as_str().unwrap()), "{error}");
}
