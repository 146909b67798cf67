use drawbridge_engine::view::{ChatView, ScreenUseView};

use super::*;

fn used(pictures: u64, acts: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let chat = ChatView { session_id: "c".to_owned(), folder: "/home/ada/notes".to_owned(), ..ChatView::default() };
    snapshot.chats = vec![chat];
    let session_id = Some("c".to_owned());
    snapshot.screen.in_use = Some(ScreenUseView { session_id, pictures, acts, ..ScreenUseView::default() });
    snapshot
}

#[test]
fn the_pill_is_there_from_the_first_act_until_use_ends() {
    let desk = PillDesk::default();

    assert_eq!(desk.step(&Snapshot::default()), Step::Stay);
    assert_eq!(desk.step(&used(1, 0)), Step::Open);
    assert_eq!(desk.step(&used(1, 0)), Step::Stay);
    assert_eq!(desk.step(&used(1, 1)), Step::Tell);
    let view = desk.view().unwrap();
    assert_eq!((view.folder.as_deref(), view.pictures, view.acts), (Some("/home/ada/notes"), 1, 1));

    assert_eq!(desk.step(&Snapshot::default()), Step::Close);
    assert_eq!(desk.view(), None);
    assert_eq!(desk.step(&used(0, 1)), Step::Open);
}

#[test]
fn a_stop_is_said_before_the_pill_goes() {
    let desk = PillDesk::default();
    desk.step(&used(2, 5));
    // The engine may tell of the use a moment longer than of the stop.
    let raised = Snapshot { raised: true, ..used(2, 5) };

    assert_eq!(desk.step(&raised), Step::Farewell);
    assert!(desk.view().unwrap().stopped);
    assert_eq!(desk.step(&Snapshot { raised: true, ..Snapshot::default() }), Step::Stay);
    assert!(desk.over());
    assert_eq!(desk.view(), None);
    assert_eq!(desk.step(&raised), Step::Stay, "raised, nothing is shown anew");
}

#[test]
fn lowered_again_the_farewell_gives_way_to_what_is_true() {
    let desk = PillDesk::default();
    desk.step(&used(2, 5));
    desk.step(&Snapshot { raised: true, ..Snapshot::default() });

    assert_eq!(desk.step(&used(0, 1)), Step::Tell);
    assert!(!desk.over(), "the end of the farewell does not take it away");
    assert!(!desk.view().unwrap().stopped);

    desk.step(&Snapshot { raised: true, ..Snapshot::default() });
    assert_eq!(desk.step(&Snapshot::default()), Step::Close);
}

#[test]
fn the_plain_pill_says_the_same_in_both_languages() {
    let view = PillView { pictures: 1, acts: 12, ..PillView::default() };
    let (heading, more) = view.words(Language::English);
    assert_eq!((heading.as_str(), more.as_str()), ("An agent sees and uses this screen", "1 picture, 12 acts"));

    let waits = PillView { person_active: true, ..view.clone() };
    assert_eq!(waits.words(Language::German).1, "wartet, solange Sie Maus oder Tastatur benutzen");
    let stopped = PillView { stopped: true, ..view };
    assert_eq!(stopped.words(Language::English).0, "Stopped: nothing can act");
}

#[test]
fn a_stop_that_failed_is_said_until_one_works() {
    let desk = PillDesk::default();
    assert!(!desk.fail());
    desk.step(&used(1, 1));

    assert!(desk.fail());
    assert_eq!(desk.step(&used(1, 1)), Step::Stay);
    assert_eq!(desk.step(&used(1, 2)), Step::Tell);
    assert_eq!(desk.view().unwrap().words(Language::English).0, "This could not be stopped here");

    assert_eq!(desk.step(&Snapshot { raised: true, ..used(1, 2) }), Step::Farewell);
    assert_eq!(desk.view().unwrap().words(Language::English).0, "Stopped: nothing can act");
    assert_eq!(desk.step(&used(0, 1)), Step::Tell);
    assert!(!desk.view().unwrap().failed);
}

#[test]
fn it_lies_at_the_top_in_the_middle_of_every_display() {
    assert_eq!(placed((0, 0), 1280, 600.0, 1.0), (340, 10));
    assert_eq!(placed((-1920, 40), 1920, 600.0, 1.0), (-1260, 50));
    assert_eq!(placed((0, 0), 3840, 600.0, 2.0), (1320, 20));
}

#[test]
fn it_grows_with_its_letters_and_not_beyond_the_screen() {
    assert_eq!(fitted(1.0, Some(1280.0)), (600.0, 58.0));
    assert_eq!(fitted(2.0, Some(1280.0)), (1200.0, 116.0));
    assert_eq!(fitted(3.0, Some(1280.0)), (1203.0, 278.0));
    assert_eq!(fitted(1.0, None), (600.0, 58.0));
}
