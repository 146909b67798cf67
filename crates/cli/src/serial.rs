//! `serial`: a serial port through the running engine. What is opened stays open between commands.

use std::io::{self, IsTerminal as _, Read};
use std::time::Duration;

use anyhow::Context as _;
use drawbridge_core::hardware::DeviceKind;
use drawbridge_core::{escape_outside_text, hex};
use drawbridge_engine::device_act::{DeviceAct, DeviceBytes, DeviceResult, MAX_IN_BYTES};

use crate::args::{FlowName, ParityName, SerialLines, SerialOpen, SerialRead, SerialVerb, SerialWrite};
use crate::coded::{USAGE, coded};
use crate::devices::{Desk, ms};
use crate::out;
use crate::place::odd_answer;

/// What goes out in one act. Small enough that a person who is asked can read all of it.
const PART: usize = 16 * 1024;
/// A slow line takes so long for a part.
const WRITE_WITHIN: Duration = Duration::from_secs(600);
/// Acts that wait for nothing.
const SOON: Duration = Duration::from_secs(15);

pub(crate) async fn run(verb: SerialVerb) -> anyhow::Result<u8> {
    match verb {
        SerialVerb::Open(args) => open(args).await,
        SerialVerb::Write(args) => write(args).await,
        SerialVerb::Read(args) => read(args).await,
        SerialVerb::Lines(args) => lines(args).await,
        SerialVerb::Close(named) => {
            Desk::at(&named, DeviceKind::Serial).await?.act(DeviceAct::SerialClose, SOON).await?;
            Ok(0)
        }
    }
}

async fn open(args: SerialOpen) -> anyhow::Result<u8> {
    let parity = match args.parity {
        ParityName::None => "none",
        ParityName::Even => "even",
        ParityName::Odd => "odd",
    };
    let flow = match args.flow {
        FlowName::None => "none",
        FlowName::Software => "software",
        FlowName::Hardware => "hardware",
    };
    let act = DeviceAct::SerialOpen {
        baud: args.baud,
        data_bits: args.data_bits,
        parity: parity.to_owned(),
        stop_bits: args.stop_bits,
        flow: flow.to_owned(),
    };
    let mut desk = Desk::at(&args.named, DeviceKind::Serial).await?;
    if args.hold {
        return desk.hold(act, DeviceAct::SerialClose, SOON).await;
    }
    desk.act(act, SOON).await?;
    Ok(0)
}

async fn write(args: SerialWrite) -> anyhow::Result<u8> {
    let SerialWrite { named, text, hex, file, newline } = args;
    let waits = text.as_deref() == Some("-");
    let source: Box<dyn Read + Send> = match (text, hex, file) {
        (Some(text), _, _) if text == "-" => Box::new(io::stdin()),
        (Some(text), _, _) => Box::new(io::Cursor::new(text.into_bytes())),
        (None, Some(hex), _) => Box::new(io::Cursor::new(hex.0)),
        (None, None, Some(path)) => {
            let cannot = || format!("{} cannot be read, so nothing was written", path.display());
            Box::new(std::fs::File::open(&path).with_context(cannot)?)
        }
        (None, None, None) => return Err(coded(USAGE, anyhow::anyhow!("say what to write"))),
    };
    let end = newline.map(super::args::Newline::bytes).unwrap_or_default();
    let mut source = source.chain(end);
    let mut desk = Desk::at(&named, DeviceKind::Serial).await?;
    let mut written = 0_u64;
    loop {
        // What is read may be a pipe that gives nothing for long.
        let (back, part) = tokio::task::spawn_blocking(move || {
            let part = part_of(&mut source, waits);
            (source, part)
        })
        .await?;
        source = back;
        let part = part.context("what is to be written cannot be read")?;
        if part.is_empty() {
            break;
        }
        let so_far = |fault: anyhow::Error| anyhow::anyhow!("{fault:#} Before that, {written} bytes were written.");
        let act = DeviceAct::SerialWrite { data: DeviceBytes::of(&part) };
        match desk.act(act, WRITE_WITHIN).await {
            Ok(DeviceResult::Written { bytes }) => written += bytes,
            Ok(_) => return Err(odd_answer()),
            Err(fault) if written > 0 => return Err(so_far(fault)),
            Err(fault) => return Err(fault),
        }
    }
    if written == 0 {
        return Err(coded(USAGE, anyhow::anyhow!("there was nothing to write")));
    }
    Ok(0)
}

