use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use drawbridge_core::Outcome;
use drawbridge_core::computer::{ComputerOp, PictureFormat, ScreenArea, ScreenshotOp, WindowListOp};

use super::super::windows::tests::{Rig, job};
use super::*;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn refused(result: Result<(), OpError>) -> &'static str {
    match result {
        Ok(()) => "allowed",
        Err(OpError::ProtectedApp { reason, .. }) => reason,
        Err(OpError::PermissionPending { permission, .. }) => permission,
        Err(other) => panic!("{other:?}"),
    }
}

fn only(names: &[&str]) -> Rules {
    Rules { only_apps: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..Rules::default() }
}

impl Rig {
    fn touch(&self, rules: &Rules, x: i32, y: i32) -> &'static str {
        refused(may_touch(self.inner(), &job(rules.clone()), Point::new(x, y)))
    }

    fn types(&self, rules: &Rules) -> &'static str {
        refused(may_type(self.inner(), &job(rules.clone())))
    }

    fn layers(&self, rules: &Rules) -> Vec<Layer> {
        layers(self.inner(), &job(rules.clone()), Rect::new(0, 0, 800, 600)).unwrap()
    }

    /// Opens a window of a program, which may be one that is not really it.
    fn xterm(&self, args: &[&str]) -> Ended {
        let mut command = self.display.command("xterm");
        command.args(args).args(["-e", "cat"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Ended(command.spawn().unwrap());
        self.until(|windows| {
            windows.iter().any(|window| window.owner.pid == Some(child.0.id()) && window.visible).then_some(())
        });
        child
    }

    /// How many colours a picture of a region has.
    fn colours(&self, rules: &Rules, region: Rect) -> usize {
        let op = ScreenshotOp {
            monitor: 0,
            quality: 75,
            area: Some(ScreenArea::Region(region)),
            format: PictureFormat::Png,
            include_cursor: false,
        };
        let Outcome::Picture(picture) = self.perform(&ComputerOp::Screenshot(op), &job(rules.clone())).unwrap() else {
            panic!("no picture")
        };
        let mut reader = Command::new("convert");
        reader.args(["png:-", "-format", "%k", "info:"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut reader = reader.spawn().unwrap();
        reader.stdin.take().unwrap().write_all(&picture.bytes).unwrap();
        String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap().trim().parse().unwrap()
    }

    fn bounds(&self, title: &str) -> Rect {
        self.until(|windows| windows.iter().find(|window| window.title == title).map(|window| window.bounds))
    }
}

#[test]
fn a_password_manager_is_neither_touched_nor_typed_into_and_is_hidden_where_it_is_in_front() {
    let rig = Rig::managed();
    let rules = Rules::default();
    let _notes = rig.record("Notes", "Alpha", "300,100");
    let _vault = rig.record("Vault", "KeePassXC", "0,0");

    assert_eq!(rig.types(&rules), "password_manager");
    assert_eq!(rig.touch(&rules, 50, 100), "password_manager");
    assert_eq!(rig.touch(&rules, 650, 300), "allowed");
    assert_eq!(rig.touch(&rules, 790, 590), "allowed", "the bare desktop");
    let (notes, vault) = (rig.bounds("Notes"), rig.bounds("Vault"));
    assert_eq!(rig.layers(&rules), [Layer { rect: notes, shown: true }, Layer { rect: vault, shown: false }]);

    // Partly behind another window: what can be seen of it is hidden.
    rig.display.run("wmctrl", &["-a", "Notes"]).unwrap();
    rig.until(|windows| windows.iter().any(|window| window.title == "Notes" && window.focused).then_some(()));
    assert_eq!(rig.types(&rules), "allowed");
    assert_eq!(rig.touch(&rules, 350, 200), "allowed");
    assert_eq!(rig.touch(&rules, 50, 100), "password_manager");
    assert_eq!(rig.layers(&rules), [Layer { rect: vault, shown: false }, Layer { rect: notes, shown: true }]);
    assert!(layers(rig.inner(), &job(rules), Rect::new(0, 500, 10, 510)).unwrap().is_empty());
}

#[test]
fn the_error_names_the_app_and_what_the_person_can_do() {
    let rig = Rig::managed();
    let _vault = rig.record("Vault", "Enpass", "0,0");

    match may_type(rig.inner(), &job(Rules::default())) {
        Err(OpError::ProtectedApp { app, why, .. }) => {
            assert_eq!(app, "Enpass");
            assert!(why.contains("the person has to do that"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_picture_shows_nothing_of_what_is_protected_and_everything_in_front_of_it() {
    let rig = Rig::managed();
    let terminal = |class: &str, place: &str| {
        // Letters are smoothed: a window that is seen has many colours.
        let args = ["-class", class, "-T", class, "-geometry", place, "-bg", "white", "-fg", "red", "-b", "20", "-sb"];
        rig.xterm(&args)
    };
    let _vault = terminal("KeePassXC", "40x15+0+0");
    let vault = rig.until(|windows| {
        windows.iter().find(|window| window.title == "KeePassXC" && window.focused).map(|window| window.bounds)
    });
    let never = Rules { never_apps: vec!["front".to_owned()], ..Rules::default() };

    assert_eq!(rig.colours(&Rules::default(), vault), 2, "its frame, its title and its content are two greys");

    let _front = terminal("Front", "20x5+60+60");
    let front = rig.until(|windows| {
        windows.iter().find(|window| window.title == "Front" && window.focused).map(|window| window.bounds)
    });
    assert!(rig.colours(&Rules::default(), front) > 2, "the window in front of it is seen whole");
    assert!(rig.colours(&Rules::default(), vault) > 2, "what lies in front of it is seen");
    assert_eq!(rig.colours(&never, vault), 2, "a hidden window in front of a hidden one");
}

#[test]
fn a_menu_is_protected_like_its_app() {
    let rig = Rig::managed();
    let mut vault = rig.record("Vault", "KeePassXC", "0,0");
    vault.ask("menu").unwrap();

    let menu = rig.until(|windows| windows.iter().find(|window| window.auxiliary).cloned());

    assert_eq!(rig.touch(&Rules::default(), menu.bounds.x1 + 3, menu.bounds.y1 + 3), "password_manager");
    assert!(rig.layers(&Rules::default()).contains(&Layer { rect: menu.bounds, shown: false }));
}

#[test]
fn a_terminal_may_be_seen_and_is_used_only_where_commands_run_freely() {
    let rig = Rig::managed();
    let _terminal = rig.xterm(&["-T", "shell", "-geometry", "30x10+0+0"]);
    rig.until(|windows| windows.iter().any(|window| window.title == "shell" && window.focused).then_some(()));
    let free = Rules { terminals: true, ..Rules::default() };
    let inside = rig.bounds("shell").origin();

    assert_eq!(rig.types(&Rules::default()), "terminal");
    assert_eq!(rig.touch(&Rules::default(), inside.x + 20, inside.y + 40), "terminal");
    assert!(rig.layers(&Rules::default()).iter().all(|layer| layer.shown));
    assert_eq!((rig.types(&free), rig.touch(&free, inside.x + 20, inside.y + 40)), ("allowed", "allowed"));
    let excluded = Rules { never_apps: vec!["xterm".to_owned()], ..free };
    assert_eq!(rig.types(&excluded), "excluded");
    assert!(rig.layers(&excluded).iter().all(|layer| !layer.shown));
}

#[test]
fn where_apps_are_listed_everything_else_is_none_of_the_agents_business() {
    let rig = Rig::managed();
    let _notes = rig.record("Notes", "Alpha", "0,0");

    for (rules, meant) in [(only(&["alpha"]), "allowed"), (only(&["beta"]), "not_listed"), (only(&[]), "not_listed")] {
        assert_eq!(rig.types(&rules), meant);
        assert_eq!(rig.touch(&rules, 50, 100), meant);
        assert_eq!(rig.layers(&rules).iter().all(|layer| layer.shown), meant == "allowed");
    }
    assert_eq!(rig.touch(&only(&["alpha"]), 790, 590), "not_listed", "the bare desktop is no listed app");
}

#[test]
fn nothing_is_typed_anywhere_while_the_system_asks_for_a_secret() {
    let rig = Rig::managed();
    let notes = rig.record("Notes", "Alpha", "0,0");
    let prompt = rig.record("Unlock", "Gcr-prompter", "450,300");
    rig.display.run("wmctrl", &["-a", "Notes"]).unwrap();
    rig.until(|windows| windows.iter().any(|window| window.title == "Notes" && window.focused).then_some(()));

    assert_eq!(rig.types(&Rules::default()), "password_manager");
    assert_eq!(rig.touch(&Rules::default(), 50, 100), "allowed");

    drop(prompt);
    rig.until(|windows| windows.iter().all(|window| window.title != "Unlock").then_some(()));
    assert_eq!(rig.types(&Rules::default()), "allowed");
    drop(notes);
}

#[test]
fn what_starts_a_typed_command_counts_as_a_terminal_wherever_the_keyboard_is() {
    let rig = Rig::managed();
    let _notes = rig.record("Notes", "Alpha", "0,0");
    let _starter = rig.record("run", "Rofi", "450,300");
    rig.display.run("wmctrl", &["-a", "Notes"]).unwrap();
    rig.until(|windows| windows.iter().any(|window| window.title == "Notes" && window.focused).then_some(()));

    assert_eq!(rig.types(&Rules::default()), "terminal");
    assert_eq!(rig.touch(&Rules::default(), 500, 350), "terminal");
    assert_eq!(rig.types(&Rules { terminals: true, ..Rules::default() }), "allowed");
}

#[test]
fn a_text_needs_a_window_and_a_chord_does_not() {
    let rig = Rig::managed();
    let written = |rules: &Rules| may_write(rig.inner(), &job(rules.clone()));

    assert!(matches!(written(&Rules::default()),
        Err(OpError::Unsupported { feature, why }) if feature == "input.type" && why.contains("no window has the keyboard")));
    assert_eq!(refused(written(&only(&["alpha"]))), "not_listed");
    assert_eq!(rig.types(&Rules::default()), "allowed");

    let _notes = rig.record("Notes", "Alpha", "0,0");
    assert_eq!(refused(written(&Rules::default())), "allowed");
}

#[test]
fn an_entry_that_can_be_written_makes_no_window_a_listed_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let entry = folder.path().join("notes.desktop");
    std::fs::write(&entry, "x").unwrap();
    let installed = Installed {
        id: "notes".to_owned(),
        name: "Notes".to_owned(),
        program: None,
        words: Vec::new(),
        in_terminal: false,
        listed: true,
        window_class: Some("Chat".to_owned()),
        file: Some(entry.clone()),
    };
    let owner = Owner { pid: None, started: None, class: "Chat".to_owned(), instance: String::new(), program: None };
    for (mode, meant) in [(0o644, "allowed"), (0o666, "not_listed")] {
        std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(mode)).unwrap();
        let app = App::of(&owner, Some(&installed));
        assert_eq!(refused(app.may_see(&only(&["notes"]))), meant);
        assert_eq!(refused(app.may_see(&only(&["chat"]))), "allowed");
    }
}

#[test]
fn a_lock_in_sight_stops_everything_until_it_is_gone() {
    let rig = Rig::managed();
    let _notes = rig.record("Notes", "Alpha", "0,0");
    let lock = rig.record("lock", "i3lock", "0,0");

    assert_eq!(refused(unlocked(rig.inner(), INPUT)), "unlocked_session");
    assert_eq!(rig.types(&Rules::default()), "unlocked_session");
    assert_eq!(rig.touch(&Rules::default(), 790, 590), "unlocked_session");
    for op in [
        ComputerOp::WindowList(WindowListOp::default()),
        ComputerOp::WindowFocus { window_id: "win_x".to_owned(), raise: true },
        ComputerOp::AppList { include_background: true },
    ] {
        let result = rig.perform(&op, &job(Rules::default())).map(drop);
        assert_eq!(refused(result), "unlocked_session", "{}", op.name());
    }

    drop(lock);
    rig.until(|windows| windows.iter().all(|window| window.title != "lock").then_some(()));
    assert_eq!(refused(unlocked(rig.inner(), INPUT)), "allowed");
    assert_eq!(rig.types(&Rules::default()), "allowed");
}

#[test]
fn without_a_window_manager_whoever_has_the_keyboard_is_asked_about() {
    let rig = Rig::bare();
    assert_eq!(rig.types(&Rules::default()), "allowed");
    let _terminal = rig.xterm(&["-T", "shell", "-geometry", "30x10+0+0"]);
    // The keyboard follows the pointer where nobody manages it.
    rig.display.run("xdotool", &["mousemove", "20", "20"]).unwrap();
    assert_eq!(rig.types(&Rules::default()), "terminal");
    rig.display.run("xdotool", &["mousemove", "790", "590"]).unwrap();
    assert_eq!(rig.types(&Rules::default()), "allowed");
}

#[test]
fn a_display_that_goes_away_is_no_permission() {
    let rig = Rig::managed();
    assert_eq!(rig.types(&Rules::default()), "allowed");
    let Rig { display, computer } = rig;
    drop(display);

    for result in [
        may_type(&computer.inner, &job(Rules::default())),
        may_touch(&computer.inner, &job(Rules::default()), Point::new(1, 1)),
        layers(&computer.inner, &job(Rules::default()), Rect::new(0, 0, 9, 9)).map(drop),
    ] {
        assert!(matches!(result, Err(OpError::Unsupported { .. })), "{result:?}");
    }
}
