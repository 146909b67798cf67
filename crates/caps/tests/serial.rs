//! Serial ports as the capability uses them, over real pseudo-terminals.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use drawbridge_caps::hardware::{Hardware, System};
use drawbridge_caps::{Capability as _, RunCtx};
use drawbridge_core::hardware::{
    DeviceId, HardwareAct, HardwareOp, HardwareOutcome, LineChange, ReadEnd, SerialAct, SerialRead, SerialSettings,
};
use drawbridge_core::{DeviceFault, Limits, LinkId, OpError, Operation, Outcome, Power, PowerMode, SystemClock};
use drawbridge_os::hardware::serial::Ports;
use drawbridge_os::hardware::{gpio, id, usb};
use drawbridge_policy::{Permit, PolicyState, SharedDevice, Verdict, authorize};
use drawbridge_testkit::serial::Line;
use tokio_util::sync::CancellationToken;

/// Long enough for any machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);
const CHAT: LinkId = LinkId::new(7);
const OTHER: LinkId = LinkId::new(8);

struct Desk {
    folder: tempfile::TempDir,
    line: Line,
    hardware: Hardware,
    port: DeviceId,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let line = Line::between(folder.path()).unwrap();
        let near = line.near().to_str().unwrap().to_owned();
        let at = |name: &str| folder.path().join(name);
        let serial = Arc::new(Ports::beneath(at("sys"), at("dev"), at("locks")));
        let system = System { serial, usb: usb::of_system(), gpio: gpio::of_system() };
        let hardware = Hardware::with(Arc::new(SystemClock), system);
        let port = id::serial_of_path(&near);
        assert!(hardware.look(&[near]).iter().any(|device| device.id == port));
        Self { folder, line, hardware, port }
    }

    async fn opened() -> Self {
        let desk = Self::new();
        assert!(desk.act(SerialAct::Open(SerialSettings::default())).await.unwrap() == HardwareOutcome::Done);
        desk
    }

    fn far(&self) -> File {
        File::options().read(true).write(true).open(self.line.far()).unwrap()
    }

    async fn act(&self, act: SerialAct) -> Result<HardwareOutcome, OpError> {
        self.act_as(CHAT, act, CancellationToken::new()).await
    }

    async fn act_as(
        &self,
        holder: LinkId,
        act: SerialAct,
        cancel: CancellationToken,
    ) -> Result<HardwareOutcome, OpError> {
        run(self.hardware.clone(), self.port.clone(), holder, act, cancel).await
    }

    /// Begins an act that goes on by itself.
    fn begin(
        &self,
        act: SerialAct,
        cancel: &CancellationToken,
    ) -> tokio::task::JoinHandle<Result<HardwareOutcome, OpError>> {
        tokio::spawn(run(self.hardware.clone(), self.port.clone(), CHAT, act, cancel.clone()))
    }

    async fn read(&self, until: Option<&[u8]>, max_bytes: u32) -> (Vec<u8>, ReadEnd, u64) {
        match self.act(read(until, max_bytes, PATIENCE)).await.unwrap() {
            HardwareOutcome::Read(got) => (got.bytes, got.ended, got.waiting),
            _ => panic!("another outcome"),
        }
    }
}

async fn run(
    hardware: Hardware,
    device: DeviceId,
    holder: LinkId,
    act: SerialAct,
    cancel: CancellationToken,
) -> Result<HardwareOutcome, OpError> {
    let ctx =
        RunCtx { root: None, limits: Limits::default(), cancel, shown: None, holder, pieces: None, computer: None };
    match hardware.run(permit(device, act), ctx).await? {
        Outcome::Hardware(outcome) => Ok(outcome),
        other => panic!("{other:?}"),
    }
}

fn permit(device: DeviceId, act: SerialAct) -> Permit {
    let mut state = PolicyState::defaults();
    state.modes = BTreeMap::from([(Power::Hardware, PowerMode::Allowed)]);
    state.devices.insert(device.clone(), SharedDevice { label: "it".to_owned(), at_ms: 0 });
    match authorize(&state, Operation::Hardware(HardwareOp { device, act: HardwareAct::Serial(act), hold: None }), None)
    {
        Verdict::Allowed(permit) => permit,
        Verdict::Ask(_) | Verdict::Denied(..) => panic!("not allowed"),
    }
}

fn read(until: Option<&[u8]>, max_bytes: u32, timeout: Duration) -> SerialAct {
    SerialAct::Read(SerialRead { until: until.map(<[u8]>::to_vec), max_bytes, timeout })
}

fn write(bytes: &[u8]) -> SerialAct {
    SerialAct::Write { bytes: bytes.to_vec() }
}

