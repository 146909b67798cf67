//! Messages about the connection itself: handshake, keepalive, status, end, error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ErrorCode;

/// HELLO: what this machine is and offers (spec 4.2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Hello {
    /// Name and version of this program.
    pub shim_version: String,
    /// Highest wire version we speak.
    pub protocol_version: String,
    /// Identifies the machine (spec 2.3).
    pub machine_id: String,
    /// Name shown in the platform's folder picker.
    #[serde(default)]
    pub display_name: String,
    /// "darwin", "linux", "windows" or "wsl2".
    pub platform: String,
    /// `x86_64` or "arm64".
    pub arch: String,
    /// Size of the primary display in pixels, with computer use.
    pub screen_resolution: Option<[u32; 2]>,
    /// Names of [`Capability`].
    pub capabilities: Vec<String>,
    /// Null on a control link, the canonical folder on a data link.
    pub allowed_root: Option<String>,
    /// Models of the local backend.
    #[serde(default)]
    pub local_llm_models: Vec<String>,
    /// Devices that the person shared.
    #[serde(default)]
    pub hardware_devices: Vec<HardwareDevice>,
    /// Fine feature names (spec 10.1).
    #[serde(default)]
    pub computer_use_features: Vec<String>,
    /// Coarse feature names (spec 10.1).
    #[serde(default)]
    pub computer_use_features_coarse: Vec<String>,
    /// Always empty until recording is complete.
    #[serde(default)]
    pub recording_channels: Vec<String>,
    /// Always empty until recording is complete.
    #[serde(default)]
    pub recording_routes: Vec<String>,
}

/// A device in HELLO (spec 12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HardwareDevice {
    /// A serial port.
    Serial {
        /// Its path or name.
        port: String,
        /// In words.
        desc: String,
    },
    /// A USB device.
    Usb {
        /// Vendor id, four hex digits.
        vid: String,
        /// Product id, four hex digits.
        pid: String,
        /// In words.
        desc: String,
    },
    /// A GPIO chip.
    Gpio {
        /// Its name.
        chip: String,
        /// In words.
        desc: String,
    },
}

/// What a machine may offer and a platform may grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Folder browser and chats; control links only.
    DirectoryBrowse,
    /// Commands.
    Shell,
    /// Files in the attached folder.
    Files,
    /// Screen, pointer, keyboard, windows, apps, clipboard.
    ComputerUse,
    /// The local model.
    LocalLlm,
    /// Workflow recording; never offered.
    Recording,
    /// Serial devices.
    HardwareSerial,
    /// USB devices.
    HardwareUsb,
    /// GPIO.
    HardwareGpio,
}

impl Capability {
    /// Returns what offering a device takes.
    #[must_use]
    pub const fn of_device(device: &HardwareDevice) -> Self {
        match device {
            HardwareDevice::Serial { .. } => Self::HardwareSerial,
            HardwareDevice::Usb { .. } => Self::HardwareUsb,
            HardwareDevice::Gpio { .. } => Self::HardwareGpio,
        }
    }

    /// Every capability.
    pub const ALL: [Self; 9] = [
        Self::DirectoryBrowse,
        Self::Shell,
        Self::Files,
        Self::ComputerUse,
        Self::LocalLlm,
        Self::Recording,
        Self::HardwareSerial,
        Self::HardwareUsb,
        Self::HardwareGpio,
    ];

    /// Returns the wire name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DirectoryBrowse => "directory_browse",
            Self::Shell => "shell",
            Self::Files => "files",
            Self::ComputerUse => "computer_use",
            Self::LocalLlm => "local_llm",
            Self::Recording => "recording",
            Self::HardwareSerial => "hardware_serial",
            Self::HardwareUsb => "hardware_usb",
            Self::HardwareGpio => "hardware_gpio",
        }
    }

    /// Finds a capability by its wire name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.name() == name)
    }
}

/// HELLO_ACK: what the platform granted (spec 4.3). Limits are signed and wide, so that a wrong sign or a huge
/// value is seen, not lost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HelloAck {
    /// Null or empty on a control link, the chat on a data link.
    pub session_id: Option<String>,
    /// The platform's name for this presence; required on a control link.
    pub connection_id: Option<String>,
    /// The platform's version; `1.1` when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Subset of what HELLO offered.
    pub granted_capabilities: Vec<String>,
    /// Ceiling for one file or output, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_size_bytes: Option<i128>,
    /// Ceiling for one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout_seconds: Option<i128>,
    /// Ceiling for requests at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<i128>,
}

/// A payload without fields. Whatever else is in it is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Empty {}

/// STATUS: how busy this connection is (spec 4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Requests admitted and not answered.
    pub in_flight: u32,
    /// The negotiated ceiling.
    pub max_concurrent: u32,
    /// Requests admitted but not running.
    pub queue_depth: u32,
    /// Size of the current audit file.
    pub audit_log_bytes: u64,
    /// Since this connection opened.
    pub uptime_seconds: f64,
}

/// SESSION_REVOKED: the platform ends this session for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRevoked {
    /// `another_shim_connected`, `user_revoked`, `platform_shutdown`, or a reason of a later version.
    pub reason: String,
    /// The machine that took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_shim_machine_id: Option<String>,
}

/// ERROR: why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// The code.
    pub code: ErrorCode,
    /// For the model that reads it.
    pub message: String,
    /// The sender is about to end the connection.
    #[serde(default)]
    pub fatal: bool,
    /// Shape depends on the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// ACK: done, with nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// Always true.
    pub ok: bool,
    /// Process started by APP_LAUNCH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}
