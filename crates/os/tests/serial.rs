//! Serial ports over real pseudo-terminals, and the kernel's files as they were recorded.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{DeviceId, DevicePlace, Flow, Parity, SerialSettings};
use drawbridge_os::hardware::serial::{Ports, SerialLink, SerialPorts, sysfs};
use drawbridge_os::hardware::{HardwareFault, Stop, id};
use drawbridge_testkit::serial::Line;
use rustix::termios::{ControlModes, LocalModes, tcgetattr};

/// Long enough for any machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

struct Desk {
    folder: tempfile::TempDir,
    line: Line,
    ports: Ports,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let line = Line::between(folder.path()).unwrap();
        let at = |name: &str| folder.path().join(name);
        let ports = Ports::beneath(at("sys"), at("dev"), at("locks"));
        Self { folder, line, ports }
    }

    fn near(&self) -> String {
        self.line.near().to_str().unwrap().to_owned()
    }

    fn far(&self) -> File {
        File::options().read(true).write(true).open(self.line.far()).unwrap()
    }

    fn open(&self) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        self.open_as(&SerialSettings::default())
    }

    fn open_as(&self, settings: &SerialSettings) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        let near = self.near();
        self.ports.open(&id::serial_of_path(&near), &[near], settings)
    }
}

#[track_caller]
fn fault<T>(result: Result<T, HardwareFault>) -> HardwareFault {
    result.err().unwrap_or_else(|| panic!("it went well"))
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn read_all(link: &dyn SerialLink, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < count {
        let read = link.read(&mut buffer).unwrap().unwrap();
        bytes.extend_from_slice(&buffer[..read]);
    }
    bytes
}

#[test]
fn every_byte_goes_both_ways_as_it_is() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    let mut far = desk.far();
    // Among them what a terminal would take for itself: end of text, delete, XON and XOFF, carriage return.
    let every: Vec<u8> = (0..=255).cycle().take(4 * 256).collect();
    link.write(&every, soon(), &Stop::new().unwrap()).unwrap();
    let mut got = vec![0; every.len()];
    far.read_exact(&mut got).unwrap();
    assert_eq!(got, every);
    far.write_all(&every).unwrap();
    assert_eq!(read_all(&*link, every.len()), every);
}

#[test]
fn the_settings_are_on_the_port_and_it_is_left_as_it_was_found() {
    let desk = Desk::new();
    let look = File::open(desk.line.near()).unwrap();
    let before = tcgetattr(&look).unwrap();
    let settings = SerialSettings { baud: 250_000, stop_bits: 2, flow: Flow::Hardware, ..SerialSettings::default() };
    // Another handle of this very process: it is not another holder.
    let link = desk.open_as(&settings).unwrap();
    let now = tcgetattr(&look).unwrap();
    assert_eq!((now.output_speed(), now.input_speed()), (250_000, 250_000));
    let wanted = ControlModes::CSTOPB | ControlModes::CRTSCTS | ControlModes::CLOCAL | ControlModes::CREAD;
    assert!(now.control_modes.contains(wanted | ControlModes::CS8), "{:?}", now.control_modes);
    assert!(!now.local_modes.intersects(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG));
    link.close();
    let after = tcgetattr(&look).unwrap();
    assert_eq!((after.output_speed(), after.control_modes), (before.output_speed(), before.control_modes));
    desk.open().unwrap();
}

#[test]
fn settings_that_the_port_does_not_take_are_refused_and_named() {
    let desk = Desk::new();
    for (settings, field) in [
        (SerialSettings { data_bits: 7, ..SerialSettings::default() }, "data bits"),
        (SerialSettings { parity: Parity::Even, ..SerialSettings::default() }, "parity"),
    ] {
        let fault = fault(desk.open_as(&settings));
        assert!(fault.fault == DeviceFault::Unsupported && fault.message.contains(field), "{fault:?}");
    }
    desk.open().unwrap();
}

