//! GPIO of a Raspberry Pi: levels by `rppal`, which knows the pulls of every model and puts a line back to what it was.
//!
//! The kernel is asked for the line first, so that nothing which has it loses it and nobody else gets it. Watching, chips beside
//! the board's own one, and every other board go by the kernel alone.

use std::sync::Arc;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Bias, Edge};
use gpiocdev::request::Request;
use rppal::gpio::{self, Gpio, Level, OutputPin};
use rppal::system::DeviceInfo;

use super::cdev::{self, Cdev};
use super::{DrivenLine, GpioChip, GpioChips, HardwareFault, WatchedLine};

/// Returns this machine's chips.
pub(super) fn of_system() -> Arc<dyn GpioChips> {
    if DeviceInfo::new().is_ok() { Arc::new(Raspberry(Cdev)) } else { Arc::new(Cdev) }
}

struct Raspberry(Cdev);

impl GpioChips for Raspberry {
    fn found(&self) -> Vec<GpioChip> {
        self.0.found()
    }

    fn read(&self, chip: &GpioChip, line: u32, bias: Bias) -> Result<bool, HardwareFault> {
        let Some(board) = board(chip) else { return self.0.read(chip, line, bias) };
        let _taken = cdev::taken_as_is(chip, line)?;
        let pin = pin(&board, line)?;
        let mut input = match bias {
            Bias::AsIs | Bias::None => pin.into_input(),
            Bias::PullUp => pin.into_input_pullup(),
            Bias::PullDown => pin.into_input_pulldown(),
        };
        if bias == Bias::None {
            input.set_bias(gpio::Bias::Off);
        }
        // Reading makes it an input for good, as it does on every other board.
        input.set_reset_on_drop(false);
        Ok(input.is_high())
    }

    fn drive(&self, chip: &GpioChip, line: u32, high: bool) -> Result<Box<dyn DrivenLine>, HardwareFault> {
        let Some(board) = board(chip) else { return self.0.drive(chip, line, high) };
        let taken = cdev::taken_as_is(chip, line)?;
        let pin = pin(&board, line)?;
        let pin = if high { pin.into_output_high() } else { pin.into_output_low() };
        Ok(Box::new(Driven { pin, _taken: taken }))
    }

    fn watch(&self, chip: &GpioChip, line: u32, bias: Bias, edge: Edge) -> Result<Box<dyn WatchedLine>, HardwareFault> {
        self.0.watch(chip, line, bias, edge)
    }
}

/// The board's own chip, if this is it and if its registers may be used.
fn board(chip: &GpioChip) -> Option<Gpio> {
    let own = |label: &str| label.starts_with("pinctrl-bcm2") || label.starts_with("pinctrl-rp1");
    chip.label.as_deref().filter(|label| own(label)).and_then(|_| Gpio::new().ok())
}

fn pin(board: &Gpio, line: u32) -> Result<gpio::Pin, HardwareFault> {
    let number = u8::try_from(line).map_err(|_| not_there(line))?;
    board.get(number).map_err(|fault| match &fault {
        gpio::Error::PinUsed(_) => HardwareFault::new(DeviceFault::Busy, format!("line {line} is used here already")),
        gpio::Error::PinNotAvailable(_) => not_there(line),
        gpio::Error::UnknownModel
        | gpio::Error::PermissionDenied(_)
        | gpio::Error::Io(_)
        | gpio::Error::ThreadPanic => HardwareFault::new(DeviceFault::Io, fault.to_string()),
    })
}

fn not_there(line: u32) -> HardwareFault {
    HardwareFault::new(DeviceFault::Unsupported, format!("the Raspberry Pi has no line {line}"))
}

/// The pin goes first, back to what it was; then the kernel's line.
struct Driven {
    pin: OutputPin,
    _taken: Request,
}

impl DrivenLine for Driven {
    fn set(&mut self, high: bool) -> Result<(), HardwareFault> {
        self.pin.write(if high { Level::High } else { Level::Low });
        Ok(())
    }

    fn level(&mut self) -> Result<bool, HardwareFault> {
        Ok(self.pin.is_set_high())
    }
}
