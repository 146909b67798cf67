use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drawbridge_os::system_file::SystemFile;
use drawbridge_store::config::{ConfigLayers, FlagOverrides};
use tempfile::TempDir;

use super::*;
use crate::view::{AccountState, AuditView, GateView, Snapshot, VerifyView};
use crate::{Command, EngineHandle, Reply};

/// Folders of a test, and nothing of the session it runs in.
pub(super) struct Rig {
    pub(super) home: TempDir,
}

impl Rig {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("config")).unwrap();
        Self { home }
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    fn with_state(self) -> Self {
        std::fs::create_dir(self.state()).unwrap();
        std::fs::set_permissions(self.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
        self
    }

    pub(super) fn input(&self, config: &str) -> Input {
        let config_dir = self.home.path().join("config");
        std::fs::write(config_dir.join("config.toml"), config).unwrap();
        let layers = ConfigLayers {
            config_dir: &config_dir,
            env: &|_| None,
            flags: FlagOverrides::default(),
            managed: SystemFile::policy_below(self.home.path(), 0),
        };
        let folders = Folders { state: self.state(), logs: self.state(), config: config_dir.clone() };
        Input {
            folders,
            config: Config::load(&layers),
            passphrase: None,
            engine: EngineAt::Elsewhere,
            shell: None,
            environment: BTreeMap::new(),
        }
    }
}

fn only(found: &[Finding]) -> (&str, FindingState, Option<&str>) {
    let [one] = found else { panic!("not one finding: {found:?}") };
    (one.key.as_str(), one.state, one.action.as_deref())
}

#[test]
fn the_page_says_in_english_what_the_command_line_says() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/lib/text/en/doctor.ts");
    let page = std::fs::read_to_string(file).unwrap();
    for words in words::ALL {
        let said = format!("  'doctor.said.{}': '{}',\n", words.key, words.text);
        assert!(page.contains(&said), "ui/src/lib/text/en/doctor.ts lacks the line {said}");
        let fix = words.fix.map(|fix| format!("  'doctor.fix.{}': '{fix}',\n", words.key));
        assert!(
            fix.as_ref().is_none_or(|fix| page.contains(fix)),
            "ui/src/lib/text/en/doctor.ts lacks the line {fix:?}"
        );
    }
    for step in crate::probe::STEPS {
        assert!(page.contains(&format!("'doctor.said.network_{step}_ok'")), "{step}");
        assert!(page.contains(&format!("'doctor.fix.network_{step}_wrong'")), "{step}");
    }
    for action in ACTIONS {
        assert!(page.contains(&format!("'doctor.do.{action}'")), "{action}");
    }
}

#[test]
fn what_a_parameter_holds_is_shown_and_never_filled() {
    let why = "{path} \u{202e}gpj";

    let found = Finding::fail("config", &words::FOLDER_UNREADABLE, &[("path", &"/p"), ("why", &why)]);

    assert!(found.text.starts_with("/p cannot be looked at: {path} "), "{}", found.text);
    assert!(!found.text.contains('\u{202e}') && !found.params["why"].contains('\u{202e}'));
}

#[test]
fn a_configuration_is_read_absent_or_broken() {
    let rig = Rig::new();
    assert_eq!(only(&state::configuration(&rig.input("max_concurrent = 2\n"))).0, "config_read");

    let broken = rig.input("max_concurent = 2\n");
    let found = state::configuration(&broken);
    assert_eq!(only(&found), ("config_broken", FindingState::Fail, Some("open_config")));
    assert!(found[0].text.contains("line 1") && found[0].text.contains("max_concurrent"), "{}", found[0].text);

    std::fs::remove_file(rig.home.path().join("config/config.toml")).unwrap();
    assert_eq!(only(&state::configuration(&broken)).0, "config_broken");
}

#[test]
fn a_password_of_the_proxy_that_others_can_read_is_warned_of() {
    let rig = Rig::new();
    let look = |config: &str, mode: u32| {
        let input = rig.input(config);
        std::fs::set_permissions(rig.home.path().join("config/config.toml"), std::fs::Permissions::from_mode(mode))
            .unwrap();
        let found = state::configuration(&input);
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
        only(&found).0.to_owned()
    };
    let with = "[proxy]\nurl = \"http://user:hunter2@proxy.test:3128\"\n";

    assert_eq!(look(with, 0o644), "config_open");
    assert_eq!(look(with, 0o600), "config_read");
    assert_eq!(look("[proxy]\nurl = \"http://proxy.test:3128\"\n", 0o644), "config_read");
}