#[test]
fn what_came_before_it_was_opened_is_nobodys() {
    let desk = Desk::new();
    let look = File::open(desk.line.near()).unwrap();
    desk.far().write_all(b"old").unwrap();
    // It has arrived when it can be read.
    let mut ready = [rustix::event::PollFd::new(&look, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut ready, None).unwrap();
    let link = desk.open().unwrap();
    desk.far().write_all(b"new").unwrap();
    assert_eq!(read_all(&*link, 3), b"new");
}

#[test]
fn a_port_is_for_one_at_a_time() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    assert_eq!(fault(desk.open()).fault, DeviceFault::Busy);
    // By another path as well.
    let real = fs::canonicalize(desk.line.near()).unwrap().to_str().unwrap().to_owned();
    let other = desk.ports.open(&id::serial_of_path(&real), &[real], &SerialSettings::default());
    assert_eq!(fault(other).fault, DeviceFault::Busy);
    link.close();
    desk.open().unwrap();
}

/// Another program that holds a terminal until it is ended.
struct Program(Child);

impl Program {
    fn start(script: &str, port: &Path) -> Self {
        let mut child = Command::new("python3")
            .args(["-c", script, port.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 1];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        Self(child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const OPENS: &str =
    "import os, sys; port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); AND; os.write(1, b'x'); sys.stdin.read()";

#[test]
fn a_port_that_another_program_has_is_busy_and_the_program_is_named() {
    let desk = Desk::new();
    for and in [
        "import fcntl, termios; fcntl.ioctl(port, termios.TIOCEXCL)",
        "import fcntl; fcntl.flock(port, fcntl.LOCK_EX)",
        // It merely reads: what comes would go to the one or the other.
        "pass",
    ] {
        let program = Program::start(&OPENS.replace("AND", and), desk.line.near());
        let fault = fault(desk.open());
        assert_eq!(fault.fault, DeviceFault::Busy, "{and}: {fault:?}");
        let named = format!("python3 (process {})", program.0.id());
        assert!(fault.message.contains(&named), "{and}: {fault:?}");
        if and.contains("TIOCEXCL") {
            // Such a wish outlives the program on a pseudo-terminal. On real ports it goes with the last handle.
            let port = File::open(desk.line.near()).unwrap();
            rustix::termios::ioctl_tiocnxcl(&port).unwrap();
        }
    }
    desk.open().unwrap();
}

#[test]
fn other_programs_find_an_open_port_taken() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    let asks = "import fcntl, os, sys\n\
        port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)\n\
        taken = bytearray(4)\n\
        fcntl.ioctl(port, 0x80045440, taken)\n\
        try: fcntl.flock(port, fcntl.LOCK_EX | fcntl.LOCK_NB); locked = 'free'\n\
        except BlockingIOError: locked = 'locked'\n\
        print(taken[0], locked)";
    let ask = || {
        let out = Command::new("python3").args(["-c", asks]).arg(desk.line.near()).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    // Alone by its lock only: a pseudo-terminal would remember the other wish beyond our end.
    assert_eq!(ask(), "0 locked\n");
    link.close();
    assert_eq!(ask(), "0 free\n");
}

#[test]
fn the_terminal_of_a_session_is_never_opened() {
    let desk = Desk::new();
    let takes = "import fcntl, os, sys, termios; os.setsid(); port = os.open(sys.argv[1], os.O_RDWR); \
        fcntl.ioctl(port, termios.TIOCSCTTY, 0); os.close(port); os.write(1, b'x'); sys.stdin.read()";
    let program = Program::start(takes, desk.line.near());
    let fault = fault(desk.open());
    assert_eq!(fault.fault, DeviceFault::Denied, "{fault:?}");
    assert!(fault.message.contains(&format!("(process {})", program.0.id())), "{fault:?}");
    let listed = desk.ports.list(&[desk.near()]);
    assert!(listed[0].denied.as_ref().unwrap().contains("the terminal of a session"));
    drop(program);
    desk.open().unwrap();
}

#[test]
fn consoles_files_and_nothing_are_no_ports() {
    let desk = Desk::new();
    let file = desk.folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, expected) in [
        ("/dev/tty", DeviceFault::Unsupported),
        ("/dev/ptmx", DeviceFault::Unsupported),
        ("/dev/null", DeviceFault::Unsupported),
        (file.to_str().unwrap(), DeviceFault::Unsupported),
        ("/dev/ttyNotThere", DeviceFault::Absent),
    ] {
        let opened = desk.ports.open(&id::serial_of_path(path), &[path.to_owned()], &SerialSettings::default());
        assert_eq!(fault(opened).fault, expected, "{path}");
        assert_eq!(desk.ports.list(&[path.to_owned()]), [], "{path}");
    }
}

#[test]
fn pulling_the_plug_ends_a_read_that_waits() {
    let mut desk = Desk::new();
    let link = desk.open().unwrap();
    let reader = link.clone();
    let reading = std::thread::spawn(move || fault(reader.read(&mut [0; 16])));
    desk.line.unplug();
    assert_eq!(reading.join().unwrap().fault, DeviceFault::Unplugged);
    assert_eq!(fault(link.write(b"x", soon(), &Stop::new().unwrap())).fault, DeviceFault::Unplugged);
    link.close();
    assert_eq!(fault(desk.open()).fault, DeviceFault::Absent);
}

#[test]
fn closing_ends_a_read_and_a_write_that_wait() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    let (reader, writer) = (link.clone(), link.clone());
    let reading = std::thread::spawn(move || reader.read(&mut [0; 16]));
    let writing = std::thread::spawn(move || writer.write(&vec![b'x'; 1 << 20], soon(), &Stop::new().unwrap()));
    // Nobody reads there: the write gets nowhere. It has begun when something is there.
    desk.far().read_exact(&mut [0; 1]).unwrap();
    link.close();
    assert_eq!(reading.join().unwrap(), Ok(None));
    assert_eq!(fault(writing.join().unwrap()).fault, DeviceFault::NotOpen);
    assert_eq!(link.read(&mut [0; 16]), Ok(None));
    desk.open().unwrap();
}

#[test]
fn a_write_that_the_other_side_does_not_take_ends_in_time_and_what_is_left_is_told() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    let fault = fault(link.write(&vec![b'x'; 1 << 20], Instant::now(), &Stop::new().unwrap()));
    assert!(fault.fault == DeviceFault::Timeout && fault.message.contains("1048576 bytes"), "{fault:?}");
    let stop = Stop::new().unwrap();
    let (writer, ends) = (link.clone(), stop.clone());
    let writing = std::thread::spawn(move || writer.write(&vec![b'x'; 1 << 20], soon(), &ends));
    desk.far().read_exact(&mut [0; 1]).unwrap();
    stop.say();
    assert_eq!(writing.join().unwrap().unwrap_err().fault, DeviceFault::NotOpen);
}

#[test]
fn a_pseudo_terminal_has_no_lines_and_says_so() {
    let desk = Desk::new();
    let link = desk.open().unwrap();
    for fault in [fault(link.lines()), fault(link.set_lines(Some(true), None)), fault(link.set_break(true))] {
        assert!(fault.fault == DeviceFault::Unsupported && fault.message.contains("pseudo-terminals"), "{fault:?}");
    }
}

/// The kernel's files for ports, as folders beneath a temporary one. Ports are real pseudo-terminals.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new() -> Self {
        let recorded = Self(tempfile::tempdir().unwrap());
        for folder in ["sys/class/tty", "sys/devices", "dev"] {
            fs::create_dir_all(recorded.at(folder)).unwrap();
        }
        recorded
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), format!("{text}\n")).unwrap();
    }

    /// A port of a USB device: `usb` is where it is plugged in.
    fn usb_port(&self, name: &str, usb: &str, facts: &[(&str, &str)], interface: &str, terminal: &Path) {
        for (file, text) in facts {
            self.write(&format!("sys/devices/{usb}/{file}"), text);
        }
        let at = format!("sys/devices/{usb}/{usb}:1.{interface}");
        self.write(&format!("{at}/bInterfaceNumber"), &format!("0{interface}"));
        self.write(&format!("{at}/{name}/port_number"), "0");
        self.port(name, &format!("{at}/{name}"), terminal);
    }

    fn port(&self, name: &str, device: &str, terminal: &Path) {
        let number = fs::metadata(terminal).unwrap().rdev();
        let class = format!("sys/class/tty/{name}");
        self.write(&format!("{class}/dev"), &format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)));
        fs::create_dir_all(self.at(device)).unwrap();
        symlink(self.at(device), self.at(&format!("{class}/device"))).unwrap();
        symlink(terminal, self.at(&format!("dev/{name}"))).unwrap();
    }

    fn look(&self) -> Vec<(String, String)> {
        let found = sysfs::look(&self.at("sys"), &self.at("dev"));
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        found.iter().map(|found| (name(&found.path), found.description.clone())).collect()
    }

    fn id(&self, name: &str) -> DeviceId {
        let found = sysfs::look(&self.at("sys"), &self.at("dev"));
        found.into_iter().find(|found| found.path.ends_with(name)).unwrap().id
    }

    fn ports(&self) -> Ports {
        Ports::beneath(self.at("sys"), self.at("dev"), self.at("locks"))
    }
}

