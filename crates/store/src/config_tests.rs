use super::*;

const CONTRACT: &[&str] = &[
    "platform_url",
    "oauth_client_id",
    "display_name",
    "max_concurrent",
    "max_concurrent_commands",
    "max_commands_per_minute",
    "max_screenshots_per_minute",
    "max_file_size_bytes",
    "command_timeout_seconds",
    "reconnect_base_delay_seconds",
    "reconnect_max_delay_seconds",
    "reconnect_jitter_seconds",
    "ollama_url",
    "enable_shell",
    "enable_computer_use",
    "enable_clipboard",
    "enable_clipboard_read_foreign",
    "enable_local_llm",
    "enable_hardware",
    "models.servers",
    "models.far",
    "models.max_context",
    "models.max_answer_tokens",
    "privacy.all",
    "privacy.preview_bytes",
    "hardware.share",
    "shell.mode",
    "shell.network",
    "consent.attach",
    "consent.answer_from_cli",
    "browse.roots",
    "audit.sync",
    "proxy.url",
    "proxy.no_proxy",
    "tls.extra_roots",
];

const EVERY_KEY: &str = r#"
platform_url = "wss://platform.example"
oauth_client_id = "client-7"
display_name = "Zoë's desk"
max_concurrent = 2
max_concurrent_commands = 3
max_commands_per_minute = 20
max_screenshots_per_minute = 5
max_file_size_bytes = 1_048_576
command_timeout_seconds = 12
reconnect_base_delay_seconds = 0.5
reconnect_max_delay_seconds = 90
reconnect_jitter_seconds = 0
ollama_url = "http://127.0.0.1:9999"
enable_shell = true
enable_computer_use = true
enable_clipboard = true
enable_clipboard_read_foreign = true
enable_local_llm = true
enable_hardware = true

[models]
servers = ["http://127.0.0.1:1234", "http://localhost:8080"]
far = ["https://models.example"]
max_context = 16384
max_answer_tokens = 2048

[hardware]
share = ["/dev/ttyUSB0", "usb:2341:0043", "gpio:gpiochip0", "COM3"]

[shell]
mode = "full"
network = "loopback"

[privacy]
all = true
preview_bytes = 64

[consent]
attach = "allow"
answer_from_cli = true

[browse]
roots = ["/home/zoe/a b", "/srv"]

[audit]
sync = "record"

[proxy]
url = "http://zoe:pa@ss/word@proxy.example:3128"
no_proxy = "intranet.example,10.0.0.1"

[tls]
extra_roots = "roots.pem"
"#;

struct Home(tempfile::TempDir);

impl Home {
    fn with(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
        Self(dir)
    }

    fn load(&self, env: &[(&str, &str)], flags: FlagOverrides) -> Result<Loaded, ConfigError> {
        let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Config::load(&ConfigLayers {
            config_dir: self.0.path(),
            env: &env,
            flags,
            managed: SystemFile::policy_below(self.0.path(), 0),
        })
    }

    fn alone(&self) -> Result<Loaded, ConfigError> {
        self.load(&[], FlagOverrides::default())
    }

    fn refusal(&self) -> String {
        self.alone().unwrap_err().to_string().replace(&self.0.path().join(FILE_NAME).display().to_string(), "F")
    }
}

#[test]
fn without_a_file_everything_is_as_the_contract_says() {
    let dir = tempfile::tempdir().unwrap();
    let none = |_: &str| None;
    for place in [dir.path().to_owned(), dir.path().join("not/there")] {
        let layers = ConfigLayers {
            config_dir: &place,
            env: &none,
            flags: FlagOverrides::default(),
            managed: SystemFile::policy_below(&place, 0),
        };

        let loaded = Config::load(&layers).unwrap();

        assert_eq!(loaded.config, Config::default());
        assert!(loaded.origins.values().all(|origin| *origin == Origin::Default));
    }
    let config = Config::default();
    assert_eq!(config.platform_url, "wss://platform.autogpt.net");
    assert_eq!(config.oauth_client_id, "autogpt-local-executor");
    assert!(!config.display_name.is_empty());
    assert_eq!((config.max_concurrent, config.max_concurrent_commands), (4, 10));
    assert_eq!((config.max_commands_per_minute, config.max_screenshots_per_minute), (60, 10));
    assert_eq!((config.max_file_size_bytes, config.command_timeout_seconds), (10_485_760, 30));
    assert_eq!(config.ollama_url, "http://127.0.0.1:11434");
    assert!(!config.enable_shell && !config.consent.answer_from_cli);
    assert_eq!(config.audit.sync, SyncMode::Interval);
}

