//! The files of this installation: configuration, state folder, room on the disk, settings.

use std::io::ErrorKind;
use std::path::Path;

use drawbridge_os::autostart::{self, State};
use drawbridge_os::disk;
use drawbridge_os::installed;
use drawbridge_store::config::{ConfigError, FILE_NAME, Loaded};
use drawbridge_store::settings::Settings;

use super::{Finding, Input, words};
use crate::accounts::open_book;
use crate::view::Snapshot;

/// Below this the log may soon be unable to grow.
const LOW_BYTES: u64 = 200 * MB;
/// Below this nothing can be relied on.
const FULL_BYTES: u64 = 20 * MB;
const MB: u64 = 1_000_000;
/// From here on megabytes tell nobody anything.
const SHOWN_AS_GB_FROM: u64 = 10_000 * MB;

pub(super) fn configuration(input: &Input) -> Vec<Finding> {
    let file = input.folders.config.join(FILE_NAME);
    let shown = file.display();
    vec![match &input.config {
        // The file itself was not looked at: the organisation's policy, which has a check of its own, comes first.
        Err(ConfigError::Managed(_)) => return Vec::new(),
        Err(why) => Finding::fail("config", &words::CONFIG_BROKEN, &[("why", why)]).with_action("open_config"),
        Ok(loaded) if holds_password(loaded) && disk::readable_by_others(&file).unwrap_or(false) => {
            Finding::warn("config", &words::CONFIG_OPEN, &[("file", &shown)]).with_action("open_config")
        }
        Ok(_) if file.exists() => Finding::ok("config", &words::CONFIG_READ, &[("file", &shown)]),
        Ok(_) => Finding::info("config", &words::CONFIG_ABSENT, &[("file", &shown)]),
    }]
}

/// The address of a proxy may carry a user name and password, before an at sign.
fn holds_password(loaded: &Loaded) -> bool {
    loaded.config.proxy.url.as_deref().is_some_and(|url| url.contains('@'))
}

