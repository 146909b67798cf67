use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::computer::{ComputerOp, Point};
use drawbridge_core::{ManualClock, WallMs};
use drawbridge_os::seat::Seat;
use drawbridge_testkit::display::{Display, Recorder};
use tokio_util::sync::CancellationToken;

use super::super::{Computer, ComputerSettings, Rules};
use super::*;

/// A display with a window manager, and the computer that uses it.
pub(in super::super) struct Rig {
    pub(in super::super) display: Display,
    pub(in super::super) computer: Computer,
}

impl Rig {
    pub(in super::super) fn managed() -> Self {
        let mut rig = Self::bare();
        rig.display.manage_windows().unwrap();
        rig
    }

    pub(in super::super) fn bare() -> Self {
        let display = Display::start(800, 600).unwrap();
        let computer = Self::computer(Seat::x11(display.name()));
        Self { display, computer }
    }

    pub(in super::super) fn computer(seat: Seat) -> Computer {
        let clock = Arc::new(ManualClock::starting_at(WallMs(0)));
        Computer::new(seat, ComputerSettings { screenshots_per_minute: 10 }, clock)
    }

    pub(in super::super) fn inner(&self) -> &Inner {
        &self.computer.inner
    }

    pub(in super::super) fn perform(&self, op: &ComputerOp, job: &Job) -> Result<Outcome, OpError> {
        self.inner().perform(op, job)
    }

    /// Opens a recorder and waits until the window manager says that it has the keyboard.
    pub(in super::super) fn record(&self, title: &str, class: &str, at: &str) -> Recorder {
        let recorder = self.display.record(&["--title", title, "--class", class, "--at", at]).unwrap();
        self.until(|windows| windows.iter().any(|window| window.title == title && window.focused).then_some(()));
        recorder
    }

    /// Looks again each time something changes, until it is as wanted.
    pub(in super::super) fn until<T>(&self, wanted: impl Fn(&[SeatWindow]) -> Option<T>) -> T {
        let windows = self.inner().seats.windows().unwrap();
        loop {
            if let Some(found) = wanted(&windows.all().unwrap()) {
                return found;
            }
            windows.wait(Duration::from_secs(10)).unwrap();
        }
    }

    fn list(&self, op: &WindowListOp, job: &Job) -> Result<Vec<WindowFacts>, OpError> {
        let listed = self.perform(&ComputerOp::WindowList(op.clone()), job)?;
        let Outcome::Windows { windows, truncated: false } = listed else { panic!("{listed:?}") };
        Ok(windows)
    }

    fn focus(&self, id: &str, raise: bool, job: &Job) -> Result<Outcome, OpError> {
        self.perform(&ComputerOp::WindowFocus { window_id: id.to_owned(), raise }, job)
    }
}

pub(in super::super) fn job(rules: Rules) -> Job {
    let session = Some(session("chat-1"));
    Job { rules, session, max_bytes: u64::MAX, shown: None, cancel: CancellationToken::new() }
}

fn titles(windows: &[WindowFacts]) -> Vec<&str> {
    windows.iter().map(|window| &*window.title).collect()
}

