use super::*;
use crate::doctor::tests::Rig;

fn keys(found: &[Finding]) -> Vec<(&str, FindingState)> {
    found.iter().map(|one| (one.key.as_str(), one.state)).collect()
}

#[tokio::test]
async fn folders_to_look_in_are_tried_one_by_one() {
    let rig = Rig::new();
    let there = rig.home.path().join("there");
    std::fs::create_dir(&there).unwrap();
    let config = format!("[browse]\nroots = [{there:?}, {:?}]\n", rig.home.path().join("gone"));

    let found = browse_roots(&Arc::new(rig.input(&config))).await;

    assert_eq!(keys(&found), [("browse_fine", FindingState::Ok), ("browse_missing", FindingState::Warn)]);
    assert!(found[1].fix.is_some());
    assert_eq!(found[1].params["path"], rig.home.path().join("gone").display().to_string());
}

#[tokio::test]
async fn no_folder_at_all_is_not_the_usual_ones() {
    let rig = Rig::new();

    let none = browse_roots(&Arc::new(rig.input("[browse]\nroots = []\n"))).await;
    let usual = browse_roots(&Arc::new(rig.input(""))).await;

    assert_eq!(keys(&none), [("browse_nowhere", FindingState::Warn)]);
    assert_eq!(keys(&usual), [("browse_usual", FindingState::Ok)]);
}

#[test]
fn without_bubblewrap_the_layer_is_named_and_what_it_costs() {
    let gone = Path::new("/nowhere/bwrap");

    let found = walls(gone, true);
    let unwanted = walls(gone, false);

    assert!(found[0].key.starts_with("bubblewrap_"), "{found:?}");
    assert_eq!((found[0].state, found[3].state), (FindingState::Fail, FindingState::Fail));
    assert_eq!((found[1].key.as_str(), found[3].key.as_str()), ("name_spaces_untried", "confinement_missing"));
    assert_eq!((unwanted[0].state, unwanted[3].state), (FindingState::Warn, FindingState::Warn));
    if let Some(command) = install_command("bubblewrap") {
        assert_eq!(found[0].action.as_deref(), Some("copy_install_bubblewrap"));
        assert!(found[0].fix.as_ref().unwrap().ends_with(&command));
    }
}

#[test]
fn a_bubblewrap_that_is_refused_name_spaces_is_told_from_one_that_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let refusing = dir.path().join("bwrap");
    let script = "#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n";
    std::fs::write(&refusing, script).unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(&mut refusing.metadata().unwrap().permissions(), 0o755);
    std::fs::set_permissions(&refusing, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let found = walls(&refusing, false);

    assert_eq!(keys(&found)[..2], [("bubblewrap_fine", FindingState::Ok), ("name_spaces_refused", FindingState::Warn)]);
    assert!(found[1].text.contains("No permissions to create new namespace"));
}

#[test]
fn shells_are_those_of_the_path() {
    let rig = Rig::new();
    let mut input = rig.input("");

    input.environment.insert("PATH".to_owned(), rig.home.path().into());
    assert_eq!(keys(&shells(&input)), [("shells_none", FindingState::Warn)]);
    input.environment.insert("PATH".to_owned(), "/usr/bin:/bin".into());
    assert_eq!(keys(&shells(&input)), [("shells_found", FindingState::Ok)]);
}

#[test]
fn a_permission_matters_where_the_screen_was_asked_for() {
    use PermissionState::{Denied, Granted, NotApplicable, Stale};

    assert_eq!(
        keys(&permission_findings(NotApplicable, NotApplicable, true)),
        [("permissions_none", FindingState::Info)]
    );
    assert_eq!(
        keys(&permission_findings(Stale, Granted, true)),
        [("screen_stale", FindingState::Fail), ("accessibility_granted", FindingState::Ok)]
    );
    assert_eq!(
        keys(&permission_findings(Denied, Denied, false)),
        [("screen_denied", FindingState::Info), ("accessibility_denied", FindingState::Info)]
    );
}
