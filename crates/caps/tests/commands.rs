//! Commands through the real shell, full and confined. Has its own `main`, since the confined ones start this very
//! program again to put on the inner wall, and since adopting orphans concerns a whole process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test with a main of its own"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_caps::shell::{Shell, ShellControl, ShellSettings};
use drawbridge_caps::{Capability, RunCtx, Shown};
use drawbridge_core::{
    CommandLine, CommandOp, CommandResult, Limits, OpError, Operation, Outcome, Power, PowerMode, SessionId, ShellKind,
    SystemClock,
};
use drawbridge_os::root::Root;
use drawbridge_os::{helper, process, sandbox};
use drawbridge_policy::{PolicyState, ShellMode, Verdict, authorize};
use tokio_util::sync::CancellationToken;

struct Rig {
    shell: Shell,
    root: Arc<Root>,
    cancel: CancellationToken,
    limits: Limits,
    _folder: tempfile::TempDir,
    outside: PathBuf,
}

impl Rig {
    fn new(mode: ShellMode) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        let inside = folder.path().join("root");
        std::fs::create_dir(&outside).unwrap();
        std::fs::create_dir(&inside).unwrap();
        let mut settings = ShellSettings::defaults(Vec::new()).unwrap();
        settings.mode = mode;
        settings.per_minute = 10_000;
        settings.inherited.push(("DATABASE_URL".into(), "canary".into()));
        Self {
            shell: Shell::new(ShellControl::new(settings), Arc::new(SystemClock)),
            root: Arc::new(Root::open(&inside).unwrap()),
            cancel: CancellationToken::new(),
            limits: Limits::default(),
            _folder: folder,
            outside,
        }
    }

    async fn run(&self, op: CommandOp) -> Result<CommandResult, OpError> {
        self.run_as_shown(op, None).await
    }

    async fn run_as_shown(&self, op: CommandOp, shown: Option<Shown>) -> Result<CommandResult, OpError> {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::Shell, PowerMode::Allowed);
        let session = SessionId::parse("chat").unwrap();
        let Verdict::Allowed(permit) = authorize(&state, Operation::Command(op), Some(session)) else {
            panic!("not allowed")
        };
        let ctx = RunCtx {
            root: Some(Arc::clone(&self.root)),
            limits: self.limits,
            cancel: self.cancel.clone(),
            shown,
            holder: drawbridge_core::LinkId::new(1),
            pieces: None,
            computer: None,
        };
        match self.shell.run(permit, ctx).await? {
            Outcome::Command(result) => Ok(result),
            other => panic!("{other:?}"),
        }
    }

    async fn sh(&self, command: &str) -> Result<CommandResult, OpError> {
        self.run(text(command)).await
    }
}

fn text(command: &str) -> CommandOp {
    CommandOp {
        line: CommandLine::Shell { command: command.to_owned(), shell: ShellKind::Auto },
        cwd: None,
        timeout: None,
        env: BTreeMap::new(),
    }
}

/// Counts processes whose command line holds a text, and children of this process that nobody waited for.
fn alive(needle: &str) -> usize {
    processes()
        .into_iter()
        .filter(|dir| {
            std::fs::read(dir.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(needle))
        })
        .count()
}

fn zombies() -> usize {
    let me = std::process::id().to_string();
    processes()
        .into_iter()
        .filter(|dir| {
            std::fs::read_to_string(dir.join("stat")).is_ok_and(|stat| {
                let rest = stat
                    .rsplit(')')
                    .next()
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>();
                rest.first().is_some_and(|state| state == "Z") && rest.get(1) == Some(&me)
            })
        })
        .count()
}

fn processes() -> Vec<PathBuf> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("stat").exists())
        .collect()
}

/// Leaves a session-leaving, twice forked, mark-less and an ordinary stray, each sleeping a telling time.
fn strays(time: &str) -> String {
    format!(
        "setsid sh -c 'sleep {time} & sleep {time}' >/dev/null 2>&1 & nohup sleep {time} >/dev/null 2>&1 & \
         (env -i setsid sleep {time} >/dev/null 2>&1 &) ; "
    )
}

