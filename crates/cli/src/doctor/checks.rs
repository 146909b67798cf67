//! The checks of `doctor`, each a sentence and, where something is wrong, a way out.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use drawbridge_engine::account::PlatformUrl;
use drawbridge_os::{machine, sandbox};
use drawbridge_store::audit::{self, HeadCopy};
use drawbridge_store::config::{Config, Loaded};
use drawbridge_store::secrets::{SecretPlace, entries};
use drawbridge_store::settings::Settings;

use super::{Finding, Mark};
use crate::autostart;
use crate::place::{NoKey, Place};

/// The registered ports of the sign-in (spec 1.1).
const SIGN_IN_PORTS: std::ops::RangeInclusive<u16> = 41_899..=41_910;

pub(super) fn configuration(place: &Place, loaded: Result<&Loaded, &anyhow::Error>) -> Finding {
    let file = place.folders.config.join(drawbridge_store::config::FILE_NAME);
    match loaded {
        Ok(_) if file.exists() => Finding::new("config", Mark::Ok, format!("{} is read", file.display())),
        Ok(_) => Finding::new("config", Mark::Info, format!("there is no {}; defaults hold", file.display())),
        Err(fault) => Finding::new("config", Mark::Fail, fault.to_string())
            .fix("correct that line, or move the file away to use the defaults"),
    }
}

pub(super) fn engine(running: Result<bool, &anyhow::Error>) -> Finding {
    match running {
        Ok(true) => Finding::new("engine", Mark::Ok, "Drawbridge is running"),
        Ok(false) => Finding::new("engine", Mark::Info, "Drawbridge is not running"),
        Err(fault) => Finding::new("engine", Mark::Fail, fault.to_string()).fix("end Drawbridge and start it again"),
    }
}

/// All checks that may block.
pub(super) fn all(place: &Place, config: &Config) -> Vec<Finding> {
    let mut found = vec![state_folder(place), settings(place)];
    found.extend(secrets_and_log(place));
    found.push(platform(config));
    found.push(sign_in_ports());
    found.extend(browse_roots(config));
    found.push(confinement(config));
    found.push(session());
    found.push(browser());
    found.push(elevation());
    found.push(login_start());
    found.extend(not_built(config));
    found
}

fn state_folder(place: &Place) -> Finding {
    let path = &place.folders.state;
    match path.metadata() {
        Ok(facts) if !facts.is_dir() => {
            Finding::new("state_folder", Mark::Fail, format!("{} is no folder", path.display()))
                .fix("move it away, or set DRAWBRIDGE_STATE_DIR to a folder")
        }
        Ok(facts) if facts.permissions().readonly() => {
            Finding::new("state_folder", Mark::Fail, format!("{} cannot be written", path.display()))
                .fix("make the folder writable for you alone")
        }
        Ok(_) => Finding::new("state_folder", Mark::Ok, path.display().to_string()),
        Err(_) => Finding::new("state_folder", Mark::Info, format!("{} is made by the first start", path.display())),
    }
}

fn settings(place: &Place) -> Finding {
    let state = Settings::peek(&place.folders.state);
    match (state.broken, state.raised) {
        (Some(why), _) => Finding::new("settings", Mark::Fail, format!("{why}; everything is refused until you act"))
            .fix("start afresh in the window, or move settings.json away"),
        (None, true) => Finding::new("settings", Mark::Warn, "the bridge is raised: nothing may act")
            .fix("lower it when you want agents to work: drawbridge lower"),
        (None, false) => Finding::new("settings", Mark::Ok, "the bridge is lowered"),
    }
}

fn secrets_and_log(place: &Place) -> Vec<Finding> {
    let secrets = match place.secrets() {
        Ok(secrets) => secrets,
        Err(fault) => {
            return vec![Finding::new("secrets", Mark::Fail, fault.to_string()).fix(
                "unlock the keychain of this computer, or set DRAWBRIDGE_KEYCHAIN_PASSPHRASE for an encrypted file",
            )];
        }
    };
    let where_kept = match secrets.place() {
        SecretPlace::Keychain => "secrets are kept in the keychain of this computer",
        SecretPlace::File => "secrets are kept in an encrypted file in the state folder",
    };
    let mut found = vec![Finding::new("secrets", Mark::Ok, where_kept)];
    found.push(match secrets.get(entries::REFRESH_TOKEN) {
        Ok(Some(_)) => Finding::new("sign_in", Mark::Ok, "tokens are here"),
        Ok(None) => Finding::new("sign_in", Mark::Warn, "you are not signed in").fix("run drawbridge auth"),
        Err(fault) => Finding::new("sign_in", Mark::Fail, fault.to_string()).fix("unlock the place for secrets"),
    });
    let paths = place.audit_paths();
    if !paths.log.exists() {
        let text = format!("{} is made by the first start", paths.log.display());
        found.push(Finding::new("audit_log", Mark::Info, text));
        return found;
    }
    let broken = |text: String| {
        let fix = "look at what drawbridge audit verify-all says; keep the files, they are evidence";
        Finding::new("audit_log", Mark::Fail, text).fix(fix)
    };
    found.push(match place.audit_key() {
        Ok((key, secrets)) => match audit::verify(&paths, &key, HeadCopy::In(secrets.as_ref()), false) {
            Ok(report) if report.is_sound() => {
                Finding::new("audit_log", Mark::Ok, format!("{} is sound", paths.log.display()))
            }
            Ok(report) => broken(format!("{} has {} findings", paths.log.display(), report.findings.len())),
            Err(fault) => broken(format!("{} cannot be read: {fault}", paths.log.display())),
        },
        Err(fault @ (NoKey::Missing | NoKey::Damaged | NoKey::Secrets(_) | NoKey::Unreadable(_))) => {
            Finding::new("audit_log", Mark::Fail, format!("there is a log and no usable key to it: {fault}"))
                .fix("open the place that held the key, or move the old log away")
        }
    });
    found
}

