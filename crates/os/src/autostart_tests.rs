//! Entries for starting at login, read back by the programs that read them on a person's computer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tempfile::TempDir;

use super::*;

/// Signs that each of the formats has a meaning of its own for.
const ODD: &str = "a b/$x `y` \"z\" 100% 'q' ü\\n <&> ;#";

struct Desk {
    dir: TempDir,
    around: Around,
}

impl Desk {
    /// A computer of this system where the application runs as `program`, below its home folder.
    fn of(system: System, program: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let home = dir.path().join("home");
        let exe = home.join(program);
        let around = Around {
            system,
            exe: Some(exe.clone()),
            appimage: None,
            appdir: None,
            path: None,
            config_home: Some(home.join(".config")),
            config_dirs: vec![dir.path().join("etc/xdg")],
            unit_dirs: vec![dir.path().join("usr/lib/systemd/user")],
            local_data: Some(home.join("AppData")),
            home: Some(home),
            display: true,
        };
        put_program(&exe);
        Self { dir, around }
    }

    fn linux() -> Self {
        Self::of(System::Linux, "opt/drawbridge-desktop")
    }

    fn app(&self) -> Autostart {
        Autostart::new(&self.around, Kind::App).unwrap()
    }

    fn headless(&self) -> Autostart {
        put_program(&self.around.exe.as_ref().unwrap().with_file_name("drawbridge"));
        Autostart::new(&self.around, Kind::Headless).unwrap()
    }

    fn entry(&self) -> PathBuf {
        self.around.config_home.as_ref().unwrap().join("autostart/drawbridge.desktop")
    }

    fn write_entry(&self, text: &str) {
        fs::create_dir_all(self.entry().parent().unwrap()).unwrap();
        fs::write(self.entry(), text).unwrap();
    }

    fn write_shared(&self, text: &str) {
        let folder = self.dir.path().join("etc/xdg/autostart");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("drawbridge.desktop"), text).unwrap();
    }
}

/// A program that writes down what it was started as.
fn put_program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >> \"$SAID.part\"\nmv \"$SAID.part\" \"$SAID\"\n")
        .unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "GLib launches such entries on Linux")]
fn an_entry_for_an_appimage_with_odd_signs_starts_that_very_file_hidden() {
    let mut desk = Desk::of(System::Linux, "mount/usr/bin/drawbridge-desktop");
    let home = desk.around.home.clone().unwrap();
    let mount = home.join("mount");
    for name in ["/a b/$x.AppImage".to_owned(), format!("/{ODD}.AppImage")] {
        let file = PathBuf::from(format!("{}{name}", home.display()));
        put_program(&file);
        desk.around.appimage = Some(file.clone());
        desk.around.appdir = Some(mount.clone());

        desk.app().set(true).unwrap();

        assert_eq!(desk.app().state().unwrap(), State::On);
        let said = desk.dir.path().join("said");
        let _ = fs::remove_file(&said);
        // GLib is what GNOME, Xfce, Cinnamon and MATE start such entries with.
        run(Command::new("gio").arg("launch").arg(desk.entry()).env("SAID", &said));
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !said.exists() && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert_eq!(fs::read_to_string(&said).unwrap(), format!("{}\n--hidden\n", file.display()));
        run(Command::new("desktop-file-validate").arg(desk.entry()));
    }
}

#[test]
fn a_variable_inherited_from_another_appimage_is_not_ours_and_a_mount_is_never_written() {
    let mut desk = Desk::linux();
    let own = desk.around.exe.clone().unwrap();
    let other = desk.dir.path().join("Terminal.AppImage");
    put_program(&other);
    desk.around.appimage = Some(other);
    desk.around.appdir = Some(desk.dir.path().join("mount of the terminal"));
    assert_eq!(desk.app().program(), own);

    desk.around.appdir = Some(own.parent().unwrap().to_owned());
    desk.around.appimage = Some(desk.dir.path().join("moved away.AppImage"));
    let fault = Autostart::new(&desk.around, Kind::App).unwrap_err();
    assert!(fault.to_string().contains("start it anew from its new place"), "{fault}");
    assert!(Autostart::new(&desk.around, Kind::Headless).is_err());
}

