//! GPIO by the kernel's character devices, which every board has.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Bias, Edge, LineEvent};
use gpiocdev::line::{EdgeDetection, EdgeKind, EventClock, Value};
use gpiocdev::request::{Builder, Request};
use gpiocdev::{Chip, line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::{DrivenLine, Gaps, GpioChip, GpioChips, HardwareFault, Stop, WatchedLine, no_line};
use crate::hardware::access;

/// What the kernel names when somebody else wants the line.
const CONSUMER: &str = "drawbridge";
/// So many lines are asked for their names.
const MOST_NAMED: u32 = 1024;
/// As many changes as the kernel keeps at most.
const KEPT_EVENTS: u32 = 1024;
/// Older kernels wake nobody when a chip goes: so it is looked at that often.
const STEP: Duration = Duration::from_millis(500);

/// The chips of this machine.
pub(super) struct Cdev;

impl GpioChips for Cdev {
    fn found(&self) -> Vec<GpioChip> {
        gpiocdev::chip::chips().unwrap_or_default().iter().filter_map(|path| seen(path)).collect()
    }

    fn read(&self, chip: &GpioChip, line: u32, bias: Bias) -> Result<bool, HardwareFault> {
        let request = asked(chip, line, |ask| ask.as_input().with_bias(bias_of(bias)))?;
        request.value(line).map(is_high).map_err(|fault| failed(&fault))
    }

    fn drive(&self, chip: &GpioChip, line: u32, high: bool) -> Result<Box<dyn DrivenLine>, HardwareFault> {
        let request = asked(chip, line, |ask| ask.as_output(value_of(high)))?;
        Ok(Box::new(Driven { request, line }))
    }

    fn watch(&self, chip: &GpioChip, line: u32, bias: Bias, edge: Edge) -> Result<Box<dyn WatchedLine>, HardwareFault> {
        let since_ns = now_ns();
        let request = asked(chip, line, |ask| {
            ask.as_input()
                .with_bias(bias_of(bias))
                .with_edge_detection(edge_of(edge))
                .with_event_clock(EventClock::Monotonic)
                .with_kernel_event_buffer_size(KEPT_EVENTS)
        })?;
        Ok(Box::new(Watched { request, since_ns, gaps: Gaps::default() }))
    }
}

/// What a chip says of itself; none for one that goes at this very moment.
fn seen(path: &Path) -> Option<GpioChip> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let hangs_on = std::fs::canonicalize(format!("/sys/bus/gpio/devices/{name}")).ok();
    let parent = hangs_on.and_then(|here| Some(here.parent()?.file_name()?.to_string_lossy().into_owned()));
    let parent = parent.unwrap_or_default();
    if let Some(denied) = access::denied(path) {
        return Some(GpioChip { name, label: None, parent, lines: 0, names: Vec::new(), denied: Some(denied) });
    }
    let chip = Chip::from_path(path).ok()?;
    let told = chip.info().ok()?;
    let names = (0..told.num_lines.min(MOST_NAMED)).filter_map(|line| Some((line, chip.line_info(line).ok()?.name)));
    let names = names.filter(|(_, name)| !name.is_empty()).collect();
    let label = Some(told.label).filter(|label| !label.is_empty());
    Some(GpioChip { name, label, parent, lines: told.num_lines, names, denied: None })
}

fn path(chip: &GpioChip) -> PathBuf {
    Path::new("/dev").join(&chip.name)
}

/// Takes a line. `how` says as what.
fn asked(chip: &GpioChip, line: u32, how: impl FnOnce(&mut Builder) -> &mut Builder) -> Result<Request, HardwareFault> {
    if line >= chip.lines {
        return Err(no_line(chip, line));
    }
    let mut ask = Request::builder();
    ask.on_chip(path(chip)).with_consumer(CONSUMER).with_line(line);
    how(&mut ask).request().map_err(|fault| match errno(&fault) {
        Some(Errno::BUSY) => busy(chip, line),
        _ => failed(&fault),
    })
}

/// Takes a line as it is, so that nobody else gets it meanwhile.
pub(super) fn taken_as_is(chip: &GpioChip, line: u32) -> Result<Request, HardwareFault> {
    asked(chip, line, Builder::as_is)
}

