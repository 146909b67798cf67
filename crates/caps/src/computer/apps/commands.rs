//! Which programs count as a way to run commands. Pure, but for the question who can change a file.
//!
//! A list of such programs can never be whole: many ordinary programs run others. So a program that is named by its path has to
//! be one that the desktop shows as an app, and the list only keeps out the apps among them that take commands.

use std::ffi::OsStr;
use std::path::Path;

use drawbridge_os::seat::app::{Installed, user_can_change};

use super::super::guard::is_named;

/// Shells, interpreters, terminals' starters, and what runs another program. A `*` stands for versions and variants.
const RUNNERS: &[&str] = &[
    "ash",
    "awk",
    "gawk",
    "mawk",
    "bash",
    "busybox",
    "bun",
    "chroot",
    "csh",
    "dash",
    "dbus-launch",
    "dbus-run-session",
    "dbus-send",
    "deno",
    "doas",
    "elvish",
    "emacs*",
    "env",
    "erl",
    "exo-open",
    "expect",
    "find",
    "firejail",
    "fish",
    "flatpak",
    "gapplication",
    "gdb",
    "gdbus",
    "ghci",
    "gio",
    "git",
    "gjs*",
    "gnome-terminal*",
    "gtk-launch",
    "gvim*",
    "gview",
    "gksu*",
    "guile*",
    "ipython*",
    "irb*",
    "java",
    "jshell",
    "julia",
    "kde-open*",
    "kdialog",
    "kioclient*",
    "ksh*",
    "lua*",
    "luajit*",
    "make",
    "mksh",
    "mosh",
    "ncat",
    "nc",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "npm",
    "npx",
    "nu",
    "neovide",
    "octave*",
    "osascript",
    "parallel",
    "pdksh",
    "perl*",
    "php*",
    "pipx",
    "pkexec",
    "powershell*",
    "pwsh*",
    "pypy*",
    "python*",
    "idle*",
    "qmlscene*",
    "Rscript",
    "R",
    "rbash",
    "rc",
    "ruby*",
    "run0",
    "runcon",
    "runuser",
    "screen",
    "script",
    "scala*",
    "sed",
    "seatd-launch",
    "setsid",
    "sh",
    "snap",
    "socat",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo*",
    "swift",
    "systemctl",
    "systemd-run",
    "tclsh*",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "ts-node",
    "unshare",
    "vi",
    "vim*",
    "nvim*",
    "ex",
    "watch",
    "wine*",
    "wish*",
    "x-terminal-emulator",
    "xargs",
    "xdg-open",
    "xdg-terminal-exec",
    "xterm",
    "yash",
    "zsh*",
    "ld-linux*",
    "ld.so",
    "cmd.exe",
    "powershell.exe",
    "pwsh.exe",
    "wscript.exe",
    "cscript.exe",
    "mshta.exe",
    "rundll32.exe",
    "regsvr32.exe",
    "wsl.exe",
];

const RUNS_OTHERS: &str = "it is a shell, an interpreter or a program that starts others";

/// Starters of apps in a box of their own: what an entry of the system says they start is an app.
const APP_BOXES: &[&str] = &["flatpak", "snap"];

/// Tells why starting an installed app counts as running a command; none when it does not.
pub(super) fn why_of_entry(app: &Installed) -> Option<&'static str> {
    if app.in_terminal {
        return Some("it runs in a terminal");
    }
    let Some(program) = app.program.as_deref() else {
        // Then `env` looks for it, elsewhere than we did.
        let by_env = app.words.first().is_some_and(|word| is_called(Path::new(word), "env"));
        return why_of_file(app).or_else(|| by_env.then_some(RUNS_OTHERS));
    };
    let boxed = app.file.as_deref().is_some_and(|file| !user_can_change(file))
        && APP_BOXES.iter().any(|name| is_called(program, name))
        && app.words.get(1).is_some_and(|word| word == "run" || !word.starts_with('-'));
    if boxed {
        return None;
    }
    // One that leads nowhere is not started anyway.
    let real = program.canonicalize().ok();
    real.and_then(|real| why_of_program(program, &real)).or_else(|| why_of_file(app))
}

/// An entry in a folder of the person's may name any program with any words and variables. An agent may be able to write there.
fn why_of_file(app: &Installed) -> Option<&'static str> {
    let changeable = app.file.as_deref().is_some_and(user_can_change);
    changeable.then_some(
        "the file that says what it starts can be changed without the administrator, so it could be anything",
    )
}

/// Tells why starting a program by its path counts as running a command; none when it does not. `real` is the file that the path
/// leads to, `app` the app that it belongs to.
pub(super) fn why_of_path(program: &Path, real: &Path, app: Option<&Installed>) -> Option<&'static str> {
    match app {
        None => Some("no app of the desktop is this program"),
        Some(app) if app.in_terminal => Some("it runs in a terminal"),
        Some(app) if !app.listed => Some("the desktop does not show it as an app"),
        Some(app) => why_of_program(program, real).or_else(|| why_of_file(app)),
    }
}

