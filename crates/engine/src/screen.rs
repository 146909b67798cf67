//! Computer use as the engine sees it: what is offered to a chat, what the person's settings say about an operation, and that a
//! person always sees that it is used.
//!
//! The seat is opened by nobody as long as both powers are off. What it can do is found before each HELLO, with a time limit;
//! a seat that answers late is offered with the next HELLO. Decides nothing: `policy` does.

pub(crate) mod missing;
mod offer;
mod using;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_caps::computer::{ClipboardRule, Computer, ComputerSettings, Features, Rules};
use drawbridge_core::computer::{ComputerOp, InputOp};
use drawbridge_core::{Clock, Operation, Power, PowerMode, SessionId, escape_outside_text};
use drawbridge_os::seat::{Seat, SeatKind};
use drawbridge_policy::{Decision, PolicyState, ShellMode, decide};
use tokio::sync::{Notify, watch};

use crate::board::Board;
use crate::policy_cell::PolicyCell;
use crate::view::{MissingView, ScreenView};

use missing::NoScreen;
pub(crate) use offer::Offer;
use using::InUse;
pub(crate) use using::Using;

/// A HELLO waits so long for the seat to tell what it can do.
const PATIENCE: Duration = Duration::from_millis(400);
/// A start without a window waits so long for it.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// A seat that lacks something is looked at so often by itself, at the engine's rounds of half a minute.
const ROUNDS: u8 = 4;
/// Works on every seat, so it says nothing about one.
const SAYS_NOTHING: [&str; 3] = ["permissions.check", "permissions", "input.wait"];
/// Releasing what is held takes a moment, unless the display hangs.
const RELEASE_WITHIN: Duration = Duration::from_millis(300);
/// A clipboard manager takes over in a moment, unless it hangs.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(2);

/// Computer use. One for the whole engine.
pub(crate) struct Screen {
    pub(crate) computer: Computer,
    seat: SeatKind,
    policy: Arc<PolicyCell>,
    board: Arc<Board>,
    in_use: Arc<InUse>,
    /// What the seat could do when it was looked at last; none before that and while both powers are off.
    found: Mutex<Option<Features>>,
    /// Counts looks; wakes whoever waits for one.
    looks: watch::Sender<u64>,
    looking: AtomicBool,
    /// A HELLO went out before a look was done.
    late: AtomicBool,
    /// So often a seat that lacks something is looked at once more by itself.
    rounds: AtomicU8,
    /// More can be done than the last HELLO said.
    grown: Notify,
    /// Chats whose operations may have left something held down.
    may_hold: Mutex<BTreeSet<SessionId>>,
}

impl Screen {
    /// Takes the seat. Opens nothing.
    pub(crate) fn new(
        seat: Seat,
        settings: ComputerSettings,
        policy: Arc<PolicyCell>,
        board: Arc<Board>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let kind = seat.kind;
        let computer = Computer::new(seat, settings, clock.clone());
        Arc::new(Self {
            in_use: Arc::new(InUse::new(computer.clone(), board.clone(), clock)),
            computer,
            seat: kind,
            policy,
            board,
            found: Mutex::new(None),
            looks: watch::Sender::new(0),
            looking: AtomicBool::new(false),
            late: AtomicBool::new(false),
            rounds: AtomicU8::new(0),
            grown: Notify::new(),
            may_hold: Mutex::new(BTreeSet::new()),
        })
    }

    /// Looks what the seat can do, if a power that needs it is on in this chat. Waits a moment for it and no longer.
    pub(crate) async fn look(self: &Arc<Self>, session: Option<&SessionId>) {
        let state = self.policy.get();
        if !wanted(&state, session) {
            return;
        }
        let mut looks = self.looks.subscribe();
        self.start_look();
        if tokio::time::timeout(PATIENCE, looks.changed()).await.is_err() {
            tracing::info!("the display did not tell in time what it can do");
            self.late.store(true, Ordering::SeqCst);
        }
    }

    /// Looks at a start without a window, where nobody could be told later.
    ///
    /// # Errors
    /// What is missing, when nothing of the screen can be seen or used.
    pub(crate) async fn first_look(self: &Arc<Self>) -> Result<(), NoScreen> {
        let mut looks = self.looks.subscribe();
        self.start_look();
        let told = tokio::time::timeout(FIRST_PATIENCE, looks.changed()).await.is_ok();
        let Offer { fine, coarse, missing, .. } = self.offer(None);
        if has_screen(self.seat, fine.iter().chain(&coarse).copied()) {
            return Ok(());
        }
        let first = missing.into_iter().find(|(name, _)| !name.starts_with("clipboard")).map(|(_, why)| why);
        let silent = || if told { "nothing of it can be used" } else { "the display does not answer" }.to_owned();
        Err(NoScreen::of(self.seat, first.unwrap_or_else(silent)))
    }

