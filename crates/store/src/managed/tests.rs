use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use drawbridge_policy::ShellMode;

use super::*;
use crate::config::{Config, ConfigLayers, FlagOverrides, Loaded, Origin};

/// A computer with this policy. Its files belong to whoever runs the test.
struct Computer(tempfile::TempDir);

impl Computer {
    fn with(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("etc/drawbridge");
        fs::create_dir_all(&place).unwrap();
        for folder in [dir.path().join("etc"), place.clone()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(place.join("policy.toml"), policy).unwrap();
        fs::set_permissions(place.join("policy.toml"), fs::Permissions::from_mode(0o644)).unwrap();
        fs::create_dir(dir.path().join("config")).unwrap();
        Self(dir)
    }

    fn place(&self) -> SystemFile {
        SystemFile::policy_below(self.0.path(), self.0.path().metadata().unwrap().uid())
    }

    fn read(&self) -> Result<Managed, String> {
        let shown = |fault: ManagedFault| fault.to_string().replace(&self.0.path().display().to_string(), "");
        Managed::read(&self.place()).map(Option::unwrap).map_err(shown)
    }

    fn load(&self, config: &str, env: &[(&str, &str)], flags: FlagOverrides) -> Loaded {
        let folder = self.0.path().join("config");
        fs::write(folder.join("config.toml"), config).unwrap();
        let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        Config::load(&ConfigLayers { config_dir: &folder, env: &env, flags, managed: self.place() }).unwrap()
    }
}

const EVERY_KEY: &str = r#"
organisation = "Example Ltd"
platform_url = "wss://platform.example"
oauth_client_id = "example-desktop"
allowed_platforms = ["https://platform.example", "https://test.platform.example/base"]
accounts = "fixed"

[powers]
files = "ask_once_per_chat"
attach = "ask_each_time"
shell = "ask_each_time"
computer_use = "off"
clipboard = "off"
local_model = "off"
hardware = "off"

[shell]
mode = "confined"
network = "loopback"

[clipboard]
foreign = "off"

[models]
far = false

[privacy]
all = true
preview_bytes = 0

[browse]
roots = ["/srv/work"]

[updates]
enabled = false
channel = "stable"

[limits]
max_concurrent = 2
max_concurrent_commands = 3
max_commands_per_minute = 20
max_screenshots_per_minute = 1
max_file_size_bytes = 1_048_576
command_timeout_seconds = 60

[proxy]
url = "http://proxy.example:3128"
no_proxy = "intranet.example"

[tls]
extra_roots = "/etc/drawbridge/roots.pem"
"#;

#[test]
fn every_key_is_taken_and_told() {
    let managed = Computer::with(EVERY_KEY).read().unwrap();

    assert_eq!(managed.by(), "Example Ltd");
    assert_eq!(managed.powers.len(), 7);
    assert_eq!(managed.powers[&Power::Shell], PowerMode::AskEachTime);
    assert_eq!(managed.locked_off().keys().copied().collect::<Vec<_>>(), Power::ALL[3..]);
    let ceilings = managed.ceilings();
    assert_eq!((ceilings.powers.len(), ceilings.confined, ceilings.network), (3, true, Some(Network::Loopback)));
    assert!(ceilings.own_clipboard && ceilings.private && ceilings.no_preview);
    assert!(managed.accounts_fixed && !managed.allows_updates());
    assert_eq!(managed.update_channel.as_deref(), Some("stable"));
    assert_eq!(managed.limits.max_file_size_bytes, Some(1_048_576));
    assert_eq!(managed.browse_roots, Some(vec!["/srv/work".into()]));
    // Everything but the name fixes something.
    assert_eq!(managed.locked.len(), keys::KEYS.len() - 1);
    assert!(!managed.locked.contains(&"organisation".to_owned()));
}

#[test]
fn an_empty_policy_fixes_nothing_and_no_file_is_none() {
    let computer = Computer::with("# nothing yet\n");
    let managed = computer.read().unwrap();
    assert_eq!((managed.locked.len(), managed.by()), (0, "your organisation"));
    assert!(managed.allows_platform("wss://anything.example") && managed.allows_updates());

    fs::remove_file(computer.place().path()).unwrap();
    assert_eq!(Managed::read(&computer.place()).unwrap(), None);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_who_can_mend_it() {
    for (policy, told) in [
        ("[powers]\nshel = \"off\"", "line 2: there is no key `powers.shel`; the nearest is `powers.shell`"),
        ("shell = \"off\"", "line 1: `shell` must be a table: [shell]"),
        ("[powers]\nshell = \"of\"", "line 2: `powers.shell` must be \"off\" or \"ask_each_time\" or"),
        ("[powers]\nfiles = \"allowed\"", "leave it out to let the person choose"),
        ("[powers]\nfiles = false", "line 2: `powers.files` must be"),
        ("\n\n[shell]\nmode = \"full\"", "line 4: `shell.mode` must be \"confined\""),
        ("[shell]\nnetwork = \"some\"", "`shell.network` must be"),
        ("allowed_platforms = \"https://a.example\"", "must be a list of base addresses"),
        ("allowed_platforms = [\"a.example\"]", "must be a list of base addresses"),
        ("platform_url = \"ftp://a.example\"", "must be the base address of a platform"),
        ("platform_url = \"https://zoe:pw@a.example\"", "must be the base address of a platform"),
        ("accounts = \"free\"", "`accounts` must be \"fixed\""),
        ("[privacy]\npreview_bytes = 64", "must be 0; leave it out to let the person choose"),
        ("[updates]\nenabled = \"no\"", "`updates.enabled` must be true or false"),
        ("[updates]\nchannel = \"nightly\"", "`updates.channel` must be \"stable\" or \"beta\""),
        ("[browse]\nroots = [\"work\"]", "must be a list of whole paths"),
        ("[tls]\nextra_roots = \"roots.pem\"", "must be a whole path"),
        ("[limits]\nmax_concurrent = 0", "must be a whole number from 1"),
        ("[limits]\ncommand_timeout = 5", "the nearest is `limits.command_timeout_seconds`"),
        ("organisation = \"\"", "`organisation` must not be empty"),
        ("display_name = \"x\"", "there is no key `display_name`"),
        ("[powers\nshell = \"off\"", "line 1: this is no valid TOML"),
        ("[powers]\nshell = \"off\"\nshell = \"off\"", "line 3: this is no valid TOML"),
    ] {
        let fault = Computer::with(policy).read().unwrap_err();

        assert!(fault.contains("/etc/drawbridge/policy.toml") && fault.contains(told), "{policy}: {fault}");
        assert!(
            fault.starts_with("what your organisation has set") && fault.ends_with("ask your administrator"),
            "{fault}"
        );
        assert!(!fault.contains("zoe:pw"), "{fault}");
    }
}

#[test]
fn a_file_that_is_no_text_or_not_the_administrators_is_refused() {
    let computer = Computer::with("");
    fs::write(computer.place().path(), [0xff, 0xfe, 0x00]).unwrap();
    assert!(computer.read().unwrap_err().contains("is no valid text"));

    let computer = Computer::with("organisation = \"Example\"");
    fs::set_permissions(computer.place().path(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(computer.read().unwrap_err().contains("must be writable by its owner alone"));
}

#[test]
fn only_platforms_on_the_list_may_be_used_however_they_are_written() {
    let managed = Computer::with(EVERY_KEY).read().unwrap();
    for good in [
        "https://platform.example",
        "wss://platform.example/",
        "WSS://Platform.Example:443",
        "https://test.platform.example/base/",
    ] {
        assert!(managed.allows_platform(good), "{good}");
    }
    for bad in [
        "http://platform.example",
        "https://platform.example:8443",
        "https://platform.example.evil.example",
        "https://platform.example@evil.example",
        "https://platform.example/other",
        "https://test.platform.example",
        "https://test.platform.example/Base",
        "https://platform.example?x",
        "https://platform.example\\@evil.example",
        "platform.example",
        "https://",
        "",
    ] {
        assert!(!managed.allows_platform(bad), "{bad}");
    }
    let only = Computer::with("platform_url = \"wss://platform.example\"").read().unwrap();
    assert!(only.allows_platform("https://platform.example") && !only.allows_platform("https://other.example"));
    assert!(only.with_practice("ws://127.0.0.1:9").allows_platform("ws://127.0.0.1:9"));
    let none = Computer::with("allowed_platforms = []").read().unwrap();
    assert!(!none.allows_platform("https://platform.example"));
}

#[test]
fn folders_elsewhere_are_not_attached() {
    let computer = Computer::with("");
    let (work, other) = (computer.0.path().join("work"), computer.0.path().join("workshop"));
    for folder in [&work, &other] {
        fs::create_dir(folder).unwrap();
    }
    std::os::unix::fs::symlink(&work, computer.0.path().join("link")).unwrap();
    let managed = Managed { browse_roots: Some(vec![computer.0.path().join("link")]), ..Managed::default() };

    let canonical = |path: &Path| path.canonicalize().unwrap();
    assert!(managed.allows_folder(&canonical(&work)) && managed.allows_folder(&canonical(&work).join("a")));
    assert!(!managed.allows_folder(&canonical(&other)));
    assert!(Managed::default().allows_folder(&canonical(&other)));
}

#[test]
fn it_stands_above_flag_environment_and_file_and_says_what_it_overruled() {
    let computer = Computer::with(EVERY_KEY);
    let config = "oauth_client_id = \"mine\"\nmax_concurrent = 4\nmax_concurrent_commands = 2\nenable_clipboard = true\n[shell]\nmode = \"full\"\nnetwork = \"all\"\n[consent]\nattach = \"allow\"";
    let flags = FlagOverrides { enable_shell: Some(true), enable_hardware: Some(true), ..FlagOverrides::default() };

    let loaded = computer.load(config, &[("DRAWBRIDGE_PLATFORM_URL", "wss://other.example")], flags);

    let now = &loaded.config;
    assert_eq!(
        (now.platform_url.as_str(), now.oauth_client_id.as_str()),
        ("wss://platform.example", "example-desktop")
    );
    assert_eq!((now.shell.mode, now.shell.network), (Some(ShellMode::Confined), Some(Network::Loopback)));
    assert_eq!((now.enable_shell, now.enable_hardware, now.enable_clipboard), (true, false, false));
    assert_eq!((now.max_concurrent, now.max_concurrent_commands), (2, 2));
    assert_eq!(now.consent.attach, Some(PowerMode::AskEachTime));
    let overruled: Vec<_> = loaded.overruled.iter().map(|one| (one.key.as_str(), one.layer)).collect();
    assert_eq!(
        overruled,
        [
            ("platform_url", Origin::Env),
            ("oauth_client_id", Origin::File),
            ("enable_clipboard", Origin::File),
            ("enable_hardware", Origin::Flag),
            ("consent.attach", Origin::File),
            ("shell.mode", Origin::File),
            ("shell.network", Origin::File),
            ("max_concurrent", Origin::File),
        ]
    );
    let shown = loaded.shown(true);
    for line in [
        "platform_url = \"wss://platform.example\"  # managed",
        "max_concurrent = 2  # managed",
        "max_concurrent_commands = 2  # file",
        "max_file_size_bytes = 1048576  # managed",
        "enable_shell = true  # flag",
        "browse.roots = [\"/srv/work\"]  # managed",
        "proxy.url = \"http://proxy.example:3128\"  # managed",
    ] {
        assert!(shown.iter().any(|shown| shown == line), "{line} in {shown:#?}");
    }
}

#[test]
fn a_fault_of_the_policy_comes_before_everything_else() {
    let computer = Computer::with("nonsense = 1");
    let none = |_: &str| None;
    let folder = computer.0.path().join("config");
    fs::write(folder.join("config.toml"), "more nonsense").unwrap();

    let loaded = Config::load(&ConfigLayers {
        config_dir: &folder,
        env: &none,
        flags: FlagOverrides::default(),
        managed: computer.place(),
    });

    assert!(matches!(loaded, Err(ConfigError::Managed(_))), "{loaded:?}");
}

#[test]
fn a_newer_policy_takes_away_at_once_and_gives_nothing_back() {
    let held = Computer::with("[powers]\nshell = \"ask_each_time\"\nfiles = \"ask_each_time\"").read().unwrap();
    let newer = Computer::with(
        "organisation = \"Example\"\naccounts = \"fixed\"\n[powers]\nshell = \"off\"\n[shell]\nnetwork = \"none\"\n[browse]\nroots = []",
    );

    let both = held.tightened_by(&newer.read().unwrap());

    assert_eq!(both.powers, BTreeMap::from([(Power::Files, PowerMode::AskEachTime), (Power::Shell, PowerMode::Off)]));
    assert_eq!((both.shell_network, both.shell_confined, both.accounts_fixed), (Some(Network::None), false, true));
    assert_eq!((both.by(), both.browse_roots.clone()), ("Example", None));
    assert_eq!(both.locked, ["powers.files", "powers.shell", "accounts", "shell.network"]);
    assert_eq!(both.tightened_by(&Managed::default()).powers, both.powers);
    assert_eq!(held.broken_meanwhile().locked_off().len(), Power::ALL.len());
}

#[test]
fn what_a_policy_says_of_clipboard_and_pictures_holds_above_the_configuration_and_at_once() {
    let computer = Computer::with("[clipboard]\nforeign = \"off\"\n[limits]\nmax_screenshots_per_minute = 4");
    let config = "enable_clipboard = true\nenable_clipboard_read_foreign = true\nmax_screenshots_per_minute = 60\n";
    let now = computer.load(config, &[], FlagOverrides::default());
    assert_eq!((now.config.enable_clipboard, now.config.enable_clipboard_read_foreign), (true, false));
    assert_eq!(now.config.max_screenshots_per_minute, 4);

    let held = Computer::with("organisation = \"Example\"").read().unwrap();
    let both = held.tightened_by(&computer.read().unwrap());
    assert_eq!(both.limits.max_screenshots_per_minute, Some(4));
    assert!(both.ceilings().own_clipboard);
    assert_eq!(both.locked, ["clipboard.foreign", "limits.max_screenshots_per_minute"]);
    let told = Computer::with("[clipboard]\nforeign = \"on\"").read().unwrap_err();
    assert!(told.contains("clipboard.foreign"), "{told}");
}

#[test]
fn servers_of_models_elsewhere_can_be_taken_away_and_not_given() {
    let computer = Computer::with("organisation = \"Example\"\n[models]\nfar = false");
    let config = "[models]\nservers = [\"http://127.0.0.1:1234\"]\nfar = [\"http://192.0.2.1:8080\"]\n";

    let now = computer.load(config, &[], FlagOverrides::default());

    assert_eq!(now.config.models.servers, ["http://127.0.0.1:1234"]);
    assert_eq!(now.config.models.far, [] as [String; 0]);
    assert!(
        now.overruled.iter().any(|one| one.key == "models.far" && one.layer == Origin::File),
        "{:?}",
        now.overruled
    );
    let both = Managed::default().tightened_by(&computer.read().unwrap());
    assert!(both.ceilings().near_models);
    assert_eq!(both.locked, ["models.far"]);
    let told = Computer::with("[models]\nfar = true").read().unwrap_err();
    assert!(told.contains("models.far") && told.contains("leave it out"), "{told}");
}

#[test]
fn contents_can_be_kept_on_the_computer_and_not_let_go() {
    let computer = Computer::with("organisation = \"Example\"\n[privacy]\nall = true");

    let now = computer.load("[privacy]\nall = false\n", &[], FlagOverrides::default());

    assert!(now.config.privacy.all);
    assert!(now.overruled.iter().any(|one| one.key == "privacy.all"), "{:?}", now.overruled);
    let both = Managed::default().tightened_by(&computer.read().unwrap());
    assert!(both.ceilings().private);
    assert_eq!(both.locked, ["privacy.all"]);
    let told = Computer::with("[privacy]\nall = false").read().unwrap_err();
    assert!(told.contains("privacy.all") && told.contains("leave it out"), "{told}");
}
