//! What can be done to a state folder while no engine runs. Each caller holds the folder's lock.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use drawbridge_core::hardware::DeviceId;
use drawbridge_core::{Clock as _, SessionId, SystemClock, escape_outside_text};
use drawbridge_engine::view::{ChatView, DeviceView, LinkState, PromptDetail, UndoView};
use drawbridge_os::hardware::{id, port};
use drawbridge_os::root::{Root, RootOptions};
use drawbridge_policy::{MAX_DEVICES, PolicyState, SharedDevice};
use drawbridge_store::bindings::{Attachment, Bindings};
use drawbridge_store::settings::{self, Settings};
use drawbridge_store::state_dir::Owner;
use drawbridge_store::undo::{UndoFault, UndoStore};
use serde_json::{Map, Value};

use crate::place::Place;
use crate::{accounts, audit};

pub(crate) fn set_raised(place: &Place, _owner: &Owner, raised: bool) -> anyhow::Result<()> {
    let before = Settings::open(&place.folders.state).1.raised;
    settings::set_raised(&place.folders.state, raised)?;
    if before != raised {
        audit::note(place, None, "STOP_ALL", facts([("raised", raised.into())]));
    }
    Ok(())
}

pub(crate) fn chats(place: &Place, _owner: &Owner) -> anyhow::Result<Vec<ChatView>> {
    let mut known = Bindings::open(&accounts::kept_for(place).0)?.list();
    known.retain(|chat| chat.attached || !chat.revoked);
    known.sort_by_key(|chat| std::cmp::Reverse(chat.last_used_ms));
    Ok(known.iter().map(chat_view).collect())
}

fn chat_view(chat: &Attachment) -> ChatView {
    ChatView {
        session_id: chat.session.as_str().to_owned(),
        folder: escape_outside_text(&chat.allowed_root),
        revision: chat.revision,
        attached: chat.attached,
        active: false,
        link: LinkState::Off,
        in_flight: 0,
        requests: 0,
        revoked: chat.revoked,
        last_used_ms: chat.last_used_ms,
        attached_ms: chat.issued_at.saturating_mul(1000),
        ..ChatView::default()
    }
}

pub(crate) fn forget(place: &Place, _owner: &Owner, session_id: &str) -> anyhow::Result<()> {
    let (folder, name) = accounts::kept_for(place);
    let bindings = Bindings::open(&folder)?;
    let session = SessionId::parse(session_id).ok().filter(|session| bindings.get(session).is_some());
    let session = session.with_context(|| {
        format!("no chat {} is known here; look at the list of chats", escape_outside_text(session_id))
    })?;
    bindings.revoke(&session)?;
    let (settings, mut state) = Settings::open_of(&place.folders.state, &name);
    if state.forget_chat(&session) {
        settings.save(&state)?;
    }
    audit::note(place, Some(&session), "POLICY_CHANGED", facts([("revoked", session.as_str().into())]));
    Ok(())
}

pub(crate) fn undo_list(place: &Place, _owner: &Owner, chat: Option<&str>) -> anyhow::Result<Vec<UndoView>> {
    let session = chat.map(session_of).transpose()?;
    Ok(undo_store(place)?.list(session.as_ref()).iter().map(UndoView::from).collect())
}

/// Takes changes back, newest first: later ones lie on top of earlier ones.
pub(crate) fn undo_restore(place: &Place, _owner: &Owner, mut numbers: Vec<u64>) -> anyhow::Result<()> {
    let undo = undo_store(place)?;
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.dedup();
    numbers.into_iter().try_for_each(|number| Ok(restore_one(place, &undo, number, None)?))
}

/// Takes back everything that a chat changed, newest first. Returns how many changes that were, and what failed, each with
/// its path and why, safe to show.
pub(crate) fn undo_restore_chat(place: &Place, _owner: &Owner, chat: &str) -> anyhow::Result<(u64, Vec<PromptDetail>)> {
    let session = session_of(chat)?;
    let undo = undo_store(place)?;
    let (mut count, mut failed) = (0, Vec::new());
    for entry in undo.list(Some(&session)).into_iter().filter(|entry| !entry.restored) {
        match restore_one(place, &undo, entry.number, Some(&session)) {
            Ok(()) => count += 1,
            Err(fault) => failed.push(PromptDetail {
                label: escape_outside_text(&entry.path),
                value: escape_outside_text(&fault.to_string()),
            }),
        }
    }
    Ok((count, failed))
}

