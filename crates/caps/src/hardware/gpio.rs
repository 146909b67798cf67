//! GPIO chips: reading, driving and watching lines. A chip is held as long as its holder drives a line of it or waits for one.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::hardware::{Bias, Device, DeviceId, Edge, GpioAct, HardwareOutcome, LineEvents};
use drawbridge_core::{DeviceFault, LinkId, OpError};
use drawbridge_os::hardware::gpio::{DrivenLine, GpioChip, GpioChips};
use drawbridge_os::hardware::{HardwareFault, Stop};

use super::holding::{Holding, Open};
use super::{bad_field, device_error};
use crate::RunCtx;

/// Lines of one chip that a holder drives at once.
const MAX_DRIVEN: usize = 64;
/// The most changes that one watch tells.
const MAX_EVENTS: u32 = 10_000;
/// The longest watch.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
/// Giving lines back takes no longer, whatever hangs.
const CLOSING: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct Gpio {
    system: Arc<dyn GpioChips>,
    holding: Holding,
}

impl Gpio {
    pub(super) fn new(system: Arc<dyn GpioChips>, holding: Holding) -> Self {
        Self { system, holding }
    }

    pub(super) fn look(&self) -> Vec<Device> {
        self.system.list()
    }

    pub(super) async fn run(
        &self,
        device: &DeviceId,
        act: GpioAct,
        hold: Option<u64>,
        ctx: &RunCtx,
    ) -> Result<HardwareOutcome, OpError> {
        check(&act)?;
        let stop = Stop::new().map_err(|fault| OpError::Internal(format!("no handles are left: {fault}")))?;
        let turn = self.turn(device, ctx.holder, &stop).await?;
        if ctx.cancel.is_cancelled() {
            return Err(OpError::Cancelled);
        }
        let _dropped = SayWhenDropped(stop.clone());
        let system = Arc::clone(&self.system);
        let its_stop = stop.clone();
        let mut work = tokio::task::spawn_blocking(move || {
            let told = turn.chip.carry_out(system.as_ref(), &act, hold, &its_stop);
            (told, its_stop.is_said())
        });
        let (told, stopped) = tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => {
                stop.say();
                // It ends within moments, and then the line is free again.
                let _ = work.await;
                return Err(OpError::Cancelled);
            }
            told = &mut work => told.map_err(|fault| OpError::Internal(format!("using a device broke off: {fault}")))?,
        };
        if stopped {
            return Err(OpError::Cancelled);
        }
        told.map_err(|fault| device_error(device, &fault))
    }

    /// Gets the chip for this holder alone, opened if it is not.
    async fn turn(&self, device: &DeviceId, holder: LinkId, stop: &Stop) -> Result<Turn, OpError> {
        loop {
            let held = match self.holding.of::<OpenChip>(device, holder) {
                Ok(chip) => Ok(chip),
                Err(OpError::Device { fault: DeviceFault::NotOpen, .. }) => {
                    let (system, name) = (Arc::clone(&self.system), device.clone());
                    self.holding.open(device, holder, move || Ok(OpenChip::new(system.find(&name)?))).await
                }
                Err(other) => return Err(other),
            };
            match held {
                Ok(chip) => {
                    if let Some(number) = chip.enter(stop) {
                        return Ok(Turn { chip, number, holding: self.holding.clone() });
                    }
                    // Its last line was let go at this very moment.
                    self.holding.forget_ended();
                }
                // Another request of the same holder opens it at this very moment.
                Err(OpError::Device { fault: DeviceFault::AlreadyOpen, .. }) => tokio::task::yield_now().await,
                Err(other) => return Err(other),
            }
        }
    }
}

/// A request that uses a chip. The chip goes with the last one unless a line is driven.
struct Turn {
    chip: Arc<OpenChip>,
    number: u64,
    holding: Holding,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.chip.leave(self.number) {
            self.holding.forget_ended();
        }
    }
}

/// A chip that a holder uses.
struct OpenChip {
    chip: GpioChip,
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    driven: BTreeMap<u32, Driven>,
    running: BTreeMap<u64, Stop>,
    entered: u64,
    closed: bool,
}

/// A line that is driven.
struct Driven {
    line: Box<dyn DrivenLine>,
    /// The hold under which that began.
    hold: Option<u64>,
}