#[test]
fn every_key_of_the_contract_can_be_set_in_the_file() {
    let home = Home::with(EVERY_KEY);

    let loaded = home.alone().unwrap();

    let expected = Config {
        platform_url: "wss://platform.example".to_owned(),
        oauth_client_id: "client-7".to_owned(),
        display_name: "Zoë's desk".to_owned(),
        max_concurrent: 2,
        max_concurrent_commands: 3,
        max_commands_per_minute: 20,
        max_screenshots_per_minute: 5,
        max_file_size_bytes: 1_048_576,
        command_timeout_seconds: 12,
        reconnect_base_delay_seconds: 0.5,
        reconnect_max_delay_seconds: 90.0,
        reconnect_jitter_seconds: 0.0,
        ollama_url: "http://127.0.0.1:9999".to_owned(),
        enable_shell: true,
        enable_computer_use: true,
        enable_clipboard: true,
        enable_clipboard_read_foreign: true,
        enable_local_llm: true,
        enable_hardware: true,
        models: ModelsTable {
            servers: vec!["http://127.0.0.1:1234".to_owned(), "http://localhost:8080".to_owned()],
            far: vec!["https://models.example".to_owned()],
            max_context: 16_384,
            max_answer_tokens: 2048,
        },
        privacy: PrivacyTable { all: true, preview_bytes: 64 },
        hardware: HardwareTable {
            share: vec![
                DeviceMatch::Port("/dev/ttyUSB0".to_owned()),
                DeviceMatch::Usb { vendor: 0x2341, product: 0x0043 },
                DeviceMatch::Gpio("gpiochip0".to_owned()),
                DeviceMatch::Port("COM3".to_owned()),
            ],
        },
        shell: ShellTable { mode: Some(ShellMode::Full), network: Some(Network::Loopback) },
        consent: ConsentTable { attach: Some(PowerMode::Allowed), answer_from_cli: true },
        browse: BrowseTable { roots: Some(vec!["/home/zoe/a b".into(), "/srv".into()]) },
        audit: AuditTable { sync: SyncMode::Record },
        proxy: ProxyTable {
            url: Some("http://zoe:pa@ss/word@proxy.example:3128".to_owned()),
            no_proxy: Some("intranet.example,10.0.0.1".to_owned()),
        },
        tls: TlsTable { extra_roots: Some(home.0.path().join("roots.pem")) },
    };
    assert_eq!(loaded.config, expected);
    let names: Vec<&str> = KEYS.iter().map(|key| key.key.name).collect();
    assert_eq!(names, CONTRACT);
    assert!(CONTRACT.iter().all(|key| loaded.origins[*key] == Origin::File));
    assert_eq!(loaded.origins.len(), CONTRACT.len());
}

#[test]
fn what_is_shown_is_a_file_that_says_the_same() {
    let home = Home::with(&EVERY_KEY.replace("url = \"http://zoe:pa@ss/word@", "url = \"http://"));
    let loaded = home.alone().unwrap();

    for origin in [false, true] {
        let again = Home::with(&loaded.shown(origin).join("\n"));
        assert_eq!(again.alone().unwrap().config, loaded.config);
    }
    let defaults = Home::with("").alone().unwrap();
    assert_eq!(Home::with(&defaults.shown(true).join("\r\n")).alone().unwrap().config, Config::default());
}