/// Tells why arguments make a start count as running a command; none when they do not. An option can make nearly every program load
/// or run something: `--gtk-module`, `-platformpluginpath`, `--renderer-cmd-prefix`.
pub(super) fn why_of_args(args: &[String]) -> Option<&'static str> {
    // A plus begins a command in some editors, unless it is the number of a line.
    let command = |rest: &str| !rest.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b','));
    let option = args.iter().any(|arg| arg.starts_with('-') || arg.strip_prefix('+').is_some_and(command));
    option.then_some("an option can make a program run others, and only files and addresses cannot")
}

fn why_of_program(program: &Path, real: &Path) -> Option<&'static str> {
    // The name it is called by, and what that leads to: `python` may be `python3.12`, and `vi` a busybox.
    if RUNNERS.iter().any(|name| is_called(program, name) || is_called(real, name)) {
        return Some(RUNS_OTHERS);
    }
    user_can_change(real).then_some("its file can be changed without the administrator, so it could be anything")
}

fn is_called(program: &Path, name: &str) -> bool {
    program.file_name().and_then(OsStr::to_str).is_some_and(|own| is_named(own, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(program: &str, words: &[&str]) -> Installed {
        Installed {
            id: "app".to_owned(),
            name: "App".to_owned(),
            program: Some(program.into()),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            in_terminal: false,
            listed: true,
            window_class: None,
            file: Some("/etc/passwd".into()),
        }
    }

    #[test]
    fn programs_that_run_others_are_known_by_name_and_by_what_they_lead_to() {
        for program in ["/bin/sh", "/usr/bin/env", "/usr/bin/python3", "/usr/bin/perl", "/usr/bin/find", "/usr/bin/awk"]
        {
            let program = Path::new(program);
            assert!(program.exists(), "{program:?}");
            let listed = app(program.to_str().unwrap(), &[]);
            let real = program.canonicalize().unwrap();
            assert!(why_of_path(program, &real, Some(&listed)).is_some(), "{program:?}");
            assert!(why_of_entry(&listed).is_some(), "{program:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("calculator");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        assert!(why_of_path(&link, &link.canonicalize().unwrap(), Some(&app(link.to_str().unwrap(), &[]))).is_some());
    }

    #[test]
    fn a_program_counts_as_an_app_only_when_the_desktop_shows_it() {
        let program = Path::new("/usr/bin/xclock-of-nobody");
        assert_eq!(why_of_path(program, program, None), Some("no app of the desktop is this program"));
        let program = Path::new("/usr/bin/openbox");
        let mut known = app("/usr/bin/openbox", &["openbox"]);
        assert_eq!(why_of_path(program, program, Some(&known)), None);
        known.listed = false;
        assert!(why_of_path(program, program, Some(&known)).is_some());
        (known.listed, known.in_terminal) = (true, true);
        assert!(why_of_path(program, program, Some(&known)).is_some() && why_of_entry(&known).is_some());
    }

    #[test]
    fn a_program_that_anybody_can_change_could_be_anything() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("game");
        std::fs::write(&program, "x").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o777)).unwrap();

        assert!(why_of_entry(&app(program.to_str().unwrap(), &[])).is_some());
    }

    #[test]
    fn an_entry_that_anybody_can_change_could_start_anything() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("app.desktop");
        std::fs::write(&entry, "x").unwrap();
        std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o666)).unwrap();
        let program = Path::new("/usr/bin/openbox");
        let fixed = app("/usr/bin/openbox", &["env", "LD_PRELOAD=/tmp/any.so", "openbox"]);
        let free = Installed { file: Some(entry), ..fixed.clone() };

        assert_eq!(why_of_entry(&fixed), None);
        assert!(why_of_entry(&free).is_some() && why_of_path(program, program, Some(&free)).is_some());
        let unknown = Installed { program: None, ..fixed };
        assert!(why_of_entry(&unknown).is_some(), "env finds it where nobody looked");
        let gone = Installed { words: vec!["gone".to_owned()], ..unknown };
        assert_eq!(why_of_entry(&gone), None);
    }

    #[test]
    fn a_plus_is_an_option_unless_it_numbers_a_line() {
        let why = |arg: &str| why_of_args(&[arg.to_owned()]);

        assert!(why("+!id").is_some() && why("+set makeprg=x").is_some() && why("-x").is_some());
        assert_eq!((why("+12"), why("+12:3"), why("/tmp/c++"), why("https://a/?q=a+b")), (None, None, None, None));
    }
}
