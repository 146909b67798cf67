//! What may be asked of USB devices, as a closed list. No I/O.
//!
//! A person who shares a device shares an instrument or a board, not their keyboard and not the files on a disk: typing beside the
//! switch for input, or reading a disk around the attached folder, would break what Drawbridge promises. So the interfaces that may
//! be used are listed by their class, and whatever is not on the list is guarded: it is seen, and no transfer reaches it. A device
//! as a whole gets requests that could concern all its parts only when none of them is guarded. What a device does behind
//! an interface of its maker's own kind nobody can tell from outside.

use std::fmt;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::UsbEndpoint;

use super::{Setup, UsbDevice, UsbFunction};
use crate::hardware::HardwareFault;

/// Why an interface is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarded {
    /// Keyboards, mice, security keys and others that type or point.
    Input,
    /// Disks, sticks, card readers.
    Storage,
    /// Cameras and phones that give their files.
    Pictures,
    /// Printers.
    Printer,
    /// Smart cards and security keys.
    SmartCard,
    /// Microphones and loudspeakers.
    Sound,
    /// Cameras.
    Video,
    /// Network adapters and modems that give a network.
    Network,
    /// Bluetooth and other radio.
    Radio,
    /// Hubs.
    Hub,
    /// New firmware for a device that has a guarded interface beside it.
    Firmware,
    /// Any other kind.
    Other,
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "a keyboard, a mouse, a security key or another device that types or points",
            Self::Storage => "a disk, whose files would be read around the attached folder",
            Self::Pictures => "a camera or phone, whose files would be read around the attached folder",
            Self::Printer => "a printer",
            Self::SmartCard => "a smart card or security key",
            Self::Sound => "a microphone or loudspeaker",
            Self::Video => "a camera",
            Self::Network => "a network adapter",
            Self::Radio => "a Bluetooth or other radio adapter",
            Self::Hub => "a hub",
            Self::Firmware => "the way to new firmware for a device with such a part",
            Self::Other => "of a kind that is not on the list of what may be used",
        })
    }
}

/// Judges one class, subclass and protocol. None: it may be used.
#[must_use]
pub const fn class(class: [u8; 3]) -> Option<Guarded> {
    match class {
        // Modems and serial ports, the data beside them, health and diagnostic instruments, firmware, infrared, test and
        // measurement, and whatever its maker alone defines.
        [0x02, 0x01..=0x03, _] | [0x0a | 0x0f | 0xdc | 0xff, _, _] | [0xfe, 0x01..=0x03, _] => None,
        [0x01 | 0x10, _, _] => Some(Guarded::Sound),
        [0x02, _, _] => Some(Guarded::Network),
        [0x03, _, _] => Some(Guarded::Input),
        [0x06, _, _] => Some(Guarded::Pictures),
        [0x07, _, _] => Some(Guarded::Printer),
        [0x08, _, _] => Some(Guarded::Storage),
        [0x09, _, _] => Some(Guarded::Hub),
        [0x0b | 0x0d, _, _] => Some(Guarded::SmartCard),
        [0x0e, _, _] => Some(Guarded::Video),
        [0xe0, _, _] => Some(Guarded::Radio),
        _ => Some(Guarded::Other),
    }
}

/// Judges an interface as a part of its device. None: it may be used.
#[must_use]
pub fn interface(device: &UsbDevice, number: u8) -> Option<Guarded> {
    let one = device.functions.iter().find(|one| one.number == number)?;
    of_whole(device.class).or_else(|| alone(one)).or_else(|| beside(device, one))
}

/// Some devices tell their kind as a whole, and their interfaces are of the maker's own kind. Four classes say that the interfaces
/// tell it.
const fn of_whole(whole: [u8; 3]) -> Option<Guarded> {
    match whole[0] {
        0x00 | 0x02 | 0xef | 0xff => None,
        _ => class(whole),
    }
}

/// An interface is what any of its settings is.
fn alone(one: &UsbFunction) -> Option<Guarded> {
    std::iter::once(&one.class).chain(&one.other_classes).find_map(|one| class(*one))
}

/// Two kinds belong to what stands beside them: data of a network adapter, and firmware.
fn beside(device: &UsbDevice, one: &UsbFunction) -> Option<Guarded> {
    let mut others = device.functions.iter().filter_map(alone);
    match one.class {
        [0x0a, _, _] => others.find(|kind| *kind == Guarded::Network),
        [0xfe, 0x01, _] => others.next().map(|_| Guarded::Firmware),
        _ => None,
    }
}

/// The first guarded interface of a device, if it has one, by number and kind.
#[must_use]
pub fn first(device: &UsbDevice) -> Option<(u8, Guarded)> {
    device.functions.iter().find_map(|one| Some((one.number, interface(device, one.number)?)))
}

/// Something that may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// A transfer on the default pipe; with the interface that it concerns, which is claimed for it.
    Control(Option<u8>),
    /// Ends the stall of an end point of this interface. The system does it, since it keeps books of its own.
    ClearHalt {
        /// The interface.
        interface: u8,
        /// The end point.
        endpoint: u8,
    },
}

/// Says why no part of a device may be used; none when one may, or when nobody can tell yet.
#[must_use]
pub fn wholly(device: &UsbDevice) -> Option<String> {
    let (_, kind) = first(device).filter(|_| !any_open(device))?;
    Some(format!("agents never use it: it is {kind}"))
}

const IN: u8 = 0x80;
const STANDARD: u8 = 0;
const RESERVED: u8 = 3;

