//! Typing a text: see [`Keyboard::type_text`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::super::super::SeatFault;
use super::super::super::TypeFault;
use super::super::tap::Tap;
use super::Keyboard;
use super::plan::{Part, Planner, Press, Setting, next_symbols, parts};
use super::rest::Rest;

/// How long a program may need to answer that never did before; then it counts as one that cannot be asked.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// How long a program may be busy that has answered before, without any progress. A slow one can answer only once it has handled
/// everything that it is behind.
const ANSWER: Duration = Duration::from_secs(30);

/// How long the end of a text waits for the program, to take entries away. What it has not handled by then stays until later.
const LAST_ANSWER: Duration = Duration::from_millis(300);

/// How often a wait looks whether it should go on.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Why typing ended early.
enum Halt {
    Cannot(TypeFault),
    Stopped,
    Seat(SeatFault),
}

impl From<SeatFault> for Halt {
    fn from(fault: SeatFault) -> Self {
        Self::Seat(fault)
    }
}

type GoOn<'a> = &'a mut dyn FnMut(usize) -> bool;

/// A text on its way.
struct Run<'a> {
    planner: Planner,
    setting: Setting,
    group: u8,
    typed: usize,
    tap: &'a dyn Tap,
    go_on: GoOn<'a>,
}

impl Run<'_> {
    fn ask_to_go_on(&mut self) -> Result<(), Halt> {
        if (self.go_on)(self.typed) { Ok(()) } else { Err(Halt::Stopped) }
    }
}

impl Keyboard {
    /// Types a text so that it arrives exactly. `go_on` is asked before each character, and while a program is waited for, with
    /// the number of characters typed.
    ///
    /// # Errors
    /// [`TypeFault`]. Nothing is held down then, and the state of the keyboard is as before.
    pub(in super::super) fn type_text(&mut self, text: &str, tap: &dyn Tap, go_on: GoOn<'_>) -> Result<(), TypeFault> {
        if text.is_empty() {
            return Ok(());
        }
        let mut typed = 0;
        let outcome = self.type_all(text, tap, go_on, &mut typed);
        // Also after a fault: whatever can be put back is put back.
        let ended = self.finish(tap);
        match outcome {
            Ok(()) => ended.map_err(|fault| TypeFault::Seat { typed, fault }),
            Err(Halt::Cannot(fault)) => Err(fault),
            Err(Halt::Stopped) => Err(TypeFault::Stopped { typed }),
            Err(Halt::Seat(fault)) => Err(TypeFault::Seat { typed, fault }),
        }
    }

    fn type_all(&mut self, text: &str, tap: &dyn Tap, go_on: GoOn<'_>, typed: &mut usize) -> Result<(), Halt> {
        self.forget_released(tap)?;
        self.renew()?;
        let state = self.server.state()?;
        let setting = Setting { group: state.group, kept: state.locked & self.map.num_lock() };
        let planner = Planner::new(Arc::clone(&self.map), setting);
        let mut run = Run { planner, setting, group: state.group, typed: 0, tap, go_on };
        run.planner.check(text, self.entries.len()).map_err(Halt::Cannot)?;
        if state.base != 0 || state.group_moved {
            return Err(SeatFault::Other(
                "a key such as Shift or Ctrl is held down; text would become something else".to_owned(),
            )
            .into());
        }
        if let Some(aid) = self.server.slowed_by()? {
            return Err(SeatFault::Unsupported(format!("{aid} is on, which drops keys that are pressed fast")).into());
        }
        let unlock = state.locked & !setting.kept;
        if unlock != 0 || state.latched != 0 {
            self.alter(unlock, None, tap)?;
        }
        self.pace.begin();
        (self.silent, self.target) = (None, None);
        self.server.listen(true)?;
        self.look_at_target(tap)?;
        // Whoever has not answered about an earlier text may be gone.
        self.pace.give_up(Instant::now());
        let outcome = self.type_parts(text, &mut run);
        *typed = run.typed;
        outcome
    }

    fn type_parts(&mut self, text: &str, run: &mut Run<'_>) -> Result<(), Halt> {
        let mut rest = text;
        while let Some((part, length)) = parts(rest).next() {
            run.ask_to_go_on()?;
            if self.renew()? {
                run.planner = Planner::new(Arc::clone(&self.map), run.setting);
            }
            if self.server.has_moved()? {
                self.check_state(run)?;
            }
            let Ok(part) = part else {
                return Err(SeatFault::Other("the text holds a control character".to_owned()).into());
            };
            self.type_part(part, rest, run)?;
            run.typed += length;
            let end = rest.char_indices().nth(length).map_or(rest.len(), |(end, _)| end);
            rest = rest.get(end..).unwrap_or_default();
            self.keep_pace(run)?;
        }
        Ok(())
    }

