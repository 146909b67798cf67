use drawbridge_os::seat::Seat;

use super::super::windows::tests::Rig;
use super::*;

/// Longer than any trial takes on a machine that does other things as well.
const PATIENT: Duration = Duration::from_secs(60);

const EVERY_FINE: usize = FINE.len();

fn trials(failing: &[(Part, &str)]) -> Trials {
    let result =
        |part| failing.iter().find(|(failed, _)| *failed == part).map_or(Ok(()), |(_, why)| Err((*why).to_owned()));
    Trials { parts: PARTS.iter().map(|part| (*part, result(*part))).collect(), screen_resolution: Some((1920, 1080)) }
}

fn why<'a>(features: &'a Features, name: &str) -> Option<&'a str> {
    features.missing.iter().find(|(missing, _)| *missing == name).map(|(_, why)| &**why)
}

#[test]
fn everything_is_listed_in_its_order_when_everything_works() {
    let features = listed(SeatKind::X11, &trials(&[]));

    assert_eq!(features.fine.len(), EVERY_FINE);
    assert_eq!(features.fine[..3], ["screenshot.capture", "screenshot.region", "screenshot.window"]);
    assert_eq!(features.coarse, ["screenshot", "input", "windows", "apps", "clipboard", "permissions"]);
    assert_eq!((features.screen_resolution, features.missing), (Some((1920, 1080)), vec![]));
}

#[test]
fn a_bucket_is_there_only_when_all_of_its_tools_work() {
    let features = listed(SeatKind::X11, &trials(&[(Part::Windows, "no manager"), (Part::Clipboard, "off")]));

    assert_eq!(features.coarse, ["screenshot", "input", "apps", "permissions"]);
    for name in ["window.list", "window.focus", "screenshot.window", "windows"] {
        assert!(!features.fine.contains(&name));
        assert_eq!(why(&features, name), Some("no manager"), "{name}");
    }
    assert_eq!(why(&features, "clipboard.read"), Some("off"));
    assert!(features.fine.contains(&"screenshot.region") && features.fine.contains(&"cursor.position"));
}

#[test]
fn nothing_is_seen_or_touched_where_nobody_can_tell_whose_windows_are_there() {
    let features = listed(SeatKind::X11, &trials(&[(Part::Sight, "hidden")]));

    assert!(features.fine.iter().all(|name| !name.starts_with("screenshot") && !name.starts_with("input.c")));
    assert!(!features.coarse.contains(&"screenshot") && !features.coarse.contains(&"input"));
}

#[test]
fn wayland_has_what_works_there() {
    let hidden = [Part::Screen, Part::Input, Part::Sight, Part::Windows].map(|part| (part, "wayland"));
    let features = listed(SeatKind::Wayland, &trials(&hidden));

    assert_eq!(
        features.fine,
        ["input.wait", "app.list", "app.launch", "clipboard.read", "clipboard.write", "permissions.check"]
    );
    assert_eq!(features.coarse, ["apps", "clipboard", "permissions"]);
}

#[test]
fn without_a_display_and_in_wsl_there_is_nothing_and_it_is_said_why() {
    for (kind, word) in [(SeatKind::Wsl, "Windows"), (SeatKind::None, "DISPLAY")] {
        let features = listed(kind, &Trials::default());

        assert!(features.fine.is_empty() && features.coarse.is_empty());
        assert!(why(&features, "screenshot").unwrap().contains(word));
        assert_eq!(features.missing.len(), EVERY_FINE + COARSE.len());
    }
}

#[test]
fn a_part_that_does_not_answer_counts_as_missing() {
    let mut late = trials(&[]);
    late.parts.retain(|(part, _)| *part != Part::Input);

    let features = listed(SeatKind::X11, &late);

    assert!(!features.coarse.contains(&"input") && features.coarse.contains(&"screenshot"));
    assert!(why(&features, "input").unwrap().contains("did not answer"));
}

fn found(rig: &Rig, rule: ClipboardRule) -> Features {
    listed(SeatKind::X11, &tried(&rig.computer.inner, rule, PATIENT))
}

#[test]
fn a_managed_display_has_everything_and_the_clipboard_when_it_is_switched_on() {
    let rig = Rig::managed();

    let with = found(&rig, ClipboardRule::OwnText);
    assert_eq!(with.missing, []);
    assert_eq!(with.fine.len(), EVERY_FINE);
    assert_eq!(with.screen_resolution, Some((800, 600)));

    let without = found(&rig, ClipboardRule::Off);
    assert_eq!(without.coarse, ["screenshot", "input", "windows", "apps", "permissions"]);
    assert!(!without.fine.contains(&"clipboard.read") && !without.fine.contains(&"clipboard.write"));
    assert!(why(&without, "clipboard").unwrap().contains("switched off"));
}

#[test]
fn without_a_window_manager_there_are_no_windows_to_list() {
    let rig = Rig::bare();

    let features = found(&rig, ClipboardRule::Off);

    assert_eq!(features.coarse, ["screenshot", "input", "apps", "permissions"]);
    assert_eq!(why(&features, "windows"), Some(UNMANAGED));
}

#[test]
fn what_was_found_stays_until_somebody_asks_to_look_again() {
    let mut rig = Rig::bare();
    // Asked until every part has answered in time.
    let inner = rig.computer.inner.clone();
    let before = loop {
        let features = rig.computer.probe(ClipboardRule::Off);
        if inner.probed.0.lock().unwrap().is_some() {
            break features;
        }
    };
    assert!(!before.coarse.contains(&"windows"));

    rig.display.manage_windows().unwrap();
    assert_eq!(rig.computer.probe(ClipboardRule::Off), before);

    rig.computer.look_again();
    assert!(found(&rig, ClipboardRule::Off).coarse.contains(&"windows"));
    assert!(inner.probed.0.lock().unwrap().is_none());
}

#[test]
fn a_server_that_hangs_keeps_nobody_waiting_and_is_not_remembered() {
    let rig = Rig::bare();
    rig.display.freeze().unwrap();

    let features = rig.computer.probe(ClipboardRule::Off);
    assert!(!features.coarse.contains(&"screenshot") && !features.fine.contains(&"display.info"));
    // Not the word of the trial, which waits much longer: it is still waiting.
    assert_eq!(why(&features, "screenshot"), Some("the display did not answer in time; look again once it does"));

    rig.display.thaw().unwrap();
    assert!(found(&rig, ClipboardRule::Off).coarse.contains(&"screenshot"));
}

#[test]
fn no_display_is_told_as_that() {
    let computer = Rig::computer(Seat::x11(":59000"));

    let features = listed(SeatKind::X11, &tried(&computer.inner, ClipboardRule::Foreign, PATIENT));

    assert!(!features.coarse.contains(&"screenshot"));
    assert!(why(&features, "screenshot").unwrap().contains("desktop session"));
}
