//! What has to be undone when we die, and how it travels to the watchdog.

use super::super::tap::Debt;

/// Bytes of one message: keys, borrowed keys, buttons, group, locked modifiers.
pub(super) const BYTES: usize = 32 + 32 + 3;

/// A set of key codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Codes([u8; 32]);

impl Codes {
    fn insert(&mut self, code: u8) {
        if let Some(byte) = self.0.get_mut(usize::from(code / 8)) {
            *byte |= 1 << (code % 8);
        }
    }

    fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX)
            .filter(move |code| self.0.get(usize::from(code / 8)).is_some_and(|byte| byte >> (code % 8) & 1 == 1))
    }
}

/// Everything that must be undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Owed {
    keys: Codes,
    /// One bit a button.
    buttons: u8,
    debt: Debt,
}

impl Owed {
    /// Adds a key that may be down.
    pub(in super::super) fn key(&mut self, code: u8) {
        self.keys.insert(code);
    }

    /// Adds a button that may be down, by its number from 1 to 8.
    pub(in super::super) fn button(&mut self, number: u8) {
        self.buttons |= 1_u8.checked_shl(u32::from(number).saturating_sub(1)).unwrap_or(0);
    }

    /// Sets what the keyboard has changed.
    pub(in super::super) fn debt(&mut self, debt: &Debt) {
        self.debt = debt.clone();
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = u8> {
        self.keys.iter()
    }

    pub(super) fn buttons(&self) -> impl Iterator<Item = u8> {
        let buttons = self.buttons;
        (1..=8).filter(move |number| buttons >> (number - 1) & 1 == 1)
    }

    pub(super) fn owes(&self) -> &Debt {
        &self.debt
    }

    pub(super) fn to_bytes(&self) -> [u8; BYTES] {
        let mut borrowed = Codes::default();
        self.debt.codes.iter().for_each(|code| borrowed.insert(*code));
        let group = self.debt.group.map_or(0, |group| group.saturating_add(1));
        let mut bytes = [0; BYTES];
        let rest = [self.buttons, group, self.debt.locks];
        bytes.iter_mut().zip(self.keys.0.iter().chain(&borrowed.0).chain(&rest)).for_each(|(byte, part)| *byte = *part);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let set = |from: usize| {
            let mut codes = Codes::default();
            codes.0.iter_mut().zip(bytes.iter().skip(from)).for_each(|(byte, part)| *byte = *part);
            codes
        };
        let [.., buttons, group, locks] = *bytes;
        let debt = Debt { codes: set(32).iter().collect(), group: group.checked_sub(1), locks };
        Self { keys: set(0), buttons, debt }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_arrives_as_it_was_sent() {
        let mut owed = Owed::default();
        assert_eq!(Owed::from_bytes(&owed.to_bytes()), owed);

        [8, 50, 255].into_iter().for_each(|code| owed.key(code));
        [1, 3, 8].into_iter().for_each(|number| owed.button(number));
        owed.debt(&Debt { codes: vec![93, 254], group: Some(0), locks: 0x12 });

        let arrived = Owed::from_bytes(&owed.to_bytes());
        assert_eq!(arrived, owed);
        assert_eq!(arrived.keys().collect::<Vec<_>>(), [8, 50, 255]);
        assert_eq!(arrived.buttons().collect::<Vec<_>>(), [1, 3, 8]);
        assert_eq!(arrived.owes().group, Some(0));
    }

    #[test]
    fn a_button_that_no_mouse_has_is_not_taken_for_another_one() {
        let mut owed = Owed::default();
        owed.button(9);

        assert_eq!(owed, Owed::default());
    }
}