    fn type_part(&mut self, part: Part, rest: &str, run: &mut Run<'_>) -> Result<(), Halt> {
        let press = run.planner.press(part, run.group);
        let (code, with) = match press {
            Press::Way(way) => {
                if way.group != run.group {
                    self.alter(0, Some((run.setting.group, way.group)), run.tap)?;
                    run.group = way.group;
                }
                (way.code, self.map.holders(way.mods, way.group).unwrap_or_default())
            }
            Press::Entry(symbol) => (self.entry_for(symbol, rest, run)?, Vec::new()),
        };
        stroke(code, &with, run.tap)?;
        self.note_press(code);
        self.check_press(press, code, run)
    }

    /// Makes sure that nobody has changed the keymap between the plan and the press so that it gave something else, or nothing.
    fn check_press(&mut self, press: Press, code: u8, run: &mut Run<'_>) -> Result<(), Halt> {
        // A press from another keyboard than the last one makes the server tell of a new keymap, too, which is the same.
        if !self.renew()? {
            return Ok(());
        }
        run.planner = Planner::new(Arc::clone(&self.map), run.setting);
        let same = match press {
            Press::Way(way) => self.map.symbol(way.code, way.group, way.mods) == Some(way.symbol),
            Press::Entry(symbol) => self.entries.find(symbol) == Some(code),
        };
        if same {
            return Ok(());
        }
        let why = "somebody changed the layout while text was typed; the character after the last typed one may have arrived as \
                   another one";
        Err(SeatFault::Other(why.to_owned()).into())
    }

    /// Notes that a key was pressed and released for whoever has the keyboard.
    pub(super) fn note_press(&mut self, code: u8) {
        let asks = self.target.is_some_and(|target| target.answers.is_some());
        let number = self.pace.press(Instant::now(), asks);
        self.entries.pressed(code, number);
    }

    /// Returns the code with an entry for a symbol, and makes entries for what comes next with it if there is none.
    fn entry_for(&mut self, symbol: u32, rest: &str, run: &mut Run<'_>) -> Result<u8, Halt> {
        if let Some(code) = self.entries.find(symbol) {
            return Ok(code);
        }
        // Half of them at once: the other half is being handled meanwhile.
        let limit = self.entries.len().div_ceil(2);
        let (wanted, kept) =
            next_symbols(&mut run.planner, rest, run.group, limit, |symbol| self.entries.find(symbol).is_some());
        let (places, after) = self.entries.places(&wanted, &kept);
        self.wait_until_handled(after, run)?;
        self.put(&places, run.tap)?;
        // The answer comes while these are pressed, and is there when the next ones are wanted.
        if self.pace.is_unasked() {
            self.ask(run.tap)?;
        }
        let none = || SeatFault::Other("the keymap has no free place any more".to_owned());
        Ok(self.entries.find(symbol).ok_or_else(none)?)
    }

    /// Finds out who receives keys. Another program than before is asked about what it received.
    pub(super) fn look_at_target(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        let mut target = self.server.target()?;
        target.answers = target.answers.filter(|window| Some(*window) != self.silent);
        if self.target != Some(target) {
            if self.pace.is_unasked() {
                self.ask(tap)?;
            }
            self.rest = target.process.map(Rest::of);
            self.target = Some(target);
        }
        Ok(())
    }

    /// Asks the program that received the last presses.
    fn ask(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        tap.flush()?;
        match self.target.and_then(|target| target.answers) {
            Some(window) => {
                let number = self.server.ask(window)?;
                self.pace.asked(number);
            }
            None => self.pace.give_up(Instant::now()),
        }
        Ok(())
    }

    fn keep_pace(&mut self, run: &mut Run<'_>) -> Result<(), Halt> {
        if self.pace.should_look() {
            self.look_at_target(run.tap)?;
            if self.pace.is_unasked() {
                self.ask(run.tap)?;
            }
        }
        for number in self.server.answers(Duration::ZERO)? {
            self.pace.answered(number);
        }
        if let Some(number) = self.pace.due() {
            self.wait_until_handled(number, run)?;
        }
        std::thread::sleep(self.pace.next(Instant::now()));
        Ok(())
    }

