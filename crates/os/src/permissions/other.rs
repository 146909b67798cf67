//! Systems on which a program needs no such permission. Wayland asks each time, through a portal.

use super::{Permission, Permissions, Trial};

pub(super) struct OfSystem;

impl Permissions for OfSystem {
    fn listed(&self, _permission: Permission) -> Option<bool> {
        None
    }

    fn tried(&self, _permission: Permission) -> Trial {
        Trial::Undecided
    }
}
