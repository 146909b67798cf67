//! `gpio`: lines of a GPIO chip through the running engine.

use std::time::Duration;

use drawbridge_core::hardware::DeviceKind;
use drawbridge_engine::device_act::{DeviceAct, DeviceResult};

use crate::args::{EdgeName, GpioVerb, Line, Pull};
use crate::devices::{Desk, ms};
use crate::out;
use crate::place::odd_answer;

/// Acts that wait for nothing.
const SOON: Duration = Duration::from_secs(15);

pub(crate) async fn run(verb: GpioVerb) -> anyhow::Result<u8> {
    match verb {
        GpioVerb::Read { line, pull } => {
            let act = DeviceAct::GpioRead { line: line.number, bias: name_of(pull).to_owned() };
            let DeviceResult::Level { high } = use_line(&line, act, SOON).await? else { return Err(odd_answer()) };
            out::line(if high { "1" } else { "0" })?;
            Ok(0)
        }
        GpioVerb::Write { line, level } => {
            use_line(&line, DeviceAct::GpioWrite { line: line.number, high: level }, SOON).await?;
            Ok(0)
        }
        GpioVerb::Watch { line, edge, count, timeout, pull, json } => {
            let edge = match edge {
                EdgeName::Rising => "rising",
                EdgeName::Falling => "falling",
                EdgeName::Both => "both",
            };
            let timeout_ms = ms(timeout).max(1);
            let act = DeviceAct::GpioWatch {
                line: line.number,
                bias: name_of(pull).to_owned(),
                edge: edge.to_owned(),
                max_events: count,
                timeout_ms,
            };
            let within = Duration::from_millis(timeout_ms.into()) + SOON;
            let DeviceResult::Events { events } = use_line(&line, act, within).await? else { return Err(odd_answer()) };
            for event in &events {
                let way = if event.rising { "rising" } else { "falling" };
                let (seconds, rest) = (event.at_us / 1_000_000, event.at_us % 1_000_000);
                out::line(&if json { serde_json::to_string(event)? } else { format!("{way} {seconds}.{rest:06}") })?;
            }
            let missing = (events.len() as u64) < u64::from(count);
            if missing {
                out::complain(&format!("{} of {count} changes came within {timeout} s", events.len()));
            }
            Ok(u8::from(missing))
        }
        GpioVerb::Release { line } => {
            use_line(&line, DeviceAct::GpioRelease { line: line.number }, SOON).await?;
            Ok(0)
        }
    }
}

async fn use_line(line: &Line, act: DeviceAct, within: Duration) -> anyhow::Result<DeviceResult> {
    Desk::at(&line.named, DeviceKind::Gpio).await?.act(act, within).await
}

const fn name_of(pull: Pull) -> &'static str {
    match pull {
        Pull::AsIs => "as_is",
        Pull::Up => "up",
        Pull::Down => "down",
        Pull::None => "none",
    }
}
