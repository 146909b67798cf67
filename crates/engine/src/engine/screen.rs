//! What the person says of the screen and the clipboard, and what follows from it at once.

use drawbridge_core::Power;
use drawbridge_policy::{PolicyState, ScreenRules};
use serde_json::json;

use super::Core;
use super::commands::{Done, not_stored, sentence};
use crate::handle::{CommandError, Reply};
use crate::managed::may_read_foreign;

impl Core {
    /// Sets which apps agents may see and use. It counts for the next operation.
    pub(super) fn set_screen(&self, mut rules: ScreenRules) -> Done {
        for names in rules.only_apps.iter_mut().chain([&mut rules.never_apps]) {
            let trimmed = names.iter().map(|name| name.trim().to_owned());
            *names = without_doubles(trimmed.collect());
        }
        rules.check().map_err(|fault| CommandError::new("bad_app_name", sentence(&fault.to_string())))?;
        let details = json!({
            "only_apps": rules.only_apps.as_ref().map(|names| names.join(", ")),
            "never_apps": rules.never_apps.join(", "),
            "full_resolution": rules.full_resolution,
        });
        self.policy.change(|state| state.screen = rules.clone()).map_err(not_stored)?;
        self.journal.event(None, "POLICY_CHANGED", json!({ "screen": details }));
        self.board.touch();
        Ok(Reply::Done)
    }

    /// Lets the clipboard power cover what others put there, or takes that back. It counts for the next operation.
    pub(super) fn set_clipboard_foreign(&self, on: bool) -> Done {
        may_read_foreign(&self.policy.get(), on)?;
        self.policy.change(|state| state.clipboard_foreign = on).map_err(not_stored)?;
        self.journal.event(None, "POLICY_CHANGED", json!({ "clipboard_foreign": on }));
        self.board.touch();
        Ok(Reply::Done)
    }

    /// Follows a change of the two powers: looks at the seat, forgets it, or lets go of what is held.
    pub(super) async fn apply_screen(&self, before: &PolicyState, after: &PolicyState) {
        if before.offers(Power::ComputerUse) && !after.offers(Power::ComputerUse) {
            self.screen.stop().await;
        }
        let differs = |power| before.offers(power) != after.offers(power);
        if differs(Power::ComputerUse) || differs(Power::Clipboard) {
            self.screen.look_later();
        }
    }
}

/// Keeps the first of what is there several times, in whatever case.
fn without_doubles(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(name.to_lowercase())).collect()
}