fn busy(chip: &GpioChip, line: u32) -> HardwareFault {
    let told = Chip::from_path(path(chip)).and_then(|chip| chip.line_info(line)).ok();
    let consumer = told.map(|told| told.consumer).filter(|consumer| !consumer.is_empty());
    let who = consumer.map_or_else(|| "another program or a driver".to_owned(), |consumer| format!("\"{consumer}\""));
    HardwareFault::new(DeviceFault::Busy, format!("line {line} is used by {who}; end that, or use another line"))
}

struct Driven {
    request: Request,
    line: u32,
}

impl DrivenLine for Driven {
    fn set(&mut self, high: bool) -> Result<(), HardwareFault> {
        self.request.set_value(self.line, value_of(high)).map_err(|fault| failed(&fault))
    }

    fn level(&mut self) -> Result<bool, HardwareFault> {
        self.request.value(self.line).map(is_high).map_err(|fault| failed(&fault))
    }
}

struct Watched {
    request: Request,
    since_ns: u64,
    gaps: Gaps,
}

impl WatchedLine for Watched {
    fn next(&mut self, wait: Duration, stop: &Stop) -> Result<Option<LineEvent>, HardwareFault> {
        let deadline = Instant::now() + wait;
        let line = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let step = Timespec { tv_sec: 0, tv_nsec: left.min(STEP).subsec_nanos().into() };
            let mut both = [PollFd::new(&self.request, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut both, Some(&step)) {
                Ok(0) if left.is_zero() => return Ok(None),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break both[0].revents(),
                Err(fault) => return Err(HardwareFault::new(DeviceFault::Io, fault.to_string())),
            }
        };
        if stop.is_said() {
            return Ok(None);
        }
        if line.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(HardwareFault::new(DeviceFault::Unplugged, "the GPIO chip is gone"));
        }
        let event = self.request.read_edge_event().map_err(|fault| failed(&fault))?;
        self.gaps.saw(event.line_seqno);
        Ok(Some(LineEvent {
            rising: event.kind == EdgeKind::Rising,
            at: Duration::from_nanos(event.timestamp_ns.saturating_sub(self.since_ns)),
        }))
    }

    fn lost(&self) -> u64 {
        self.gaps.lost
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec);
    u64::try_from(nanoseconds).unwrap_or(0)
}

const fn value_of(high: bool) -> Value {
    if high { Value::Active } else { Value::Inactive }
}

fn is_high(value: Value) -> bool {
    value == Value::Active
}

const fn bias_of(bias: Bias) -> Option<line::Bias> {
    match bias {
        Bias::AsIs => None,
        Bias::PullUp => Some(line::Bias::PullUp),
        Bias::PullDown => Some(line::Bias::PullDown),
        Bias::None => Some(line::Bias::Disabled),
    }
}

const fn edge_of(edge: Edge) -> EdgeDetection {
    match edge {
        Edge::Rising => EdgeDetection::RisingEdge,
        Edge::Falling => EdgeDetection::FallingEdge,
        Edge::Both => EdgeDetection::BothEdges,
    }
}

fn errno(fault: &gpiocdev::Error) -> Option<Errno> {
    use gpiocdev_uapi::Error as Call;
    let (gpiocdev::Error::Os(number) | gpiocdev::Error::Uapi(_, Call::Os(number))) = fault else { return None };
    Some(Errno::from_raw_os_error(number.0))
}

fn failed(fault: &gpiocdev::Error) -> HardwareFault {
    let (kind, message) = match errno(fault) {
        Some(Errno::NODEV | Errno::NXIO | Errno::NOENT) => (DeviceFault::Unplugged, "the GPIO chip is gone".to_owned()),
        Some(Errno::ACCESS | Errno::PERM) => {
            (DeviceFault::Denied, "the system does not let this user use the line".to_owned())
        }
        Some(Errno::NOTSUP | Errno::INVAL) => {
            (DeviceFault::Unsupported, "the chip cannot do that with this line; try another pull or line".to_owned())
        }
        _ => (DeviceFault::Io, fault.to_string()),
    };
    HardwareFault::new(kind, message)
}