fn restore_one(place: &Place, undo: &UndoStore, number: u64, session: Option<&SessionId>) -> Result<(), UndoFault> {
    let folders = &place.folders;
    let protected = vec![folders.state.clone(), folders.config.clone(), folders.logs.clone()];
    let options = RootOptions { protected, home: std::env::home_dir() };
    let restored = undo.restore(number, &|path| Root::open_with(Path::new(path), options.clone()))?;
    audit::note(place, session, "UNDO_RESTORED", facts([("number", number.into()), ("path", restored.path.into())]));
    Ok(())
}

/// Returns the stored settings of the account of the next start.
pub(crate) fn settings(place: &Place) -> (Settings, PolicyState) {
    Settings::open_of(&place.folders.state, &accounts::kept_for(place).1)
}

pub(crate) fn share_device(place: &Place, _owner: &Owner, device: &DeviceView) -> anyhow::Result<()> {
    let (settings, mut state) = settings(place);
    let id = DeviceId::parse(&device.id)?;
    if state.devices.contains_key(&id) {
        return Ok(());
    }
    if !device.present {
        bail!("{} is not there, so nothing was shared; plug it in first", device.id);
    }
    if state.devices.len() >= MAX_DEVICES {
        bail!("{MAX_DEVICES} devices are shared, which is the most; take one back first");
    }
    let label = if device.description.is_empty() { &device.place } else { &device.description };
    state.devices.insert(id, SharedDevice { label: label.clone(), at_ms: SystemClock.wall().0 });
    settings.save(&state)?;
    note_device(place, device, label, true);
    Ok(())
}

pub(crate) fn unshare_device(place: &Place, _owner: &Owner, device: &DeviceView) -> anyhow::Result<()> {
    let (settings, mut state) = settings(place);
    if let Some(shared) = state.devices.remove(&DeviceId::parse(&device.id)?) {
        settings.save(&state)?;
        note_device(place, device, &shared.label, false);
    }
    Ok(())
}

fn note_device(place: &Place, device: &DeviceView, label: &str, shared: bool) {
    let details = [("device", device.id.as_str().into()), ("label", label.into()), ("shared", shared.into())];
    audit::note(place, None, "POLICY_CHANGED", facts(details));
}

pub(crate) fn add_port(place: &Place, _owner: &Owner, path: &str) -> anyhow::Result<()> {
    if path.chars().any(char::is_control) || !Path::new(path).is_absolute() {
        bail!("a serial port is named by its whole path, such as /dev/ttyUSB0; nothing was added");
    }
    let (settings, mut state) = settings(place);
    if state.added_ports.iter().any(|added| added == path) {
        return Ok(());
    }
    if state.added_ports.len() >= MAX_DEVICES {
        bail!("{MAX_DEVICES} ports were added, which is the most; remove one first");
    }
    port::check(Path::new(path))
        .map_err(|fault| anyhow!("nothing was added: {}", escape_outside_text(&fault.message)))?;
    state.added_ports.push(path.to_owned());
    settings.save(&state)?;
    audit::note(place, None, "POLICY_CHANGED", facts([("port_added", path.into())]));
    Ok(())
}

pub(crate) fn remove_port(place: &Place, _owner: &Owner, path: &str) -> anyhow::Result<()> {
    let (settings, mut state) = settings(place);
    if !state.added_ports.iter().any(|added| added == path) {
        bail!("{} is not one of the ports that were added; `drawbridge devices` lists them", escape_outside_text(path));
    }
    state.added_ports.retain(|added| added != path);
    state.devices.remove(&id::serial_of_path(path));
    settings.save(&state)?;
    audit::note(place, None, "POLICY_CHANGED", facts([("port_removed", path.into())]));
    Ok(())
}

fn session_of(chat: &str) -> anyhow::Result<SessionId> {
    SessionId::parse(chat).with_context(|| format!("{} is not the id of a chat", escape_outside_text(chat)))
}

fn undo_store(place: &Place) -> anyhow::Result<UndoStore> {
    UndoStore::open(&place.folders.state.join("undo"), Arc::new(SystemClock)).context("the undo store cannot be opened")
}

fn facts<const N: usize>(facts: [(&str, Value); N]) -> Map<String, Value> {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
