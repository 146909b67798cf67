//! What the person says of devices, and using them from here.

use std::path::Path;
use std::sync::Arc;

use drawbridge_core::hardware::DeviceId;
use drawbridge_core::{Operation, Outcome, RequestId};
use drawbridge_os::hardware::{id, port};
use drawbridge_policy::{MAX_DEVICES, SharedDevice};
use serde_json::json;

use super::Core;
use super::aside::{Acting, Wait};
use super::commands::{Done, not_stored, sentence};
use crate::device_act::{self, DeviceAct, device_named, unknown_device};
use crate::dispatcher::Job;
use crate::handle::{CommandError, Reply};
use crate::hardware::{COMMAND_LINE, Devices};
use crate::journal::Journal;
use crate::policy_cell::PolicyCell;
use crate::record::shown;

/// The longest path of a serial port, in bytes.
const LONGEST_PATH: usize = 1024;

/// What changing the list needs.
#[derive(Clone)]
struct Change {
    devices: Arc<Devices>,
    policy: Arc<PolicyCell>,
    journal: Arc<Journal>,
}

impl Core {
    pub(super) fn look_at_devices(&self) -> Wait {
        let devices = self.devices.clone();
        Box::pin(async move { looked(&devices).await.map(|()| Reply::Done) })
    }

    pub(super) fn share_device(&self, id: &str, shared: bool) -> Result<Wait, CommandError> {
        let (id, change) = (device_named(id)?, self.device_change());
        Ok(if shared {
            Box::pin(async move { change.share(&id).await })
        } else {
            Box::pin(async move { change.unshare(&id).await })
        })
    }

    pub(super) fn add_port(&self, path: String) -> Result<Wait, CommandError> {
        if path.len() > LONGEST_PATH || path.chars().any(char::is_control) || !Path::new(&path).is_absolute() {
            let why = "A serial port is named by its whole path, such as /dev/ttyUSB0. Nothing was added.";
            return Err(CommandError::new("bad_port", why));
        }
        let change = self.device_change();
        Ok(Box::pin(async move { change.add(path).await }))
    }

    pub(super) fn remove_port(&self, path: String) -> Result<Wait, CommandError> {
        let change = self.device_change();
        let named = |added: &&String| **added == path || drawbridge_core::escape_outside_text(added) == path;
        let Some(path) = self.policy.get().added_ports.iter().find(named).cloned() else {
            let message =
                format!("{} is not one of the ports that you added. Look at the list of devices.", shown(&path));
            return Err(CommandError::new("unknown_port", message));
        };
        if self.devices.is_configured_port(&path) {
            return Err(from_config());
        }
        Ok(Box::pin(async move { change.remove(&path).await }))
    }

    /// Uses a device for the command line.
    pub(super) fn use_device(&self, device: &str, act: DeviceAct, hold: Option<u64>) -> Result<Acting, CommandError> {
        let op = device_act::operation(device, act, hold)?;
        let (devices, dispatcher) = (self.devices.clone(), self.shared.dispatcher.clone());
        let running = devices.begin(&op.device);
        let cancel = running.cancel.clone();
        let request = RequestId::parse(&uuid::Uuid::new_v4().to_string())
            .map_err(|fault| CommandError::new("internal", sentence(&fault.to_string())))?;
        let device = op.device.clone();
        let job = Job {
            link: COMMAND_LINE,
            request,
            operation: Operation::Hardware(op),
            session: None,
            root: None,
            offer: Arc::default(),
            limits: self.shared.limits,
            pieces: None,
            queued: Arc::default(),
            cancel: cancel.clone(),
        };
        let wait = Box::pin(async move {
            let _running = running;
            // It may have been plugged in this very moment, or the power was switched on just now.
            if devices.is_on() && devices.find(&device).is_none() {
                devices.look().await;
            }
            match dispatcher.run_local(job).await {
                Ok(Outcome::Hardware(outcome)) => Ok(Reply::Device { result: device_act::result(outcome) }),
                Ok(_) => Err(CommandError::new("internal", "The device gave an answer of another kind.")),
                Err(fault) => Err(device_act::fault(&fault)),
            }
        });
        Ok(Acting { wait, cancel })
    }

    fn device_change(&self) -> Change {
        Change { devices: self.devices.clone(), policy: self.policy.clone(), journal: self.journal.clone() }
    }
}

