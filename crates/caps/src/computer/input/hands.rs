//! One operation at work: when it may go on, how it waits, and what it holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drawbridge_core::OpError;
use drawbridge_core::computer::{Key, Modifier};
use drawbridge_os::seat::SeatFault;
use drawbridge_os::seat::input::Input;

use crate::computer::{Inner, Job, PERSON_FIRST, faults};

/// The person is at rest after this long.
const QUIET: Duration = Duration::from_secs(1);
/// A wait is cut into pieces of this length, so that it ends soon when it should.
const PIECE: Duration = Duration::from_millis(10);
/// How long a key of a chord is down: programs that look at the keyboard once a frame see it, too.
pub(super) const KEY_DOWN: Duration = Duration::from_millis(20);

/// Pointer and keyboard in the hands of one operation.
pub(super) struct Hands<'a> {
    pub(super) inner: &'a Inner,
    pub(super) job: &'a Job,
    pub(super) input: Arc<dyn Input>,
    feature: &'static str,
    began: Instant,
}

impl<'a> Hands<'a> {
    /// Takes pointer and keyboard once the person has left them alone for a moment.
    pub(super) fn free(inner: &'a Inner, job: &'a Job, feature: &'static str) -> Result<Self, OpError> {
        let input = inner.seats.input().map_err(|fault| faults::met(&inner.seats, feature, fault))?;
        let asked = Instant::now();
        while input.person_acted().is_some_and(|ago| ago < QUIET) {
            if asked.elapsed() >= PERSON_FIRST {
                return Err(person_active(inner));
            }
            job.go_on()?;
            std::thread::sleep(PIECE);
        }
        Ok(Self { inner, job, input, feature, began: Instant::now() })
    }

    /// Says a fault of the seat in the peer's terms.
    pub(super) fn told(&self, fault: SeatFault) -> OpError {
        faults::met(&self.inner.seats, self.feature, fault)
    }

    /// An error for what cannot be done as things stand.
    pub(super) fn refused(&self, why: String) -> OpError {
        OpError::Unsupported { feature: self.feature.to_owned(), why }
    }

    /// Ends the operation when nobody wants it any more, or when the person has acted since it began.
    pub(super) fn go_on(&self) -> Result<(), OpError> {
        self.job.go_on()?;
        let began = self.began.elapsed();
        match self.input.person_acted() {
            Some(ago) if ago < began => Err(person_active(self.inner)),
            Some(_) | None => Ok(()),
        }
    }

    /// Lets time pass as long as the operation may go on, and `fine` says so as well.
    pub(super) fn wait(&self, time: Duration, fine: &mut dyn FnMut() -> Result<(), OpError>) -> Result<(), OpError> {
        let until = Instant::now() + time;
        loop {
            self.go_on()?;
            fine()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(PIECE));
        }
    }

    /// Lets a moment pass between press and release. The person does not interrupt that: what is pressed is as good as done.
    pub(super) fn stay(&self, moment: Duration) -> Result<(), OpError> {
        let until = Instant::now() + moment;
        loop {
            self.job.go_on()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(PIECE));
        }
    }

    /// Begins to press keys, which are released together.
    pub(super) fn pressing(&self) -> Pressing<'_> {
        Pressing { hands: self, down: Vec::new() }
    }
}

/// The person comes first.
fn person_active(inner: &Inner) -> OpError {
    OpError::PermissionPending {
        permission: "person_active",
        platform: inner.seats.seat().kind.platform(),
        message:
            "the person at this computer is using the pointer or the keyboard, so nothing was pressed while they do"
                .to_owned(),
        hint: "wait a few seconds and look at the screen again before you go on: it may have changed".to_owned(),
        retry_after: Some(PERSON_FIRST),
    }
}

/// Keys that are down, the last one to be released first. Dropped, it releases them as well.
pub(super) struct Pressing<'a> {
    hands: &'a Hands<'a>,
    down: Vec<Key>,
}

impl Pressing<'_> {
    /// Presses modifiers in their order.
    pub(super) fn modifiers(&mut self, modifiers: &[Modifier]) -> Result<(), OpError> {
        modifiers.iter().try_for_each(|modifier| self.key(Key::Modifier(*modifier)))
    }

    /// Presses a key.
    pub(super) fn key(&mut self, key: Key) -> Result<(), OpError> {
        self.hands.go_on()?;
        self.set(key, true)?;
        self.down.push(key);
        Ok(())
    }

    /// Releases all of them.
    pub(super) fn release(mut self) -> Result<(), OpError> {
        while let Some(key) = self.down.pop() {
            self.set(key, false)?;
        }
        Ok(())
    }

    fn set(&self, key: Key, down: bool) -> Result<(), OpError> {
        let input = &self.hands.input;
        let set =
            if let Key::Modifier(modifier) = key { input.modifier(modifier, down) } else { input.key(&key, down) };
        set.map_err(|fault| self.hands.told(fault))
    }
}

impl Drop for Pressing<'_> {
    fn drop(&mut self) {
        while let Some(key) = self.down.pop() {
            if let Err(fault) = self.set(key, false) {
                tracing::debug!(%fault, "a key could not be released by itself");
            }
        }
    }
}
