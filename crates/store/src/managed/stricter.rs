//! A policy that changes while the program runs: what it takes away holds within half a minute, what it gives back at the next start.

use std::collections::BTreeMap;

use drawbridge_core::{Power, PowerMode};

use super::Managed;

impl Managed {
    /// Returns what holds of this policy and a newer one in a program that was started with this one: each power, the
    /// confinement, the network, the clipboard, the servers of
    /// local models, the contents that stay, the pictures a minute and the accounts as the stricter of the two has it. What only counts at a start stays this
    /// one's; whether the platform in use may still be used is asked of the newer one.
    #[must_use]
    pub fn tightened_by(&self, newer: &Self) -> Self {
        let mut both = self.clone();
        for (power, mode) in &newer.powers {
            let held = both.powers.entry(*power).or_insert(*mode);
            *held = (*held).min(*mode);
        }
        both.shell_confined |= newer.shell_confined;
        both.shell_network = match (self.shell_network, newer.shell_network) {
            (Some(held), Some(new)) => Some(held.min(new)),
            (held, new) => held.or(new),
        };
        both.own_clipboard |= newer.own_clipboard;
        both.near_models |= newer.near_models;
        both.private |= newer.private;
        both.no_preview |= newer.no_preview;
        let pictures = &mut both.limits.max_screenshots_per_minute;
        *pictures = match (*pictures, newer.limits.max_screenshots_per_minute) {
            (Some(held), Some(new)) => Some(held.min(new)),
            (held, new) => held.or(new),
        };
        both.accounts_fixed |= newer.accounts_fixed;
        both.organisation = newer.organisation.clone().or(both.organisation);
        for name in &newer.locked {
            if holds_at_once(name) && !both.locked.contains(name) {
                both.locked.push(name.clone());
            }
        }
        both
    }

    /// Returns what holds once the policy cannot be used any more: nothing may act.
    #[must_use]
    pub fn broken_meanwhile(mut self) -> Self {
        self.powers = Power::ALL.into_iter().map(|power| (power, PowerMode::Off)).collect::<BTreeMap<_, _>>();
        self
    }
}

fn holds_at_once(name: &str) -> bool {
    ["powers.", "shell.", "clipboard.", "models.", "privacy."].iter().any(|table| name.starts_with(table))
        || ["accounts", "limits.max_screenshots_per_minute"].contains(&name)
}
