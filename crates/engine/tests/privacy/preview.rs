//! First bytes of private files that leave with their description: none, unless the person says so.

use super::*;

async fn told(desk: &Desk, more: Value) -> String {
    let mut payload = json!({ "path": desk.folder.join("konto.txt"), "mode": "stub" });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    text(&desk.rig.ask(&desk.chat, "FILE_READ", payload).await.unwrap()["schema_preview"])
}

async fn let_leave(desk: &Desk, bytes: u16) {
    desk.rig.handle.send(Command::SetPrivacyPreview { bytes }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_first_byte_leaves_unless_the_person_says_so_and_then_no_more_than_was_asked_for() {
    let desk = Desk::private().await;
    assert_eq!(told(&desk, json!({ "schema_preview_bytes": 256 })).await, "");
    let log = desk.rig.audit();
    let described = |record: &&Value| record["op"] == "FILE_READ_STUB";
    assert!(log.iter().filter(described).all(|record| record["details"].get("preview_bytes").is_none()));

    let_leave(&desk, 64).await;
    assert_eq!(desk.rig.until(|picture| picture.models.preview_bytes == 64).await.models.preview_bytes, 64);
    assert_eq!(told(&desk, json!({})).await, "", "none were asked for");
    assert_eq!(told(&desk, json!({ "schema_preview_bytes": 4 })).await, "SUJBTg==");
    // 64 bytes are so many letters of base64.
    assert_eq!(told(&desk, json!({ "schema_preview_bytes": 4096 })).await.len(), 88);
    let log = desk.rig.audit();
    let counts: Vec<&Value> =
        log.iter().filter(described).filter_map(|record| record["details"].get("preview_bytes")).collect();
    assert_eq!(counts, [&json!(4), &json!(content().len().min(64))]);
    let file = fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    assert!(SECRETS.iter().all(|secret| forms::found(secret, file.as_bytes()).is_empty()));

    let_leave(&desk, 0).await;
    assert_eq!(told(&desk, json!({ "schema_preview_bytes": 256 })).await, "");
    let refused = desk.rig.handle.send(Command::SetPrivacyPreview { bytes: 257 }).await.unwrap_err();
    assert_eq!(refused.code, "too_many_bytes");
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_says_how_many_first_bytes_would_leave_and_taking_them_back_counts_for_it() {
    let desk = Desk::new(wish().with_window().with(Power::Files, PowerMode::AskEachTime)).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let_leave(&desk, 100).await;
    let payload = json!({ "path": desk.folder.join("konto.txt"), "mode": "stub", "schema_preview_bytes": 200 });
    let asked = desk.asked("FILE_READ", payload);
    let prompt = desk.question().await;
    let fact = prompt.details.iter().find(|detail| detail.label == "first_bytes").unwrap();
    assert!(fact.value == "100" && prompt.summary.contains("100 bytes"), "{prompt:?}");

    let_leave(&desk, 0).await;
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;

    assert_eq!(refused(asked).await["code"], "PRIVACY_MODE_BLOCKED");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organisation_can_forbid_it() {
    let locked = vec!["privacy.preview_bytes".to_owned()];
    let policy = Managed { organisation: Some("Example".to_owned()), locked, no_preview: true, ..Managed::default() };
    let mut wish = wish();
    wish.managed = ManagedOptions { policy: Some(policy), ..ManagedOptions::default() };
    let desk = Desk::new(wish).await;
    desk.set_privacy(Some(true)).await.unwrap();

    let refused = desk.rig.handle.send(Command::SetPrivacyPreview { bytes: 1 }).await.unwrap_err();

    assert_eq!(refused.code, "managed");
    assert!(refused.message.contains("Example lets no first bytes"), "{}", refused.message);
    assert_eq!(told(&desk, json!({ "schema_preview_bytes": 256 })).await, "");
}
