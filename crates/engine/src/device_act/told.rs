//! What came of an act, or why nothing did, for whoever asked for it.

use std::time::Duration;

use drawbridge_core::hardware::{HardwareOutcome, LineEvents, UsbDescription};
use drawbridge_core::{DeviceFault, OpError, escape_outside_text};

use super::{DeviceBytes, DeviceResult, LineEventView, UsbEndpointView, UsbInterfaceView, UsbView};
use crate::handle::CommandError;
use crate::record::shown;

/// Makes what came of an act fit for the control socket.
pub(crate) fn result(outcome: HardwareOutcome) -> DeviceResult {
    match outcome {
        HardwareOutcome::Done => DeviceResult::Done,
        HardwareOutcome::Written { bytes } => DeviceResult::Written { bytes },
        HardwareOutcome::Read(read) => DeviceResult::Read {
            data: DeviceBytes::of(&read.bytes),
            ended: read.ended.name().to_owned(),
            lost: read.lost,
            waiting: read.waiting,
        },
        HardwareOutcome::Lines(lines) => {
            DeviceResult::Lines { cts: lines.cts, dsr: lines.dsr, ring: lines.ring, carrier: lines.carrier }
        }
        HardwareOutcome::Described(description) => DeviceResult::Described { usb: usb(description) },
        HardwareOutcome::Received(bytes) => DeviceResult::Received { data: DeviceBytes::of(&bytes) },
        HardwareOutcome::Level { high } => DeviceResult::Level { high },
        HardwareOutcome::Events(LineEvents { events, lost }) => {
            let at_us = |at: Duration| u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
            let view = events.into_iter().map(|one| LineEventView { rising: one.rising, at_us: at_us(one.at) });
            DeviceResult::Events { events: view.collect(), lost }
        }
    }
}

fn usb(said: UsbDescription) -> UsbView {
    let safe = |text: Option<String>| text.map(|text| escape_outside_text(&text));
    let interfaces = said.interfaces.into_iter().map(|interface| UsbInterfaceView {
        number: interface.number,
        class: interface.class,
        driver_active: interface.driver_active,
        endpoints: interface
            .endpoints
            .into_iter()
            .map(|endpoint| UsbEndpointView {
                address: endpoint.address,
                transfer: endpoint.transfer.to_owned(),
                max_packet: endpoint.max_packet,
            })
            .collect(),
    });
    UsbView {
        vendor: format!("{:04x}", said.vendor),
        product: format!("{:04x}", said.product),
        usb_version: escape_outside_text(&said.usb_version),
        class: said.class,
        manufacturer: safe(said.manufacturer),
        product_name: safe(said.product_name),
        interfaces: interfaces.collect(),
    }
}

