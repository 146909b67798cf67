//! The list of devices as a person sees it: those that are there, those that are shared and away, and ports that were added.

use drawbridge_core::escape_outside_text;
use drawbridge_core::hardware::{Device, DeviceId, DeviceKind};
use drawbridge_os::hardware::id;
use drawbridge_policy::PolicyState;
use drawbridge_store::config::DeviceMatch;

use super::sharing::{is_configured, is_configured_port, place_of};
use crate::view::DeviceView;

/// Returns what a device is called for a person: its own words, else its place. Not yet safe to show.
#[must_use]
pub fn label_of(device: &Device) -> String {
    if device.description.trim().is_empty() { place_of(&device.place) } else { device.description.clone() }
}

/// Returns a device's kind, as its name tells it.
pub(super) fn kind_of(id: &DeviceId) -> Option<DeviceKind> {
    DeviceKind::from_name(id.as_str().split('-').next()?)
}

/// Makes the list of what was found, what is shared, and what was added. Who has what open is not in it.
#[must_use]
pub fn device_rows(found: &[Device], state: &PolicyState, configured: &[DeviceMatch]) -> Vec<DeviceView> {
    let mut rows: Vec<DeviceView> = found.iter().map(|device| present(device, configured)).collect();
    for (id, shared) in &state.devices {
        rows.extend(away(&rows, id, &shared.label));
    }
    for path in &state.added_ports {
        let id = id::serial_of_path(path);
        // Something of the system may be at this path by now, under a name of its own.
        if !found.iter().any(|device| place_of(&device.place) == *path) {
            rows.extend(away(&rows, &id, path));
        }
        if let Some(row) = rows.iter_mut().find(|row| row.id == id.as_str()) {
            row.added = Some(escape_outside_text(path));
            // All ports that were added may be called the same: while one is away, its path tells which it is.
            if row.place.is_empty() && row.description != escape_outside_text(path) {
                row.place = escape_outside_text(path);
            }
            row.from_config |= is_configured_port(configured, path);
        }
    }
    for row in &mut rows {
        row.shared = state.devices.keys().any(|id| id.as_str() == row.id);
    }
    rows
}

fn present(device: &Device, configured: &[DeviceMatch]) -> DeviceView {
    DeviceView {
        id: device.id.as_str().to_owned(),
        kind: device.kind().name().to_owned(),
        place: escape_outside_text(&place_of(&device.place)),
        description: escape_outside_text(&device.description),
        present: true,
        from_config: is_configured(configured, device),
        denied: device.denied.as_deref().map(escape_outside_text),
        ..DeviceView::default()
    }
}

/// The row of a device that is not there, unless there is one already.
fn away(rows: &[DeviceView], id: &DeviceId, label: &str) -> Option<DeviceView> {
    if rows.iter().any(|row| row.id == id.as_str()) {
        return None;
    }
    Some(DeviceView {
        id: id.as_str().to_owned(),
        kind: kind_of(id).map(|kind| kind.name().to_owned()).unwrap_or_default(),
        description: escape_outside_text(label),
        ..DeviceView::default()
    })
}

#[cfg(test)]
mod tests {
    use drawbridge_core::hardware::DevicePlace;
    use drawbridge_policy::SharedDevice;

    use super::*;

    fn port(id: DeviceId, port: &str, description: &str) -> Device {
        let place = DevicePlace::Serial { port: port.to_owned() };
        Device { id, place, description: description.to_owned(), denied: None }
    }

    fn state(shared: &[(&DeviceId, &str)], added: &[&str]) -> PolicyState {
        let devices =
            shared.iter().map(|(id, label)| ((*id).clone(), SharedDevice { label: (*label).to_owned(), at_ms: 1 }));
        PolicyState {
            devices: devices.collect(),
            added_ports: added.iter().map(|path| (*path).to_owned()).collect(),
            ..PolicyState::defaults()
        }
    }

    #[test]
    fn what_is_there_away_and_added_stands_in_one_list() {
        let (here, gone) = (DeviceId::parse("serial-1").unwrap(), DeviceId::parse("usb-2").unwrap());
        let found = [port(here.clone(), "/dev/ttyUSB0", "Adapter"), port(id::serial_of_path("/tmp/p"), "/tmp/p", "")];
        let state = state(&[(&here, "Adapter"), (&gone, "Board\u{202e}")], &["/tmp/p", "/tmp/away"]);

        let rows = device_rows(&found, &state, &[DeviceMatch::Port("/tmp/p".to_owned())]);

        let told: Vec<_> =
            rows.iter().map(|row| (row.place.as_str(), row.present, row.shared, row.from_config)).collect();
        assert_eq!(
            told,
            [
                ("/dev/ttyUSB0", true, true, false),
                ("/tmp/p", true, false, true),
                ("", false, true, false),
                ("", false, false, false)
            ]
        );
        let added: Vec<_> = rows.iter().map(|row| row.added.as_deref()).collect();
        assert_eq!(added, [None, Some("/tmp/p"), None, Some("/tmp/away")]);
        assert_eq!(rows[2].kind, "usb");
        assert!(!rows[2].description.contains('\u{202e}'));
        assert_eq!(rows[3].description, "/tmp/away");
    }

    #[test]
    fn a_shared_port_that_was_added_is_told_by_its_path_while_it_is_away() {
        let id = id::serial_of_path("/tmp/away");

        let rows = device_rows(&[], &state(&[(&id, "Serial port named by you")], &["/tmp/away"]), &[]);

        let told: Vec<_> = rows.iter().map(|row| (row.place.as_str(), row.description.as_str(), row.present)).collect();
        assert_eq!(told, [("/tmp/away", "Serial port named by you", false)]);
    }

    #[test]
    fn a_port_that_the_system_lists_by_now_is_listed_once() {
        let listed = DeviceId::parse("serial-1").unwrap();
        let rows = device_rows(&[port(listed, "/dev/ttyUSB0", "Adapter")], &state(&[], &["/dev/ttyUSB0"]), &[]);

        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].id, "serial-1");
    }
}