/// What an organisation has fixed. Nothing is said where none has.
pub(super) fn managed(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "managed";
    match &input.config {
        Err(ConfigError::Managed(fault)) => vec![Finding::fail(CHECK, &words::MANAGED_BROKEN, &[("why", fault)])],
        Err(_) | Ok(Loaded { managed: None, .. }) => Vec::new(),
        Ok(Loaded { managed: Some(managed), .. }) => {
            let path = managed.path.display();
            let locked = managed.locked.join(", ");
            let words = match managed.organisation {
                Some(_) => &words::MANAGED_SET,
                None => &words::MANAGED_SET_NAMELESS,
            };
            let organisation = managed.organisation.clone().unwrap_or_default();
            let params: &[(&'static str, &dyn std::fmt::Display)] =
                &[("organisation", &organisation), ("path", &path), ("locked", &locked)];
            vec![Finding::info(CHECK, words, params)]
        }
    }
}

pub(super) fn folder(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "state_folder";
    let path = &input.folders.state;
    let shown = path.display();
    vec![match disk::folder(path) {
        Ok(facts) if !facts.ours => Finding::fail(CHECK, &words::FOLDER_FOREIGN, &[("path", &shown)]),
        Ok(facts) if !facts.writable => {
            Finding::fail(CHECK, &words::FOLDER_READ_ONLY, &[("path", &shown)]).with_action("open_state_folder")
        }
        Ok(facts) if facts.open_to_others => {
            Finding::warn(CHECK, &words::FOLDER_OPEN, &[("path", &shown)]).with_action("make_private")
        }
        Ok(_) => Finding::ok(CHECK, &words::FOLDER_FINE, &[("path", &shown)]),
        Err(fault) if fault.kind() == ErrorKind::NotFound => missing(path),
        // A file within the path says so in the same way.
        Err(fault) if fault.kind() == ErrorKind::NotADirectory => {
            Finding::fail(CHECK, &words::FOLDER_NONE, &[("path", &shown)])
        }
        Err(fault) => Finding::fail(CHECK, &words::FOLDER_UNREADABLE, &[("path", &shown), ("why", &fault)]),
    }]
}

fn missing(path: &Path) -> Finding {
    let above = disk::nearest(path).unwrap_or_else(|| path.to_owned());
    if disk::folder(&above).is_ok_and(|facts| facts.writable) {
        return Finding::info("state_folder", &words::FOLDER_LATER, &[("path", &path.display())]);
    }
    let params: &[(&'static str, &dyn std::fmt::Display)] = &[("path", &path.display()), ("above", &above.display())];
    Finding::fail("state_folder", &words::FOLDER_NOT_MADE, params)
}

/// The room for the state folder, and for the log where that lies elsewhere.
pub(super) fn disk(input: &Input) -> Vec<Finding> {
    let mut places = vec![&input.folders.state];
    if input.folders.logs != input.folders.state {
        places.push(&input.folders.logs);
    }
    places.into_iter().map(|place| room(place)).collect()
}

fn room(place: &Path) -> Finding {
    const CHECK: &str = "disk_space";
    let path = place.display();
    let Ok(Some(free)) = disk::free_bytes(place) else {
        return Finding::info(CHECK, &words::DISK_UNKNOWN, &[("path", &path)]);
    };
    let shown = shown_bytes(free);
    let params: &[(&'static str, &dyn std::fmt::Display)] = &[("free", &shown), ("path", &path)];
    match free {
        ..FULL_BYTES => Finding::fail(CHECK, &words::DISK_FULL, params).with_action("open_state_folder"),
        FULL_BYTES..LOW_BYTES => Finding::warn(CHECK, &words::DISK_LOW, params).with_action("open_state_folder"),
        LOW_BYTES.. => Finding::ok(CHECK, &words::DISK_FINE, params),
    }
}

/// In whole units, which every language writes alike.
pub(super) fn shown_bytes(bytes: u64) -> String {
    if bytes < SHOWN_AS_GB_FROM { format!("{} MB", bytes / MB) } else { format!("{} GB", bytes / (1000 * MB)) }
}

/// The settings as a start would read them.
pub(super) fn settings(input: &Input) -> Vec<Finding> {
    let state = Settings::peek(&input.folders.state);
    vec![settings_finding(state.broken.as_deref(), state.raised)]
}

/// The settings as a running engine has them, and whatever else stops everything there.
pub(super) fn settings_in_use(snapshot: &Snapshot) -> Vec<Finding> {
    match &snapshot.trouble {
        Some(trouble) if trouble.code == "settings_broken" => {
            vec![settings_finding(Some(&trouble.message), snapshot.raised)]
        }
        Some(trouble) => vec![
            Finding::fail("engine", &words::ENGINE_TROUBLE, &[("why", &trouble.message)]),
            settings_finding(None, snapshot.raised),
        ],
        None => vec![settings_finding(None, snapshot.raised)],
    }
}

fn settings_finding(broken: Option<&str>, raised: bool) -> Finding {
    match (broken, raised) {
        (Some(why), _) => {
            Finding::fail("settings", &words::SETTINGS_BROKEN, &[("why", &why)]).with_action("set_aside_settings")
        }
        (None, true) => Finding::warn("settings", &words::SETTINGS_RAISED, &[]).with_action("lower"),
        (None, false) => Finding::ok("settings", &words::SETTINGS_LOWERED, &[]),
    }
}

/// How this copy came onto the computer, and whether its file is still there.
pub(super) fn installation(_input: &Input) -> Vec<Finding> {
    let exe = std::env::current_exe().unwrap_or_default();
    vec![installation_finding(&installed::kind(), &exe)]
}

fn installation_finding(kind: &installed::Kind, exe: &Path) -> Finding {
    const CHECK: &str = "installation";
    if !exe.is_file() {
        return Finding::warn(CHECK, &words::PROGRAM_GONE, &[]);
    }
    match kind {
        installed::Kind::AppImage(image) => {
            Finding::info(CHECK, &words::INSTALLED_IMAGE, &[("path", &image.display())])
        }
        installed::Kind::Deb => Finding::info(CHECK, &words::INSTALLED_PACKAGE, &[("kind", &"deb")]),
        installed::Kind::Rpm => Finding::info(CHECK, &words::INSTALLED_PACKAGE, &[("kind", &"rpm")]),
        installed::Kind::Dmg(folder) => Finding::info(CHECK, &words::INSTALLED_IMAGE, &[("path", &folder.display())]),
        installed::Kind::Nsis | installed::Kind::Msi => Finding::info(CHECK, &words::INSTALLED_INSTALLER, &[]),
        installed::Kind::Other => Finding::info(CHECK, &words::INSTALLED_OTHER, &[("path", &exe.display())]),
    }
}

/// The list of further accounts, where it cannot be trusted. Nothing is said of one that can.
pub(super) fn accounts(input: &Input) -> Vec<Finding> {
    let trouble = open_book(&input.folders.state).trouble();
    let finding =
        |fault| Finding::fail("accounts", &words::ACCOUNTS_BROKEN, &[("why", &fault)]).with_action("open_state_folder");
    trouble.map(finding).into_iter().collect()
}

/// How starting at login stands.
pub(super) fn login(_input: &Input) -> Vec<Finding> {
    vec![match autostart::state() {
        Ok(report) => login_finding(&report),
        Err(fault) => Finding::info("start_at_login", &words::LOGIN_UNKNOWN, &[("why", &fault)]),
    }]
}

fn login_finding(report: &autostart::Report) -> Finding {
    const CHECK: &str = "start_at_login";
    let place: (&'static str, &dyn std::fmt::Display) = ("place", &report.place);
    match &report.state {
        State::On => Finding::ok(CHECK, &words::LOGIN_ON, &[place]),
        State::Off => Finding::info(CHECK, &words::LOGIN_OFF, &[]).with_action("login_start_on"),
        State::Elsewhere { program } => {
            Finding::warn(CHECK, &words::LOGIN_ELSEWHERE, &[place, ("program", &program.display())])
                .with_action("login_start_repair")
        }
        State::Gone { program } => Finding::warn(CHECK, &words::LOGIN_GONE, &[place, ("program", &program.display())])
            .with_action("login_start_repair"),
        State::Disabled => Finding::warn(CHECK, &words::LOGIN_DISABLED, &[place]),
        State::Foreign => Finding::warn(CHECK, &words::LOGIN_FOREIGN, &[place]),
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
