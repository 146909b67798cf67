//! Finding and opening serial ports on Linux.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Device, DeviceId, DevicePlace, SerialSettings};

use super::lock::{self, Taken};
use super::sysfs::{self, Found};
use super::tty::{self, Tty};
use super::{SerialLink, SerialPorts, holders};
use crate::hardware::{HardwareFault, access, id, port};

/// The serial ports of a Linux machine.
#[derive(Debug, Clone)]
pub struct Ports {
    sys: PathBuf,
    dev: PathBuf,
    locks: PathBuf,
}

impl Ports {
    /// Returns those of this machine.
    #[must_use]
    pub fn of_system() -> Self {
        Self::beneath("/sys".into(), "/dev".into(), "/var/lock".into())
    }

    /// Returns those that other folders tell of: recorded ones.
    #[must_use]
    pub const fn beneath(sys: PathBuf, dev: PathBuf, locks: PathBuf) -> Self {
        Self { sys, dev, locks }
    }

    fn found(&self, device: &DeviceId) -> Result<Found, HardwareFault> {
        let found = sysfs::look(&self.sys, &self.dev).into_iter().find(|found| found.id == *device);
        found.ok_or_else(|| {
            HardwareFault::new(DeviceFault::Absent, "it is not plugged in now; plug it in and try again")
        })
    }

    fn open_found(&self, device: &DeviceId, settings: &SerialSettings) -> Result<Tty, HardwareFault> {
        let found = self.found(device)?;
        let link = self.open_path(&found.path, Some(found.number), settings)?;
        // Looked up again now that nobody else can take the place: what was opened is what the name says.
        if self.found(device)?.number == found.number {
            return Ok(link);
        }
        link.close();
        Err(another(&found.path))
    }

    fn open_path(&self, path: &Path, number: Option<u64>, settings: &SerialSettings) -> Result<Tty, HardwareFault> {
        let facts = fs::metadata(path).map_err(|fault| tty::opening_fault(path, fault.raw_os_error()))?;
        if number.is_some_and(|number| number != facts.rdev()) {
            return Err(another(path));
        }
        not_a_session(path, facts.rdev())?;
        let told = |fault| with_holder(fault, path, facts.rdev());
        let opened = tty::Opened::open(path).map_err(told)?;
        if opened.number() != Some(facts.rdev()) {
            return Err(another(path));
        }
        opened.lock(path).map_err(told)?;
        if let Some(who) = holders::holder(facts.rdev()) {
            return Err(busy(path, &who));
        }
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let lock = match lock::take(&self.locks, &self.dev, &real) {
            Taken::Ours(lock) => Some(lock),
            Taken::Without => None,
            Taken::Held(who) => return Err(busy(path, &who)),
        };
        Tty::begin(opened, path, settings, lock)
    }
}

impl SerialPorts for Ports {
    fn list(&self, added: &[String]) -> Vec<Device> {
        let mut found: Vec<Device> = sysfs::look(&self.sys, &self.dev).into_iter().map(as_device).collect();
        found.extend(added.iter().filter_map(|path| added_device(path)));
        // A port that the person named by the path by which it is found as well has one name.
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.dedup_by(|one, other| one.id == other.id);
        found
    }

    fn open(
        &self,
        device: &DeviceId,
        added: &[String],
        settings: &SerialSettings,
    ) -> Result<Arc<dyn SerialLink>, HardwareFault> {
        let named = added.iter().find(|path| id::serial_of_path(path) == *device);
        let link = match named {
            Some(path) => {
                // A link is followed as it stands now: the person named the link. What was checked is what is opened.
                let number = port::checked(Path::new(path))?;
                self.open_path(Path::new(path), Some(number), settings)?
            }
            None => self.open_found(device, settings)?,
        };
        Ok(Arc::new(link))
    }
}

fn as_device(found: Found) -> Device {
    Device {
        id: found.id,
        denied: access::denied(&found.path),
        place: DevicePlace::Serial { port: found.path.to_string_lossy().into_owned() },
        description: found.description,
    }
}

fn added_device(path: &str) -> Option<Device> {
    let target = Path::new(path);
    let number = port::checked(target).ok()?;
    let denied = access::denied(target).or_else(|| not_a_session(target, number).err().map(|fault| fault.message));
    Some(Device {
        id: id::serial_of_path(path),
        place: DevicePlace::Serial { port: path.to_owned() },
        // Its path is all that is known of it.
        description: String::new(),
        denied,
    })
}

/// A terminal at which a person types, or a login waits, is no device on the desk: whoever reads it reads the person's own words.
fn not_a_session(path: &Path, number: u64) -> Result<(), HardwareFault> {
    let Some(who) = holders::session(number) else { return Ok(()) };
    let message = format!(
        "{} is the terminal of a session ({who}): it cannot be used as a device as long as that runs",
        path.display()
    );
    Err(HardwareFault::new(DeviceFault::Denied, message))
}

fn another(path: &Path) -> HardwareFault {
    let message = format!("another device is at {} now; share that one if it is meant", path.display());
    HardwareFault::new(DeviceFault::Absent, message)
}

fn busy(path: &Path, who: &str) -> HardwareFault {
    let message = format!("{} is held by {who}; close it there and try again", path.display());
    HardwareFault::new(DeviceFault::Busy, message)
}

/// Says who has it, if that can be told.
fn with_holder(fault: HardwareFault, path: &Path, number: u64) -> HardwareFault {
    if fault.fault != DeviceFault::Busy {
        return fault;
    }
    match holders::holder(number) {
        Some(who) => busy(path, &who),
        // What a program asked for outlives it there, as long as the program at the other end goes on.
        None if holders::is_near_end(number) => HardwareFault::new(
            DeviceFault::Busy,
            format!(
                "{} is held by another program, or one that has ended left it so; close it there, or begin what serves \
                 this pseudo-terminal anew, and try again",
                path.display()
            ),
        ),
        None => fault,
    }
}
