use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::*;

const PLATFORM: &str = "https://platform.example";

/// A computer whose policy can be rewritten. Its files belong to whoever runs the test.
struct Computer(TempDir);

impl Computer {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        drawbridge_os::private::create_folder(&dir.path().join("etc/drawbridge")).unwrap();
        Self(dir)
    }

    fn write(&self, policy: &str) {
        drawbridge_os::private::replace(&self.0.path().join("etc/drawbridge/policy.toml"), policy.as_bytes()).unwrap();
    }

    fn place(&self) -> SystemFile {
        SystemFile::policy_below(self.0.path(), self.0.path().metadata().unwrap().uid())
    }

    fn cell(&self) -> ManagedCell {
        let policy = Managed::read(&self.place()).unwrap();
        ManagedCell::new(ManagedOptions { policy, place: Some(self.place()), overruled: Vec::new() })
    }
}

fn modes(policy: &Managed) -> Vec<(&'static str, &'static str)> {
    policy.powers.iter().map(|(power, mode)| (power.name(), mode.name())).collect()
}

#[test]
fn a_policy_that_comes_while_the_engine_runs_takes_away_at_once_and_gives_nothing_back() {
    let computer = Computer::new();
    let cell = computer.cell();
    assert!(cell.look(PLATFORM).is_none() && cell.view().is_none());

    computer.write("organisation = \"Example\"\n[powers]\nshell = \"ask_each_time\"");
    let (policy, trouble) = cell.look(PLATFORM).unwrap();
    assert_eq!((modes(&policy), trouble), (vec![("shell", "ask_each_time")], None));
    assert!(cell.look(PLATFORM).is_none(), "nothing new");
    assert_eq!(cell.view().unwrap().locked, ["powers.shell"]);

    computer.write("organisation = \"Example\"\n[powers]\nshell = \"off\"\nfiles = \"off\"");
    assert_eq!(modes(&cell.look(PLATFORM).unwrap().0), [("files", "off"), ("shell", "off")]);

    computer.write("organisation = \"Example\"\n[powers]\nfiles = \"ask_each_time\"");
    assert!(cell.look(PLATFORM).is_none(), "that holds at the next start");
    fs::remove_file(computer.place().path()).unwrap();
    assert!(cell.look(PLATFORM).is_none());
    assert_eq!(modes(&cell.policy().unwrap()), [("files", "off"), ("shell", "off")]);
}

#[test]
fn a_policy_that_breaks_while_the_engine_runs_stops_everything_and_names_the_line() {
    let computer = Computer::new();
    computer.write("organisation = \"Example\"\n");
    let cell = computer.cell();

    computer.write("organisation = \"Example\"\n[powers]\nshel = \"off\"\n");
    let (policy, trouble) = cell.look(PLATFORM).unwrap();

    assert_eq!(policy.locked_off().len(), Power::ALL.len());
    let trouble = trouble.unwrap();
    assert_eq!(trouble.code, "managed");
    assert!(trouble.message.starts_with("What your organisation has set"), "{}", trouble.message);
    assert!(trouble.message.contains("policy.toml, line 3") && cell.blocks(), "{}", trouble.message);
    // It is told once, and mending it does not give anything back in this run.
    assert!(cell.look(PLATFORM).is_none());
    computer.write("organisation = \"Example\"\n");
    assert!(cell.look(PLATFORM).is_none() && cell.blocks());
}

#[test]
fn a_platform_that_is_taken_off_the_list_is_not_talked_to_any_more() {
    let computer = Computer::new();
    computer.write("allowed_platforms = [\"https://platform.example\"]");
    let cell = computer.cell();
    assert!(!cell.blocks());

    computer.write("allowed_platforms = [\"https://other.example\"]");
    let (policy, trouble) = cell.look(PLATFORM).unwrap();

    assert_eq!(policy.locked_off().len(), Power::ALL.len());
    assert!(trouble.unwrap().message.contains("https://platform.example") && cell.blocks());
}

#[test]
fn what_is_fixed_cannot_be_set_and_the_refusal_says_by_whom() {
    let mut state = PolicyState::defaults();
    let policy = Managed {
        organisation: Some("Example\u{202e}".to_owned()),
        powers: [(Power::Shell, PowerMode::AskOncePerChat), (Power::Clipboard, PowerMode::Off)].into(),
        shell_confined: true,
        shell_network: Some(Network::Loopback),
        ..Managed::default()
    };
    limit(&policy, &mut state);

    assert!(may_set(&state, Power::Shell, PowerMode::AskOncePerChat).is_ok());
    assert!(may_set(&state, Power::Files, PowerMode::Allowed).is_ok());
    assert!(may_run(&state, ShellMode::Confined, Network::Loopback).is_ok());
    for refused in [
        may_set(&state, Power::Shell, PowerMode::Allowed),
        may_set(&state, Power::Clipboard, PowerMode::Off),
        may_run(&state, ShellMode::Full, Network::None),
        may_run(&state, ShellMode::Confined, Network::All),
    ] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, "managed");
        assert!(refused.message.contains("Example") && !refused.message.contains('\u{202e}'), "{}", refused.message);
    }
}

#[test]
fn only_listed_platforms_pass_the_door() {
    let policy = Managed {
        path: Path::new("/etc/drawbridge/policy.toml").to_owned(),
        allowed_platforms: Some(vec!["wss://platform.example".to_owned()]),
        ..Managed::default()
    };
    let (good, bad) = (PlatformUrl::parse(PLATFORM).unwrap(), PlatformUrl::parse("https://evil.example").unwrap());

    assert_eq!(check_platform(Some(&policy), &good), Ok(()));
    assert_eq!(check_platform(None, &bad), Ok(()));
    let refused = check_platform(Some(&policy), &bad).unwrap_err().to_string();
    assert!(refused.starts_with("your organisation does not allow the platform https://evil.example"), "{refused}");
}
