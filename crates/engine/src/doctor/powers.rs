//! What agents may use here: folders, confined commands, shells, the screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_os::desktop::{install_command, program};
use drawbridge_os::permissions::{self, Permission, PermissionState};
use drawbridge_os::sandbox::{self, LayerState};
use drawbridge_store::settings::Settings;
use futures_util::future::join_all;

use super::{Finding, FindingState, Input, QUICK, limit, words};

/// Each folder on its own, since one on a network may hang.
pub(super) async fn browse_roots(input: &Arc<Input>) -> Vec<Finding> {
    let its_input = Arc::clone(input);
    let chosen = move || Settings::peek(&its_input.folders.state).browse_roots;
    let chosen = tokio::time::timeout(QUICK, tokio::task::spawn_blocking(chosen)).await;
    // Settings that cannot be read are a finding of their own.
    let chosen: Vec<PathBuf> =
        chosen.ok().and_then(Result::ok).unwrap_or_default().into_iter().map(Into::into).collect();
    let roots = match (chosen.is_empty(), input.config().browse.roots) {
        (false, _) => chosen,
        (true, None) => return vec![Finding::ok("browse_roots", &words::BROWSE_USUAL, &[])],
        (true, Some(roots)) if roots.is_empty() => {
            return vec![Finding::warn("browse_roots", &words::BROWSE_NOWHERE, &[]).with_action("open_config")];
        }
        (true, Some(roots)) => roots,
    };
    let looks = roots.into_iter().map(|root| async move {
        let unit = root.to_string_lossy().into_owned();
        limit::within(QUICK, "browse_roots", &unit, move || vec![browse_root(&root)]).await
    });
    join_all(looks).await.into_iter().flatten().collect()
}

fn browse_root(root: &Path) -> Finding {
    let path = root.display();
    if !root.is_dir() {
        return Finding::warn("browse_roots", &words::BROWSE_MISSING, &[("path", &path)]);
    }
    match std::fs::read_dir(root) {
        Ok(_) => Finding::ok("browse_roots", &words::BROWSE_FINE, &[("path", &path)]),
        Err(fault) => Finding::warn("browse_roots", &words::BROWSE_UNREADABLE, &[("path", &path), ("why", &fault)]),
    }
}

/// Each wall around a command, and what stands of it all.
pub(super) fn confinement(input: &Input) -> Vec<Finding> {
    walls(&sandbox::find_bubblewrap(), input.config().enable_shell)
}

fn walls(bubblewrap: &Path, wanted: bool) -> Vec<Finding> {
    if std::env::consts::OS != "linux" {
        return vec![Finding::warn("confinement", &words::CONFINEMENT_OTHER, &[])];
    }
    let state = sandbox::probe(bubblewrap);
    // Commands are refused without walls, which is a fault only where somebody wants commands.
    let mark = if wanted { FindingState::Fail } else { FindingState::Warn };
    let there = bubblewrap.is_file();
    let first = match &state.bubblewrap {
        LayerState::Works => Finding::ok("bubblewrap", &words::BUBBLEWRAP_FINE, &[]),
        LayerState::Missing(why) if there => {
            Finding::new("bubblewrap", mark, &words::BUBBLEWRAP_BROKEN, &[("why", why)])
        }
        LayerState::Missing(_) => match install_command("bubblewrap") {
            Some(command) => Finding::new("bubblewrap", mark, &words::BUBBLEWRAP_INSTALL, &[("command", &command)])
                .with_action("copy_install_bubblewrap"),
            None => Finding::new("bubblewrap", mark, &words::BUBBLEWRAP_MISSING, &[]),
        },
    };
    let second = match &state.namespaces {
        LayerState::Works => Finding::ok("name_spaces", &words::NAME_SPACES_FINE, &[]),
        LayerState::Missing(_) if state.bubblewrap != LayerState::Works => {
            Finding::info("name_spaces", &words::NAME_SPACES_UNTRIED, &[])
        }
        LayerState::Missing(why) => Finding::new("name_spaces", mark, &words::NAME_SPACES_REFUSED, &[("why", why)]),
    };
    let third = match &state.landlock {
        LayerState::Works => Finding::ok("landlock", &words::LANDLOCK_FINE, &[]),
        LayerState::Missing(_) => Finding::new("landlock", mark, &words::LANDLOCK_MISSING, &[]),
    };
    let all = match state.missing() {
        None => Finding::ok("confinement", &words::CONFINEMENT_FINE, &[]),
        Some(_) => Finding::new("confinement", mark, &words::CONFINEMENT_MISSING, &[]),
    };
    vec![first, second, third, all]
}

/// The shells that a command may name, as they are looked up: on the PATH, in absolute folders.
pub(super) fn shells(input: &Input) -> Vec<Finding> {
    let path = input.variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let found: Vec<&str> =
        ["bash", "sh", "zsh", "pwsh"].into_iter().filter(|name| program(name, &path).is_some()).collect();
    vec![if found.is_empty() {
        Finding::warn("shells", &words::SHELLS_NONE, &[])
    } else {
        Finding::ok("shells", &words::SHELLS_FOUND, &[("names", &found.join(", "))])
    }]
}

/// Whether the system lets this program see the screen and act on it. Missing ones matter where that is wanted.
pub(super) fn permissions(input: &Input) -> Vec<Finding> {
    let system = permissions::of_system();
    let state = |permission| permissions::state(system.as_ref(), permission);
    permission_findings(
        state(Permission::ScreenRecording),
        state(Permission::Accessibility),
        input.config().enable_computer_use,
    )
}

fn permission_findings(screen: PermissionState, act: PermissionState, wanted: bool) -> Vec<Finding> {
    const CHECK: &str = "permissions";
    let mark = if wanted { FindingState::Fail } else { FindingState::Info };
    if (screen, act) == (PermissionState::NotApplicable, PermissionState::NotApplicable) {
        return vec![Finding::info(CHECK, &words::PERMISSIONS_NONE, &[])];
    }
    let screen = match screen {
        PermissionState::Granted => Some(Finding::ok(CHECK, &words::SCREEN_GRANTED, &[])),
        PermissionState::Denied => Some(Finding::new(CHECK, mark, &words::SCREEN_DENIED, &[])),
        PermissionState::Stale => Some(Finding::new(CHECK, mark, &words::SCREEN_STALE, &[])),
        PermissionState::NotApplicable => None,
    };
    let act = match act {
        PermissionState::Granted => Some(Finding::ok(CHECK, &words::ACCESSIBILITY_GRANTED, &[])),
        PermissionState::Denied | PermissionState::Stale => {
            Some(Finding::new(CHECK, mark, &words::ACCESSIBILITY_DENIED, &[]))
        }
        PermissionState::NotApplicable => None,
    };
    screen.into_iter().chain(act).collect()
}

#[cfg(test)]
#[cfg(unix)]
#[path = "powers_tests.rs"]
mod tests;