#[track_caller]
fn fault(result: Result<HardwareOutcome, OpError>) -> (DeviceFault, String) {
    match result {
        Err(OpError::Device { fault, message, .. }) => (fault, message),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it went well"),
    }
}

/// Threads of this process that take in what comes by a port. The test runner gives each test a process of its own.
fn readers() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    threads
        .filter(|thread| fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "serial-port\n"))
        .count()
}

fn handles() -> usize {
    let handles = fs::read_dir("/proc/self/fd").unwrap().flatten();
    handles.filter(|handle| fs::read_link(handle.path()).is_ok_and(|target| target.starts_with("/dev/pts"))).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_is_opened_written_read_and_closed() {
    let desk = Desk::opened().await;
    let mut far = desk.far();
    let held = desk.hardware.held();
    assert_eq!((held[0].device.clone(), held[0].holder, held[0].how.as_str()), (desk.port.clone(), CHAT, "9600 8N1"));

    let every: Vec<u8> = (0..=255).collect();
    let written = desk.act(write(&every)).await.unwrap();
    assert!(written == HardwareOutcome::Written { bytes: 256 });
    let mut got = vec![0; 256];
    far.read_exact(&mut got).unwrap();
    assert_eq!(got, every);

    far.write_all(b"login: \r\n> rest").unwrap();
    assert_eq!(desk.read(Some(b"\r\n> "), 100).await.0, b"login: \r\n> ");
    assert_eq!(desk.read(None, 2).await.0, b"re");
    far.write_all(&every).unwrap();
    let (bytes, ended, _) = desk.read(None, 258).await;
    assert_eq!((bytes, ended), ([b"st".as_slice(), &every].concat(), ReadEnd::Length));
    let HardwareOutcome::Read(nothing) = desk.act(read(Some(b"x"), 9, Duration::from_millis(1))).await.unwrap() else {
        panic!("another outcome")
    };
    assert_eq!((nothing.bytes.len(), nothing.ended, nothing.lost), (0, ReadEnd::Timeout, 0));

    desk.act(SerialAct::Close).await.map(|_| ()).unwrap();
    assert_eq!(desk.hardware.held(), []);
    for act in [write(b"x"), read(None, 1, PATIENCE), SerialAct::Lines(LineChange::default()), SerialAct::Close] {
        assert_eq!(fault(desk.act(act).await).0, DeviceFault::NotOpen);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_holder_can_do_nothing_with_an_open_port() {
    let desk = Desk::opened().await;
    let open = || SerialAct::Open(SerialSettings::default());
    for act in [open(), write(b"x"), read(None, 1, PATIENCE), SerialAct::Lines(LineChange::default()), SerialAct::Close]
    {
        let (kind, message) = fault(desk.act_as(OTHER, act, CancellationToken::new()).await);
        assert!(kind == DeviceFault::Busy && message.contains("held by another chat"), "{message}");
    }
    assert_eq!(fault(desk.act(open()).await).0, DeviceFault::AlreadyOpen);
    desk.hardware.close_of(OTHER);
    assert_eq!(desk.hardware.held().len(), 1, "it is not theirs");
    desk.hardware.close_of(CHAT);
    desk.act_as(OTHER, open(), CancellationToken::new()).await.map(|_| ()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_read_takes_no_byte() {
    let desk = Desk::opened().await;
    desk.far().write_all(b"half a ").unwrap();
    let cancel = CancellationToken::new();
    let reading = desk.begin(read(Some(b"\n"), 100, PATIENCE), &cancel);
    tokio::task::yield_now().await;
    cancel.cancel();
    assert!(matches!(reading.await.unwrap(), Err(OpError::Cancelled)));
    desk.far().write_all(b"line\nrest").unwrap();
    assert_eq!(desk.read(Some(b"\n"), 100).await.0, b"half a line\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_write_ends_and_the_port_stays_usable() {
    let desk = Desk::opened().await;
    let cancel = CancellationToken::new();
    let writing = desk.begin(write(&vec![b'x'; 1 << 20]), &cancel);
    desk.far().read_exact(&mut [0; 1]).unwrap();
    cancel.cancel();
    assert!(matches!(writing.await.unwrap(), Err(OpError::Cancelled)));
    // socat carries nothing back as long as it is stuck with what had left.
    let mut taker = desk.far();
    std::thread::spawn(move || std::io::copy(&mut taker, &mut std::io::sink()));
    desk.far().write_all(b"still here\n").unwrap();
    assert_eq!(desk.read(Some(b"\n"), 100).await.0, b"still here\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn pulling_the_plug_ends_what_waits_and_leaves_nothing_open() {
    let mut desk = Desk::opened().await;
    // A thread names itself when it has begun.
    while readers() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!((readers(), handles()), (1, 2));
    let reading = desk.begin(read(Some(b"never"), 100, PATIENCE), &CancellationToken::new());
    desk.line.unplug();
    let (kind, message) = fault(reading.await.unwrap());
    assert!(kind == DeviceFault::Unplugged && message.contains("plug it in"), "{message}");
    assert_eq!(desk.hardware.held(), []);
    assert_eq!((readers(), handles()), (0, 0));
    assert_eq!(fault(desk.act(write(b"x")).await).0, DeviceFault::NotOpen);
    assert_eq!(fault(desk.act(SerialAct::Open(SerialSettings::default())).await).0, DeviceFault::Absent);
    for end in [desk.line.near(), desk.line.far()] {
        let _ = fs::remove_file(end);
    }
    desk.line = Line::between(desk.folder.path()).unwrap();
    desk.act(SerialAct::Open(SerialSettings::default())).await.map(|_| ()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_everything_ends_what_waits_and_leaves_no_thread() {
    let desk = Desk::opened().await;
    let never = CancellationToken::new();
    let reading = desk.begin(read(Some(b"never"), 100, PATIENCE), &never);
    let writing = desk.begin(write(&vec![b'x'; 1 << 20]), &never);
    desk.far().read_exact(&mut [0; 1]).unwrap();
    let hardware = desk.hardware.clone();
    tokio::task::spawn_blocking(move || hardware.close_all()).await.unwrap();
    assert_eq!((readers(), handles()), (0, 0), "closed when it returns");
    for task in [reading, writing] {
        let (kind, message) = fault(task.await.unwrap());
        assert_eq!((kind, message.as_str()), (DeviceFault::NotOpen, "it was closed meanwhile"));
    }
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_capability_closes_what_is_open() {
    let desk = Desk::opened().await;
    let Desk { line, hardware, folder, .. } = desk;
    drop(hardware);
    assert_eq!((readers(), handles()), (0, 0));
    drop((line, folder));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_reads_in_time_is_lost_from_the_front_and_counted() {
    const MIB: usize = 1024 * 1024;
    let desk = Desk::opened().await;
    let mut far = desk.far();
    far.write_all(b"first").unwrap();
    far.write_all(&vec![b'.'; MIB]).unwrap();
    far.write_all(b"END").unwrap();
    let end = read(Some(b"END"), u32::try_from(MIB).unwrap(), PATIENCE);
    // It may have come between two reads or be lost: that is up to the machine.
    let HardwareOutcome::Read(got) = desk.act(end).await.unwrap() else { panic!("another outcome") };
    let more = if got.ended == ReadEnd::Pattern { 0 } else { desk.read(Some(b"END"), 100).await.0.len() };
    assert_eq!(got.lost as usize + got.bytes.len() + more, MIB + 8, "every byte is read or counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_without_lines_says_so_and_goes_on() {
    let desk = Desk::opened().await;
    for change in [
        LineChange::default(),
        LineChange { dtr: Some(false), ..LineChange::default() },
        LineChange { send_break: Some(Duration::from_millis(1)), ..LineChange::default() },
    ] {
        assert_eq!(fault(desk.act(SerialAct::Lines(change)).await).0, DeviceFault::Unsupported);
    }
    desk.act(write(b"x")).await.map(|_| ()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_out_of_bounds_are_named() {
    let desk = Desk::new();
    let settings = SerialSettings::default();
    let (second, kib) = (Duration::from_secs(1), vec![b'x'; 1025]);
    for (field, act) in [
        ("baud", SerialAct::Open(SerialSettings { baud: 49, ..settings })),
        ("baud", SerialAct::Open(SerialSettings { baud: 4_000_001, ..settings })),
        ("data_bits", SerialAct::Open(SerialSettings { data_bits: 9, ..settings })),
        ("data_bits", SerialAct::Open(SerialSettings { data_bits: 4, ..settings })),
        ("stop_bits", SerialAct::Open(SerialSettings { stop_bits: 3, ..settings })),
        ("bytes", write(&vec![0; (1 << 20) + 1])),
        ("bytes", write(b"")),
        ("max_bytes", read(None, 0, second)),
        ("max_bytes", read(None, (1 << 20) + 1, second)),
        ("timeout", read(None, 1, 61 * second)),
        ("until", read(Some(b""), 1, second)),
        ("until", read(Some(&kib), 1, second)),
        ("send_break", SerialAct::Lines(LineChange { send_break: Some(6 * second), ..LineChange::default() })),
        ("send_break", SerialAct::Lines(LineChange { send_break: Some(Duration::ZERO), ..LineChange::default() })),
    ] {
        let Err(OpError::InvalidPayload(fault)) = desk.act(act).await else { panic!("{field}") };
        assert_eq!(fault.field, field, "{fault:?}");
    }
    assert_eq!(desk.hardware.held(), []);
}
