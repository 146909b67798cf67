//! Which action a native menu item stands for.

use super::menu::Action;

/// Actions by the number of their item. A number is never used for a second action, so that a click on a menu that has just
/// been replaced does what was read or nothing at all.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    next: u64,
    /// Of the menu shown, and of the one before it.
    known: Vec<(u64, Action, bool)>,
}

impl Actions {
    /// Begins a new menu: forgets what neither it nor the one before uses.
    pub(crate) fn begin(&mut self) {
        self.known.retain(|(_, _, used)| *used);
        for (_, _, used) in &mut self.known {
            *used = false;
        }
    }

    /// The number of an action in the menu that was begun.
    pub(crate) fn number(&mut self, action: &Action) -> String {
        if let Some((number, _, used)) = self.known.iter_mut().find(|(_, known, _)| known == action) {
            *used = true;
            return number.to_string();
        }
        let number = self.next;
        self.next += 1;
        self.known.push((number, action.clone(), true));
        number.to_string()
    }

    /// The action of a number, while its menu or the one after it is shown.
    pub(crate) fn find(&self, number: &str) -> Option<Action> {
        let number: u64 = number.parse().ok()?;
        self.known.iter().find(|(known, ..)| *known == number).map(|(_, action, _)| action.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_on_a_replaced_menu_does_what_was_read_and_later_nothing() {
        let detach = Action::Detach("chat-1".to_owned());
        let mut actions = Actions::default();
        actions.begin();
        let (open, old) = (actions.number(&Action::Open), actions.number(&detach));

        actions.begin();
        assert_eq!(actions.number(&Action::Open), open);
        let new = actions.number(&Action::Detach("chat-2".to_owned()));
        assert_ne!(new, old);
        assert_eq!(actions.find(&old), Some(detach));

        actions.begin();
        assert_eq!(actions.number(&Action::Open), open);
        assert_eq!(actions.find(&old), None);
        assert_eq!(actions.find("of somebody else"), None);
    }

    #[test]
    fn many_questions_leave_nothing_behind() {
        let mut actions = Actions::default();
        for id in 0..10_000 {
            actions.begin();
            actions.number(&Action::Deny { id, revision: 1 });
        }

        assert!(actions.known.len() <= 2, "{}", actions.known.len());
    }
}
