//! Whether agents can have the screen and the clipboard here, where either was asked for (spec 10.9). Findings name features and
//! reasons, never a window.

use std::collections::BTreeMap;

use drawbridge_caps::computer::{ClipboardRule, Computer, ComputerSettings, Features};
use drawbridge_core::{Power, PowerMode, SystemClock};
use drawbridge_os::machine;
use drawbridge_os::seat::{Seat, SeatKind};
use drawbridge_store::settings::Settings;

use super::words::{self, Words};
use super::{Finding, FindingState, Input};
use crate::view::{ScreenView, Snapshot};

const SCREEN: &str = "computer_use";
const CLIPBOARD: &str = "clipboard";

/// What was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wanted {
    screen: bool,
    clipboard: bool,
}

/// What a seat can do, whoever looked.
struct Seen {
    seat: SeatKind,
    features: Vec<String>,
    /// Feature and reason.
    missing: Vec<(String, String)>,
    resolution: Option<(u32, u32)>,
}

/// Looks at the seat that the environment names.
pub(super) fn screen(input: &Input) -> Vec<Finding> {
    let config = input.config();
    let stored = Settings::peek(&input.folders.state);
    let on = |power| stored.broken.is_none() && stored.modes.get(&power).is_some_and(|mode| *mode != PowerMode::Off);
    let wanted = Wanted {
        screen: config.enable_computer_use || on(Power::ComputerUse),
        clipboard: config.enable_clipboard || on(Power::Clipboard),
    };
    let mut found = alone(&config);
    if wanted != Wanted::default() {
        found.extend(findings(wanted, &look(input)));
    }
    found
}

/// Takes what a running engine saw, where a power is on in it.
pub(super) fn in_use(snapshot: &Snapshot) -> Option<Vec<Finding>> {
    let on = |name: Power| snapshot.powers.iter().any(|one| one.power == name.name() && one.mode != "off");
    let wanted = Wanted { screen: on(Power::ComputerUse), clipboard: on(Power::Clipboard) };
    // A stopped bridge has looked at nothing.
    (wanted != Wanted::default() && !snapshot.raised).then(|| findings(wanted, &Seen::of(&snapshot.screen)))
}

impl Seen {
    fn of(view: &ScreenView) -> Self {
        let kinds =
            [SeatKind::X11, SeatKind::Wayland, SeatKind::Wsl, SeatKind::MacOs, SeatKind::Windows, SeatKind::None];
        let seat = kinds.into_iter().find(|kind| crate::screen::kind_name(*kind) == view.seat);
        Self {
            seat: seat.unwrap_or(SeatKind::None),
            features: view.features.clone(),
            missing: view.missing.iter().map(|one| (one.feature.clone(), one.why.clone())).collect(),
            resolution: None,
        }
    }
}

fn look(input: &Input) -> Seen {
    let seat = Seat::named_by(|name| input.variable(name), machine::platform() == Ok("wsl2"));
    let kind = seat.kind;
    let settings = ComputerSettings { screenshots_per_minute: 1 };
    let computer = Computer::new(seat, settings, std::sync::Arc::new(SystemClock));
    let Features { fine, coarse, screen_resolution, missing } = computer.probe(ClipboardRule::Foreign);
    Seen {
        seat: kind,
        features: coarse.into_iter().chain(fine).map(str::to_owned).collect(),
        missing: missing.into_iter().map(|(feature, why)| (feature.to_owned(), why)).collect(),
        resolution: screen_resolution,
    }
}

fn findings(wanted: Wanted, seen: &Seen) -> Vec<Finding> {
    let mut found = Vec::new();
    if wanted.screen {
        found.extend(of_screen(seen));
    }
    if wanted.clipboard {
        found.extend(of_clipboard(seen));
    }
    found
}

fn of_screen(seen: &Seen) -> Vec<Finding> {
    let mine = |name: &str| !name.starts_with("clipboard");
    let features: Vec<&str> = seen.features.iter().map(String::as_str).filter(|name| mine(name)).collect();
    if !crate::screen::has_screen(seen.seat, features.iter().copied()) {
        let why = seen.missing.iter().find(|(name, _)| mine(name)).map_or("", |(_, why)| why.as_str());
        return vec![Finding::fail(SCREEN, none(seen.seat), &[("why", &why)])];
    }
    let names = features.join(", ");
    let first = match seen.resolution {
        Some((width, height)) => Finding::ok(
            SCREEN,
            &words::SCREEN_READY_SIZED,
            &[("features", &names), ("width", &width), ("height", &height)],
        ),
        None => Finding::ok(SCREEN, &words::SCREEN_READY, &[("features", &names)]),
    };
    std::iter::once(first).chain(lacking(SCREEN, seen, mine)).collect()
}

fn of_clipboard(seen: &Seen) -> Vec<Finding> {
    let mine = |name: &str| name.starts_with("clipboard");
    if seen.features.iter().any(|name| mine(name)) {
        let first = Finding::ok(CLIPBOARD, &words::CLIPBOARD_READY, &[]);
        return std::iter::once(first).chain(lacking(CLIPBOARD, seen, mine)).collect();
    }
    let why = seen.missing.iter().find(|(name, _)| mine(name)).map_or("", |(_, why)| why.as_str());
    vec![Finding::warn(CLIPBOARD, &words::CLIPBOARD_NONE, &[("why", &why)])]
}

/// What is missing, once for each reason.
fn lacking(check: &'static str, seen: &Seen, mine: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (feature, why) in seen.missing.iter().filter(|(feature, _)| mine(feature)) {
        reasons.entry(why).or_default().push(feature);
    }
    let words = lacks(seen.seat);
    let told = |(why, features): (&str, Vec<&str>)| {
        let names = features.join(", ");
        Finding::new(check, FindingState::Warn, words, &[("features", &names), ("why", &why)])
    };
    reasons.into_iter().map(told).collect()
}

/// A switch that does nothing by itself.
fn alone(config: &drawbridge_store::config::Config) -> Vec<Finding> {
    if config.enable_clipboard_read_foreign && !config.enable_clipboard {
        return vec![Finding::warn(CLIPBOARD, &words::CLIPBOARD_FOREIGN_ALONE, &[]).with_action("open_config")];
    }
    Vec::new()
}

const fn none(seat: SeatKind) -> &'static Words {
    match seat {
        SeatKind::X11 => &words::SCREEN_NONE_X11,
        SeatKind::Wayland => &words::SCREEN_NONE_WAYLAND,
        SeatKind::Wsl => &words::SCREEN_NONE_WSL,
        SeatKind::MacOs => &words::SCREEN_NONE_MACOS,
        SeatKind::Windows => &words::SCREEN_NONE_WINDOWS,
        SeatKind::None => &words::SCREEN_NONE,
    }
}

const fn lacks(seat: SeatKind) -> &'static Words {
    match seat {
        SeatKind::X11 => &words::SCREEN_LACKS_X11,
        SeatKind::Wayland => &words::SCREEN_LACKS_WAYLAND,
        SeatKind::Wsl | SeatKind::MacOs | SeatKind::Windows | SeatKind::None => &words::SCREEN_LACKS,
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "screen_tests.rs"]
mod tests;