#[test]
fn flag_beats_environment_beats_file_beats_default() {
    let home = Home::with("platform_url = \"wss://file.example\"\nollama_url = \"http://file.example\"\n");
    let env = [("DRAWBRIDGE_PLATFORM_URL", "wss://env.example"), ("DRAWBRIDGE_OLLAMA_URL", "http://env.example")];
    let flags = FlagOverrides { platform_url: Some("wss://flag.example".to_owned()), ..FlagOverrides::default() };
    let seen = |loaded: &Loaded| {
        let config = &loaded.config;
        [(&config.platform_url, "platform_url"), (&config.ollama_url, "ollama_url")]
            .map(|(value, key)| (value.clone(), loaded.origins[key]))
    };

    assert_eq!(
        seen(&home.alone().unwrap()),
        [("wss://file.example".to_owned(), Origin::File), ("http://file.example".to_owned(), Origin::File)]
    );
    assert_eq!(
        seen(&home.load(&env, FlagOverrides::default()).unwrap()),
        [("wss://env.example".to_owned(), Origin::Env), ("http://env.example".to_owned(), Origin::Env)]
    );
    assert_eq!(
        seen(&home.load(&env, flags).unwrap()),
        [("wss://flag.example".to_owned(), Origin::Flag), ("http://env.example".to_owned(), Origin::Env)]
    );
    let empty = home.load(&[("DRAWBRIDGE_PLATFORM_URL", "")], FlagOverrides::default()).unwrap();
    assert_eq!(empty.origins["platform_url"], Origin::File);
}

#[test]
fn a_limit_cannot_be_set_by_the_environment_by_accident() {
    let home = Home::with("");

    let loaded = home.load(&[("DRAWBRIDGE_MAX_CONCURRENT", "900"), ("ENABLE_SHELL", "true")], FlagOverrides::default());

    assert_eq!(loaded.unwrap().config, Config::default());
}

#[test]
fn the_bare_shell_flag_means_full_unless_somebody_wrote_confined() {
    let flags = FlagOverrides { enable_shell: Some(true), ..FlagOverrides::default() };
    let confined = FlagOverrides { shell_mode: Some(ShellMode::Confined), ..flags.clone() };
    let full = FlagOverrides { shell_mode: Some(ShellMode::Full), ..flags.clone() };
    let in_file = Home::with("[shell]\nmode = \"confined\"\n");
    let nothing = Home::with("");
    let mode = |home: &Home, flags: &FlagOverrides| {
        let loaded = home.load(&[], flags.clone()).unwrap();
        assert!(loaded.config.enable_shell);
        (loaded.config.shell.mode, loaded.origins["shell.mode"])
    };

    assert_eq!(mode(&nothing, &flags), (Some(ShellMode::Full), Origin::Flag));
    assert_eq!(mode(&nothing, &confined), (Some(ShellMode::Confined), Origin::Flag));
    assert_eq!(mode(&in_file, &flags), (Some(ShellMode::Confined), Origin::File));
    assert_eq!(mode(&in_file, &full), (Some(ShellMode::Full), Origin::Flag));
    let switched = Home::with("enable_shell = true").alone().unwrap();
    assert_eq!((switched.config.enable_shell, switched.config.shell.mode), (true, None));
}

#[test]
fn each_power_has_its_flag() {
    let all = FlagOverrides {
        enable_shell: Some(true),
        enable_computer_use: Some(true),
        enable_clipboard: Some(true),
        enable_clipboard_read_foreign: Some(true),
        enable_local_llm: Some(true),
        enable_hardware: Some(true),
        ..FlagOverrides::default()
    };

    let loaded = Home::with("").load(&[], all).unwrap();

    let config = &loaded.config;
    assert!(config.enable_shell && config.enable_computer_use && config.enable_clipboard);
    assert!(config.enable_clipboard_read_foreign && config.enable_local_llm && config.enable_hardware);
    assert_eq!(loaded.origins.values().filter(|origin| **origin == Origin::Flag).count(), 7);
}

#[test]
fn an_unknown_key_is_told_with_its_line_and_the_nearest_one() {
    for (text, told) in [
        ("\n\nmax_concurent = 2", "F, line 3: there is no key `max_concurent`; the nearest is `max_concurrent`"),
        (
            "[shell]\nmode = \"full\"\nnet = \"all\"",
            "F, line 3: there is no key `shell.net`; the nearest is `shell.mode`",
        ),
        ("mode = \"full\"", "F, line 1: there is no key `mode`; the nearest is `shell.mode`"),
        ("[consents]\nattach = 1", "F, line 1: there is no key `consents`; the nearest is `consent.attach`"),
        ("enable_recording = true", "F, line 1: there is no key `enable_recording`; the nearest is `enable_local_llm`"),
        (
            "# one\r\n# two\r\nEnable_Shell = true",
            "F, line 3: there is no key `Enable_Shell`; the nearest is `enable_shell`",
        ),
        ("\"\" = 1", "F, line 1: there is no key ``; the nearest is `tls.extra_roots`"),
    ] {
        assert_eq!(Home::with(text).refusal(), told, "{text}");
    }
}

