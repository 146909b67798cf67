use drawbridge_os::autostart::{Kind, Report};

use super::*;

#[test]
fn starting_at_login_is_on_off_or_leads_elsewhere() {
    let told = |state| {
        let place = "/home/ada/.config/autostart/drawbridge.desktop".to_owned();
        login_finding(&Report { state, kind: Kind::App, place, problem: None })
    };
    let program = || "/mnt/old/Drawbridge.AppImage".into();

    let gone = told(State::Gone { program: program() });
    assert_eq!((gone.key.as_str(), gone.action.as_deref()), ("login_gone", Some("login_start_repair")));
    assert!(gone.text.contains("/mnt/old/Drawbridge.AppImage") && gone.fix.unwrap().contains("drawbridge.desktop"));
    let elsewhere = told(State::Elsewhere { program: program() });
    assert_eq!((elsewhere.key.as_str(), elsewhere.action.as_deref()), ("login_elsewhere", Some("login_start_repair")));
    assert_eq!(told(State::Off).action.as_deref(), Some("login_start_on"));
    assert_eq!((told(State::On).key.as_str(), told(State::On).action), ("login_on", None));
    // Neither is ours to change.
    assert_eq!((told(State::Foreign).key.as_str(), told(State::Foreign).action), ("login_foreign", None));
    assert_eq!((told(State::Disabled).key.as_str(), told(State::Disabled).action), ("login_disabled", None));
}

#[test]
fn a_program_whose_file_was_removed_or_replaced_says_so() {
    let there = std::env::current_exe().unwrap();

    assert_eq!(installation_finding(&installed::Kind::Deb, &there).key, "installed_package");
    assert_eq!(installation_finding(&installed::Kind::Other, &there).params["path"], there.display().to_string());
    let gone = installation_finding(&installed::Kind::Deb, Path::new("/usr/bin/drawbridge-desktop (deleted)"));
    assert_eq!((gone.key.as_str(), gone.fix.is_some()), ("program_gone", true));
}
