//! What is shown of devices.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Devices on the desk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DevicesView {
    /// Those that are there, and those that are shared and away.
    pub devices: Vec<DeviceView>,
    /// They were looked for. Nobody looks while the power is off, unless the person asks.
    pub looked: bool,
}

/// A device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct DeviceView {
    /// Its name for sharing.
    pub id: String,
    /// "serial", "usb" or "gpio".
    pub kind: String,
    /// Where it is, safe to show: a port, "2341:0043, bus 1", a chip. Empty while it is away.
    pub place: String,
    /// In words, safe to show.
    pub description: String,
    /// It is there.
    pub present: bool,
    /// The person shared it.
    pub shared: bool,
    /// The configuration shares it, so it cannot be taken back here.
    pub from_config: bool,
    /// The person named this port by path, as it stands here; safe to show.
    pub added: Option<String>,
    /// Why this user cannot open it, with what to do; safe to show.
    pub denied: Option<String>,
    /// Who has it open: "cli" for the command line, or a chat.
    pub held_by: Option<String>,
    /// How it is open, in words.
    pub how: Option<String>,
    /// The entry of the configuration that shares it, as it stands there; safe to show. Where nothing that is here matches it, this
    /// row is all that tells of it, and its name is the entry.
    pub entry: Option<String>,
    /// Lines of a GPIO chip that have names.
    pub lines: Vec<LineNameView>,
}

/// A line of a GPIO chip that has a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct LineNameView {
    /// Its number on the chip.
    pub number: u32,
    /// What the board calls it, safe to show.
    pub name: String,
}