async fn full() {
    let rig = Rig::new(ShellMode::Full);
    let said = rig.sh("echo hi; echo no >&2; exit 3").await.unwrap();
    assert_eq!((said.stdout.as_str(), said.stderr.as_str(), said.exit_code), ("hi\n", "no\n", 3));
    assert_eq!(rig.sh("kill -9 $$").await.unwrap().exit_code, -9);
    assert_eq!(rig.sh("pwd -P").await.unwrap().stdout.trim(), rig.root.path());

    let env = rig.sh("env; cat /proc/self/environ; ls /proc/self/fd").await.unwrap().stdout;
    assert!(
        !env.contains("canary") && env.contains("PYTHONIOENCODING=utf-8") && env.ends_with("0\n1\n2\n3\n"),
        "{env}"
    );
    assert_eq!(rig.sh("read x; echo got=$x").await.unwrap().stdout, "got=\n");
    assert_ne!(rig.sh("sh -c 'echo p >/dev/tty'").await.unwrap().exit_code, 0);

    // No start file of a shell runs before the command, also where the agent says where to look for one.
    for (name, shell) in [(".zshenv", ShellKind::Zsh), (".bashrc", ShellKind::Bash), (".profile", ShellKind::Sh)] {
        std::fs::write(Path::new(rig.root.path()).join(name), "echo started\n").unwrap();
        let mut plain = text("echo plain");
        plain.line = CommandLine::Shell { command: "echo plain".to_owned(), shell };
        plain.env = BTreeMap::from(["ZDOTDIR", "HOME"].map(|key| (key.to_owned(), rig.root.path().to_owned())));
        assert_eq!(rig.run(plain).await.unwrap().stdout, "plain\n", "{name}");
    }

    let mut argv = text("");
    argv.line = CommandLine::Argv(vec!["printf".to_owned(), "%s".to_owned(), "a b;$c".to_owned()]);
    assert_eq!(rig.run(argv.clone()).await.unwrap().stdout, "a b;$c");
    argv.line = CommandLine::Argv(vec!["no-such-program".to_owned()]);
    assert!(matches!(rig.run(argv).await, Err(OpError::ShellNotAvailable { .. })));
    for (cwd, outside) in [("..", true), ("missing", false), ("/etc", true)] {
        let fault = rig.run(CommandOp { cwd: Some(cwd.to_owned()), ..text("true") }).await.err().unwrap();
        assert_eq!(matches!(fault, OpError::OutsideRoot { .. }), outside, "{cwd}: {fault}");
        assert_eq!(matches!(fault, OpError::NotFound { .. }), !outside, "{cwd}: {fault}");
    }

    // Strays after a normal end, a time-out and a cancel.
    rig.sh(&format!("{} echo done", strays("7001"))).await.unwrap();
    assert_eq!(alive("sleep 7001"), 0, "after a normal end");
    let slow = CommandOp {
        timeout: Some(Duration::from_secs(1)),
        ..text(&format!("{} trap '' TERM; echo out; sleep 7002; sleep 7002", strays("7002")))
    };
    let slow = rig.run(slow).await.unwrap();
    assert_eq!((slow.timed_out, slow.exit_code, slow.stdout.as_str()), (true, -1, "out\n"));
    assert_eq!(alive("sleep 7002"), 0, "after a time-out");
    cancel(ShellMode::Full, "7003").await;

    for _ in 0..200 {
        rig.sh("(sleep 0 &) ; true").await.unwrap();
    }
    rig.sh("true").await.unwrap();
    assert!(zombies() <= 1, "{} zombies", zombies());
    // Orphans that end while their command goes on do not pile up: the command itself waits until they are gone.
    let orphans = "for n in $(seq 300); do (sleep 0 &); done; \
                   while grep -qsE \"^[0-9]+ \\(sleep\\) Z $PPID \" /proc/[0-9]*/stat; do sleep 0.05; done";
    let reaped = rig.sh(orphans).await.unwrap();
    assert!(!reaped.timed_out && reaped.exit_code == 0, "orphans were not reaped: {}", reaped.stderr);

    let mut few = Rig::new(ShellMode::Full);
    few.limits.max_file_size_bytes = 1000;
    let cut = few.sh("head -c 3000000 /dev/zero | tr '\\0' x").await.unwrap();
    assert!(cut.output_truncated && cut.stdout.len() == 972 && cut.stderr == "\n[command output truncated]\n");
    few.shell.control().update(|settings| settings.per_minute = 1);
    assert!(matches!(few.sh("true").await, Err(OpError::Overloaded { max: 1, .. })));
}