    /// Looks in the background, for the window. Forgets what was found once both powers are off.
    pub(crate) fn look_later(self: &Arc<Self>) {
        if wanted(&self.policy.get(), None) {
            self.rounds.store(ROUNDS, Ordering::SeqCst);
            self.start_look();
        } else if self.found().take().is_some() {
            self.board.touch();
        }
    }

    fn start_look(self: &Arc<Self>) {
        // One at a time: a display that hangs must not collect threads.
        if self.looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let (me, rule) = (self.clone(), clipboard_rule(&self.policy.get(), None));
        tokio::task::spawn_blocking(move || {
            let lacks = |found: &Features| !found.missing.is_empty();
            if me.found().as_ref().is_none_or(lacks) {
                me.computer.look_again();
            }
            let features = me.computer.probe(rule);
            let differs = me.take(features);
            me.looking.store(false, Ordering::SeqCst);
            me.looks.send_modify(|count| *count += 1);
            if me.late.swap(false, Ordering::SeqCst) && differs {
                me.grown.notify_one();
            }
            me.board.touch();
        });
    }

    /// Takes what a look found, and tells whether it is another list than before. The platform's person agreed to a list, so
    /// what is lost for a moment shortens none: it fails when it is used (spec 10.1).
    fn take(&self, features: Features) -> bool {
        let mut found = self.found();
        let lists = |features: &Features| (features.fine.clone(), features.coarse.clone());
        let differs = match &*found {
            None => true,
            Some(before) => {
                let kept = before.fine.iter().all(|name| features.fine.contains(name))
                    && before.coarse.iter().all(|name| features.coarse.contains(name));
                if !kept {
                    return false;
                }
                lists(before) != lists(&features)
            }
        };
        *found = Some(features);
        differs
    }

    /// Looks again now and then while a desktop may still be starting around this program: a window manager that comes later
    /// adds to what can be done.
    pub(crate) fn round(self: &Arc<Self>) {
        let state = self.policy.get();
        // What the person switched off is not waited for.
        let hoped_for = |feature: &str| {
            let power = if feature.starts_with("clipboard") { Power::Clipboard } else { Power::ComputerUse };
            state.offers_in(power, None)
        };
        let lacks = self.found().as_ref().is_some_and(|found| found.missing.iter().any(|(name, _)| hoped_for(name)));
        let left = self.rounds.load(Ordering::SeqCst);
        if lacks && left > 0 {
            self.rounds.store(left - 1, Ordering::SeqCst);
            self.late.store(true, Ordering::SeqCst);
            self.start_look();
        }
    }

    /// Waits until more can be done than the last HELLO said.
    pub(crate) async fn grown(&self) {
        self.grown.notified().await;
    }

    /// Returns what HELLO offers to a chat, or on the control link.
    pub(crate) fn offer(&self, session: Option<&SessionId>) -> Offer {
        let state = self.policy.get();
        match &*self.found() {
            Some(found) if wanted(&state, session) => {
                let on = |power| state.offers_in(power, session);
                Offer::of(found, on(Power::ComputerUse), on(Power::Clipboard))
            }
            Some(_) | None => Offer::default(),
        }
    }

    /// Returns what the person's settings say about an operation of a chat at this moment.
    pub(crate) fn rules(&self, op: &ComputerOp, session: Option<&SessionId>) -> Rules {
        let state = self.policy.get();
        let free = |power| state.mode_in(power, session) == PowerMode::Allowed;
        // The operation itself was permitted; a paste on the way of typing must not spare the clipboard's own question.
        let free_to_use = op.power() == Power::Clipboard || asks_nothing_of_the_clipboard(&state, session);
        let clipboard = if free_to_use { clipboard_rule(&state, session) } else { ClipboardRule::Off };
        Rules {
            only_apps: state.screen.only_apps.clone(),
            never_apps: state.screen.never_apps.clone(),
            terminals: free(Power::Shell) && state.shell_mode == ShellMode::Full,
            clipboard,
            full_resolution: state.screen.full_resolution,
        }
    }

    /// Notes that an operation begins, and shows it to the person where it sees or touches the screen.
    pub(crate) fn begin(&self, op: &ComputerOp, session: Option<&SessionId>) -> Option<Using> {
        if let (ComputerOp::Input(input), Some(session)) = (op, session)
            && !matches!(input, InputOp::Wait { .. })
        {
            self.may_hold().insert(session.clone());
        }
        InUse::begin(&self.in_use, op, session)
    }