/// Says why an act failed, with a stable code for each reason.
pub(crate) fn fault(error: &OpError) -> CommandError {
    let said = |code: &str| CommandError::new(code, crate::engine::sentence(&escape_outside_text(&error.to_string())));
    // A device's name stays as it is written.
    let of_device = |code: &str| {
        CommandError::new(code, crate::engine::sentence(&escape_outside_text(&format!("the device {error}"))))
    };
    match error {
        OpError::DeviceNotShared { device } => CommandError::new(
            "device_not_shared",
            format!(
                "No device named {} is shared. Share it in the window, or without a window in config.toml (share under [hardware]).",
                shown(device)
            ),
        ),
        OpError::Device { fault, .. } => of_device(codes(*fault).0),
        OpError::PowerOff { .. } => CommandError::new(
            "power_off",
            "The power over devices is switched off. Switch it on in the window, or start with --enable-hardware.",
        ),
        OpError::NoUi { .. } => CommandError::new(
            "no_ui",
            "Devices are set to ask before each use, and nobody can be asked here. Set the power to allowed, or start Drawbridge with its window.",
        ),
        OpError::Declined { .. } => {
            CommandError::new("declined", "The question was answered with no, so nothing was done.")
        }
        OpError::WaitingForConsent { .. } => CommandError::new(
            "waiting_for_consent",
            "Nobody has answered the question yet, so nothing was done. Answer it in the window and try again.",
        ),
        OpError::Raised { .. } => {
            CommandError::new("raised", "The bridge is raised, so nothing may act. Lower it first.")
        }
        OpError::Cancelled => CommandError::new("cancelled", "The act was ended before it was done."),
        OpError::AuditUnavailable => said("audit_unavailable"),
        OpError::Overloaded { .. } => said("busy"),
        OpError::Unsupported { .. } => said("unsupported"),
        OpError::InvalidPayload(_) | OpError::TooLarge { .. } => said("bad_act"),
        OpError::OutsideRoot { .. }
        | OpError::BadPath { .. }
        | OpError::ReservedName { .. }
        | OpError::NotFound { .. }
        | OpError::NotEmpty { .. }
        | OpError::Exists { .. }
        | OpError::File { .. }
        | OpError::ShellNotAvailable { .. }
        | OpError::CommandStart { .. }
        | OpError::ConfinementMissing { .. }
        | OpError::ChangedSinceAsked { .. }
        | OpError::DirectoryUnavailable { .. }
        | OpError::GrantInvalid { .. }
        | OpError::NotAttached { .. }
        | OpError::AlreadyActive { .. }
        | OpError::RevisionMismatch { .. }
        | OpError::NoSuchMonitor { .. }
        | OpError::OutOfBounds { .. }
        | OpError::WindowStale { .. }
        | OpError::PermissionPending { .. }
        | OpError::ProtectedApp { .. }
        | OpError::CannotType { .. }
        | OpError::TypingStopped { .. }
        | OpError::ClipboardConcealed { .. }
        | OpError::ModelNotAvailable { .. }
        | OpError::ModelBusy { .. }
        | OpError::ModelFailed { .. }
        | OpError::StubStale { .. }
        | OpError::PrivacyMode { .. }
        | OpError::TookTooLong { .. }
        | OpError::ReferenceInvalid
        | OpError::Internal(_) => said("failed"),
    }
}

/// Returns the code under which the audit log and the window know why an act failed; none where the protocol's own says it.
///
/// To a platform all of them are one internal error; a person wants to know which.
pub(crate) const fn recorded(error: &OpError) -> Option<&'static str> {
    if let OpError::Device { fault, .. } = error {
        return Some(codes(*fault).1);
    }
    if matches!(error, OpError::Cancelled) { Some("DEVICE_ACT_ENDED") } else { None }
}

/// The code of a fault on the control socket, and the one in the audit log.
const fn codes(fault: DeviceFault) -> (&'static str, &'static str) {
    match fault {
        DeviceFault::Absent => ("device_absent", "DEVICE_ABSENT"),
        DeviceFault::Unplugged => ("device_unplugged", "DEVICE_UNPLUGGED"),
        DeviceFault::Busy => ("device_busy", "DEVICE_BUSY"),
        DeviceFault::Denied => ("device_denied", "DEVICE_DENIED"),
        DeviceFault::NotOpen => ("device_not_open", "DEVICE_NOT_OPEN"),
        DeviceFault::AlreadyOpen => ("device_already_open", "DEVICE_ALREADY_OPEN"),
        DeviceFault::Unsupported => ("device_unsupported", "DEVICE_UNSUPPORTED"),
        DeviceFault::Timeout => ("device_timeout", "DEVICE_TIMEOUT"),
        DeviceFault::Refused => ("device_refused", "DEVICE_REFUSED"),
        DeviceFault::Overrun => ("device_overrun", "DEVICE_OVERRUN"),
        DeviceFault::NoSystem => ("device_no_system", "DEVICE_NO_SYSTEM"),
        DeviceFault::Io => ("device_failed", "DEVICE_FAILED"),
    }
}