const FTDI: [(&str, &str); 5] = [
    ("idVendor", "0403"),
    ("idProduct", "6001"),
    ("manufacturer", "FTDI"),
    ("product", "FT232R USB UART A50285BI"),
    ("serial", "A50285BI"),
];
const CLONE: [(&str, &str); 2] = [("idVendor", "1a86"), ("idProduct", "7523")];

#[test]
fn ports_are_found_with_what_they_are_and_without_serial_numbers() {
    let desk = Desk::new();
    let recorded = Recorded::new();
    let (one, two) = (desk.line.near(), desk.line.far());
    recorded.usb_port("ttyUSB0", "1-1.4", &FTDI, "0", one);
    recorded.usb_port("ttyUSB1", "1-1.3", &CLONE, "0", two);
    recorded.port("ttyAMA0", "sys/devices/soc/uart", one);
    fs::create_dir_all(recorded.at("sys/bus/drivers/uart-pl011")).unwrap();
    symlink(recorded.at("sys/bus/drivers/uart-pl011"), recorded.at("sys/devices/soc/uart/driver")).unwrap();
    recorded.port("ttyS0", "sys/devices/pnp0/00:00/00:00:0/00:00:0.0", two);
    fs::create_dir_all(recorded.at("sys/bus/serial-base/drivers/port")).unwrap();
    let between = recorded.at("sys/devices/pnp0/00:00/00:00:0/00:00:0.0/driver");
    symlink(recorded.at("sys/bus/serial-base/drivers/port"), between).unwrap();
    // A place for a port that the board does not have.
    recorded.port("ttyS3", "sys/devices/serial8250", one);
    recorded.write("sys/class/tty/ttyS3/type", "0");
    // A console has no device, and this path belongs to something else.
    recorded.write("sys/class/tty/tty1/dev", "4:1");
    recorded.port("ttyUSB7", "sys/devices/other", one);
    recorded.write("sys/class/tty/ttyUSB7/dev", "188:7");
    // The kernel knows it; this container has no path for it.
    recorded.port("ttyUSB8", "sys/devices/hidden", one);
    fs::remove_file(recorded.at("dev/ttyUSB8")).unwrap();
    // What nobody expects is passed over.
    recorded.port("ttyUSB9", "sys/devices/odd", one);
    recorded.write("sys/class/tty/ttyUSB9/dev", "not a number");

    let named = |port: &str, words: &str| (port.to_owned(), words.to_owned());
    let expected = [
        named("ttyAMA0", "Serial port (uart-pl011)"),
        named("ttyS0", "Serial port"),
        named("ttyUSB0", "FTDI FT232R USB UART"),
        named("ttyUSB1", "USB serial port 1a86:7523"),
    ];
    assert_eq!(recorded.look(), expected);
    let listed = format!("{:?}", recorded.ports().list(&[])).to_lowercase();
    assert!(!listed.contains("a50285bi"), "{listed}");
    assert_eq!(sysfs::look(Path::new("/nowhere"), Path::new("/nowhere")), []);
}

