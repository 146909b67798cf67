//! How far ahead of a program keys may be pressed, and which presses it has handled for certain.
//!
//! A program that answers whether it is there (`_NET_WM_PING`) has handled what the server sent it before, and so has one that
//! came to rest since. Of all others it is taken for granted after [`GAP`]; a program that hangs for longer in just that moment
//! could take a symbol for another.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// After this time a press counts as handled by a program that cannot be asked and does not rest.
pub(super) const GAP: Duration = Duration::from_millis(1500);

/// The shortest time from press to press. Programs keep up with more, but not all that lies between them and the keyboard does.
pub(super) const BEAT: Duration = Duration::from_micros(1500);

/// So many beats are made up for at most.
const MADE_UP: u32 = 8;

/// A program that can be asked is asked after so many presses.
const STRIDE: u64 = 24;

/// So many presses may be without an answer.
const AHEAD: u64 = 72;

/// What is known of presses. They are numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Pace {
    pressed: u64,
    /// The last press that there is a question or a time for.
    asked: u64,
    handled: u64,
    looked: u64,
    has_answered: bool,
    begins: bool,
    beat: Option<Instant>,
    questions: VecDeque<(u32, u64)>,
    untold: VecDeque<(Instant, u64)>,
}

impl Pace {
    /// Notes a press and returns its number. `asks` tells whether the program that receives it can be asked.
    pub(super) fn press(&mut self, now: Instant, asks: bool) -> u64 {
        self.pressed += 1;
        if !asks {
            self.untold.push_back((now, self.pressed));
            self.asked = self.pressed;
        }
        self.pressed
    }

    /// Returns the number of the last press that was certainly handled.
    pub(super) fn handled(&mut self, now: Instant) -> u64 {
        while let Some((when, number)) = self.untold.front().copied() {
            // What was pressed before for a program that can be asked has its own answer to wait for.
            let waits = self.questions.front().is_some_and(|(_, asked)| *asked < number);
            if waits || now.saturating_duration_since(when) < GAP {
                break;
            }
            self.untold.pop_front();
            self.handled = self.handled.max(number);
        }
        self.handled
    }

    /// Notes that the program which cannot be asked was at rest at a time: it has handled what it received before.
    pub(super) fn rested(&mut self, since: Instant) {
        for (when, _) in self.untold.iter_mut().filter(|(when, _)| *when < since) {
            // The same as if its time had passed.
            *when = when.checked_sub(GAP).unwrap_or(*when);
        }
    }

    /// Tells once in a while that it is time to look who receives the keys: after the first press of a text, so that it is soon
    /// known whether a slow program answers, and then every [`STRIDE`] presses.
    pub(super) fn should_look(&mut self) -> bool {
        let due = std::mem::take(&mut self.begins) || self.pressed - self.looked >= STRIDE;
        if due {
            self.looked = self.pressed;
        }
        due
    }

    /// Tells whether there is a press that nobody was asked about.
    pub(super) fn is_unasked(&self) -> bool {
        self.pressed > self.asked
    }

    /// Notes that the program was asked about everything so far.
    pub(super) fn asked(&mut self, number: u32) {
        self.asked = self.pressed;
        self.questions.push_back((number, self.pressed));
    }

    /// Notes an answer.
    pub(super) fn answered(&mut self, number: u32) {
        if let Some(place) = self.questions.iter().position(|(asked, _)| *asked == number) {
            self.has_answered = true;
            // It has handled what it was asked about before, too.
            if let Some((_, pressed)) = self.questions.drain(..=place).next_back() {
                self.handled = self.handled.max(pressed);
            }
        }
    }

    /// Tells whether there was an answer since [`Pace::begin`].
    pub(super) fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Begins another text.
    pub(super) fn begin(&mut self) {
        (self.has_answered, self.begins) = (false, true);
    }

    /// Expects no answers any more: presses count as handled [`GAP`] from now.
    pub(super) fn give_up(&mut self, now: Instant) {
        if self.is_unasked() || !self.questions.is_empty() {
            self.questions.clear();
            self.asked = self.pressed;
            self.untold.push_back((now, self.pressed));
        }
    }

    /// Returns the press that must be handled before the next one, when the program that answers is too far behind.
    pub(super) fn due(&self) -> Option<u64> {
        let behind = !self.questions.is_empty() && self.pressed - self.handled >= AHEAD;
        behind.then(|| self.pressed - AHEAD + STRIDE)
    }

    /// Returns how long to wait before the next press. What a busy machine loses by waiting too long is made up for by the presses
    /// after it.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let earliest = now.checked_sub(BEAT * MADE_UP).unwrap_or(now);
        let beat = self.beat.map_or(now, |beat| beat.max(earliest)) + BEAT;
        self.beat = Some(beat);
        beat.saturating_duration_since(now)
    }

    /// Returns the number of the last press.
    pub(super) fn last(&self) -> u64 {
        self.pressed
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