fn platform(config: &Config) -> Finding {
    match PlatformUrl::parse(&config.platform_url) {
        Ok(url) => Finding::new("platform", Mark::Info, url.shown().to_owned()),
        Err(fault) => Finding::new("platform", Mark::Fail, fault.to_string())
            .fix("correct platform_url in config.toml or DRAWBRIDGE_PLATFORM_URL"),
    }
}

fn sign_in_ports() -> Finding {
    let free = SIGN_IN_PORTS.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).count();
    if free > 0 {
        return Finding::new("sign_in_ports", Mark::Ok, format!("{free} of the 12 ports of the sign-in are free"));
    }
    Finding::new("sign_in_ports", Mark::Warn, "all ports from 41899 to 41910 are in use, so nobody can sign in")
        .fix("end the programs that listen there")
}

fn browse_roots(config: &Config) -> Vec<Finding> {
    let Some(roots) = &config.browse.roots else {
        let text = "the usual folders may be browsed: home and your mounts";
        return vec![Finding::new("browse_roots", Mark::Ok, text)];
    };
    if roots.is_empty() {
        return vec![
            Finding::new("browse_roots", Mark::Warn, "no folder may be browsed, so none can be attached")
                .fix("name folders in roots under [browse] in config.toml"),
        ];
    }
    let check = |root: &std::path::PathBuf| {
        if root.is_dir() {
            return Finding::new("browse_roots", Mark::Ok, root.display().to_string());
        }
        Finding::new("browse_roots", Mark::Warn, format!("{} is no folder", root.display()))
            .fix("make it, or take it out of roots under [browse] in config.toml")
    };
    roots.iter().map(check).collect()
}

fn confinement(config: &Config) -> Finding {
    match sandbox::probe(&sandbox::find_bubblewrap()).missing() {
        None => Finding::new("confinement", Mark::Ok, "commands can be confined"),
        Some(why) => {
            let mark = if config.enable_shell { Mark::Fail } else { Mark::Warn };
            let text = format!("commands cannot be confined here ({why}), so confined ones are refused");
            Finding::new("confinement", mark, text).fix("install bubblewrap and allow user name spaces")
        }
    }
}

fn session() -> Finding {
    let named = |key| std::env::var(key).ok().filter(|value| !value.is_empty());
    let kind = named("XDG_SESSION_TYPE").unwrap_or_else(|| "not told".to_owned());
    let text = match (named("WAYLAND_DISPLAY").is_some(), named("DISPLAY").is_some()) {
        (true, true) => format!("session type {kind}; a Wayland display, and an X display"),
        (true, false) => format!("session type {kind}; a Wayland display"),
        (false, true) => format!("session type {kind}; an X display"),
        (false, false) => format!("session type {kind}; no display is named, so a start here is headless"),
    };
    Finding::new("display", Mark::Info, text)
}

fn browser() -> Finding {
    if std::env::consts::OS != "linux" {
        return Finding::new("browser", Mark::Ok, "the system opens the sign-in page");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("xdg-open").is_file()) {
        return Finding::new("browser", Mark::Ok, "xdg-open opens the sign-in page");
    }
    Finding::new("browser", Mark::Warn, "xdg-open is not on the PATH, so the sign-in page does not open by itself")
        .fix("install xdg-utils, or copy the address that drawbridge auth prints")
}

fn elevation() -> Finding {
    if machine::is_elevated() {
        return Finding::new(
            "elevation",
            Mark::Warn,
            "this runs with all rights over the computer, and agents with it",
        )
        .fix("run Drawbridge as an ordinary user");
    }
    Finding::new("elevation", Mark::Ok, "this runs with the rights of an ordinary user")
}

fn login_start() -> Finding {
    match autostart::unit_path() {
        Ok(path) if Path::new(&path).exists() => {
            Finding::new("start_at_login", Mark::Info, format!("{} is there", path.display()))
        }
        Ok(_) => Finding::new("start_at_login", Mark::Info, "Drawbridge does not start at login"),
        Err(fault) => Finding::new("start_at_login", Mark::Info, fault.to_string()),
    }
}

/// Powers that were asked for and that this version does not have: they stay off, and nobody should believe otherwise.
fn not_built(config: &Config) -> Vec<Finding> {
    [
        ("computer_use", config.enable_computer_use, Mark::Fail, "enable_computer_use"),
        ("clipboard", config.enable_clipboard || config.enable_clipboard_read_foreign, Mark::Warn, "enable_clipboard"),
        ("local_model", config.enable_local_llm, Mark::Warn, "enable_local_llm"),
        ("hardware", config.enable_hardware, Mark::Warn, "enable_hardware"),
    ]
    .into_iter()
    .filter(|(_, wanted, ..)| *wanted)
    .map(|(id, _, mark, key)| {
        Finding::new(id, mark, "this version of Drawbridge cannot do that yet; the power stays off")
            .fix(format!("take {key} out of config.toml"))
    })
    .collect()
}
