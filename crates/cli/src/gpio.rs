//! `gpio`: lines of a GPIO chip through the running engine.

use std::time::Duration;

use anyhow::{anyhow, bail};
use drawbridge_core::escape_outside_text;
use drawbridge_core::hardware::DeviceKind;
use drawbridge_engine::device_act::{DeviceAct, DeviceResult};
use drawbridge_engine::view::DeviceView;

use crate::args::{EdgeName, GpioVerb, Line, Named, Pull};
use crate::coded::{USAGE, coded};
use crate::devices::{Desk, ms};
use crate::out;
use crate::place::odd_answer;

/// Acts that wait for nothing.
const SOON: Duration = Duration::from_secs(15);

pub(crate) async fn run(verb: GpioVerb) -> anyhow::Result<u8> {
    match verb {
        GpioVerb::Read { line, pull } => {
            let act = |line| DeviceAct::GpioRead { line, bias: name_of(pull).to_owned() };
            let DeviceResult::Level { high } = use_line(line, act, SOON).await? else { return Err(odd_answer()) };
            out::line(if high { "1" } else { "0" })?;
            Ok(0)
        }
        GpioVerb::Write { line, level, hold } => {
            if hold {
                let (desk, line) = desk_of(line).await?;
                let act = DeviceAct::GpioWrite { line, high: level };
                return desk.hold(act, DeviceAct::GpioRelease { line }, SOON).await;
            }
            use_line(line, |line| DeviceAct::GpioWrite { line, high: level }, SOON).await?;
            Ok(0)
        }
        GpioVerb::Watch { line, edge, count, timeout, pull, json } => {
            let edge = match edge {
                EdgeName::Rising => "rising",
                EdgeName::Falling => "falling",
                EdgeName::Both => "both",
            };
            let timeout_ms = ms(timeout).max(1);
            let act = |line| DeviceAct::GpioWatch {
                line,
                bias: name_of(pull).to_owned(),
                edge: edge.to_owned(),
                max_events: count,
                timeout_ms,
            };
            let within = Duration::from_millis(timeout_ms.into()) + SOON;
            let DeviceResult::Events { events, lost } = use_line(line, act, within).await? else {
                return Err(odd_answer());
            };
            for event in &events {
                let way = if event.rising { "rising" } else { "falling" };
                let (seconds, rest) = (event.at_us / 1_000_000, event.at_us % 1_000_000);
                out::line(&if json { serde_json::to_string(event)? } else { format!("{way} {seconds}.{rest:06}") })?;
            }
            if lost > 0 {
                out::complain(&format!(
                    "{lost} changes between these were lost, since they came faster than they are kept"
                ));
            }
            let missing = (events.len() as u64) < u64::from(count);
            if missing {
                out::complain(&format!("{} of {count} changes came within {timeout} s", events.len()));
            }
            Ok(u8::from(missing))
        }
        GpioVerb::Release { line } => {
            use_line(line, |line| DeviceAct::GpioRelease { line }, SOON).await?;
            Ok(0)
        }
    }
}

async fn use_line(line: Line, act: impl FnOnce(u32) -> DeviceAct, within: Duration) -> anyhow::Result<DeviceResult> {
    let (mut desk, number) = desk_of(line).await?;
    desk.act(act(number), within).await
}

/// Finds a chip and the number of a line of it.
async fn desk_of(line: Line) -> anyhow::Result<(Desk, u32)> {
    let (device, line) = parts(line)?;
    let desk = Desk::at(&Named { device }, DeviceKind::Gpio).await?;
    let number = number_of(desk.device(), &line)?;
    Ok((desk, number))
}

/// The chip and the line, which may stand behind a colon of it.
fn parts(Line { chip, line }: Line) -> anyhow::Result<(String, String)> {
    if let Some(line) = line {
        return Ok((chip, line));
    }
    match chip.rsplit_once(':') {
        // The beginning by which config.toml names chips is no chip.
        Some((chip, line)) if !chip.is_empty() && !line.is_empty() && chip != "gpio" => {
            Ok((chip.to_owned(), line.to_owned()))
        }
        Some(_) | None => Err(coded(USAGE, anyhow!("say which line: its number or its name behind the chip"))),
    }
}

/// The number of a line that is told by its number or by a name that it alone has.
fn number_of(chip: &DeviceView, line: &str) -> anyhow::Result<u32> {
    if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) {
        return line.parse().map_err(|_| anyhow!("no chip has a line {}", escape_outside_text(line)));
    }
    let line = escape_outside_text(line);
    let called: Vec<u32> = chip.lines.iter().filter(|one| one.name == line).map(|one| one.number).collect();
    match called.as_slice() {
        [number] => Ok(*number),
        [] => bail!("{} has no line named {line}; `drawbridge devices` shows the names that there are", chip.place),
        several => {
            let numbers: Vec<String> = several.iter().map(u32::to_string).collect();
            bail!("{} has several lines named {line}: {}; say a number", chip.place, numbers.join(", "))
        }
    }
}

const fn name_of(pull: Pull) -> &'static str {
    match pull {
        Pull::AsIs => "as_is",
        Pull::Up => "up",
        Pull::Down => "down",
        Pull::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use drawbridge_engine::view::LineNameView;

    use super::*;

    #[test]
    fn a_line_stands_behind_its_chip_or_behind_a_colon_of_it() {
        let of =
            |chip: &str, line: Option<&str>| parts(Line { chip: chip.to_owned(), line: line.map(str::to_owned) }).ok();
        let told = |chip: &str, line: &str| Some((chip.to_owned(), line.to_owned()));
        assert_eq!(of("gpiochip0", Some("4")), told("gpiochip0", "4"));
        assert_eq!(of("gpiochip0:RELAY", None), told("gpiochip0", "RELAY"));
        assert_eq!(of("gpio:gpiochip0:RELAY", None), told("gpio:gpiochip0", "RELAY"));
        assert_eq!(of("gpio:gpiochip0", Some("RELAY")), told("gpio:gpiochip0", "RELAY"));
        for none in ["gpiochip0", "gpio:gpiochip0", "gpiochip0:", ":4"] {
            assert_eq!(of(none, None), None, "{none}");
        }
    }

    #[test]
    fn a_name_means_a_line_that_alone_has_it() {
        let name = |number, name: &str| LineNameView { number, name: name.to_owned() };
        let chip = DeviceView {
            place: "gpiochip0".to_owned(),
            lines: vec![name(4, "RELAY"), name(5, "LED"), name(6, "LED"), name(7, "12")],
            ..DeviceView::default()
        };
        let number = |line: &str| number_of(&chip, line).map_err(|fault| fault.to_string());
        assert_eq!((number("RELAY"), number("17"), number("12")), (Ok(4), Ok(17), Ok(12)));
        assert!(number("LED").unwrap_err().contains("several lines named LED: 5, 6"));
        for wrong in ["relay", "", "-1", "99999999999"] {
            number(wrong).unwrap_err();
        }
    }
}