#[test]
fn an_update_in_place_keeps_the_name_and_a_removed_program_is_refused() {
    let mut desk = Desk::linux();
    let exe = desk.around.exe.clone().unwrap();
    desk.around.exe = Some(PathBuf::from(format!("{} (deleted)", exe.display())));
    assert_eq!(desk.app().program(), exe);

    fs::remove_file(&exe).unwrap();
    let fault = desk.app().set(true).unwrap_err();
    assert!(fault.to_string().contains("is not there"), "{fault}");
    assert!(!desk.entry().exists());
}

#[test]
fn the_command_line_finds_the_application_beside_it_or_in_the_path() {
    let mut desk = Desk::linux();
    let app = desk.around.exe.clone().unwrap();
    desk.around.exe = Some(app.with_file_name("drawbridge"));
    assert_eq!((desk.app().program(), desk.around.fitting()), (app.as_path(), Kind::App));
    desk.around.display = false;
    assert_eq!(desk.around.fitting(), Kind::Headless);

    desk.around.exe = Some(desk.dir.path().join("elsewhere/drawbridge"));
    assert!(matches!(Autostart::new(&desk.around, Kind::App), Err(Fault::NoProgram(_))));
    desk.around.path = Some(std::env::join_paths([Path::new("relative"), app.parent().unwrap()]).unwrap());
    assert_eq!(desk.app().program(), app);
}

#[test]
fn an_entry_that_starts_another_program_or_a_missing_one_is_told_and_repaired() {
    let desk = Desk::linux();
    let app = desk.app();
    app.set(true).unwrap();
    let mine = fs::read_to_string(desk.entry()).unwrap();
    let own = app.program().to_str().unwrap();
    let other = desk.dir.path().join("older-drawbridge");
    put_program(&other);

    desk.write_entry(&mine.replace(own, other.to_str().unwrap()));
    assert_eq!(app.state().unwrap(), State::Elsewhere { program: other.clone() });
    fs::remove_file(&other).unwrap();
    let report = app.report().unwrap();
    assert_eq!(report.state, State::Gone { program: other });
    assert!(report.problem.unwrap().contains("not there any more"));

    app.set(true).unwrap();
    assert_eq!((app.state().unwrap(), fs::read_to_string(desk.entry()).unwrap()), (State::On, mine));
}

#[test]
fn what_a_desktop_has_switched_off_is_told_and_can_be_switched_on_again() {
    let desk = Desk::linux();
    let app = desk.app();
    app.set(true).unwrap();
    let mine = fs::read_to_string(desk.entry()).unwrap();
    for off in [
        mine.replace("X-GNOME-Autostart-enabled=true", "X-GNOME-Autostart-enabled=false"),
        format!("{mine}Hidden=true\n"),
        // A copy that the settings of a desktop have made of the application's own entry.
        "[Desktop Entry]\nType=Application\nExec=drawbridge-desktop\nX-GNOME-Autostart-enabled=false\n".to_owned(),
    ] {
        desk.write_entry(&off);
        assert_eq!(app.state().unwrap(), State::Disabled, "{off}");
        app.set(true).unwrap();
        assert_eq!(app.state().unwrap(), State::On);
    }
    app.set(false).unwrap();
    assert_eq!((app.state().unwrap(), desk.entry().exists()), (State::Off, false));
    app.set(false).unwrap();
}