    /// Changes how many pictures a minute may be taken.
    pub(crate) fn set_pace(&self, screenshots_per_minute: u32) {
        self.computer.set(ComputerSettings { screenshots_per_minute });
    }

    /// Forgets the windows that a chat was told about: it says HELLO.
    pub(crate) fn greets(&self, session: &SessionId) {
        self.computer.forget_windows(session);
    }

    /// Releases what a chat may have left held down: its link ends.
    pub(crate) async fn link_ends(&self, session: &SessionId) {
        if !self.may_hold().contains(session) {
            return;
        }
        if self.in_use.is_another_acting(session) {
            // What that one holds would go as well: a letter would lose its shift, a drag its button. What is held for long is let go by
            // itself meanwhile.
            let computer = self.computer.clone();
            tokio::spawn(async move { computer.release_in_turn().await });
        } else {
            self.release().await;
        }
    }

    /// Forgets that a chat may hold anything: everything that it started has ended.
    pub(crate) fn link_ended(&self, session: &SessionId) {
        self.may_hold().remove(session);
    }

    /// Releases everything that is held down, and shows that nothing is used any more.
    pub(crate) async fn stop(&self) {
        self.in_use.end();
        if !self.may_hold().is_empty() {
            self.release().await;
        }
    }

    /// The engine ends: lets go of everything, and what is in the clipboard goes to whoever keeps it.
    pub(crate) async fn end(&self) {
        self.stop().await;
        let computer = self.computer.clone();
        let given = tokio::task::spawn_blocking(move || computer.give_up_clipboard());
        if tokio::time::timeout(HAND_OVER_WITHIN, given).await.is_err() {
            tracing::debug!("no clipboard manager has taken over in time");
        }
    }

    async fn release(&self) {
        let computer = self.computer.clone();
        let released = tokio::task::spawn_blocking(move || computer.release_all());
        if tokio::time::timeout(RELEASE_WITHIN, released).await.is_err() {
            tracing::warn!(
                "the display does not answer; what is held down is released by the watchdog or with the display"
            );
        }
    }

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> ScreenView {
        let state = self.policy.get();
        let Offer { fine, coarse, missing, .. } = self.offer(None);
        let shown = |names: &[String]| names.iter().map(|name| escape_outside_text(name)).collect();
        ScreenView {
            seat: kind_name(self.seat).to_owned(),
            features: coarse.into_iter().chain(fine).map(str::to_owned).collect(),
            missing: missing
                .into_iter()
                .map(|(feature, why)| MissingView { feature: feature.to_owned(), why: escape_outside_text(&why) })
                .collect(),
            only_apps: state.screen.only_apps.as_deref().map(shown),
            never_apps: shown(&state.screen.never_apps),
            full_resolution: state.screen.full_resolution,
            clipboard_foreign: state.clipboard_foreign,
            in_use: self.in_use.view(),
        }
    }

    fn found(&self) -> MutexGuard<'_, Option<Features>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_hold(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.may_hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells whether what can be done is more than what needs no screen: apps can be found without a display that answers. On
/// Wayland starting them is all there is, and it works.
pub(crate) fn has_screen<'a>(kind: SeatKind, mut features: impl Iterator<Item = &'a str>) -> bool {
    let apps_count = kind == SeatKind::Wayland;
    features.any(|name| {
        let apps = name == "apps" || name.starts_with("app.");
        !name.starts_with("clipboard") && !SAYS_NOTHING.contains(&name) && (apps_count || !apps)
    })
}

/// Returns the name of a kind of seat, as [`ScreenView`] has it.
pub(crate) const fn kind_name(kind: SeatKind) -> &'static str {
    match kind {
        SeatKind::X11 => "x11",
        SeatKind::Wayland => "wayland",
        SeatKind::Wsl => "wsl",
        SeatKind::MacOs => "macos",
        SeatKind::Windows => "windows",
        SeatKind::None => "none",
    }
}

fn wanted(state: &PolicyState, session: Option<&SessionId>) -> bool {
    state.offers_in(Power::ComputerUse, session) || state.offers_in(Power::Clipboard, session)
}

fn clipboard_rule(state: &PolicyState, session: Option<&SessionId>) -> ClipboardRule {
    match (state.offers_in(Power::Clipboard, session), state.clipboard_foreign) {
        (false, _) => ClipboardRule::Off,
        (true, false) => ClipboardRule::OwnText,
        (true, true) => ClipboardRule::Foreign,
    }
}

fn asks_nothing_of_the_clipboard(state: &PolicyState, session: Option<&SessionId>) -> bool {
    let write = Operation::Computer(ComputerOp::ClipboardWrite { text: String::new() });
    decide(state, &write, session).decision == Decision::Allow
}

#[cfg(test)]
#[path = "screen/screen_tests.rs"]
mod tests;
