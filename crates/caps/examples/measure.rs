//! Prints what operations cost on this machine beside the plain thing (DESIGN §8). Not a test: figures depend on the
//! machine. Run with `cargo run --release -p drawbridge-caps --example measure`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a tool for developers, never installed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drawbridge_caps::files::{Files, UndoKeeper};
use drawbridge_caps::shell::{Shell, ShellControl, ShellSettings};
use drawbridge_caps::{Capability, RunCtx};
use drawbridge_core::{
    CommandLine, CommandOp, ContentForm, FileOp, Limits, Operation, Outcome, Power, PowerMode, SessionId, SystemClock,
};
use drawbridge_os::root::{Change, PathFault, Root, Stamp};
use drawbridge_os::{helper, process};
use drawbridge_policy::{Permit, PolicyState, ShellMode, Verdict, authorize};
use tokio_util::sync::CancellationToken;

struct NoUndo;

impl UndoKeeper for NoUndo {
    fn keep(
        &self,
        _session: Option<&SessionId>,
        _change: &Change<'_>,
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, PathFault> {
        Ok(Some(1))
    }
    fn changed(&self, _number: u64, _left: Option<Stamp>) {}
    fn forget(&self, _number: u64) {}
}

struct Rig {
    files: Files,
    root: Arc<Root>,
}

impl Rig {
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

    async fn file(&self, op: FileOp) -> Outcome {
        self.files.run(permit(Operation::File(op)), self.ctx()).await.unwrap()
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

/// Prints and returns the middle of many runs.
fn tell(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let (middle, late) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    println!("{what:<44} p50 {middle:>10.1?}   p95 {late:>10.1?}");
    middle
}

async fn files(base: &Path) {
    let inside = base.join("R");
    fs::create_dir_all(inside.join("a/b")).unwrap();
    fs::create_dir(inside.join("many")).unwrap();
    fs::write(inside.join("a/b/small"), vec![b'x'; 4096]).unwrap();
    for index in 0..20_000 {
        fs::File::create(inside.join(format!("many/entry-{index:05}.txt"))).unwrap();
    }
    let rig = Rig { files: Files::new(Arc::new(NoUndo)), root: Arc::new(Root::open(&inside).unwrap()) };

    let mut plain = Vec::new();
    let mut ours = Vec::new();
    let mut stats = Vec::new();
    for _ in 0..5000 {
        let begin = Instant::now();
        fs::read(inside.join("a/b/small")).unwrap();
        plain.push(begin.elapsed());
        let begin = Instant::now();
        rig.file(FileOp::Read { path: "a/b/small".to_owned(), form: ContentForm::Text, offset: 0, length: None }).await;
        ours.push(begin.elapsed());
        let begin = Instant::now();
        rig.file(FileOp::Stat { path: "a/b/small".to_owned(), follow_symlinks: true }).await;
        stats.push(begin.elapsed());
    }
    tell("std::fs::read of 4 KiB", plain);
    tell("FILE_READ of 4 KiB", ours);
    tell("FILE_STAT", stats);

    let (mut find, mut listed) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let begin = Instant::now();
        let status = Command::new("find").arg(inside.join("many")).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
        find.push(begin.elapsed());
        let op = FileOp::List {
            path: "many".to_owned(),
            glob: None,
            recursive: true,
            include_hidden: false,
            max_entries: 10_000,
        };
        let begin = Instant::now();
        rig.file(op).await;
        listed.push(begin.elapsed());
    }
    let (find, listed) = (tell("find of 20,000 entries", find), tell("FILE_LIST of the same", listed));
    println!("{:<44} {:.2} x", "", listed.as_secs_f64() / find.as_secs_f64());
}

async fn commands(base: &Path) {
    let rig = Rig { files: Files::new(Arc::new(NoUndo)), root: Arc::new(Root::open(&base.join("R")).unwrap()) };
    let mut settings = ShellSettings::defaults(Vec::new()).unwrap();
    settings.per_minute = u32::MAX;
    settings.mode = ShellMode::Full;
    let shell = Shell::new(ShellControl::new(settings), Arc::new(SystemClock));
    let command = || CommandOp {
        line: CommandLine::Argv(vec!["true".to_owned()]),
        cwd: None,
        timeout: None,
        env: BTreeMap::new(),
    };
    let mut bare = Vec::new();
    let mut full = Vec::new();
    for _ in 0..300 {
        let begin = Instant::now();
        let run = Command::new("/bin/true").stdin(Stdio::null()).output().unwrap();
        bare.push(begin.elapsed());
        assert!(run.status.success());
        let begin = Instant::now();
        shell.run(permit(Operation::Command(command())), rig.ctx()).await.unwrap();
        full.push(begin.elapsed());
    }
    let (bare, full) = (tell("plain spawn of true", bare), tell("command with full access", full));
    println!("{:<44} {:.2} x", "", full.as_secs_f64() / bare.as_secs_f64());

    shell.control().update(|settings| settings.mode = ShellMode::Confined);
    if let Some(why) = shell.sandbox_state().missing() {
        println!("confined commands were left out: {why}");
        return;
    }
    let mut confined = Vec::new();
    for _ in 0..200 {
        let begin = Instant::now();
        shell.run(permit(Operation::Command(command())), rig.ctx()).await.unwrap();
        confined.push(begin.elapsed());
    }
    let confined = tell("confined command", confined);
    println!("{:<44} + {:.1?}", "", confined.saturating_sub(full));
}

fn main() -> ExitCode {
    if let Some(code) = helper::run_if_asked() {
        return code;
    }
    process::adopt_orphans().unwrap();
    let base = tempfile::tempdir().unwrap();
    let runtime = if std::env::args().any(|arg| arg == "--one-thread") {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    } else {
        tokio::runtime::Runtime::new().unwrap()
    };
    runtime.block_on(async {
        files(base.path()).await;
        commands(base.path()).await;
    });
    ExitCode::SUCCESS
}