#[test]
fn a_state_folder_is_fine_open_missing_or_no_folder() {
    let rig = Rig::new();
    let look = || only(&state::folder(&rig.input(""))).0.to_owned();
    assert_eq!(look(), "folder_later");

    std::fs::create_dir(rig.state()).unwrap();
    std::fs::set_permissions(rig.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(look(), "folder_fine");

    std::fs::set_permissions(rig.state(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = state::folder(&rig.input(""));
    assert_eq!(only(&found), ("folder_open", FindingState::Warn, Some("make_private")));

    std::fs::remove_dir(rig.state()).unwrap();
    std::fs::write(rig.state(), "x").unwrap();
    assert_eq!(look(), "folder_none");
}

#[test]
fn room_is_counted_in_units_that_every_language_writes_alike() {
    assert_eq!(state::shown_bytes(19_999_999), "19 MB");
    assert_eq!(state::shown_bytes(9_999_000_000), "9999 MB");
    assert_eq!(state::shown_bytes(184_500_000_000), "184 GB");
    let found = state::disk(&Rig::new().input(""));
    assert_eq!((found.len(), found[0].check.as_str()), (1, "disk_space"));
}

#[test]
fn settings_are_lowered_raised_or_not_to_be_trusted() {
    let rig = Rig::new().with_state();
    assert_eq!(only(&state::settings(&rig.input(""))).0, "settings_lowered");

    drawbridge_store::settings::set_raised(&rig.state(), true).unwrap();
    assert_eq!(only(&state::settings(&rig.input(""))), ("settings_raised", FindingState::Warn, Some("lower")));

    std::fs::write(rig.state().join("settings.json"), "{\"v\":").unwrap();
    let found = state::settings(&rig.input(""));
    assert_eq!(only(&found), ("settings_broken", FindingState::Fail, Some("set_aside_settings")));
}

#[tokio::test]
async fn a_check_that_hangs_is_a_finding_and_is_not_started_twice() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let started = Arc::new(AtomicBool::new(false));
    let again = Arc::clone(&started);

    let first = limit::within(Duration::from_millis(20), "display", "hangs", move || {
        let _ = held.recv();
        Vec::new()
    })
    .await;
    let second = limit::within(Duration::from_secs(60), "display", "hangs", move || {
        again.store(true, Ordering::SeqCst);
        Vec::new()
    })
    .await;

    assert_eq!(only(&first), ("silent", FindingState::Warn, None));
    assert_eq!(only(&second).0, "silent");
    assert!(!started.load(Ordering::SeqCst));
    drop(hold);
}

#[tokio::test]
async fn a_check_that_dies_is_a_finding_too() {
    let found = limit::within(Duration::from_secs(60), "display", "dies", || panic!("on purpose")).await;

    assert_eq!(only(&found).0, "silent");
}

#[tokio::test]
async fn a_check_up_of_an_untouched_place_makes_nothing_and_says_what_to_do() {
    let rig = Rig::new();

    let found = run(rig.input("platform_url = \"ws://127.0.0.1:1\"\n")).await;

    assert!(!rig.state().exists());
    assert!(found.iter().all(|one| one.state < FindingState::Warn || one.fix.is_some()), "{found:?}");
    assert!(found.iter().all(|one| one.action.as_deref().is_none_or(|action| ACTIONS.contains(&action))));
    let state = |check: &str| found.iter().filter(|one| one.check == check).map(|one| one.state).max();
    assert_eq!(state("network"), Some(FindingState::Fail));
    assert_eq!(state("engine"), Some(FindingState::Info));
    assert_eq!(found.iter().filter(|one| one.check == "engine").count(), 1);
    assert_eq!(exit_code(&found), 0);
}

/// An engine that shows this picture and answers a check of its log so.
fn engine(picture: Snapshot, report: VerifyView) -> EngineHandle {
    let (handle, mut side) = EngineHandle::pair(picture);
    tokio::spawn(async move {
        while let Some((command, answer)) = side.commands.recv().await {
            assert_eq!(command, Command::AuditVerify);
            let _ = answer.send(Ok(Reply::Verified { report: report.clone() }));
        }
    });
    handle
}

fn picture(state: AccountState) -> Snapshot {
    let mut picture = Snapshot::default();
    picture.account.state = state;
    picture.account.platform_url = "http://127.0.0.1:1".to_owned();
    picture.secrets.place = "file".to_owned();
    picture
}

#[tokio::test]
async fn a_running_engine_is_asked_for_what_it_alone_can_know() {
    let rig = Rig::new().with_state();
    let sound = VerifyView { sound: true, files: 2, records: 7, findings: Vec::new() };
    let here = EngineAt::Here(engine(picture(AccountState::Expired), sound));

    let found = run(Input { engine: here, ..rig.input("") }).await;

    let key = |check: &str| found.iter().find(|one| one.check == check).unwrap().key.clone();
    assert_eq!(key("engine"), "engine_running");
    assert_eq!(key("secrets"), "secrets_file");
    assert_eq!(key("sign_in"), "sign_in_expired");
    assert_eq!(key("audit_log"), "audit_sound_all");
    assert_eq!(found.iter().find(|one| one.check == "platform").unwrap().params["url"], "http://127.0.0.1:1");
}

#[tokio::test]
async fn a_log_that_does_not_hold_or_cannot_be_written_is_told() {
    let rig = Rig::new().with_state();
    let detail = crate::view::PromptDetail { label: "broken_chain".to_owned(), value: "audit.log, line 3".to_owned() };
    let broken = VerifyView { sound: false, files: 1, records: 3, findings: vec![detail] };
    let at = |picture| EngineAt::Here(engine(picture, broken.clone()));
    let unwritable =
        Snapshot { audit: AuditView { unavailable: true, ..AuditView::default() }, ..picture(AccountState::SignedIn) };

    let found = run(Input { engine: at(picture(AccountState::SignedIn)), ..rig.input("") }).await;
    let worse = run(Input { engine: at(unwritable), ..rig.input("") }).await;

    let log = |found: &[Finding]| found.iter().find(|one| one.check == "audit_log").unwrap().clone();
    assert_eq!(log(&found).key, "audit_broken");
    assert!(log(&found).text.contains("line 3"));
    assert_eq!((log(&worse).key.as_str(), log(&worse).state), ("audit_not_written", FindingState::Fail));
}

#[test]
fn what_an_organisation_has_fixed_is_told_and_a_policy_that_cannot_be_trusted_too() {
    use std::os::unix::fs::MetadataExt as _;
    let rig = Rig::new();
    let owner = rig.home.path().metadata().unwrap().uid();
    let place = SystemFile::policy_below(rig.home.path(), owner);
    let folder = place.path().parent().unwrap().to_owned();
    drawbridge_os::private::create_folder(&folder).unwrap();
    let look = |policy: &str| {
        std::fs::write(place.path(), policy).unwrap();
        let config_dir = rig.home.path().join("config");
        let layers = ConfigLayers {
            config_dir: &config_dir,
            env: &|_| None,
            flags: FlagOverrides::default(),
            managed: place.clone(),
        };
        let input = Input { config: Config::load(&layers), ..rig.input("") };
        (state::managed(&input), state::configuration(&input))
    };

    let (named, _) = look("organisation = \"ACME\"\n[updates]\nenabled = false\n");
    let (nameless, _) = look("[updates]\nenabled = false\n");
    let (broken, config) = look("[updats]\n");

    assert_eq!(only(&named), ("managed_set", FindingState::Info, None));
    assert_eq!(named[0].params["organisation"], "ACME");
    assert!(named[0].text.contains("updates.enabled"), "{}", named[0].text);
    assert_eq!(only(&nameless).0, "managed_set_nameless");
    assert_eq!(only(&broken), ("managed_broken", FindingState::Fail, None));
    assert_eq!(config, []);
    std::fs::remove_file(place.path()).unwrap();
    assert_eq!(state::managed(&rig.input("")), []);
}

#[test]
fn what_stops_a_running_engine_is_told_as_it_is_there() {
    let notice = |code: &str| Some(crate::view::Notice { code: code.to_owned(), message: "why".to_owned() });
    let with = |trouble, raised| {
        state::settings_in_use(&Snapshot { trouble, raised, ..Snapshot::default() })
            .into_iter()
            .map(|one| one.key)
            .collect::<Vec<_>>()
    };

    assert_eq!(with(None, false), ["settings_lowered"]);
    assert_eq!(with(None, true), ["settings_raised"]);
    assert_eq!(with(notice("settings_broken"), false), ["settings_broken"]);
    assert_eq!(with(notice("audit_unavailable"), false), ["engine_trouble", "settings_lowered"]);
}

#[tokio::test]
async fn a_link_that_ended_offers_to_connect_and_one_that_nobody_wants_says_nothing() {
    use crate::view::{LinkState, LinkView};
    let rig = Rig::new().with_state();
    let link = |state| {
        let picture = Snapshot {
            link: LinkView { state, reason: Some("the platform ended it".to_owned()), ..LinkView::default() },
            ..picture(AccountState::SignedIn)
        };
        Input { engine: EngineAt::Here(EngineHandle::pair(picture).0), ..rig.input("") }
    };
    let mut found = Vec::new();
    for state in [LinkState::Off, LinkState::Connected, LinkState::Waiting, LinkState::Halted] {
        found.push(network::link(&Door::open(&link(state)).await));
    }

    assert_eq!(found[0], []);
    assert_eq!(only(&found[1]), ("link_up", FindingState::Ok, None));
    assert_eq!(only(&found[2]), ("link_waits", FindingState::Warn, Some("connect")));
    assert_eq!(only(&found[3]), ("link_halted", FindingState::Fail, Some("connect")));
    assert!(found[3][0].text.contains("the platform ended it"));
}

#[tokio::test]
async fn an_engine_that_could_not_begin_is_not_asked_anything() {
    let rig = Rig::new().with_state();
    let gate = GateView { message: "The keychain is locked.".to_owned(), ..GateView::default() };
    let (handle, mut side) = EngineHandle::pair(Snapshot { gate: Some(gate), ..Snapshot::default() });

    let found =
        run(Input { engine: EngineAt::Here(handle), ..rig.input("platform_url = \"ws://127.0.0.1:1\"\n") }).await;

    assert_eq!(found[0].key, "engine_gate");
    assert!(found[0].text.contains("The keychain is locked."));
    assert!(side.commands.try_recv().is_err());
}
