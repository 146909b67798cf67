//! Devices that agents could use, where the power is on: which can be opened, which are denied and what gives them, and whether USB
//! works at all. Opens none.

use std::sync::Arc;

use drawbridge_core::{Power, PowerMode, escape_outside_text};
use drawbridge_os::hardware::usb;
use drawbridge_store::config::Config;
use drawbridge_store::settings::Settings;

use super::door::Door;
use super::words::{self, Words};
use super::{Finding, FindingState, Input, QUICK, limit};
use crate::hardware::{device_rows, devices_here};
use crate::managed;
use crate::view::{DeviceView, Snapshot};

const CHECK: &str = "hardware";
/// Names in one finding.
const MOST_NAMES: usize = 8;
const KINDS: [(&str, &Words); 3] =
    [("serial", &words::DEVICES_SERIAL), ("usb", &words::DEVICES_USB), ("gpio", &words::DEVICES_GPIO)];

/// Takes what a running engine sees, else looks.
pub(super) async fn devices(input: &Arc<Input>, door: &Door) -> Vec<Finding> {
    let rows = match door.snapshot() {
        Some(snapshot) if !is_on(snapshot) => return Vec::new(),
        Some(snapshot) if snapshot.devices.looked => Some(snapshot.devices.devices.clone()),
        // A stopped bridge has looked at nothing.
        Some(_) | None => None,
    };
    let running = door.snapshot().is_some();
    let its_input = Arc::clone(input);
    limit::within(QUICK, CHECK, "", move || {
        let Some(rows) = rows.or_else(|| of_next_start(&its_input, running)) else { return Vec::new() };
        usb_trouble().into_iter().chain(findings(&rows)).collect()
    })
    .await
}

fn is_on(snapshot: &Snapshot) -> bool {
    snapshot.powers.iter().any(|one| one.power == Power::Hardware.name() && one.mode != PowerMode::Off.name())
}

/// What the next start would see; none while the power is off. `on`: an engine says that it is on.
fn of_next_start(input: &Input, on: bool) -> Option<Vec<DeviceView>> {
    let config: Config = input.config();
    let mut state = Settings::peek(&input.folders.state);
    if config.enable_hardware || on {
        state.modes.insert(Power::Hardware, PowerMode::Allowed);
    }
    if let Some(policy) = input.config.as_ref().ok().and_then(|loaded| loaded.managed.as_ref()) {
        managed::limit(policy, &mut state);
    }
    if !state.offers(Power::Hardware) {
        return None;
    }
    let configured = &config.hardware.share;
    let named = configured.iter().filter_map(|one| one.port().map(str::to_owned));
    let ports: Vec<String> = state.added_ports.iter().cloned().chain(named).collect();
    Some(device_rows(&devices_here(&ports), &state, configured))
}

fn usb_trouble() -> Option<Finding> {
    let fault = usb::of_system().found().err()?;
    let why = escape_outside_text(&fault.message);
    Some(Finding::warn(CHECK, &words::USB_UNUSABLE, &[("why", &why)]))
}

fn findings(rows: &[DeviceView]) -> Vec<Finding> {
    let shared = |one: &DeviceView| one.shared || one.from_config;
    let usable: Vec<&DeviceView> = rows.iter().filter(|one| one.present && one.denied.is_none()).collect();
    let mut found = Vec::new();
    for (kind, words) in KINDS {
        let names = names(usable.iter().copied().filter(|one| one.kind == kind));
        if !names.is_empty() {
            found.push(Finding::ok(CHECK, words, &[("names", &names)]));
        }
    }
    let denied = rows.iter().filter_map(|one| Some((one, one.denied.as_ref()?))).filter(|(one, _)| one.present);
    let (needed, others): (Vec<_>, Vec<_>) = denied.partition(|(one, _)| shared(one));
    for (device, why) in needed {
        found.push(Finding::warn(CHECK, &words::DEVICE_DENIED, &[("device", &name(device)), ("why", why)]));
    }
    // Most USB devices belong to nobody's group, and nobody wants to share a mouse.
    let others: Vec<_> = others.into_iter().filter(|(one, _)| one.kind != "usb").collect();
    if let Some((_, why)) = others.first() {
        let names = names(others.iter().map(|(one, _)| *one));
        let state = if usable.is_empty() { FindingState::Warn } else { FindingState::Info };
        found.push(Finding::new(CHECK, state, &words::DEVICES_DENIED, &[("names", &names), ("why", why)]));
    }
    let away = names(rows.iter().filter(|one| shared(one) && !one.present));
    if !away.is_empty() {
        found.push(Finding::info(CHECK, &words::DEVICES_AWAY, &[("names", &away)]));
    }
    if found.is_empty() {
        found.push(Finding::info(CHECK, &words::DEVICES_NONE, &[]));
    }
    found
}

fn name(device: &DeviceView) -> String {
    match (device.description.as_str(), device.place.as_str()) {
        ("", "") => device.entry.clone().unwrap_or_else(|| device.id.clone()),
        ("", place) => place.to_owned(),
        (description, "") => description.to_owned(),
        (description, place) => format!("{description} ({place})"),
    }
}

fn names<'a>(devices: impl Iterator<Item = &'a DeviceView>) -> String {
    let mut all: Vec<String> = devices.map(name).collect();
    if all.len() > MOST_NAMES {
        all.truncate(MOST_NAMES);
        all.push("…".to_owned());
    }
    all.join(", ")
}

#[cfg(test)]
#[cfg(unix)]
#[path = "hardware_tests.rs"]
mod tests;