/// Takes the next part; empty at the end. What `waits` for somebody to type or say something gives what there is, however little.
fn part_of(source: &mut impl Read, waits: bool) -> io::Result<Vec<u8>> {
    let mut part = Vec::new();
    if !waits {
        source.take(PART as u64).read_to_end(&mut part)?;
        return Ok(part);
    }
    part.resize(PART, 0);
    let count = loop {
        match source.read(&mut part) {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    part.truncate(count);
    Ok(part)
}

async fn read(args: SerialRead) -> anyhow::Result<u8> {
    let until = args.until.map(String::into_bytes).or(args.until_hex.map(|bytes| bytes.0));
    if until.as_ref().is_some_and(Vec::is_empty) {
        return Err(coded(USAGE, anyhow::anyhow!("the text to read until must not be empty")));
    }
    let wanted = until.is_some() || args.length.is_some();
    let act = DeviceAct::SerialRead {
        until: until.as_deref().map(DeviceBytes::of),
        max_bytes: args.length.unwrap_or(MAX_IN_BYTES),
        timeout_ms: ms(args.timeout),
    };
    let within = Duration::from_millis(ms(args.timeout).into()) + SOON;
    let result = Desk::at(&args.named, DeviceKind::Serial).await?.act(act, within).await?;
    if args.json {
        out::line(&serde_json::to_string(&result)?)?;
    }
    let DeviceResult::Read { data, ended, lost, .. } = result else { return Err(odd_answer()) };
    if !args.json {
        let bytes = data.bytes().ok_or_else(odd_answer)?;
        print(&bytes, args.hex)?;
        if lost > 0 {
            out::complain(&format!("{lost} bytes before these were lost, since nobody read them in time"));
        }
    }
    if wanted && ended == "timeout" {
        out::complain(&format!("it did not come within {} s", args.timeout));
        return Ok(1);
    }
    Ok(0)
}

/// Prints what came in: as it is, or so that it does nothing to a terminal.
fn print(bytes: &[u8], hex: bool) -> anyhow::Result<()> {
    if hex {
        return Ok(out::line(&hex::encode(bytes))?);
    }
    let printed =
        if io::stdout().is_terminal() { out::bytes(for_terminal(bytes).as_bytes()) } else { out::bytes(bytes) };
    Ok(printed?)
}

/// Lines stay lines; everything else that a terminal would act on is shown as what it is.
fn for_terminal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(line) => format!("{}\n", escape_outside_text(line.strip_suffix('\r').unwrap_or(line))),
        None => format!("{}\n", escape_outside_text(line)),
    });
    lines.collect()
}

async fn lines(args: SerialLines) -> anyhow::Result<u8> {
    let act = DeviceAct::SerialLines { dtr: args.dtr, rts: args.rts, break_ms: args.break_ms };
    let result = Desk::at(&args.named, DeviceKind::Serial).await?.act(act, SOON).await?;
    let DeviceResult::Lines { cts, dsr, ring, carrier } = result else { return Err(odd_answer()) };
    if args.json {
        out::line(&serde_json::to_string(&result)?)?;
        return Ok(0);
    }
    let on = |on: bool| if on { "on" } else { "off" };
    out::line(&format!("CTS {}, DSR {}, RI {}, DCD {}", on(cts), on(dsr), on(ring), on(carrier)))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_lines_and_nothing_to_act_on() {
        assert_eq!(for_terminal(b"ok\r\nT:20\n"), "ok\nT:20\n");
        let shown = for_terminal(b"\x1b[2Jgone\xff");
        assert!(!shown.contains('\u{1b}') && shown.contains("[2Jgone"), "{shown}");
    }

    #[test]
    fn a_long_source_goes_out_in_parts_with_its_end() {
        let text = vec![b'x'; PART + 5];
        let mut source = io::Cursor::new(text).chain(&b"\r\n"[..]);

        let parts: Vec<usize> = std::iter::from_fn(|| {
            let part = part_of(&mut source, false).unwrap();
            (!part.is_empty()).then_some(part.len())
        })
        .collect();

        assert_eq!(parts, [PART, 7]);
    }
}