#[test]
fn of_several_faults_the_first_in_the_file_is_told() {
    let home = Home::with("max_concurrent = 0\naaa = 1\n");
    assert_eq!(home.refusal(), "F, line 1: `max_concurrent` must be a whole number from 1 to 10000");

    let home = Home::with("zzz = 1\nmax_concurrent = 0\n");
    assert!(home.refusal().starts_with("F, line 1: there is no key `zzz`"));
}

#[test]
fn a_value_of_a_wrong_type_or_out_of_range_is_told_with_its_line() {
    for text in [
        "platform_url = \"\"",
        "platform_url = 5",
        "platform_url = \"wss://a b\"",
        "platform_url.host = \"x\"",
        "oauth_client_id = \" \"",
        "oauth_client_id = \"a\\u0000b\"",
        "display_name = \"  \"",
        "display_name = \"a\\nb\"",
        "max_concurrent = 0",
        "max_concurrent = -1",
        "max_concurrent = 2.0",
        "max_concurrent = \"4\"",
        "max_concurrent = 99999999999999999999",
        "max_concurrent_commands = 0",
        "max_commands_per_minute = 0",
        "max_commands_per_minute = true",
        "max_screenshots_per_minute = [1]",
        "max_file_size_bytes = 0",
        "max_file_size_bytes = 9223372036854775807",
        "command_timeout_seconds = 0",
        "command_timeout_seconds = 1.5",
        "command_timeout_seconds = 86401",
        "reconnect_base_delay_seconds = 0",
        "reconnect_base_delay_seconds = nan",
        "reconnect_max_delay_seconds = inf",
        "reconnect_max_delay_seconds = -1",
        "reconnect_jitter_seconds = -0.1",
        "reconnect_jitter_seconds = 1979-05-27",
        "ollama_url = false",
        "enable_shell = \"true\"",
        "enable_hardware = 1",
        "models.servers = \"http://127.0.0.1:1234\"",
        "models.servers = [\"127.0.0.1:1234\"]",
        "models.far = [\"ftp://models.example\"]",
        "models.far = [7]",
        "models.max_context = 4095",
        "models.max_context = 16777217",
        "models.max_context = \"32k\"",
        "models.max_answer_tokens = 0",
        "models.max_answer_tokens = 1000001",
        "hardware.share = \"/dev/ttyUSB0\"",
        "hardware.share = [\"ttyUSB0\"]",
        "hardware.share = [\"usb:2341\"]",
        "hardware.share = [\"usb:2341:+043\"]",
        "hardware.share = [\"gpio:\"]",
        "shell.mode = \"none\"",
        "shell = \"full\"",
        "[[shell]]\nmode = \"full\"",
        "shell.network = \"internet\"",
        "consent.attach = true",
        "consent.answer_from_cli = \"yes\"",
        "browse.roots = \"/home\"",
        "browse.roots = [\"docs\"]",
        "browse.roots = [\"\"]",
        "browse.roots = [1]",
        "audit.sync = \"never\"",
        "proxy.url = \"\"",
        "proxy.no_proxy = [\"a\"]",
        "tls.extra_roots = \"\"",
    ] {
        let home = Home::with(&format!("# first\n\n{text}\n"));
        let error = home.alone().unwrap_err();
        let ConfigError::FileValue { line, key, why, .. } = &error else { panic!("{text}: {error}") };
        assert!((3..=4).contains(line), "{text}: {error}");
        assert!(text.contains(key.rsplit('.').next().unwrap()), "{text}: {error}");
        assert!(why.starts_with("must "), "{text}: {error}");
    }
}

#[test]
fn an_entry_that_names_no_device_is_named_with_what_is_wrong_with_it() {
    for (entry, why) in [
        ("\"usb:2341\"", "\"usb:2341\" is none: a USB device is usb: and two ids"),
        ("\"usb:2341:43\"", "usb:2341:0043"),
        ("\"usb:2341:0043:1\"", "\"usb:2341:0043:1\" is none"),
        ("\"gpio:\"", "\"gpio:\" is none: a GPIO chip is gpio: and its name"),
        ("\"ttyUSB0\"", "\"ttyUSB0\" is none: a device is a whole path"),
        ("\"/dev/tty USB0\"", "is none"),
        ("\"\"", "\"\" is none"),
        ("7", "entry 2 is no such text"),
    ] {
        let home = Home::with(&format!("[hardware]\nshare = [\"/dev/ttyS0\", {entry}]\n"));
        let error = home.alone().unwrap_err();
        let ConfigError::FileValue { why: told, key, .. } = &error else { panic!("{entry}: {error}") };
        assert!(told.contains(why) && told.starts_with("must "), "{entry}: {told}");
        assert_eq!(key, "hardware.share");
    }
}

