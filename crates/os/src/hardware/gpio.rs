//! GPIO chips: which are there, and reading, driving and watching their lines.
//!
//! A line belongs to one program at a time; the kernel sees to that, and nothing here takes one away. Left out: debouncing, drive
//! strength, several lines at once, and systems other than Linux, which have no GPIO for programs.

#[cfg(target_os = "linux")]
mod cdev;
#[cfg(target_os = "linux")]
mod raspberry;
pub mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Bias, Device, DeviceId, DevicePlace, Edge, LineEvent};

use super::{HardwareFault, Stop, id, words};

/// What GPIO chips a system has.
pub trait GpioChips: Send + Sync {
    /// Looks which are there; none at all on most computers. Blocks, a moment; takes no line.
    fn found(&self) -> Vec<GpioChip>;

    /// Reads a line as an input. It is one from then on, until somebody makes it something else.
    ///
    /// # Errors
    /// `Unsupported`: there is no such line, or no such bias. `Busy` with who has it, `Denied`, `Unplugged`, `Io`.
    fn read(&self, chip: &GpioChip, line: u32, bias: Bias) -> Result<bool, HardwareFault>;

    /// Makes a line an output and drives it, as long as what this returns lives.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn drive(&self, chip: &GpioChip, line: u32, high: bool) -> Result<Box<dyn DrivenLine>, HardwareFault>;

    /// Watches a line as an input, as long as what this returns lives. Changes from then on are kept, some hundreds of them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn watch(&self, chip: &GpioChip, line: u32, bias: Bias, edge: Edge) -> Result<Box<dyn WatchedLine>, HardwareFault>;

    /// Looks which are there, in the words that all kinds share. Blocks, a moment.
    fn list(&self) -> Vec<Device> {
        let found = self.found();
        let names = names(&found);
        found.iter().zip(names).map(|(chip, id)| chip.as_device(id)).collect()
    }

    /// Finds one by its name.
    ///
    /// # Errors
    /// `Absent`; `Denied` with what gives it.
    fn find(&self, device: &DeviceId) -> Result<GpioChip, HardwareFault> {
        let found = self.found();
        let names = names(&found);
        let (chip, _) = found.into_iter().zip(names).find(|(_, name)| name == device).ok_or_else(|| {
            HardwareFault::new(
                DeviceFault::Absent,
                "this computer has no such GPIO chip now; look at the list of devices",
            )
        })?;
        match &chip.denied {
            Some(why) => Err(HardwareFault::new(DeviceFault::Denied, why.clone())),
            None => Ok(chip),
        }
    }
}

/// A line that is driven. With it the line is given back: a Raspberry Pi puts its line back to what it was before; elsewhere it is
/// free, and the driver of the chip says whether it keeps its level.
pub trait DrivenLine: Send {
    /// Drives it high or low.
    ///
    /// # Errors
    /// `Unplugged`, `Io`.
    fn set(&mut self, high: bool) -> Result<(), HardwareFault>;

    /// Reads the level that it has.
    ///
    /// # Errors
    /// `Unplugged`, `Io`.
    fn level(&mut self) -> Result<bool, HardwareFault>;
}

/// A line that is watched. With it the line is given back.
pub trait WatchedLine: Send {
    /// Waits for the next change, for at most `wait` or until `stop`; none when there was none. Its time counts from the
    /// beginning of the watch.
    ///
    /// # Errors
    /// `Unplugged`, `Io`.
    fn next(&mut self, wait: Duration, stop: &Stop) -> Result<Option<LineEvent>, HardwareFault>;

    /// Tells how many changes before the last one that was told were lost, since more came than are kept.
    fn lost(&self) -> u64;
}

/// Tells from the numbers that changes have how many are missing.
#[derive(Debug, Default)]
struct Gaps {
    last: Option<u32>,
    lost: u64,
}

impl Gaps {
    /// Notes the number of a change; the first one of a watch has 1. Older kernels number none.
    fn saw(&mut self, number: u32) {
        if number == 0 && self.last.is_none() {
            return;
        }
        let expected = self.last.map_or(1, |last| last.wrapping_add(1));
        self.lost += u64::from(number.wrapping_sub(expected));
        self.last = Some(number);
    }
}

/// A GPIO chip that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpioChip {
    /// The name that the system gives it, for example `gpiochip0`. Another one after a restart, perhaps.
    pub name: String,
    /// What it calls itself, for example `pinctrl-bcm2711`. None as long as this user may not ask it. Not yet safe to show.
    pub label: Option<String>,
    /// What it hangs on, for example `fe200000.gpio`; empty where that is not known.
    pub parent: String,
    /// Number of lines. 0 as long as this user may not ask it.
    pub lines: u32,
    /// Lines that the board gives a name, by their numbers. Not yet safe to show.
    pub names: Vec<(u32, String)>,
    /// Why this user cannot open it.
    pub denied: Option<String>,
}

impl GpioChip {
    fn as_device(&self, id: DeviceId) -> Device {
        let said = words::describe(&[self.label.as_deref()], None);
        let description = if said.is_empty() { "GPIO chip".to_owned() } else { said };
        let place = DevicePlace::Gpio { chip: self.name.clone(), lines: self.lines, names: self.names.clone() };
        Device { id, place, description, denied: self.denied.clone() }
    }

    /// What tells it apart, whoever asks: who may not open it yet sees no label, and a share must outlive that.
    fn called(&self) -> &str {
        let label = self.label.as_deref().unwrap_or(&self.name);
        if self.parent.is_empty() { label } else { &self.parent }
    }
}

/// Names chips in their order, by what they hang on; by their number as well where several hang on one.
fn names(found: &[GpioChip]) -> Vec<DeviceId> {
    let mut told: BTreeMap<DeviceId, usize> = BTreeMap::new();
    for chip in found {
        *told.entry(id::gpio(chip.called())).or_default() += 1;
    }
    let name = |chip: &GpioChip| {
        let plain = id::gpio(chip.called());
        if told.get(&plain) == Some(&1) { plain } else { id::gpio(&format!("{}-{}", chip.called(), chip.name)) }
    };
    found.iter().map(name).collect()
}

/// Returns this system's.
#[must_use]
pub fn of_system() -> Arc<dyn GpioChips> {
    #[cfg(target_os = "linux")]
    return raspberry::of_system();
    #[cfg(not(target_os = "linux"))]
    Arc::new(recorded::Recorded::default())
}

/// Says that a chip has no such line.
fn no_line(chip: &GpioChip, line: u32) -> HardwareFault {
    let message = match chip.lines {
        0 => "the chip has no lines".to_owned(),
        lines => format!("the chip has no line {line}; its lines are 0 to {}", lines - 1),
    };
    HardwareFault::new(DeviceFault::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    fn lost(numbers: &[u32]) -> u64 {
        let mut gaps = Gaps::default();
        numbers.iter().for_each(|number| gaps.saw(*number));
        gaps.lost
    }

    #[test]
    fn what_is_missing_between_numbers_was_lost() {
        assert_eq!(lost(&[]), 0);
        assert_eq!(lost(&[1, 2, 3]), 0);
        assert_eq!(lost(&[4, 5]), 3, "those before the first");
        assert_eq!(lost(&[1, 5, 6, 8]), 4);
    }

    #[test]
    fn numbers_begin_anew_and_older_kernels_have_none() {
        let mut gaps = Gaps { last: Some(u32::MAX - 1), lost: 0 };
        for number in [u32::MAX, 0, 2] {
            gaps.saw(number);
        }
        assert_eq!(gaps.lost, 1);
        assert_eq!(lost(&[0, 0, 0]), 0);
    }
}
