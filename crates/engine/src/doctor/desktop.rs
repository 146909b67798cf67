//! The desktop around: display, tray, notifications, the keys that raise, a browser, and the rights of this program.

use drawbridge_os::desktop::{self, Display, Service, ServiceState, install_command, program};
use drawbridge_os::machine;

use super::{Finding, Input, words};

fn display_of(input: &Input) -> Display {
    Display::named_by(|name| input.variable(name))
}

pub(super) fn display(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "display";
    let mut found = vec![match display_of(input) {
        Display::System => Finding::info(CHECK, &words::DISPLAY_SYSTEM, &[]),
        Display::X11 => Finding::info(CHECK, &words::DISPLAY_X11, &[]),
        Display::Wayland => Finding::info(CHECK, &words::DISPLAY_WAYLAND, &[]),
        Display::WaylandAndX11 => Finding::info(CHECK, &words::DISPLAY_WAYLAND_X11, &[]),
        Display::None => Finding::info(CHECK, &words::DISPLAY_NONE, &[]),
    }];
    if machine::platform() == Ok("wsl2") {
        found.push(Finding::info(CHECK, &words::DISPLAY_WSL, &[]));
    }
    found
}

/// Nobody misses a tray where there is no display.
pub(super) fn tray(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "tray";
    if display_of(input) == Display::None {
        return Vec::new();
    }
    vec![match desktop::service(Service::Tray) {
        ServiceState::There | ServiceState::BuiltIn => Finding::ok(CHECK, &words::TRAY_THERE, &[]),
        ServiceState::Missing => Finding::warn(CHECK, &words::TRAY_MISSING, &[]),
        ServiceState::NoBus => Finding::warn(CHECK, &words::TRAY_NO_BUS, &[]),
    }]
}

pub(super) fn notifications(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "notifications";
    if display_of(input) == Display::None {
        return Vec::new();
    }
    vec![match desktop::service(Service::Notifications) {
        ServiceState::There | ServiceState::BuiltIn => Finding::ok(CHECK, &words::NOTIFICATIONS_THERE, &[]),
        ServiceState::Missing | ServiceState::NoBus => Finding::warn(CHECK, &words::NOTIFICATIONS_MISSING, &[]),
    }]
}

/// Only the desktop shell takes keys.
pub(super) fn hot_key(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "hot_key";
    let Some(shell) = &input.shell else { return Vec::new() };
    vec![match &shell.hot_key {
        _ if !shell.hot_key_possible => Finding::info(CHECK, &words::HOT_KEY_NOT_HERE, &[]),
        _ if !shell.hot_key_wanted => Finding::info(CHECK, &words::HOT_KEY_OFF, &[]),
        Some(keys) => Finding::ok(CHECK, &words::HOT_KEY_OURS, &[("keys", keys)]),
        None => Finding::warn(CHECK, &words::HOT_KEY_LOST, &[]),
    }]
}

pub(super) fn browser(input: &Input) -> Vec<Finding> {
    const CHECK: &str = "browser";
    if std::env::consts::OS != "linux" {
        return vec![Finding::ok(CHECK, &words::BROWSER_SYSTEM, &[])];
    }
    if program("xdg-open", &input.variable("PATH").unwrap_or_default()).is_some() {
        return vec![Finding::ok(CHECK, &words::BROWSER_FOUND, &[])];
    }
    vec![match install_command("xdg-utils") {
        Some(command) => Finding::warn(CHECK, &words::BROWSER_INSTALL, &[("command", &command)])
            .with_action("copy_install_xdg_utils"),
        None => Finding::warn(CHECK, &words::BROWSER_MISSING, &[]),
    }]
}

pub(super) fn elevation() -> Vec<Finding> {
    vec![if machine::is_elevated() {
        Finding::warn("elevation", &words::ELEVATION_ROOT, &[])
    } else {
        Finding::ok("elevation", &words::ELEVATION_ORDINARY, &[])
    }]
}