#[test]
fn a_file_that_is_no_toml_is_told_with_its_line_and_without_its_text() {
    for text in [
        "\nproxy.url = \"http://zoe:pa55word",
        "\nplatform_url = pa55word",
        "\npa55word",
        "\nmax_concurrent = 1 pa55word",
        "\n[shell\n",
    ] {
        let error = Home::with(text).alone().unwrap_err();
        assert!(matches!(error, ConfigError::Syntax { line: 2, .. }), "{text}: {error}");
        assert!(!error.to_string().contains("pa55word"), "{error}");
    }
    let twice = Home::with("max_concurrent = 1\nmax_concurrent = 2\n").alone().unwrap_err();
    assert!(matches!(twice, ConfigError::Syntax { line: 2, .. }), "{twice}");
}

#[test]
fn a_value_from_outside_the_file_is_told_by_its_name() {
    let home = Home::with("");
    let error = home.load(&[("DRAWBRIDGE_OLLAMA_URL", "http://a b")], FlagOverrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "the environment variable DRAWBRIDGE_OLLAMA_URL must not hold blanks");

    let flags = FlagOverrides { platform_url: Some(String::new()), ..FlagOverrides::default() };
    assert_eq!(home.load(&[], flags).unwrap_err().to_string(), "--platform-url must not be empty");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_there_and_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
    let dangling = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/nowhere/config.toml", dangling.path().join(FILE_NAME)).unwrap();
    let binary = tempfile::tempdir().unwrap();
    std::fs::write(binary.path().join(FILE_NAME), b"display_name = \"\xff\"").unwrap();
    let large = tempfile::tempdir().unwrap();
    std::fs::write(large.path().join(FILE_NAME), "#".repeat(1024 * 1024 + 1)).unwrap();
    // Whoever opened it as a file would wait for its writer for ever.
    let pipe = tempfile::tempdir().unwrap();
    assert!(std::process::Command::new("mkfifo").arg(pipe.path().join(FILE_NAME)).status().unwrap().success());

    for dir in [folder, dangling, binary, large, pipe] {
        let error = Home(dir).alone().unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_key() {
    assert_eq!(Home::with("\u{feff}max_concurrent = 2\r\n").alone().unwrap().config.max_concurrent, 2);
}

#[test]
fn no_password_is_shown() {
    let home = Home::with(EVERY_KEY);
    let env = [("DRAWBRIDGE_OLLAMA_URL", "http://u:pa@ss/word@model.example")];
    let loaded = home.load(&env, FlagOverrides::default()).unwrap();

    let shown = loaded.shown(true).join("\n");

    for secret in ["pa@ss", "word", "ss/", "zoe:"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("proxy.url = \"http://<redacted>@proxy.example:3128\"  # file"), "{shown}");
    assert!(shown.contains("ollama_url = \"http://<redacted>@model.example\"  # environment"), "{shown}");
    assert!(!format!("{:?}", loaded.config.proxy).contains("word"));
}

#[test]
fn each_line_can_name_its_layer_and_tells_who_decides_what_is_not_set() {
    let home = Home::with("[browse]\nroots = []\n");
    let flags = FlagOverrides { enable_shell: Some(true), ..FlagOverrides::default() };
    let loaded = home.load(&[], flags).unwrap();

    let shown = loaded.shown(true);

    assert_eq!(shown.len(), CONTRACT.len());
    for line in [
        "max_concurrent = 4  # default",
        "enable_shell = true  # flag",
        "shell.mode = \"full\"  # flag",
        "# shell.network is not set: the stored setting decides, \"none\" at first  # default",
        "browse.roots = []  # file",
        "audit.sync = \"interval\"  # default",
    ] {
        assert!(shown.iter().any(|one| one == line), "{line} in {shown:#?}");
    }
}
