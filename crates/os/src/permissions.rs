//! Whether the system lets this program see the screen and act on it (spec 10.9, FB-43).
//!
//! A permission that the system still lists may have been lost with an update, so the word of the system is held against a
//! trial. Nothing here asks the person anything.

#[cfg(target_os = "macos")]
#[path = "permissions/macos.rs"]
mod system;
#[cfg(not(target_os = "macos"))]
#[path = "permissions/other.rs"]
mod system;

/// What a system may keep from a program until the person allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Seeing what other programs draw.
    ScreenRecording,
    /// Acting on other programs' windows with keyboard and mouse.
    Accessibility,
}

/// How a permission stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionState {
    /// It is there, and a trial showed nothing else.
    Granted,
    /// The person has not given it.
    Denied,
    /// The system lists it and a trial shows that it does not hold: it belongs to an older version of this program.
    Stale,
    /// This system has no such permission.
    NotApplicable,
}

/// What a trial of a permission showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// It holds.
    Holds,
    /// It does not: a picture shows the wallpaper and none of the windows that are there.
    Hollow,
    /// It showed nothing either way, for example since no other window is open.
    Undecided,
}

/// What a system knows of permissions.
pub trait Permissions {
    /// What the system lists; none where it has no such permission.
    fn listed(&self, permission: Permission) -> Option<bool>;
    /// Uses the permission once, without asking the person for it.
    fn tried(&self, permission: Permission) -> Trial;
}

/// Tells how a permission stands.
#[must_use]
pub fn state(system: &dyn Permissions, permission: Permission) -> PermissionState {
    match system.listed(permission) {
        None => PermissionState::NotApplicable,
        Some(false) => PermissionState::Denied,
        Some(true) => match system.tried(permission) {
            Trial::Hollow => PermissionState::Stale,
            Trial::Holds | Trial::Undecided => PermissionState::Granted,
        },
    }
}

/// Returns this system's permissions.
#[must_use]
pub fn of_system() -> Box<dyn Permissions> {
    Box::new(system::OfSystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Option<bool>, Trial);

    impl Permissions for Told {
        fn listed(&self, _: Permission) -> Option<bool> {
            self.0
        }

        fn tried(&self, _: Permission) -> Trial {
            self.1
        }
    }

    #[test]
    fn a_permission_that_is_listed_and_does_not_hold_is_stale() {
        let state = |listed, trial| state(&Told(listed, trial), Permission::ScreenRecording);

        assert_eq!(state(Some(true), Trial::Hollow), PermissionState::Stale);
        assert_eq!(state(Some(true), Trial::Holds), PermissionState::Granted);
        assert_eq!(state(Some(true), Trial::Undecided), PermissionState::Granted);
        assert_eq!(state(Some(false), Trial::Holds), PermissionState::Denied);
        assert_eq!(state(None, Trial::Hollow), PermissionState::NotApplicable);
    }
}
