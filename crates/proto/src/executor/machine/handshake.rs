//! HELLO out, HELLO_ACK in: the checks of spec 4.3 in their order.

use std::collections::BTreeSet;
use std::time::Duration;

use drawbridge_core::{ConnectionId, Limits, RequestId, escape_outside_text};
use serde_json::json;

use super::effect::{End, Halt, HaltKind, MachineConfig, Negotiated, Note, Pace, Retry, Role};
use crate::executor::codec::{cut_at, parse_version};
use crate::executor::wire::{Capability, Envelope, FromClient, HardwareDevice, Hello, HelloAck};
use crate::executor::{MAJOR, MINOR, VERSION, map};

/// The largest HELLO that the platform reads.
const HELLO_MAX_BYTES: usize = 64 * 1024;
/// The longest reason of a WebSocket close frame.
pub(super) const CLOSE_REASON_MAX: usize = 123;
/// Longest display name, in characters.
const DISPLAY_NAME_MAX: usize = 128;

/// Why the handshake failed: the close to send, and how it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) code: u16,
    pub(super) close_reason: String,
    pub(super) end: End,
}

/// What we offer on this kind of connection. A capability with nothing behind it is none: models, or devices of its kind.
pub(super) fn advertised(config: &MachineConfig) -> BTreeSet<Capability> {
    let mut offered = config.hello.capabilities.clone();
    // Reserved by the protocol document until it is complete.
    offered.remove(&Capability::Recording);
    match config.role {
        Role::Control => offered.insert(Capability::DirectoryBrowse),
        Role::Data { .. } => offered.remove(&Capability::DirectoryBrowse),
    };
    if config.hello.local_llm_models.is_empty() {
        offered.remove(&Capability::LocalLlm);
    }
    for kind in [Capability::HardwareSerial, Capability::HardwareUsb, Capability::HardwareGpio] {
        if !config.hello.hardware_devices.iter().any(|device| Capability::of_device(device) == kind) {
            offered.remove(&kind);
        }
    }
    offered
}

/// Writes HELLO, shortened until the platform will read it. What is left out leaves the configuration too: it was not offered.
pub(super) fn hello(config: &mut MachineConfig, id: &str, ts: f64) -> (String, Option<Note>) {
    let told = config.hello.local_llm_models.len();
    // No request could name it.
    config.hello.local_llm_models.retain(|model| map::can_name_model(model));
    let mut models = told - config.hello.local_llm_models.len();
    let mut devices = 0;
    loop {
        let mut frame = Envelope::new(id, ts, FromClient::Hello(message(config)));
        frame.version = Some(VERSION.to_owned());
        let text = frame.to_text();
        let excess = text.len().saturating_sub(HELLO_MAX_BYTES);
        let mut freed = 0;
        while freed < excess {
            // The shortest JSON: quotes and comma, or braces and keys. Too little freed is made up for by another round.
            if let Some(model) = config.hello.local_llm_models.pop() {
                freed += model.len() + 3;
                models += 1;
            } else if let Some(device) = config.hello.hardware_devices.pop() {
                freed += 32 + words(&device).len();
                devices += 1;
            } else {
                // Nothing left that may go. The platform will say what it thinks of it.
                break;
            }
        }
        if freed == 0 {
            let trimmed = models + devices > 0;
            return (text, trimmed.then_some(Note::HelloTrimmed { models, devices }));
        }
    }
}

fn words(device: &HardwareDevice) -> &str {
    match device {
        HardwareDevice::Serial { desc, .. } | HardwareDevice::Usb { desc, .. } | HardwareDevice::Gpio { desc, .. } => {
            desc
        }
    }
}

fn message(config: &MachineConfig) -> Hello {
    let facts = &config.hello;
    Hello {
        shim_version: facts.shim_version.clone(),
        protocol_version: VERSION.to_owned(),
        machine_id: facts.machine_id.clone(),
        display_name: display_name(&facts.display_name),
        platform: facts.platform.clone(),
        arch: facts.arch.clone(),
        screen_resolution: facts.screen_resolution,
        capabilities: advertised(config).iter().map(|capability| capability.name().to_owned()).collect(),
        allowed_root: match &config.role {
            Role::Control => None,
            Role::Data { allowed_root, .. } => Some(allowed_root.clone()),
        },
        local_llm_models: facts.local_llm_models.clone(),
        hardware_devices: facts.hardware_devices.clone(),
        computer_use_features: facts.computer_use_features.clone(),
        computer_use_features_coarse: facts.computer_use_features_coarse.clone(),
        recording_channels: Vec::new(),
        recording_routes: Vec::new(),
    }
}

/// The platform refuses names with markup, control or format characters.
fn display_name(name: &str) -> String {
    let fine = |c: &char| {
        let text = c.to_string();
        !matches!(c, '<' | '>') && escape_outside_text(&text) == text
    };
    name.trim().chars().filter(fine).take(DISPLAY_NAME_MAX).collect()
}

/// Row 1: the first frame was not a HELLO_ACK, or not a well-formed one.
pub(super) fn not_an_ack(what: &str) -> Failed {
    Failed {
        code: 1002,
        close_reason: "expected HELLO_ACK".to_owned(),
        end: End::Retry(Retry {
            pace: Pace::Grow,
            refresh_first: false,
            bad_handshake: true,
            close_code: None,
            code: "odd_greeting",
            reason: format!("The platform answered the greeting with something unexpected ({what})."),
        }),
    }
}