#[test]
fn windows_are_listed_from_front_to_back_with_their_app_and_display() {
    let rig = Rig::managed();
    rig.display.monitors(&[("left", 400, 600, 0, 0), ("right", 400, 600, 400, 0)]).unwrap();
    let long = "x".repeat(600);
    let first = rig.record("first", "Alpha", "0,0");
    let _second = rig.record(&long, "Beta", "380,0");

    let windows = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap();

    assert_eq!(titles(&windows), [&*"x".repeat(512), "first"]);
    assert_eq!(windows.iter().map(|window| window.monitor).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(windows.iter().map(|window| window.is_focused).collect::<Vec<_>>(), [true, false]);
    let facts = &windows[1];
    assert_eq!((facts.pid, &*facts.app_name, facts.app_bundle_id.as_deref()), (first.pid(), "Alpha", Some("Alpha")));
    assert_eq!(facts.bounds.origin(), Point::new(0, 0));
    assert!(facts.window_id.starts_with("win_"));
    // A second list means the same windows by the same names.
    let again = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap();
    assert_eq!(again, windows);
    let one = WindowListOp { app: Some("alpha".to_owned()), ..WindowListOp::default() };
    assert_eq!(titles(&rig.list(&one, &job(Rules::default())).unwrap()), ["first"]);
    let none = WindowListOp { app: Some("alph".to_owned()), ..WindowListOp::default() };
    assert_eq!(rig.list(&none, &job(Rules::default())).unwrap(), []);
}

#[test]
fn minimised_windows_and_those_elsewhere_are_listed_when_they_are_wanted() {
    let rig = Rig::managed();
    rig.display.run("wmctrl", &["-n", "2"]).unwrap();
    let mut small = rig.record("small", "Alpha", "0,0");
    let _away = rig.record("away", "Beta", "0,0");
    let _here = rig.record("here", "Gamma", "0,0");
    small.ask("minimize").unwrap();
    rig.display.run("wmctrl", &["-r", "away", "-t", "1"]).unwrap();
    rig.until(|windows| {
        let of = |title| windows.iter().find(|window| window.title == title);
        (of("small")?.minimized && !of("away")?.visible).then_some(())
    });
    let list = |include_minimized, include_offscreen| {
        let op = WindowListOp { app: None, include_minimized, include_offscreen };
        let mut titles: Vec<String> =
            rig.list(&op, &job(Rules::default())).unwrap().into_iter().map(|window| window.title).collect();
        titles.sort();
        titles
    };

    assert_eq!(list(false, false), ["here"]);
    assert_eq!(list(true, false), ["here", "small"]);
    assert_eq!(list(false, true), ["away", "here"]);
    assert_eq!(list(true, true), ["away", "here", "small"]);
}

#[test]
fn a_listed_window_gets_the_keyboard_and_a_closed_one_is_stale_for_ever() {
    let rig = Rig::managed();
    let first = rig.record("first", "Alpha", "0,0");
    let _second = rig.record("second", "Beta", "50,50");
    let windows = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap();
    let id = windows[1].window_id.clone();

    assert_eq!(rig.focus(&id, true, &job(Rules::default())).unwrap(), Outcome::Done);
    let now = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap();
    assert_eq!((titles(&now), now[0].is_focused), (vec!["first", "second"], true));
    assert_eq!(bounds_of(rig.inner(), &id, &job(Rules::default())).unwrap().bounds, now[0].bounds);

    drop(first);
    rig.until(|windows| windows.iter().all(|window| window.title != "first").then_some(()));
    for _ in 0..2 {
        match rig.focus(&id, true, &job(Rules::default())) {
            Err(OpError::WindowStale { window_id }) => assert_eq!(window_id, id),
            other => panic!("{other:?}"),
        }
    }
    let gone = bounds_of(rig.inner(), &id, &job(Rules::default()));
    assert!(matches!(gone, Err(OpError::WindowStale { .. })), "{gone:?}");
}

#[test]
fn an_identifier_never_means_another_window_or_chat() {
    let rig = Rig::managed();
    let _window = rig.record("mine", "Alpha", "0,0");
    let id = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap()[0].window_id.clone();
    let stale = |id: &str, job: &Job| matches!(rig.focus(id, true, job), Err(OpError::WindowStale { .. }));

    let other = Job { session: Some(session("chat-2")), ..job(Rules::default()) };
    assert!(stale(&id, &other));
    for unknown in ["win_00000000-0000-4000-8000-000000000000", "", "1", "win_../x"] {
        assert!(stale(unknown, &job(Rules::default())), "{unknown}");
    }
    // The handle is used again by a window of another class: the program changed its mind, or it is another program.
    let xid = rig.until(|windows| windows.iter().find(|window| window.title == "mine").map(|window| window.handle.0));
    let class = ["-id", &xid.to_string(), "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "other"];
    rig.display.run("xprop", &class).unwrap();
    assert!(stale(&id, &job(Rules::default())));

    let fresh = rig.list(&WindowListOp::default(), &job(Rules::default())).unwrap()[0].window_id.clone();
    rig.computer.forget_windows(&session("chat-1"));
    assert!(stale(&fresh, &job(Rules::default())));
}

#[test]
fn protected_windows_are_neither_listed_nor_reached_by_an_identifier() {
    let rig = Rig::managed();
    let _passwords = rig.record("Vault", "KeePassXC", "0,0");
    let _notes = rig.record("Notes", "Alpha", "100,100");
    let all = WindowListOp { app: None, include_minimized: true, include_offscreen: true };
    assert_eq!(titles(&rig.list(&all, &job(Rules::default())).unwrap()), ["Notes"]);

    let id = rig.list(&all, &job(Rules::default())).unwrap()[0].window_id.clone();
    let never = || job(Rules { never_apps: vec!["ALPHA".to_owned()], ..Rules::default() });
    assert_eq!(rig.list(&all, &never()).unwrap(), []);
    for refused in [rig.focus(&id, true, &never()).map(drop), bounds_of(rig.inner(), &id, &never()).map(drop)] {
        assert!(matches!(refused, Err(OpError::ProtectedApp { reason: "excluded", .. })), "{refused:?}");
    }
    let only = || job(Rules { only_apps: Some(vec!["Beta".to_owned()]), ..Rules::default() });
    assert_eq!(rig.list(&all, &only()).unwrap(), []);
    assert!(matches!(rig.focus(&id, true, &only()), Err(OpError::ProtectedApp { reason: "not_listed", .. })));
}

#[test]
fn without_a_window_manager_and_without_a_display_it_is_said_what_is_missing() {
    let rig = Rig::bare();
    let list = || rig.list(&WindowListOp::default(), &job(Rules::default()));
    match list() {
        Err(OpError::Unsupported { feature, why }) => {
            assert_eq!((&*feature, &*why), ("window.list", UNMANAGED));
        }
        other => panic!("{other:?}"),
    }

    let Rig { display, computer } = rig;
    drop(display);
    let op = ComputerOp::WindowList(WindowListOp::default());
    for _ in 0..2 {
        let gone = computer.inner.perform(&op, &job(Rules::default()));
        assert!(matches!(&gone, Err(OpError::Unsupported { why, .. }) if why.contains("display")), "{gone:?}");
    }
}

fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn identity(handle: u64, pid: u32, started: u64, class: &str) -> Identity {
    Identity { handle: WindowHandle(handle), pid: Some(pid), started: Some(started), class: class.to_owned() }
}

#[test]
fn an_identifier_is_a_random_uuid_and_stays_with_its_window() {
    let (registry, chat) = (Registry::default(), session("chat-1"));

    let id = registry.id(Some(&chat), identity(1, 10, 100, "A")).unwrap();

    let parts: Vec<&str> = id.strip_prefix("win_").unwrap().split('-').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
    assert_eq!(registry.id(Some(&chat), identity(1, 10, 100, "A")).unwrap(), id);
    for other in
        [identity(2, 10, 100, "A"), identity(1, 11, 100, "A"), identity(1, 10, 101, "A"), identity(1, 10, 100, "B")]
    {
        assert_ne!(registry.id(Some(&chat), other).unwrap(), id);
    }
    assert_eq!(registry.identity(Some(&chat), &id), Some(identity(1, 10, 100, "A")));
}

#[test]
fn identifiers_belong_to_one_chat_and_go_with_its_next_hello() {
    let registry = Registry::default();
    let (first, second) = (session("chat-1"), session("chat-2"));
    let id = registry.id(Some(&first), identity(1, 10, 100, "A")).unwrap();
    let other = registry.id(Some(&second), identity(1, 10, 100, "A")).unwrap();
    assert_ne!(id, other);
    assert_eq!(registry.identity(Some(&second), &id), None);

    registry.forget(&first);

    assert_eq!(registry.identity(Some(&first), &id), None);
    assert!(registry.identity(Some(&second), &other).is_some());
    assert_ne!(registry.id(Some(&first), identity(1, 10, 100, "A")).unwrap(), id, "never used again");
}

#[test]
fn the_ones_used_longest_ago_make_room() {
    let (registry, chat) = (Registry::default(), session("chat-1"));
    let ids: Vec<String> =
        (0..MAX_IDS as u64).map(|number| registry.id(Some(&chat), identity(number, 1, 1, "A")).unwrap()).collect();
    // The first one is listed again, so the second one is the oldest.
    registry.id(Some(&chat), identity(0, 1, 1, "A")).unwrap();

    registry.id(Some(&chat), identity(u64::MAX, 1, 1, "A")).unwrap();

    assert!(registry.identity(Some(&chat), &ids[0]).is_some());
    assert_eq!(registry.identity(Some(&chat), &ids[1]), None);
    assert!(registry.identity(Some(&chat), &ids[2]).is_some());
}