#[test]
fn a_port_keeps_its_name_elsewhere_and_twins_are_told_apart() {
    let desk = Desk::new();
    let (one, two) = (desk.line.near(), desk.line.far());
    let recorded = Recorded::new();
    recorded.usb_port("ttyUSB0", "1-1.4", &FTDI, "0", one);
    let first = recorded.id("ttyUSB0");
    let moved = Recorded::new();
    moved.usb_port("ttyUSB5", "2-3", &FTDI, "0", two);
    assert_eq!(moved.id("ttyUSB5"), first);
    moved.usb_port("ttyUSB6", "2-3", &FTDI, "1", one);
    assert_ne!(moved.id("ttyUSB6"), first, "another interface");
    assert_eq!(moved.id("ttyUSB5"), first);

    // Another one that tells the same serial number: a share of the first covers neither, since nobody can tell which is meant.
    recorded.usb_port("ttyUSB1", "1-1.2", &FTDI, "0", two);
    let names = [recorded.id("ttyUSB0"), recorded.id("ttyUSB1")];
    assert!(names[0] != names[1] && !names.contains(&first), "{names:?}");
}

#[test]
fn a_found_port_is_opened_by_its_name_and_another_one_in_its_place_is_not() {
    let desk = Desk::new();
    let recorded = Recorded::new();
    let (near, far) = (fs::canonicalize(desk.line.near()).unwrap(), fs::canonicalize(desk.line.far()).unwrap());
    recorded.usb_port("ttyUSB0", "1-1.4", &FTDI, "0", &near);
    let id = recorded.id("ttyUSB0");
    let ports = recorded.ports();
    let open = || ports.open(&id, &[], &SerialSettings::default());
    let link = open().unwrap();
    desk.far().write_all(b"hello").unwrap();
    assert_eq!(read_all(&*link, 5), b"hello");
    link.close();

    // The path leads to another terminal now: it was shared as what it is, not as a path.
    fs::remove_file(recorded.at("dev/ttyUSB0")).unwrap();
    symlink(&far, recorded.at("dev/ttyUSB0")).unwrap();
    assert_eq!(fault(open()).fault, DeviceFault::Absent);

    // Another device is plugged in there.
    fs::remove_file(recorded.at("dev/ttyUSB0")).unwrap();
    symlink(&near, recorded.at("dev/ttyUSB0")).unwrap();
    recorded.write("sys/devices/1-1.4/serial", "B60001XX");
    assert_eq!(fault(open()).fault, DeviceFault::Absent);
    recorded.write("sys/devices/1-1.4/serial", "A50285BI");
    open().unwrap();
}

