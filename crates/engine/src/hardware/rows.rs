//! The list of devices as a person sees it: those that are there, those that are shared and away, and ports that were added.

use drawbridge_core::escape_outside_text;
use drawbridge_core::hardware::{Device, DeviceId, DeviceKind, DevicePlace};
use drawbridge_os::hardware::id;
use drawbridge_policy::PolicyState;
use drawbridge_store::config::DeviceMatch;

use super::sharing::{entry_for, is_configured, is_configured_port, matches, place_of};
use crate::view::{DeviceView, LineNameView};

/// Returns what a device is called for a person: its own words, else its place. Not yet safe to show.
#[must_use]
pub fn label_of(device: &Device) -> String {
    if device.description.trim().is_empty() { place_of(&device.place) } else { device.description.clone() }
}

/// Returns a device's kind, as its name tells it.
pub(super) fn kind_of(id: &DeviceId) -> Option<DeviceKind> {
    DeviceKind::from_name(id.as_str().split('-').next()?)
}

/// Makes the list of what was found, what is shared, what was added, and what the configuration shares while it is not here. Who has
/// what open is not in it.
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
            // What it is called is its path, whatever was noted when it was shared.
            row.place = escape_outside_text(path);
            row.description.clear();
            if is_configured_port(configured, path) {
                row.from_config = true;
                row.entry = Some(escape_outside_text(path));
            }
        }
    }
    for entry in configured {
        rows.extend(nothing_here(&rows, found, entry));
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
        entry: entry_for(configured, device).as_deref().map(escape_outside_text),
        lines: lines_of(device),
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

/// The row of an entry of the configuration that nothing here matches. Ports by path have their row already.
fn nothing_here(rows: &[DeviceView], found: &[Device], entry: &DeviceMatch) -> Option<DeviceView> {
    let kind = match entry {
        DeviceMatch::Port(_) => return None,
        DeviceMatch::Usb { .. } => DeviceKind::Usb,
        DeviceMatch::Gpio(_) => DeviceKind::Gpio,
    };
    let written = escape_outside_text(&entry.to_string());
    let known = rows.iter().any(|row| row.id == written) || found.iter().any(|device| matches(entry, device));
    (!known).then(|| DeviceView {
        id: written.clone(),
        kind: kind.name().to_owned(),
        from_config: true,
        entry: Some(written),
        ..DeviceView::default()
    })
}

fn lines_of(device: &Device) -> Vec<LineNameView> {
    let DevicePlace::Gpio { names, .. } = &device.place else { return Vec::new() };
    names.iter().map(|(number, name)| LineNameView { number: *number, name: escape_outside_text(name) }).collect()
}

#[cfg(test)]
mod tests {
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
                ("/tmp/away", false, false, false)
            ]
        );
        let added: Vec<_> = rows.iter().map(|row| row.added.as_deref()).collect();
        assert_eq!(added, [None, Some("/tmp/p"), None, Some("/tmp/away")]);
        assert_eq!(rows[2].kind, "usb");
        assert!(!rows[2].description.contains('\u{202e}'));
        let entries: Vec<_> = rows.iter().map(|row| row.entry.as_deref()).collect();
        assert_eq!(entries, [None, Some("/tmp/p"), None, None]);
    }

    #[test]
    fn a_shared_port_that_was_added_is_told_by_its_path_while_it_is_away() {
        let id = id::serial_of_path("/tmp/away");

        let rows = device_rows(&[], &state(&[(&id, "Serial port named by you")], &["/tmp/away"]), &[]);

        let told: Vec<_> = rows.iter().map(|row| (row.place.as_str(), row.description.as_str(), row.present)).collect();
        assert_eq!(told, [("/tmp/away", "", false)]);
    }

    #[test]
    fn what_the_configuration_shares_and_is_not_here_is_told_by_its_entry() {
        let chip = |name: &str, names: &[(u32, &str)]| Device {
            id: DeviceId::plain(DeviceKind::Gpio, name),
            place: DevicePlace::Gpio {
                chip: name.to_owned(),
                lines: 58,
                names: names.iter().map(|(number, name)| (*number, (*name).to_owned())).collect(),
            },
            description: "bank".to_owned(),
            denied: None,
        };
        let usb = DeviceMatch::Usb { vendor: 0x2341, product: 0x0043 };
        let configured = [
            usb.clone(),
            usb,
            DeviceMatch::Gpio("gpiochip0".to_owned()),
            DeviceMatch::Gpio("gpiochip7".to_owned()),
            DeviceMatch::Port("/dev/ttyUSB9".to_owned()),
        ];

        let rows =
            device_rows(&[chip("gpiochip0", &[(4, "RELAY\u{202e}")])], &state(&[], &["/dev/ttyUSB9"]), &configured);

        let told: Vec<_> = rows.iter().map(|row| (row.entry.as_deref(), row.kind.as_str(), row.present)).collect();
        assert_eq!(
            told,
            [
                (Some("gpio:gpiochip0"), "gpio", true),
                (Some("/dev/ttyUSB9"), "serial", false),
                (Some("usb:2341:0043"), "usb", false),
                (Some("gpio:gpiochip7"), "gpio", false)
            ]
        );
        assert!(rows.iter().all(|row| row.from_config));
        assert_eq!((rows[2].id.as_str(), rows[0].lines[0].number), ("usb:2341:0043", 4));
        assert!(!rows[0].lines[0].name.contains('\u{202e}'));
    }

    #[test]
    fn a_port_that_the_system_lists_by_now_is_listed_once() {
        let listed = DeviceId::parse("serial-1").unwrap();
        let rows = device_rows(&[port(listed, "/dev/ttyUSB0", "Adapter")], &state(&[], &["/dev/ttyUSB0"]), &[]);

        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].id, "serial-1");
    }
}
