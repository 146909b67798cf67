//! Files and commands as a user without special rights, for whom the system says no. Has its own `main`: started by the
//! superuser, it starts a copy of itself as nobody; the confined command starts this very program, too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test with a main of its own"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use drawbridge_caps::files::{Files, UndoKeeper};
use drawbridge_caps::shell::{Shell, ShellControl, ShellSettings};
use drawbridge_caps::{Capability, RunCtx};
use drawbridge_core::{
    CommandLine, CommandOp, ContentForm, FileOp, IoReason, Limits, OpError, Operation, Outcome, Power, PowerMode,
    SessionId, ShellKind, SystemClock,
};
use drawbridge_os::root::{Change, Folder, Overwrite, PathFault, RenameFault, Root, Stamp};
use drawbridge_os::{helper, process};
use drawbridge_policy::{Permit, PolicyState, ShellMode, Verdict, authorize};
use tokio_util::sync::CancellationToken;

const NOBODY: &str = "65534";
const DEEPER: &str = "DRAWBRIDGE_TEST_AS_NOBODY";

/// Takes deleted things into a folder beside the root.
struct Bin(Folder);

impl UndoKeeper for Bin {
    fn keep(
        &self,
        _session: Option<&SessionId>,
        change: &Change<'_>,
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault> {
        if let Change::Delete { at, .. } = change {
            let kept = at.folder().rename(&at.name, &self.0, OsStr::new("1"), Overwrite::Never);
            kept.map_err(RenameFault::into_path_fault)?;
        }
        Ok(Some(1))
    }
    fn changed(&self, _number: u64, _left: Option<Stamp>) {}
    fn forget(&self, _number: u64) {}
}

struct Rig {
    base: PathBuf,
    root: Arc<Root>,
    runtime: tokio::runtime::Runtime,
}

impl Rig {
    fn new(base: &Path) -> Self {
        for name in ["R", "out", "bin"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let root = Arc::new(Root::open(&base.join("R")).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { base: base.to_owned(), root, runtime }
    }

    fn ctx(&self) -> RunCtx {
        RunCtx {
            root: Some(self.root.clone()),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            shown: None,
            holder: drawbridge_core::LinkId::new(1),
            pieces: None,
            computer: None,
        }
    }

    fn file(&self, op: FileOp) -> Result<Outcome, OpError> {
        let files = Files::new(Arc::new(Bin(Folder::open_private(&self.base.join("bin")).unwrap())));
        self.runtime.block_on(files.run(permit(Operation::File(op)), self.ctx()))
    }

    fn write(&self, path: &str) -> Result<Outcome, OpError> {
        let (path, content) = (path.to_owned(), b"after".to_vec());
        self.file(FileOp::Write { path, content, form: ContentForm::Text, create_parents: true })
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.base.join("R").join(path)
    }

    fn make(&self, path: &str, mode: u32) {
        fs::write(self.inside(path), "before").unwrap();
        fs::set_permissions(self.inside(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn forbid(&self, path: &str, mode: u32) {
        fs::set_permissions(self.inside(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn permit(operation: Operation) -> Permit {
    let mut state = PolicyState::defaults();
    state.modes = BTreeMap::from([(Power::Files, PowerMode::Allowed), (Power::Shell, PowerMode::Allowed)]);
    match authorize(&state, operation, Some(SessionId::parse("chat").unwrap())) {
        Verdict::Allowed(permit) => permit,
        Verdict::Ask(_) | Verdict::Denied(..) => panic!("not allowed"),
    }
}

#[track_caller]
fn assert_denied(result: Result<Outcome, OpError>) {
    let fault = result.err();
    let told = matches!(&fault, Some(OpError::File { reason: IoReason::PermissionDenied, message, .. })
        if message == "this user is not permitted to do that");
    assert!(told, "{fault:?}");
}

fn files(rig: &Rig) {
    rig.make("read-only", 0o444);
    assert_denied(rig.write("read-only"));
    assert_eq!(fs::read_to_string(rig.inside("read-only")).unwrap(), "before");
    rig.make("unreadable", 0o000);
    let read = FileOp::Read { path: "unreadable".to_owned(), form: ContentForm::Text, offset: 0, length: None };
    assert_denied(rig.file(read));

    for folder in ["locked", "shut"] {
        fs::create_dir(rig.inside(folder)).unwrap();
        rig.make(&format!("{folder}/f"), 0o644);
    }
    rig.forbid("locked", 0o555);
    rig.forbid("shut", 0o000);
    assert_denied(rig.write("locked/new"));
    assert_denied(rig.write("locked/made/new"));
    assert_denied(rig.write("locked/f"));
    for (path, recursive) in [("locked/f", false), ("shut/f", false), ("shut", true)] {
        assert_denied(rig.file(FileOp::Delete { path: path.to_owned(), recursive, missing_ok: false }));
    }
    let list =
        FileOp::List { path: String::new(), glob: None, recursive: true, include_hidden: true, max_entries: 100 };
    let Ok(Outcome::List { entries, truncated: false }) = rig.file(list) else { panic!("listed") };
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["locked", "f", "read-only", "shut", "unreadable"], "no temporary file stays either");
    rig.forbid("locked", 0o755);
    rig.forbid("shut", 0o755);

    rig.make("script", 0o750);
    rig.write("script").unwrap();
    let facts = fs::metadata(rig.inside("script")).unwrap();
    assert_eq!((facts.mode() & 0o7777, facts.uid()), (0o750, own_uid()));
}

fn own_uid() -> u32 {
    fs::metadata("/proc/self").unwrap().uid()
}

fn commands(rig: &Rig) {
    let shell = |mode| {
        let mut settings = ShellSettings::defaults(Vec::new()).unwrap();
        settings.mode = mode;
        Shell::new(ShellControl::new(settings), Arc::new(SystemClock))
    };
    let run = |shell: &Shell, command: &str| {
        let op = CommandOp {
            line: CommandLine::Shell { command: command.to_owned(), shell: ShellKind::Auto },
            cwd: None,
            timeout: None,
            env: BTreeMap::new(),
        };
        match rig.runtime.block_on(shell.run(permit(Operation::Command(op)), rig.ctx())).unwrap() {
            Outcome::Command(result) => result,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(run(&shell(ShellMode::Full), "id -u").stdout, format!("{}\n", own_uid()));
    let confined = shell(ShellMode::Confined);
    if let Some(why) = confined.sandbox_state().missing() {
        println!("SKIPPED a confined command: {why}");
        return;
    }
    let said = run(&confined, "id -u; echo in > here && cat here");
    assert_eq!(said.stdout, format!("{}\nin\n", own_uid()), "{}", said.stderr);
    let out = rig.base.join("out");
    assert_ne!(run(&confined, &format!("echo x > {}/x", out.display())).exit_code, 0);
    assert_eq!(fs::read_dir(out).unwrap().count(), 0);
}

/// Starts a copy of this program as nobody: the place where it was built need not be open to others.
fn as_nobody() -> ExitCode {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let own = place.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, NOBODY.parse().ok(), NOBODY.parse().ok()).unwrap();
    let started = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(&program)
        .env(DEEPER, "1")
        .env("HOME", &own)
        .env("TMPDIR", &own)
        .current_dir(&own)
        .status();
    match started {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            println!("as an ordinary user: {status}");
            ExitCode::FAILURE
        }
        Err(fault) => {
            println!("SKIPPED everything as an ordinary user: setpriv cannot be started: {fault}");
            ExitCode::SUCCESS
        }
    }
}

/// Answers a test runner that asks what is in here: one test, since the parts share this very process.
fn list_if_asked() -> bool {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    if asked("--list") && !asked("--ignored") {
        println!("everything_as_an_ordinary_user: test");
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
    if own_uid() == 0 {
        if std::env::var_os(DEEPER).is_some() {
            println!("SKIPPED everything as an ordinary user: the superuser cannot step down here");
            return ExitCode::SUCCESS;
        }
        return as_nobody();
    }
    process::adopt_orphans().unwrap();
    let place = tempfile::tempdir().unwrap();
    let rig = Rig::new(&place.path().canonicalize().unwrap());
    files(&rig);
    println!("files: ok");
    commands(&rig);
    println!("commands: ok");
    ExitCode::SUCCESS
}