impl OpenChip {
    fn new(chip: GpioChip) -> Self {
        Self { chip, state: Mutex::default(), left: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to use it; none when it was closed.
    fn enter(&self, stop: &Stop) -> Option<u64> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.entered += 1;
        let number = state.entered;
        state.running.insert(number, stop.clone());
        Some(number)
    }

    /// Ends using it, and tells whether nothing keeps it any more.
    fn leave(&self, number: u64) -> bool {
        let mut state = self.lock();
        state.running.remove(&number);
        if state.running.is_empty() && state.driven.is_empty() {
            state.closed = true;
        }
        self.left.notify_all();
        state.closed
    }

    fn carry_out(
        &self,
        system: &dyn GpioChips,
        act: &GpioAct,
        hold: Option<u64>,
        stop: &Stop,
    ) -> Result<HardwareOutcome, HardwareFault> {
        match *act {
            GpioAct::Read { line, bias } => self.read(system, line, bias),
            GpioAct::Write { line, high } => self.write(system, line, high, hold),
            GpioAct::Watch { line, bias, edge, max_events, timeout } => {
                let watch = Watch { line, bias, edge, max_events, timeout };
                self.watch(system, &watch, stop).map(HardwareOutcome::Events)
            }
            GpioAct::Release { line } => self.release(line, hold),
        }
    }

    fn read(&self, system: &dyn GpioChips, line: u32, bias: Bias) -> Result<HardwareOutcome, HardwareFault> {
        let mut state = self.lock();
        let high = match state.driven.get_mut(&line) {
            Some(driven) if bias == Bias::AsIs => driven.line.level()?,
            Some(_) => return Err(driven_here(line, "pull")),
            None => {
                drop(state);
                system.read(&self.chip, line, bias)?
            }
        };
        Ok(HardwareOutcome::Level { high })
    }

    fn write(
        &self,
        system: &dyn GpioChips,
        line: u32,
        high: bool,
        hold: Option<u64>,
    ) -> Result<HardwareOutcome, HardwareFault> {
        let mut state = self.lock();
        // What comes after the end must drive nothing.
        if state.closed {
            return Err(HardwareFault::new(DeviceFault::NotOpen, "it was closed from here"));
        }
        if let Some(driven) = state.driven.get_mut(&line) {
            if hold.is_some() && driven.hold != hold {
                let message = format!("line {line} is driven already; release it first to hold it");
                return Err(HardwareFault::new(DeviceFault::AlreadyOpen, message));
            }
            driven.line.set(high)?;
            return Ok(HardwareOutcome::Done);
        }
        if state.driven.len() >= MAX_DRIVEN {
            let message = format!("{MAX_DRIVEN} lines are driven already; let some go first");
            return Err(HardwareFault::new(DeviceFault::Busy, message));
        }
        let driven = system.drive(&self.chip, line, high)?;
        state.driven.insert(line, Driven { line: driven, hold });
        Ok(HardwareOutcome::Done)
    }

    fn release(&self, line: u32, hold: Option<u64>) -> Result<HardwareOutcome, HardwareFault> {
        let message = format!("line {line} is not driven by you");
        let not_driven = || HardwareFault::new(DeviceFault::NotOpen, message);
        let mut state = self.lock();
        if hold.is_some() && state.driven.get(&line).is_some_and(|driven| driven.hold != hold) {
            return Err(not_driven());
        }
        state.driven.remove(&line).map(|_| HardwareOutcome::Done).ok_or_else(not_driven)
    }

    fn watch(&self, system: &dyn GpioChips, watch: &Watch, stop: &Stop) -> Result<LineEvents, HardwareFault> {
        if self.lock().driven.contains_key(&watch.line) {
            return Err(driven_here(watch.line, "watch"));
        }
        let deadline = Instant::now() + watch.timeout;
        let mut line = system.watch(&self.chip, watch.line, watch.bias, watch.edge)?;
        let mut events = Vec::new();
        while events.len() < watch.max_events as usize && !stop.is_said() {
            let left = deadline.saturating_duration_since(Instant::now());
            match line.next(left, stop)? {
                Some(event) => events.push(event),
                None if left.is_zero() => break,
                None => {}
            }
        }
        Ok(LineEvents { events, lost: line.lost() })
    }
}

struct Watch {
    line: u32,
    bias: Bias,
    edge: Edge,
    max_events: u32,
    timeout: Duration,
}

impl Open for OpenChip {
    fn how(&self) -> String {
        let state = self.lock();
        let lines: Vec<String> = state.driven.keys().map(u32::to_string).collect();
        match lines.as_slice() {
            [] => "reading".to_owned(),
            [one] => format!("line {one}"),
            several => format!("lines {}", several.join(", ")),
        }
    }

    fn has_ended(&self) -> bool {
        self.lock().closed
    }

    /// A line that is driven may switch something: only its holder, or the end of that, lets it go.
    fn may_close_unused(&self) -> bool {
        self.lock().driven.is_empty()
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.driven.clear();
        for stop in state.running.values() {
            stop.say();
        }
        let waited = self.left.wait_timeout_while(state, CLOSING, |state| !state.running.is_empty());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Ends the watch of a request that nobody waits for any more.
struct SayWhenDropped(Stop);

impl Drop for SayWhenDropped {
    fn drop(&mut self) {
        self.0.say();
    }
}

fn check(act: &GpioAct) -> Result<(), OpError> {
    if let GpioAct::Watch { max_events, timeout, .. } = act {
        if !(1..=MAX_EVENTS).contains(max_events) {
            return Err(bad_field("max_events", format!("must be 1 to {MAX_EVENTS}")));
        }
        if timeout.is_zero() || *timeout > MAX_TIMEOUT {
            return Err(bad_field("timeout", format!("must be 1 millisecond to {} seconds", MAX_TIMEOUT.as_secs())));
        }
    }
    Ok(())
}

fn driven_here(line: u32, what: &str) -> HardwareFault {
    HardwareFault::new(DeviceFault::Busy, format!("you drive line {line}; let it go before you {what} it"))
}
