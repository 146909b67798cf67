//! What a connection holds of the devices: opened for as long as its program is there, and closed when it goes, however it goes.
//!
//! What a program opens without saying so stays open for the next commands. Closing is an act as any other, with its record. It closes
//! what was opened here alone: somebody else may have closed that meanwhile and opened it anew.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::Value;

use crate::device_act::DeviceAct;
use crate::handle::{Command, EngineHandle};

/// What has to be closed when the connection ends, newest last.
#[derive(Debug)]
pub(super) struct Held {
    /// No other connection has the same.
    hold: u64,
    undo: Vec<Command>,
}

/// Takes out of a request whether it is to live no longer than its connection; none where that cannot be told.
pub(super) fn wants_hold(fields: &mut serde_json::Map<String, Value>) -> Option<bool> {
    fields.remove("hold").map_or(Some(false), |hold| hold.as_bool())
}

impl Held {
    pub(super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self { hold: LAST.fetch_add(1, Ordering::Relaxed) + 1, undo: Vec::new() }
    }

    /// Returns the name of what this connection holds.
    pub(super) const fn hold(&self) -> u64 {
        self.hold
    }

    /// Returns what takes a request back, if its program wants it to live no longer than the connection.
    pub(super) fn undo_of(&self, line: &[u8]) -> Option<Command> {
        #[derive(Deserialize)]
        struct Holding {
            #[serde(default)]
            hold: bool,
            device: String,
            act: DeviceAct,
        }
        let Holding { hold: true, device, act } = serde_json::from_slice(line).ok()? else { return None };
        let act = match act {
            DeviceAct::SerialOpen { .. } => DeviceAct::SerialClose,
            DeviceAct::GpioWrite { line, .. } => DeviceAct::GpioRelease { line },
            DeviceAct::SerialWrite { .. }
            | DeviceAct::SerialRead { .. }
            | DeviceAct::SerialLines { .. }
            | DeviceAct::SerialClose
            | DeviceAct::UsbDescribe
            | DeviceAct::UsbControl { .. }
            | DeviceAct::UsbTransfer { .. }
            | DeviceAct::GpioRead { .. }
            | DeviceAct::GpioWatch { .. }
            | DeviceAct::GpioRelease { .. } => return None,
        };
        Some(Command::UseDevice { device, act, hold: Some(self.hold) })
    }

    /// Notes that something was opened.
    pub(super) fn add(&mut self, undo: Command) {
        if !self.undo.contains(&undo) {
            self.undo.push(undo);
        }
    }

    /// The program closed something itself.
    pub(super) fn done(&mut self, line: &[u8]) {
        if let Ok(Command::UseDevice { device, act, .. }) = serde_json::from_slice(line) {
            let done = Command::UseDevice { device, act, hold: Some(self.hold) };
            self.undo.retain(|undo| *undo != done);
        }
    }

    /// Tells whether nothing is held.
    pub(super) const fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// Closes everything. What was closed by somebody else meanwhile says so, and that is fine.
    pub(super) async fn let_go(self, handle: &EngineHandle) {
        for undo in self.undo.into_iter().rev() {
            let _ = handle.send(undo).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(held: &Held, more: &str) -> Option<Command> {
        held.undo_of(format!(r#"{{"request":1,"command":"use_device","device":"gpio-1",{more}}}"#).as_bytes())
    }

    #[test]
    fn only_what_stays_open_is_taken_back_and_only_when_that_is_wanted() {
        let mut held = Held::new();
        assert_ne!(held.hold(), Held::new().hold());
        let request = |more: &str| request(&held, more);
        let (device, act) = ("gpio-1".to_owned(), DeviceAct::GpioRelease { line: 4 });
        let release = Command::UseDevice { device, act, hold: Some(held.hold()) };
        let write = r#""act":{"act":"gpio_write","line":4,"high":true}"#;
        assert_eq!(request(&format!(r#""hold":true,{write}"#)), Some(release.clone()));
        assert_eq!(request(write), None);
        assert_eq!(request(r#""hold":true,"act":{"act":"gpio_read","line":4,"bias":"as_is"}"#), None);

        held.add(release.clone());
        held.add(release);
        held.done(br#"{"request":2,"command":"use_device","device":"gpio-1","act":{"act":"gpio_release","line":5}}"#);
        assert!(!held.is_empty());
        held.done(br#"{"request":3,"command":"use_device","device":"gpio-1","act":{"act":"gpio_release","line":4}}"#);
        assert!(held.is_empty());
    }
}