/// Commands that others would let hang, or that would leave something behind.
/// A yes holds for the very program that was shown.
async fn swapped(mode: ShellMode) {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::new(mode);
    let tool = PathBuf::from(rig.root.path()).join("tool");
    let make = |text: &str| {
        std::fs::write(tool.with_extension("new"), text).unwrap();
        std::fs::set_permissions(tool.with_extension("new"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(tool.with_extension("new"), &tool).unwrap();
    };
    make("#!/bin/sh\necho shown\n");
    let op = CommandOp { line: CommandLine::Argv(vec!["./tool".to_owned()]), ..text("") };
    let shown = rig.shell.preview(&op, &rig.root).unwrap();
    assert_eq!(shown.program.as_ref().unwrap().path, PathBuf::from(rig.root.path()).join("./tool"));
    let shown = Some(Shown::Command(shown));

    assert_eq!(rig.run_as_shown(op.clone(), shown.clone()).await.unwrap().stdout, "shown\n");
    make("#!/bin/sh\n: > started\n");
    let fault = rig.run_as_shown(op.clone(), shown).await.err().unwrap();

    assert!(matches!(fault, OpError::ChangedSinceAsked { .. }), "{fault}");
    assert!(!tool.with_file_name("started").exists());
    std::fs::remove_file(&tool).unwrap();
    assert_eq!(rig.shell.preview(&op, &rig.root).unwrap().program, None);
}

async fn stubborn(mode: ShellMode) {
    let rig = Rig::new(mode);
    let limited = |command: &str, seconds| CommandOp { timeout: Some(Duration::from_secs(seconds)), ..text(command) };

    // An editor that nobody could close: fails at once by itself.
    let commit = "git init -q . && touch f && git add f && git -c user.name=n -c user.email=e commit";
    let commit = rig.run(limited(commit, 2)).await.unwrap();
    if commit.exit_code == 127 {
        println!("SKIPPED: git is missing");
    } else {
        assert!(!commit.timed_out && commit.exit_code != 0, "{}", commit.stderr);
    }

    // A tree that goes on forking while it is ended.
    let time = if mode == ShellMode::Full { "7021" } else { "7022" };
    let forks = format!(
        "for n in 1 2 3; do (while :; do sleep {time} & (setsid sleep {time} &) ; sleep 0.02; done) & done; sleep {time}"
    );
    let ended = rig.run(limited(&forks, 1)).await.unwrap();
    assert!(ended.timed_out);
    assert_eq!(alive(&format!("sleep {time}")), 0, "a tree that goes on forking");

    // No more than so many at once.
    rig.shell.control().update(|settings| settings.concurrent = 1);
    let gate = Path::new(rig.root.path()).join("gate");
    let long = rig.sh("touch gate; while [ -e gate ]; do sleep 0.01; done; echo over");
    let second = async {
        while !gate.exists() {
            tokio::task::yield_now().await;
        }
        let refused = rig.sh("true").await;
        std::fs::remove_file(&gate).unwrap();
        refused
    };
    let (long, second) = tokio::join!(long, second);
    assert!(matches!(second, Err(OpError::Overloaded { max: 1, reason: "concurrent_commands", .. })));
    assert_eq!(long.unwrap().stdout, "over\n");
    rig.sh("true").await.unwrap();
}

async fn cancel(mode: ShellMode, time: &str) {
    let rig = Rig::new(mode);
    let ready = Path::new(rig.root.path()).join("ready");
    let command = format!("{} trap '' TERM; touch ready; sleep {time}; sleep {time}", strays(time));
    let stop = async {
        while !ready.exists() {
            tokio::task::yield_now().await;
        }
        rig.cancel.cancel();
    };
    let (ended, ()) = tokio::join!(rig.sh(&command), stop);
    assert!(matches!(ended, Err(OpError::Cancelled)), "{ended:?}", ended = ended.map(|_| ()));
    assert_eq!(alive(&format!("sleep {time}")), 0, "after a cancel");
}

fn script_in(folder: &Path, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn confined() {
    let rig = Rig::new(ShellMode::Confined);
    if let Some(why) = rig.shell.sandbox_state().missing() {
        println!("SKIPPED confined commands: {why}");
        return;
    }
    let said = rig.sh("echo in > here && cat here; echo t > /tmp/t && cat /tmp/t; pwd").await.unwrap();
    assert_eq!(said.stdout, format!("in\nt\n{}\n", rig.root.path()), "{}", said.stderr);
    assert!(Path::new(rig.root.path()).join("here").exists() && !Path::new("/tmp/t").exists());
    let out = rig.outside.display();
    assert_ne!(rig.sh(&format!("echo x > {out}/x")).await.unwrap().exit_code, 0);
    assert_ne!(rig.sh("echo x > /usr/x || echo x > /etc/x").await.unwrap().exit_code, 0);
    assert_eq!(rig.sh("ls -A $HOME /run/user 2>/dev/null | grep -v : | grep .").await.unwrap().stdout, "");
    let env = rig.sh("ls /proc/self/fd").await.unwrap().stdout;
    assert_eq!(env, "0\n1\n2\n3\n");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dial = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert_ne!(rig.sh(&dial).await.unwrap().exit_code, 0);
    rig.shell.control().update(|settings| settings.network = drawbridge_policy::Network::All);
    assert_eq!(rig.sh(&dial).await.unwrap().exit_code, 0);

    rig.sh(&format!("{} echo done", strays("7011"))).await.unwrap();
    assert_eq!(alive("sleep 7011"), 0);
    cancel(ShellMode::Confined, "7012").await;
    stubborn(ShellMode::Confined).await;

    // Even TCP within the command is shut off with no network, and open on a loopback of its own.
    let inner = "exec 3<>/dev/tcp/127.0.0.1/9";
    rig.shell.control().update(|settings| settings.network = drawbridge_policy::Network::None);
    let none = rig.sh(inner).await.unwrap().stderr;
    rig.shell.control().update(|settings| settings.network = drawbridge_policy::Network::Loopback);
    let own = rig.sh(inner).await.unwrap().stderr;
    assert!(own.contains("refused") && (none.contains("denied") || none.contains("refused")), "{none} {own}");

    // Our own folder and socket are out of reach, also inside the attached folder and by their canonical name.
    let state = Path::new(rig.root.path()).join("state");
    let beside = rig.outside.join("state");
    for folder in [&state, &beside] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("secret"), "canary").unwrap();
    }
    let _control = std::os::unix::net::UnixListener::bind(state.join("control.sock")).unwrap();
    let alias = rig.outside.join("alias");
    std::os::unix::fs::symlink(&state, &alias).unwrap();
    rig.shell.control().update(|settings| settings.hidden_dirs = vec![alias, beside.clone(), "/not/there".into()]);
    let look = format!(
        "ls -A state {0}; cat state/secret {0}/secret; test -S state/control.sock || echo gone",
        beside.display()
    );
    let look = rig.sh(&look).await.unwrap().stdout;
    assert!(look.contains("gone") && !look.contains("canary") && !look.contains("secret"), "{look}");
    assert_eq!(std::fs::read_to_string(state.join("secret")).unwrap(), "canary");

    // Real walls that fail as they do where name spaces are refused, at the probe and only later.
    let fails = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    let later = "#!/bin/sh\ncase \"$*\" in *__confine*) echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1;; esac\n";
    for (name, script, layer) in [("fails", fails, "name spaces"), ("later", later, "bubblewrap")] {
        let wrapper = script_in(&rig.outside, name, script);
        rig.shell.control().update(|settings| settings.bubblewrap = wrapper);
        let refused = rig.sh("touch ran").await.err().unwrap();
        assert!(matches!(&refused, OpError::ConfinementMissing { why } if why.starts_with(layer)), "{refused}");
    }
    rig.shell.control().update(|settings| settings.bubblewrap = sandbox::find_bubblewrap());

    // An inner wall that does not stand is named by its own words.
    let told = "#!/bin/sh\nprintf 'Landlock: the kernel does not enforce it' >&3\nexit 126\n";
    let helper = sandbox::ConfineHelper { program: script_in(&rig.outside, "helper", told) };
    let whole = rig.shell.control().get().helper;
    rig.shell.control().update(|settings| settings.helper = helper);
    let refused = rig.sh("touch ran").await.err().unwrap();
    assert!(matches!(&refused, OpError::ConfinementMissing { why } if why.starts_with("Landlock")), "{refused}");
    rig.shell.control().update(|settings| settings.helper = whole);

    // A wall that is not there is named, and nothing runs.
    for missing in ["/nowhere/bwrap", "/bin/false"] {
        rig.shell.control().update(|settings| settings.bubblewrap = missing.into());
        let refused = rig.sh("touch ran").await.err().unwrap();
        assert!(
            matches!(&refused, OpError::ConfinementMissing { why } if why.starts_with("bubblewrap") || why.starts_with("name spaces")),
            "{refused}"
        );
    }
    assert!(!Path::new(rig.root.path()).join("ran").exists());
}

/// Tells a copy of this program what becomes of its file.
const FILE: &str = "COMMANDS_TEST_FILE";

/// A copy of this program whose file is removed, or replaced by an update, while it runs.
fn without_its_file() {
    for fate in ["removed", "replaced"] {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        // A folder of its own for what the copy leaves there.
        let output =
            std::process::Command::new(&program).env(FILE, fate).env("XDG_RUNTIME_DIR", place.path()).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{fate}: {said}");
        print!("{said}");
    }
}

async fn after_an_update(fate: &str) {
    let rig = Rig::new(ShellMode::Confined);
    if let Some(why) = rig.shell.sandbox_state().missing() {
        println!("SKIPPED confined commands of a program whose file was {fate}: {why}");
        return;
    }
    assert_eq!(rig.sh("echo before").await.unwrap().stdout, "before\n");
    let program = std::env::current_exe().unwrap();
    std::fs::remove_file(&program).unwrap();
    if fate == "replaced" {
        // As an update does it, and what lies there may not even be whole.
        std::fs::write(&program, "#!/bin/sh\nexit 7\n").unwrap();
    }

    let out = rig.outside.display();
    for _ in 0..2 {
        let said = rig.sh(&format!("echo x > {out}/x; echo after")).await.unwrap();
        assert_eq!(said.stdout, "after\n", "{}", said.stderr);
        assert!(!rig.outside.join("x").exists(), "the walls stand as before");
    }
    println!("confined, file {fate}: ok");
}

/// Answers a test runner that asks what is in here: one test, since the parts share this very process.
fn list_if_asked() -> bool {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    if asked("--list") && !asked("--ignored") {
        println!("commands_on_the_real_system: test");
    }
    asked("--list")
}

fn main() -> ExitCode {
    if let Some(code) = helper::run_if_asked() {
        return code;
    }
    if list_if_asked() {
        return ExitCode::SUCCESS;
    }
    process::adopt_orphans().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Ok(fate) = std::env::var(FILE) {
        runtime.block_on(after_an_update(&fate));
        return ExitCode::SUCCESS;
    }
    runtime.block_on(full());
    println!("full: ok");
    runtime.block_on(swapped(ShellMode::Full));
    println!("swapped: ok");
    runtime.block_on(stubborn(ShellMode::Full));
    println!("stubborn: ok");
    runtime.block_on(confined());
    println!("confined: ok");
    without_its_file();
    ExitCode::SUCCESS
}