impl Change {
    async fn share(&self, id: &DeviceId) -> Done {
        if self.devices.find(id).is_none() {
            looked(&self.devices).await?;
        }
        let device = self.devices.find(id).ok_or_else(|| unknown_device(id.as_str()))?;
        let state = self.policy.get();
        if state.devices.contains_key(id) {
            return Ok(Reply::Done);
        }
        if state.devices.len() >= MAX_DEVICES {
            let why = format!("{MAX_DEVICES} devices are shared, which is the most. Take one back first.");
            return Err(CommandError::new("too_many_devices", why));
        }
        let shared = self.devices.shared(&device);
        let label = shared.label.clone();
        self.change(|devices| drop(devices.insert(id.clone(), shared.clone())))?;
        self.note(json!({ "device": id.as_str(), "label": label, "shared": true }));
        self.devices.tell();
        Ok(Reply::Done)
    }

    async fn unshare(&self, id: &DeviceId) -> Done {
        let state = self.policy.get();
        let Some(shared) = state.devices.get(id) else { return Ok(Reply::Done) };
        if self.devices.find(id).is_some_and(|device| self.devices.is_configured(&device)) {
            return Err(from_config());
        }
        let stored = self.policy.tighten(|state| drop(state.devices.remove(id)));
        self.devices.close(id).await;
        self.note(json!({ "device": id.as_str(), "label": shared.label, "shared": false }));
        self.devices.tell();
        stored.map(|_| Reply::Done).map_err(|why| {
            let message = format!(
                "The device is not shared any more, but that could not be stored ({why}): it would be shared again after the next start. Make room on the disk and take it back again."
            );
            CommandError::new("not_stored", message)
        })
    }

    async fn add(&self, path: String) -> Done {
        looked(&self.devices).await?;
        let added = self.policy.get().added_ports.clone();
        if added.contains(&path) {
            return Ok(Reply::Done);
        }
        if self.devices.at_port(&path).is_some() {
            let message = format!("{} is in the list already. Share it there.", shown(&path));
            return Err(CommandError::new("port_listed", message));
        }
        if added.len() >= MAX_DEVICES {
            let why = format!("{MAX_DEVICES} ports were added, which is the most. Remove one first.");
            return Err(CommandError::new("too_many_ports", why));
        }
        let to_check = path.clone();
        let checked = tokio::task::spawn_blocking(move || port::check(Path::new(&to_check))).await;
        let broke_off = |_| CommandError::new("bad_port", "The look at the port broke off. Nothing was added.");
        checked
            .map_err(broke_off)?
            .map_err(|fault| CommandError::new("bad_port", format!("Nothing was added: {}.", shown(&fault.message))))?;
        self.policy
            .change(|state| {
                if !state.added_ports.contains(&path) {
                    state.added_ports.push(path.clone());
                }
            })
            .map_err(not_stored)?;
        self.note(json!({ "port_added": path }));
        looked(&self.devices).await?;
        Ok(Reply::Done)
    }

    async fn remove(&self, path: &str) -> Done {
        let id = id::serial_of_path(path);
        let stored = self.policy.tighten(|state| {
            state.added_ports.retain(|added| added != path);
            state.devices.remove(&id);
        });
        self.devices.close(&id).await;
        self.note(json!({ "port_removed": path, "device": id.as_str() }));
        looked(&self.devices).await?;
        stored.map(|_| Reply::Done).map_err(not_stored)
    }

    fn change(
        &self,
        edit: impl Fn(&mut std::collections::BTreeMap<DeviceId, SharedDevice>),
    ) -> Result<(), CommandError> {
        self.policy.change(|state| edit(&mut state.devices)).map(drop).map_err(not_stored)
    }

    fn note(&self, details: serde_json::Value) {
        self.journal.event(None, "POLICY_CHANGED", details);
    }
}

/// Looks what is there now.
async fn looked(devices: &Arc<Devices>) -> Result<(), CommandError> {
    if devices.look().await {
        return Ok(());
    }
    let why = "The system did not tell in time which devices are there; a driver may hang. Unplug what you plugged in last and try again.";
    Err(CommandError::new("devices_silent", why))
}

fn from_config() -> CommandError {
    let why = "The configuration shares this device, so nothing was changed. Take it out of share under [hardware] in config.toml and start Drawbridge again.";
    CommandError::new("from_config", why)
}