    /// Makes sure that nobody has changed the group or Caps Lock meanwhile: what follows would arrive wrong.
    fn check_state(&self, run: &Run<'_>) -> Result<(), SeatFault> {
        run.tap.flush()?;
        let state = self.server.state()?;
        if state.group == run.group && state.locked & !run.setting.kept == 0 {
            return Ok(());
        }
        Err(SeatFault::Other("somebody changed the layout or Caps Lock while text was typed".to_owned()))
    }

    /// Waits until the program has handled a press.
    fn wait_until_handled(&mut self, number: u64, run: &mut Run<'_>) -> Result<(), Halt> {
        let mut begun = Instant::now();
        let mut handled = self.pace.handled(begun);
        let focus = self.target.map(|target| target.focus);
        loop {
            if self.is_handled(number, LOOK, run.tap)? {
                return Ok(());
            }
            // One that is slow but gets on does not hang.
            let now = Instant::now();
            if self.pace.handled(now) > handled {
                (begun, handled) = (now, self.pace.handled(now));
            }
            run.ask_to_go_on()?;
            self.look_at_target(run.tap)?;
            if self.target.map(|target| target.focus) != focus {
                // The one that was asked may be gone.
                self.pace.give_up(Instant::now());
                continue;
            }
            let asked = self.target.and_then(|target| target.answers);
            let waited = begun.elapsed();
            if self.pace.has_answered() && asked.is_some() && waited >= ANSWER {
                return Err(SeatFault::NoAnswer("the program that has the keyboard").into());
            }
            // It never answers at all.
            if asked.is_some() && !self.pace.has_answered() && waited >= FIRST_ANSWER {
                self.silent = asked;
                self.pace.give_up(Instant::now());
                self.look_at_target(run.tap)?;
            }
        }
    }

    /// Tells whether a press was handled; waits a little for it.
    pub(super) fn is_handled(&mut self, number: u64, wait: Duration, tap: &dyn Tap) -> Result<bool, SeatFault> {
        if self.pace.handled(Instant::now()) >= number {
            return Ok(true);
        }
        if self.pace.is_unasked() {
            self.ask(tap)?;
        }
        for number in self.server.answers(wait)? {
            self.pace.answered(number);
        }
        if let Some(since) = self.rest.as_mut().and_then(|rest| rest.since(Instant::now())) {
            self.pace.rested(since);
        }
        Ok(self.pace.handled(Instant::now()) >= number)
    }

    /// Puts the state of the keyboard back, and takes the entries away if the program has handled them.
    fn finish(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        let restored = self.restore(tap);
        let cleared = self.clear_if_handled(tap);
        restored.and(cleared)
    }

    pub(super) fn clear_if_handled(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        let until = Instant::now() + LAST_ANSWER;
        while self.has_entries() && Instant::now() < until {
            if self.is_handled(self.pace.last(), LOOK, tap)? {
                break;
            }
        }
        self.clear_handled(tap)?;
        // Answers to come are still listened for while there is something to take away.
        if self.has_entries() { Ok(()) } else { self.server.listen(false) }
    }

    /// Takes the entries away whose presses were handled. What is left is asked for later.
    pub(super) fn clear_handled(&mut self, tap: &dyn Tap) -> Result<(), SeatFault> {
        self.is_handled(self.pace.last(), Duration::ZERO, tap)?;
        let handled = self.pace.handled(Instant::now());
        self.clear(handled, tap)
    }
}

/// Presses and releases a key, with modifiers around it. After a fault it has tried to release them all.
fn stroke(code: u8, with: &[u8], tap: &dyn Tap) -> Result<(), SeatFault> {
    let pressed = with.iter().chain([&code]).try_for_each(|code| tap.key(*code, true));
    pressed.and(release([code].into_iter().chain(with.iter().rev().copied()), tap))
}

/// Releases keys and waits until that is done. Each of them is tried, also after a fault.
pub(super) fn release(codes: impl Iterator<Item = u8>, tap: &dyn Tap) -> Result<(), SeatFault> {
    let mut outcome = Ok(());
    for code in codes {
        outcome = outcome.and(tap.key(code, false));
    }
    outcome.and_then(|()| tap.flush())
}

#[cfg(test)]
#[path = "typing_tests.rs"]
mod tests;