/// Judges a control transfer.
///
/// # Errors
/// `Refused`: guarded, or it would change the device for everybody. `Unsupported`: there is no such interface or end point.
pub fn control(device: &UsbDevice, setup: Setup, goes_in: bool) -> Result<Allowed, HardwareFault> {
    let kind = (setup.request_type >> 5) & 0b11;
    if kind == RESERVED {
        return Err(unsupported("its type is reserved"));
    }
    if (setup.request_type & IN != 0) != goes_in {
        return Err(unsupported("its direction bit and its data disagree"));
    }
    let [low, _] = setup.index.to_le_bytes();
    match setup.request_type & 0x1f {
        0 => whole(device, setup, kind),
        1 => {
            may_use(device, low)?;
            // Get status, get descriptor, get interface.
            if kind == STANDARD && !(goes_in && matches!(setup.request, 0 | 6 | 10)) {
                return Err(changes(setup.request));
            }
            Ok(Allowed::Control(Some(low)))
        }
        2 => {
            let interface = owner(device, low)?;
            may_use(device, interface)?;
            match (kind, setup.request, setup.value) {
                (STANDARD, 1, 0) if !goes_in => Ok(Allowed::ClearHalt { interface, endpoint: low }),
                (STANDARD, 0, _) if goes_in => Ok(Allowed::Control(Some(interface))),
                (STANDARD, other, _) => Err(changes(other)),
                _ => Ok(Allowed::Control(Some(interface))),
            }
        }
        3 => whole(device, setup, kind),
        _ => Err(unsupported("its recipient is reserved")),
    }
}

/// What concerns the device as a whole.
fn whole(device: &UsbDevice, setup: Setup, kind: u8) -> Result<Allowed, HardwareFault> {
    let guarded = first(device);
    if let Some((number, kind)) = guarded.filter(|_| !any_open(device)) {
        return Err(refused(number, kind));
    }
    if kind == STANDARD {
        // Get status, get descriptor, get configuration.
        let reads = setup.request_type == IN && matches!(setup.request, 0 | 6 | 8);
        return if reads { Ok(Allowed::Control(None)) } else { Err(changes(setup.request)) };
    }
    match guarded {
        None if device.functions.is_empty() => Err(HardwareFault::new(
            DeviceFault::Refused,
            "what the device is cannot be told, since the system has not set it up; plug it in again",
        )),
        Some((number, kind)) => Err(HardwareFault::new(
            DeviceFault::Refused,
            format!(
                "requests to the device as a whole are refused, since its interface {number} is {kind}; requests to one of its \
                 other interfaces are possible"
            ),
        )),
        None => Ok(Allowed::Control(None)),
    }
}

fn any_open(device: &UsbDevice) -> bool {
    device.functions.is_empty() || device.functions.iter().any(|one| interface(device, one.number).is_none())
}

/// Judges a transfer by an end point, and returns it with the interface that is claimed for it.
///
/// # Errors
/// `Refused`: guarded. `Unsupported`: there is no such end point, or one that takes no bulk or interrupt transfers.
pub fn transfer(device: &UsbDevice, address: u8, goes_in: bool) -> Result<(u8, UsbEndpoint), HardwareFault> {
    if (address & IN != 0) != goes_in {
        return Err(unsupported("the end point's direction bit and the data disagree"));
    }
    let found = device.functions.iter().find_map(|one| {
        let endpoint = one.endpoints.iter().find(|endpoint| endpoint.address == address)?;
        Some((one.number, endpoint.clone()))
    });
    let (interface, endpoint) = found.ok_or_else(|| no_endpoint(device, address))?;
    may_use(device, interface)?;
    if !matches!(endpoint.transfer, "bulk" | "interrupt") {
        return Err(unsupported(&format!("the end point 0x{address:02x} is {}", endpoint.transfer)));
    }
    Ok((interface, endpoint))
}

fn may_use(device: &UsbDevice, number: u8) -> Result<(), HardwareFault> {
    if !device.functions.iter().any(|one| one.number == number) {
        let there: Vec<String> = device.functions.iter().map(|one| one.number.to_string()).collect();
        return Err(unsupported(&format!("there is no interface {number}; there are: {}", there.join(", "))));
    }
    interface(device, number).map_or(Ok(()), |kind| Err(refused(number, kind)))
}

/// The interface that an end point belongs to; the default pipe belongs to none.
fn owner(device: &UsbDevice, address: u8) -> Result<u8, HardwareFault> {
    let owns = |one: &&UsbFunction| one.endpoints.iter().any(|endpoint| endpoint.address == address);
    device.functions.iter().find(owns).map(|one| one.number).ok_or_else(|| no_endpoint(device, address))
}

fn no_endpoint(device: &UsbDevice, address: u8) -> HardwareFault {
    let all = device.functions.iter().flat_map(|one| &one.endpoints);
    let there: Vec<String> = all.map(|one| format!("0x{:02x}", one.address)).collect();
    unsupported(&format!("there is no end point 0x{address:02x}; there are: {}", there.join(", ")))
}

fn refused(number: u8, kind: Guarded) -> HardwareFault {
    HardwareFault::new(
        DeviceFault::Refused,
        format!(
            "interface {number} is {kind}; Drawbridge never lets an agent use such a part, whoever shares the device"
        ),
    )
}

fn changes(request: u8) -> HardwareFault {
    HardwareFault::new(
        DeviceFault::Refused,
        format!(
            "the standard request 0x{request:02x} could change the device for every program; only reading its descriptors and \
             states, and ending the stall of an end point, is possible"
        ),
    )
}

fn unsupported(why: &str) -> HardwareFault {
    HardwareFault::new(DeviceFault::Unsupported, format!("the request cannot be made: {why}"))
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
