//! Serial ports as the kernel's files tell of them. Reads files beneath two folders and opens no device.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use drawbridge_core::hardware::DeviceId;

use crate::hardware::id::{self, UsbIdentity};
use crate::hardware::words::describe;

/// Folders above a port that are looked at for the USB device it belongs to.
const DEEPEST: usize = 12;
/// The longest text that is taken from a file of the kernel, in bytes.
const LONGEST: usize = 512;

/// A serial port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name for sharing.
    pub id: DeviceId,
    /// Its path, for example `/dev/ttyUSB0`.
    pub path: PathBuf,
    /// The kernel's number for it.
    pub number: u64,
    /// In words, cleaned.
    pub description: String,
}

/// What a port is, before it is known whether another one says the same of itself.
struct Port {
    path: PathBuf,
    number: u64,
    description: String,
    usb: Option<(UsbIdentity, Option<u8>, u32)>,
}

/// Looks which serial ports are there: those with hardware behind them that also have a path. `sys` and `dev` are `/sys` and `/dev`.
#[must_use]
pub fn look(sys: &Path, dev: &Path) -> Vec<Found> {
    let folder = sys.join("class/tty");
    let names = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut ports: Vec<Port> = names.filter_map(|name| port(&name.path(), dev)).collect();
    ports.sort_by(|one, other| one.path.cmp(&other.path));
    let names: Vec<DeviceId> = ports.iter().map(Port::id).collect();
    let twice = |id: &DeviceId| names.iter().filter(|other| *other == id).count() > 1;
    // Cheap adapters all tell the same serial number. Two of them at once are told apart by where they are plugged in, so that a
    // share of one is never a share of both.
    let ids: Vec<DeviceId> =
        names.iter().zip(&ports).map(|(id, port)| if twice(id) { port.id_by_place() } else { id.clone() }).collect();
    let found = ports.into_iter().zip(ids);
    found.map(|(port, id)| Found { id, path: port.path, number: port.number, description: port.description }).collect()
}

impl Port {
    fn id(&self) -> DeviceId {
        match &self.usb {
            Some((usb, interface, port)) => id::serial_of_usb(usb, *interface, *port),
            None => id::serial_of_path(&self.path.to_string_lossy()),
        }
    }

    fn id_by_place(&self) -> DeviceId {
        match &self.usb {
            Some((usb, interface, port)) => {
                id::serial_of_usb(&UsbIdentity { serial: None, ..usb.clone() }, *interface, *port)
            }
            None => self.id(),
        }
    }
}

fn port(entry: &Path, dev: &Path) -> Option<Port> {
    // Consoles, pseudo-terminals and the like have no device behind them.
    let device = fs::canonicalize(entry.join("device")).ok()?;
    // The kernel keeps places for ports that the board does not have: their type is "unknown".
    if text(entry, "type").as_deref() == Some("0") {
        return None;
    }
    let path = dev.join(entry.file_name()?);
    let facts = fs::metadata(&path).ok()?;
    let (major, minor) = parse_number(&text(entry, "dev")?)?;
    let number = rustix::fs::makedev(major, minor);
    // A container shows the ports of the whole machine here and has paths for none or some.
    if !facts.file_type().is_char_device() || facts.rdev() != number {
        return None;
    }
    let (usb, description) = match usb(&device) {
        Some(found) => {
            let number = text(&device, "port_number").and_then(|number| number.parse().ok()).unwrap_or(0);
            let description = usb_words(&found);
            (Some((found.identity, found.interface, number)), description)
        }
        None => (None, built_in_words(&device)),
    };
    Some(Port { path, number, description, usb })
}

/// The USB device above a port.
struct Usb {
    identity: UsbIdentity,
    interface: Option<u8>,
    manufacturer: Option<String>,
    product: Option<String>,
    function: Option<String>,
}

fn usb(device: &Path) -> Option<Usb> {
    let mut interface = None;
    let mut function = None;
    for folder in device.ancestors().take(DEEPEST) {
        if let Some(number) = text(folder, "bInterfaceNumber").filter(|_| interface.is_none()) {
            interface = u8::from_str_radix(&number, 16).ok();
            function = text(folder, "interface");
        }
        let Some(vendor) = text(folder, "idVendor") else { continue };
        let identity = UsbIdentity {
            vendor: u16::from_str_radix(&vendor, 16).ok()?,
            product: u16::from_str_radix(&text(folder, "idProduct")?, 16).ok()?,
            serial: text(folder, "serial"),
            topology: folder.file_name()?.to_string_lossy().into_owned(),
        };
        let (manufacturer, product) = (text(folder, "manufacturer"), text(folder, "product"));
        return Some(Usb { identity, interface, manufacturer, product, function });
    }
    None
}

fn usb_words(usb: &Usb) -> String {
    let serial = usb.identity.serial.as_deref();
    let function = usb.function.as_deref().filter(|function| Some(*function) != usb.product.as_deref());
    let said = describe(&[usb.manufacturer.as_deref(), usb.product.as_deref(), function], serial);
    let ids = format!("{:04x}:{:04x}", usb.identity.vendor, usb.identity.product);
    if said.is_empty() { format!("USB serial port {ids}") } else { said }
}

fn built_in_words(device: &Path) -> String {
    let driver = fs::canonicalize(device.join("driver")).ok();
    let driver = driver.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    // Newer kernels have a port between the terminal and its driver, and that calls itself nothing else.
    let driver = driver.filter(|name| name != "port");
    describe(&[Some("Serial port"), driver.map(|name| format!("({name})")).as_deref()], None)
}

fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn text(folder: &Path, name: &str) -> Option<String> {
    let mut bytes = fs::read(folder.join(name)).ok()?;
    bytes.truncate(LONGEST);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