/// Rows 2 to 8.
pub(super) fn check(
    config: &MachineConfig,
    hello_id: &str,
    id: &RequestId,
    ack: &HelloAck,
) -> Result<Negotiated, Failed> {
    if id.as_str() != hello_id {
        return Err(protocol(4400, "HELLO_ACK has another id", "it answered another greeting than ours"));
    }
    let session = ack.session_id.as_deref().filter(|session| !session.is_empty());
    let expected = match &config.role {
        Role::Control => None,
        Role::Data { session, .. } => Some(session.as_str()),
    };
    if session != expected {
        return Err(Failed {
            code: 4403,
            close_reason: "HELLO_ACK names another session".to_owned(),
            end: End::Halt(Halt {
                kind: HaltKind::Auth,
                code: "other_chat",
                reason: "The platform tied this connection to another chat than the one asked for. Nothing was done. \
                         Sign in again; if it happens again, report it to the platform."
                    .to_owned(),
            }),
        });
    }
    let offered = advertised(config);
    let granted: Option<BTreeSet<Capability>> = ack
        .granted_capabilities
        .iter()
        .map(|name| Capability::from_name(name).filter(|capability| offered.contains(capability)))
        .collect();
    let Some(granted) = granted else {
        return Err(protocol(4400, "granted more than was offered", "it granted something that was not offered"));
    };
    let platform_version = ack.protocol_version.as_deref().unwrap_or(VERSION);
    let Some((major, minor)) = parse_version(platform_version) else {
        return Err(version_mismatch(platform_version, "not major.minor", "its protocol version cannot be read"));
    };
    if major != MAJOR {
        let hint = if major > MAJOR { "Update Drawbridge" } else { "Update the platform" };
        return Err(version_mismatch(platform_version, hint, "it speaks another major version of the protocol"));
    }
    let minor = minor.min(MINOR);
    let connection_id = ack.connection_id.as_deref().and_then(|id| ConnectionId::parse(id).ok());
    if config.role == Role::Control {
        if minor != MINOR {
            return Err(version_mismatch(platform_version, "control needs 1.1", "its protocol version is too old"));
        }
        if !granted.contains(&Capability::DirectoryBrowse) {
            return Err(protocol(4426, "directory_browse not granted", "it does not offer folders to chats"));
        }
        if connection_id.is_none() {
            return Err(protocol(4426, "connection_id missing", "it gave this connection no name"));
        }
    }
    let Some(limits) = limits(&config.local, ack) else {
        return Err(protocol(4400, "limits must be positive", "it set a limit of zero or less"));
    };
    Ok(Negotiated { granted, limits, version: format!("{MAJOR}.{minor}"), connection_id })
}

/// The lower of the local ceilings and the platform's; none when one of the platform's is not positive.
fn limits(local: &Limits, ack: &HelloAck) -> Option<Limits> {
    let theirs = Limits::default();
    let positive = |limit: Option<i128>, default: u64| match limit {
        None => Some(default),
        Some(limit) => (limit > 0).then(|| u64::try_from(limit).unwrap_or(u64::MAX)),
    };
    let size = positive(ack.max_file_size_bytes, theirs.max_file_size_bytes)?;
    let timeout = positive(ack.command_timeout_seconds, theirs.command_timeout.as_secs())?;
    let concurrent = positive(ack.max_concurrent, u64::from(theirs.max_concurrent))?;
    Some(Limits {
        max_concurrent: local.max_concurrent.min(u32::try_from(concurrent).unwrap_or(u32::MAX)),
        max_file_size_bytes: local.max_file_size_bytes.min(size),
        command_timeout: local.command_timeout.min(Duration::from_secs(timeout)),
    })
}

fn protocol(code: u16, close_reason: &str, what: &str) -> Failed {
    Failed {
        code,
        close_reason: close_reason.to_owned(),
        end: End::Halt(Halt {
            kind: HaltKind::Protocol,
            code: "not_understood",
            reason: format!(
                "The platform and Drawbridge do not understand each other: {what}. The link stays down. Update \
                 Drawbridge, then connect again."
            ),
        }),
    }
}

/// The protocol document's JSON reason, shortened until it fits into a close frame.
fn version_mismatch(platform_max: &str, hint: &str, what: &str) -> Failed {
    // Plain characters take one byte each in JSON, so that the hint alone has to give way.
    let platform_max: String =
        platform_max.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').take(8).collect();
    let reason = |hint: &str| {
        json!({
            "error": "PROTOCOL_VERSION_MISMATCH",
            "shim_max": VERSION,
            "platform_max": platform_max,
            "hint": hint,
        })
        .to_string()
    };
    let full = reason(hint);
    let fitting = if full.len() <= CLOSE_REASON_MAX {
        full
    } else {
        reason(cut_at(hint, hint.len().saturating_sub(full.len() - CLOSE_REASON_MAX)))
    };
    protocol(4426, cut_at(&fitting, CLOSE_REASON_MAX), what)
}
