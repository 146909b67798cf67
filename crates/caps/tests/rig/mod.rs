//! An agent with one window on a display of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_caps::computer::{Computer, ComputerSettings, Rules};
use drawbridge_caps::{Capability as _, RunCtx};
use drawbridge_core::computer::{Button, ComputerOp, InputOp, Point};
use drawbridge_core::{Limits, OpError, Operation, Outcome, Power, PowerMode, SessionId, SystemClock};
use drawbridge_os::seat::Seat;
use drawbridge_policy::{PolicyState, Verdict, authorize};
use drawbridge_testkit::display::{Display, Recorder};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// One click.
pub(crate) fn click(at: Point, button: Button, count: u8) -> InputOp {
    InputOp::Click { at, button, count, modifiers: Vec::new() }
}

/// A drag with the left button in its own time.
pub(crate) fn drag(path: Vec<Point>) -> InputOp {
    InputOp::Drag { path, button: Button::Left, duration: None }
}

/// What a window was told, in short; none for motion and focus.
pub(crate) fn short(event: &Value) -> Option<Value> {
    match event["event"].as_str()? {
        what @ ("button" | "button_up") => Some(json!([what, event["number"], event["x"], event["y"], event["state"]])),
        what @ ("key" | "key_up") => Some(json!([what, event["name"], event["state"]])),
        "scroll" => Some(json!(["scroll", event["direction"], event["state"]])),
        "clicks" => Some(json!(["clicks", event["count"]])),
        _ => None,
    }
}

/// An agent, a display and a window.
pub(crate) struct Desk {
    pub(crate) display: Display,
    pub(crate) recorder: Recorder,
    pub(crate) rules: Rules,
    computer: Computer,
    runtime: Runtime,
}

impl Desk {
    pub(crate) fn with_window(window: &[&str]) -> Self {
        let mut display = Display::start(800, 600).unwrap();
        display.manage_windows().unwrap();
        display.layout("us").unwrap();
        let recorder = display.record(window).unwrap();
        let settings = ComputerSettings { screenshots_per_minute: 10 };
        let computer = Computer::new(Seat::x11(display.name()), settings, Arc::new(SystemClock));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { display, recorder, rules: Rules::default(), computer, runtime }
    }

    /// Does an operation to its end.
    pub(crate) fn run(&self, op: InputOp) -> Result<(), OpError> {
        self.runtime.block_on(perform(self.computer.clone(), op, self.rules.clone(), CancellationToken::new()))
    }

    /// Begins an operation, does something else, and returns how it ended.
    pub(crate) fn run_while(&mut self, op: InputOp, meanwhile: impl FnOnce(&mut Self)) -> Result<(), OpError> {
        self.beside(op, |desk, _| meanwhile(desk))
    }

    /// Begins an operation, does something else, stops it, and returns how it ended.
    pub(crate) fn run_until(&mut self, op: InputOp, meanwhile: impl FnOnce(&mut Self)) -> Result<(), OpError> {
        self.beside(op, |desk, cancel| {
            meanwhile(desk);
            cancel.cancel();
        })
    }

    fn beside(&mut self, op: InputOp, meanwhile: impl FnOnce(&mut Self, &CancellationToken)) -> Result<(), OpError> {
        let cancel = CancellationToken::new();
        let work = perform(self.computer.clone(), op, self.rules.clone(), cancel.clone());
        let work = self.runtime.spawn(work);
        meanwhile(self, &cancel);
        self.runtime.block_on(work).unwrap()
    }

    /// The next things that the window is told.
    pub(crate) fn told(&mut self, count: usize) -> Vec<Value> {
        let mut told = Vec::new();
        while told.len() < count {
            told.extend(short(&self.recorder.next_event().unwrap()));
        }
        told
    }
}

async fn perform(computer: Computer, op: InputOp, rules: Rules, cancel: CancellationToken) -> Result<(), OpError> {
    let mut state = PolicyState::defaults();
    state.modes.insert(Power::ComputerUse, PowerMode::Allowed);
    let session = SessionId::parse("chat").unwrap();
    let operation = Operation::Computer(ComputerOp::Input(op));
    let Verdict::Allowed(permit) = authorize(&state, operation, Some(session)) else { panic!("not allowed") };
    let ctx = RunCtx {
        root: None,
        limits: Limits::default(),
        cancel,
        shown: None,
        holder: drawbridge_core::LinkId::new(1),
        pieces: None,
        computer: Some(rules),
    };
    let outcome = computer.run(permit, ctx).await?;
    assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
    Ok(())
}

/// A window and an agent for whom time passes only when all wait.
pub(crate) fn a_quiet_minute(op: InputOp) {
    let mut display = Display::start(800, 600).unwrap();
    display.manage_windows().unwrap();
    let _recorder = display.record(&["--at", "100,100", "--plain"]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let settings = ComputerSettings { screenshots_per_minute: 10 };
        let computer = Computer::new(Seat::x11(display.name()), settings, Arc::new(SystemClock));
        perform(computer.clone(), op, Rules::default(), CancellationToken::new()).await.unwrap();
        assert_eq!((looking(), helpers().len()), (1, 1));

        tokio::time::sleep(Duration::from_secs(59)).await;
        assert_eq!(looking(), 1);
        tokio::time::sleep(Duration::from_secs(2)).await;
        while looking() > 0 || !helpers().is_empty() {
            std::thread::yield_now();
        }
        // The next one finds all as before.
        perform(
            computer,
            super::click(Point::new(150, 160), Button::Left, 1),
            Rules::default(),
            CancellationToken::new(),
        )
        .await
        .unwrap();
    });
}

/// Threads of this process that look at what the person does.
fn looking() -> usize {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    names
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "seat-person\n"))
        .count()
}

/// Processes that this one has started and that watch over held keys.
fn helpers() -> Vec<PathBuf> {
    let own = std::process::id().to_string();
    let of_ours = |process: &PathBuf| {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.contains("(drawbridge-keys)") && stat.split(' ').nth(3) == Some(&*own)
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(of_ours).collect()
}
