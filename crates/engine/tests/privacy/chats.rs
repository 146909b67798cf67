//! Which chats are private, and for how long.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn contents_kept_in_all_chats_are_kept_unless_one_chat_says_otherwise_and_survive_a_restart() {
    let mut desk = Desk::new(wish()).await;
    let file = desk.folder.join("konto.txt");
    desk.rig.handle.send(Command::SetPrivacy { session_id: None, on: Some(true) }).await.unwrap();
    assert_eq!(desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&file)).await["code"], "PRIVACY_MODE_BLOCKED");
    desk.set_privacy(Some(false)).await.unwrap();
    desk.rig.ask(&desk.chat, "FILE_READ", rig::read(&file)).await.unwrap();
    desk.set_privacy(None).await.unwrap();

    desk.rig.stop().await;
    desk.rig.start_again().await;

    let now = desk.rig.until(|picture| picture.models.private_all).await;
    assert!(!now.models.review);
    let unknown = Command::SetPrivacy { session_id: Some("nobody".to_owned()), on: Some(false) };
    assert_eq!(desk.rig.handle.send(unknown).await.unwrap_err().code, "unknown_chat");
    let neither = Command::SetPrivacy { session_id: None, on: None };
    assert!(desk.rig.handle.send(neither).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_chat_comes_back_no_less_private() {
    let desk = Desk::new(wish()).await;
    desk.rig.handle.send(Command::SetPrivacy { session_id: None, on: Some(true) }).await.unwrap();
    desk.set_privacy(Some(false)).await.unwrap();

    desk.rig.handle.send(Command::Detach { session_id: desk.chat.clone() }).await.unwrap();
    desk.rig.script.restore(&desk.chat).await.unwrap();
    desk.rig.script.connected(&Scope::Data(desk.chat.clone()), true).await;

    let error = desk.rig.refused(&desk.chat, "FILE_READ", rig::read(&desk.folder.join("konto.txt"))).await;
    assert_eq!(error["code"], "PRIVACY_MODE_BLOCKED");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_chat_that_can_let_the_same_files_go_is_told_of() {
    let desk = Desk::private().await;
    let (other, _) = desk.rig.chat_in("papers").await;
    let (apart, _) = desk.rig.chat_in("papers of others").await;

    let told = desk.rig.until(|picture| picture.chats.len() == 3).await;
    let of = |id: &str| told.chats.iter().find(|chat| chat.session_id == id).unwrap().privacy.open_elsewhere.clone();
    assert_eq!(of(&desk.chat), std::slice::from_ref(&other));
    assert!(of(&other).is_empty() && of(&apart).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_closed_chats_that_are_forgotten_nothing_is_kept() {
    let desk = Desk::private().await;
    desk.stub_id().await;
    let stricter = Command::SetChatPower {
        session_id: desk.chat.clone(),
        power: "files".to_owned(),
        mode: Some("off".to_owned()),
    };
    desk.rig.handle.send(stricter).await.unwrap();
    desk.rig.handle.send(Command::Detach { session_id: desk.chat.clone() }).await.unwrap();

    desk.rig.handle.send(Command::ForgetClosed).await.unwrap();

    let (browse, reference) = desk.rig.browse_to(&["papers"]).await;
    desk.rig.script.attach(&desk.rig.machine, &desk.chat, &browse, &reference).await.unwrap();
    let seen = desk.rig.until(|picture| picture.chats.iter().any(|chat| chat.attached)).await;
    let chat = seen.chats.iter().find(|chat| chat.session_id == desk.chat).unwrap();
    assert!(chat.privacy.asked.is_empty() && chat.modes.is_empty(), "{chat:?}");
    assert!(chat.privacy.on, "its files stay here under any word but the person's own");
}