#[test]
fn a_port_named_by_path_follows_its_link_as_it_stands() {
    let desk = Desk::new();
    let other = Desk::new();
    let named = desk.folder.path().join("by-name");
    symlink(desk.line.near(), &named).unwrap();
    let path = named.to_str().unwrap().to_owned();
    let id = id::serial_of_path(&path);
    let open = || desk.ports.open(&id, std::slice::from_ref(&path), &SerialSettings::default());
    open().unwrap().close();
    fs::remove_file(&named).unwrap();
    symlink(other.line.near(), &named).unwrap();
    let link = open().unwrap();
    other.far().write_all(b"there").unwrap();
    assert_eq!(read_all(&*link, 5), b"there");
    drop(link);
    fs::remove_file(&named).unwrap();
    symlink("/dev/null", &named).unwrap();
    assert_eq!(fault(open()).fault, DeviceFault::Unsupported);
    // A path that is no longer among those named is nothing at all.
    let listed = desk.ports.list(std::slice::from_ref(&path));
    assert_eq!(listed, []);
    assert_eq!(fault(desk.ports.open(&id, &[], &SerialSettings::default())).fault, DeviceFault::Absent);
}

#[test]
fn a_port_named_by_path_is_listed_by_it() {
    let desk = Desk::new();
    let near = desk.near();
    let listed = desk.ports.list(std::slice::from_ref(&near));
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id, id::serial_of_path(&near));
    assert_eq!(listed[0].place, DevicePlace::Serial { port: near });
    assert_eq!(listed[0].denied, None);
}

#[test]
fn this_machines_own_ports_can_be_listed() {
    for device in Ports::of_system().list(&[]) {
        let DevicePlace::Serial { port } = &device.place else { panic!("{device:?}") };
        assert!(Path::new(port).exists() && !device.description.is_empty(), "{device:?}");
    }
}