#[test]
fn the_entry_of_the_package_is_off_until_the_person_says_so_and_a_no_holds_against_one_that_is_on() {
    let desk = Desk::linux();
    let app = desk.app();
    desk.write_shared("[Desktop Entry]\nType=Application\nExec=drawbridge-desktop --hidden\nHidden=true\n");
    assert_eq!(app.state().unwrap(), State::Off);
    app.set(true).unwrap();
    assert_eq!(app.state().unwrap(), State::On);
    app.set(false).unwrap();
    assert!(!desk.entry().exists());

    desk.write_shared("[Desktop Entry]\nType=Application\nExec=drawbridge-desktop --hidden\n");
    assert_eq!(app.state().unwrap(), State::On);
    app.set(false).unwrap();
    assert_eq!(app.state().unwrap(), State::Disabled);
    assert!(fs::read_to_string(desk.entry()).unwrap().contains("Hidden=true"));
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    let desk = Desk::linux();
    for foreign in [
        "[Desktop Entry]\nType=Application\nExec=/usr/bin/castle-game\n",
        "",
        "\u{0}nonsense",
        "[Desktop Entry]\nExec=\"\n",
    ] {
        desk.write_entry(foreign);
        let app = desk.app();
        assert_eq!(app.state().unwrap(), State::Foreign, "{foreign:?}");
        for on in [true, false] {
            let fault = app.set(on).unwrap_err();
            assert!(matches!(&fault, Fault::Foreign(place) if place.ends_with("drawbridge.desktop")), "{fault}");
        }
        assert_eq!(fs::read_to_string(desk.entry()).unwrap(), foreign);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_told_by_name() {
    let desk = Desk::linux();
    // A file where the folder should be: also root cannot write there.
    fs::create_dir_all(desk.around.config_home.as_ref().unwrap()).unwrap();
    fs::write(desk.entry().parent().unwrap(), "x").unwrap();
    let fault = desk.app().set(true).unwrap_err();
    assert!(fault.to_string().contains("drawbridge.desktop cannot be"), "{fault}");
    assert!(fault.to_string().contains("nothing has changed"), "{fault}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "systemd is Linux's")]
fn systemd_finds_nothing_wrong_with_the_unit_and_reads_the_very_path() {
    let desk = Desk::of(System::Linux, &format!("{}/drawbridge-desktop", ODD.replace(['"', '\'', '\\'], "")));
    let unit = desk.headless();
    unit.set(true).unwrap();
    let path = desk.around.config_home.as_ref().unwrap().join("systemd/user/drawbridge.service");
    assert_eq!(unit::parse(&unit.render().unwrap()).program.as_deref(), Some(unit.program()));

    // It looks for the program, and says what it does not know or like.
    let said = run(Command::new("systemd-analyze")
        .args(["--user", "verify", "--man=no", "--recursive-errors=no"])
        .arg(&path)
        .env("XDG_RUNTIME_DIR", desk.dir.path())
        .env("HOME", desk.around.home.as_ref().unwrap()));
    assert!(!said.contains("drawbridge.service"), "{said}");

    // Written, and not switched on before the person has run the command.
    assert_eq!(unit.state().unwrap(), State::Disabled);
    let wants = path.with_file_name("default.target.wants");
    fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink(&path, wants.join("drawbridge.service")).unwrap();
    assert_eq!(unit.state().unwrap(), State::On);
    unit.set(false).unwrap();
    assert_eq!(unit.state().unwrap(), State::Off);

    // The package brings a unit of the same name, which the person may have switched on.
    let shared = desk.dir.path().join("usr/lib/systemd/user");
    fs::create_dir_all(&shared).unwrap();
    fs::write(shared.join("drawbridge.service"), unit.render().unwrap()).unwrap();
    assert_eq!(unit.state().unwrap(), State::On);
    unit.set(false).unwrap();
    assert!(!path.exists(), "the command switches it off");
    fs::remove_file(wants.join("drawbridge.service")).unwrap();
    assert_eq!(unit.state().unwrap(), State::Off);
}

#[test]
fn a_launch_agent_names_the_executable_inside_the_bundle_word_by_word() {
    let bundle = format!("Applications/{}.app/Contents/MacOS/drawbridge-desktop", ODD.replace('/', "-"));
    let desk = Desk::of(System::MacOs, &bundle);
    let read = "import json, plistlib, sys; print(json.dumps(plistlib.load(sys.stdin.buffer)))";
    for (way, words, process) in [
        (desk.app(), &["--hidden"][..], "Interactive"),
        (desk.headless(), &["start", "--headless", "--service"], "Background"),
    ] {
        way.set(true).unwrap();
        assert_eq!(way.state().unwrap(), State::On);
        let file = desk.around.home.as_ref().unwrap().join("Library/LaunchAgents/net.drawbridge.agent.plist");
        let said = run(Command::new("python3").args(["-c", read]).stdin(fs::File::open(file).unwrap()));
        let program = way.program().to_str().unwrap();
        for part in std::iter::once(program).chain(words.iter().copied()) {
            assert!(said.contains(&json_text(part)), "{part} in {said}");
        }
        let expected = ["\"SuccessfulExit\": false", "\"ThrottleInterval\": 60", "\"RunAtLoad\": true"];
        assert!(expected.iter().all(|part| said.contains(part)) && said.contains(process), "{said}");
    }
}

#[test]
fn an_application_that_was_not_moved_out_of_its_image_is_told_to_be() {
    let mut desk = Desk::of(System::MacOs, "drawbridge-desktop");
    for place in ["/Volumes/Drawbridge", "/private/var/folders/x/AppTranslocation/F00/d"] {
        desk.around.exe = Some(Path::new(place).join("Drawbridge.app/Contents/MacOS/drawbridge-desktop"));
        let fault = Autostart::new(&desk.around, Kind::App).unwrap_err();
        assert!(fault.to_string().contains("Applications"), "{fault}");
    }
}

#[test]
fn a_task_is_well_formed_and_a_run_value_is_one_quoted_path() {
    let desk = Desk::of(System::Windows, "Program Files/Draw & <bridge>/drawbridge-desktop.exe");
    let exe = desk.around.exe.clone().unwrap();
    put_program(&exe.with_file_name("drawbridge.exe"));
    let task = Autostart::new(&desk.around, Kind::Headless).unwrap();
    task.set(true).unwrap();
    assert_eq!(task.state().unwrap(), State::On);
    let read = "import sys, xml.dom.minidom as m; print(m.parse(sys.stdin).getElementsByTagName('Command')[0].firstChild.data)";
    let file = desk.around.local_data.as_ref().unwrap().join("drawbridge/drawbridge-agent.xml");
    let said = run(Command::new("python3").args(["-c", read]).stdin(fs::File::open(file).unwrap()));
    assert_eq!(said.trim(), format!("\"{}\"", task.program().display()));

    let app = desk.app();
    assert_eq!(app.render().unwrap(), format!("\"{}\" --hidden", exe.display()));
    assert_eq!(task::parse_run_value(&app.render().unwrap()).program, Some(exe));
}

#[test]
fn a_path_that_systemd_does_not_take_is_refused_for_the_unit_alone() {
    for name in ["it's", "a\"b", "a\\b"] {
        let desk = Desk::of(System::Linux, &format!("{name}/drawbridge-desktop"));
        assert!(matches!(desk.headless().render(), Err(Fault::OddPath { .. })), "{name}");
        desk.app().render().unwrap();
    }
}

#[test]
fn a_path_that_no_entry_can_hold_is_refused() {
    for (system, name) in [
        (System::Linux, "a\nb"),
        (System::Linux, "a=b"),
        (System::MacOs, "a\u{7}b"),
        (System::Windows, "a\rb"),
        (System::Windows, "a\"b"),
    ] {
        let exe = if system == System::Windows { "drawbridge-desktop.exe" } else { "drawbridge-desktop" };
        let desk = Desk::of(system, &format!("{name}/{exe}"));
        let fault = desk.app().render().unwrap_err();
        assert!(matches!(fault, Fault::OddPath { .. }), "{fault}");
        assert!(!fault.to_string().contains(['\n', '\r', '\u{7}']), "{fault}");
    }
}

/// As Python writes a text in JSON.
fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii() => out.push(c),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}
