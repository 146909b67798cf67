//! Apps from desktop entries in folders of a test, started for real.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use drawbridge_os::seat::app::{self, Apps, Target};
use drawbridge_os::seat::window::Owner;
use drawbridge_os::seat::{Seat, SeatFault};
use tempfile::TempDir;

/// A home with entries and programs, and a pipe through which a program tells what it was started with.
struct Home {
    folder: TempDir,
    apps: Box<dyn Apps>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| OsString::from(folder.path().join(name));
        for name in ["own/applications", "shared/applications/sub", "bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let search = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
        let environment = vec![
            ("HOME".into(), path("")),
            ("XDG_DATA_HOME".into(), path("own")),
            ("XDG_DATA_DIRS".into(), path("shared")),
            ("PATH".into(), search.into()),
            ("DRAWBRIDGE_KEYCHAIN_PASSPHRASE".into(), "secret".into()),
            ("LANG".into(), "C".into()),
        ];
        let apps = app::open_in(&Seat::x11(":77"), environment).unwrap();
        Self { folder, apps }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn entry(&self, file: &str, lines: &str) {
        fs::write(self.path(file), format!("[Desktop Entry]\nType=Application\n{lines}\n")).unwrap();
    }

    /// A program that tells what it was started with, as soon as somebody reads `told`.
    fn program(&self, name: &str) -> PathBuf {
        let pipe = self.path("told");
        if !pipe.exists() {
            rustix_mkfifo(&pipe);
        }
        let script = format!(
            "#!/bin/sh\nexec > '{}'\nfor arg in \"$0\" \"$@\"; do printf '%s\\0' \"$arg\"; done\nprintf '%s\\0' END \"$PWD\" \
             \"$DISPLAY\" \"${{DRAWBRIDGE_KEYCHAIN_PASSPHRASE-none}}\" \"$LANG\"\n\
             read -r _ _ _ _ group session _ < /proc/$$/stat\nprintf '%s\\0' \"$group\" \"$session\" \"$$\"\n",
            pipe.display()
        );
        let program = self.path(&format!("bin/{name}"));
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    fn told(&self) -> Vec<String> {
        let told = fs::read(self.path("told")).unwrap();
        let text = String::from_utf8(told).unwrap();
        text.strip_suffix('\0').unwrap().split('\0').map(str::to_owned).collect()
    }

    fn launch(&self, id: &str, args: &[&str]) -> Result<Option<u32>, SeatFault> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.apps.launch(&Target::Id(id.to_owned()), &args)
    }
}

fn rustix_mkfifo(path: &Path) {
    assert!(std::process::Command::new("/usr/bin/mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_entry_is_started_with_exactly_its_words_and_the_arguments() {
    let home = Home::new();
    let program = home.program("teller");
    home.entry(
        "own/applications/org.example.Teller.desktop",
        "Name=Teller ☎\nIcon=tell\nExec=teller \"two words\" %i --name=%c \"a\\\\\"b\\\\$HOME\" %U --end 100%%",
    );

    let pid = home.launch("org.example.Teller", &["a b", "$(touch /tmp/no)", "; id", "", "-x"]).unwrap().unwrap();

    let told = home.told();
    let end = told.iter().position(|word| word == "END").unwrap();
    assert_eq!(
        told[..end],
        [
            program.to_str().unwrap(),
            "two words",
            "--icon",
            "tell",
            "--name=Teller ☎",
            "a\"b$HOME",
            "a b",
            "$(touch /tmp/no)",
            "; id",
            "",
            "-x",
            "--end",
            "100%",
        ]
    );
    let [folder, display, secret, language, group, session, own] = &told[end + 1..] else { panic!("{told:?}") };
    assert_eq!(Path::new(folder).canonicalize().unwrap(), home.folder.path().canonicalize().unwrap());
    assert_eq!((&**display, &**secret, &**language), (":77", "none", "C"));
    // Apart from us: what is sent to our group or session does not reach it.
    assert_eq!((group, session, own), (&pid.to_string(), &pid.to_string(), &pid.to_string()));
}

#[test]
fn what_is_not_installed_is_not_there() {
    let home = Home::new();
    home.program("teller");
    home.entry("shared/applications/there.desktop", "Name=There\nExec=teller");
    home.entry("shared/applications/sub/nested.desktop", "Name=Nested\nExec=teller");
    home.entry("shared/applications/untried.desktop", "Name=No\nExec=teller\nTryExec=not-installed-at-all");
    home.entry("shared/applications/removed.desktop", "Name=No\nExec=teller");
    home.entry("own/applications/removed.desktop", "Name=No\nExec=teller\nHidden=true");
    home.entry("shared/applications/lost.desktop", "Name=Lost\nExec=not-installed-at-all");
    home.entry("shared/applications/broken.desktop", "Name=Broken\nExec=teller \"open");
    fs::write(home.path("outside.desktop"), "[Desktop Entry]\nType=Application\nName=Out\nExec=teller\n").unwrap();

    assert_eq!(home.apps.find("there").unwrap().name, "There");
    assert_eq!(home.apps.find("there.desktop").unwrap().id, "there");
    assert_eq!(home.apps.find("sub-nested").unwrap().name, "Nested");
    for id in [
        "",
        ".",
        "..",
        "../outside",
        "../../outside.desktop",
        "sub/nested",
        "/etc/passwd",
        "untried",
        "removed",
        "broken",
        "THERE",
        "there\0",
        "sh",
        "*",
    ] {
        assert_eq!(home.apps.find(id), Err(SeatFault::Gone), "{id:?}");
        assert_eq!(home.launch(id, &[]), Err(SeatFault::Gone), "{id:?}");
    }
    assert_eq!(home.apps.find("lost").unwrap().program, None);
    assert_eq!(home.launch("lost", &[]), Err(SeatFault::Gone));
    assert!(matches!(home.launch("there", &["a\0b"]), Err(SeatFault::Unsupported(_))));
}

#[test]
fn an_entry_of_the_user_stands_before_the_systems_and_changes_are_seen() {
    let home = Home::new();
    home.program("teller");
    home.entry("shared/applications/app.desktop", "Name=System\nExec=teller");
    assert_eq!(home.apps.find("app").unwrap().name, "System");

    home.entry("own/applications/app.desktop", "Name=Mine\nExec=teller");
    assert_eq!(home.apps.find("app").unwrap().name, "Mine");
}

#[test]
fn an_app_is_found_by_its_program_and_by_its_windows() {
    let home = Home::new();
    let program = home.program("teller");
    home.entry(
        "own/applications/org.example.Teller.desktop",
        "Name=Teller\nExec=env LANG=C teller %U\nStartupWMClass=Tell-Window",
    );
    home.entry("own/applications/a-handler.desktop", "Name=Handler\nNoDisplay=true\nExec=teller --handle %u");
    home.entry("own/applications/console.desktop", "Name=Console\nTerminal=true\nExec=console");
    let console = home.program("console");
    let id = |class: &str, program: Option<&Path>| {
        let owner = Owner {
            pid: None,
            started: None,
            class: class.to_owned(),
            instance: String::new(),
            program: program.map(Path::to_path_buf),
        };
        home.apps.of_window(&owner).map(|app| app.id)
    };
    let teller = Some("org.example.Teller".to_owned());

    assert_eq!(home.apps.of_program(&program).map(|app| app.id), teller, "the one that menus show");
    assert_eq!(id("tell-window", None), teller);
    assert_eq!(id("Teller", None), teller);
    assert_eq!(id("unknown", Some(&program)), teller);
    assert_eq!(id("unknown", None), None);
    assert_eq!(id("", None), None);
    // What runs in a terminal says nothing about who has a window.
    assert_eq!(id("unknown", Some(&console)), None);
    assert!(home.apps.of_program(&console).unwrap().in_terminal);
}

#[test]
fn a_started_app_is_nobodys_stray_and_is_taken_out_of_the_process_table() {
    let home = Home::new();
    let program = home.program("teller");
    let pid = home.apps.launch(&Target::Program(program), &["x".to_owned()]).unwrap().unwrap();

    assert!(home.apps.came_out_of(pid, std::process::id()));
    assert!(!home.apps.came_out_of(std::process::id(), pid));
    let told = home.told();
    assert_eq!(told[1], "x");
    // It ends now; somebody waits for it, or it would stay in the table for as long as this process lives.
    while Path::new(&format!("/proc/{pid}")).exists() {
        std::thread::yield_now();
    }
}

#[test]
fn there_are_no_apps_where_there_is_no_desktop() {
    use drawbridge_os::seat::SeatKind;
    for kind in [SeatKind::None, SeatKind::Wsl, SeatKind::Windows] {
        let seat = Seat { kind, display: None };
        assert!(matches!(app::open_in(&seat, vec![]), Err(SeatFault::Unsupported(_))), "{kind:?}");
    }
}
