//! What the window shows of devices: the list, who has what open, and which entry of the configuration shares what.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use drawbridge_core::escape_outside_text;

use super::{Devices, device_rows};
use crate::view::{DeviceView, DevicesView};

impl Devices {
    /// Shows that something was closed by itself, since nobody used it for long.
    pub(crate) fn round(&self) {
        let open = !self.hardware.held().is_empty();
        if self.was_open.swap(open, Ordering::Relaxed) || open {
            self.board.touch();
        }
    }

    /// Returns what the window shows.
    pub(crate) fn view(&self) -> DevicesView {
        let held = self.hardware.held();
        let found = self.found();
        let mut devices = device_rows(&found.devices, &self.policy.get(), &self.configured);
        for row in &mut devices {
            if let Some(held) = held.iter().find(|held| held.device.as_str() == row.id) {
                row.held_by = Some(self.called(held.holder));
                row.how = Some(held.how.clone());
            }
        }
        self.tell_by_entry(&mut devices);
        DevicesView { devices, looked: found.looked }
    }

    /// A device that the configuration shares and that was here has its own row while it is away, and its entry needs none.
    fn tell_by_entry(&self, rows: &mut Vec<DeviceView>) {
        let entries = self.entries();
        let mut told = BTreeSet::new();
        for row in rows.iter_mut().filter(|row| !row.present) {
            let Some((_, entry)) = entries.iter().find(|(id, _)| id.as_str() == row.id) else { continue };
            (row.from_config, row.entry) = (true, Some(escape_outside_text(entry)));
            told.insert(row.entry.clone());
        }
        rows.retain(|row| row.entry.as_deref() != Some(row.id.as_str()) || !told.contains(&row.entry));
    }
}
