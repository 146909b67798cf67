//! Typing, and pasting instead where that was asked for and is allowed.

use drawbridge_core::OpError;
use drawbridge_core::computer::{Key, Modifier};
use drawbridge_os::seat::SeatKind;
use drawbridge_os::seat::input::TypeFault;

use super::hands::{Hands, KEY_DOWN};
use crate::computer::{ClipboardRule, clipboard, guard};

/// Shorter texts are typed even where pasting was asked for, in characters (spec 10.4).
const PASTE_FROM: usize = 200;

impl Hands<'_> {
    /// Writes a text. `paste` says that it may be pasted, and whether the clipboard is put back then.
    pub(super) fn write(&self, text: &str, paste: Option<bool>) -> Result<(), OpError> {
        let total = text.chars().count();
        let allowed = total >= PASTE_FROM && self.job.rules.clipboard != ClipboardRule::Off;
        match paste.filter(|_| allowed) {
            // Terminals paste by chords that differ, and take what is pasted in another way than what is typed.
            Some(preserve) if !guard::types_into_terminal(self.inner)? => self.paste(text, preserve, total),
            Some(_) | None => self.type_text(text, total),
        }
    }

    fn paste(&self, text: &str, preserve: bool, total: usize) -> Result<(), OpError> {
        let mut pressed = false;
        let pasted = clipboard::paste(self.inner, text, preserve, self.job, &mut || {
            guard::may_write(self.inner, self.job)?;
            let mut chord = self.pressing();
            chord.modifiers(&[self.paste_modifier()])?;
            pressed = true;
            chord.key(Key::Character('v'))?;
            self.stay(KEY_DOWN)?;
            chord.release()
        });
        match pasted {
            // Nothing has reached the window: then it is typed, as without the wish.
            Err(OpError::Unsupported { why, .. }) if !pressed && !preserve => {
                tracing::debug!(%why, "the text is typed, since it cannot be pasted");
                self.type_text(text, total)
            }
            other => other,
        }
    }

    fn paste_modifier(&self) -> Modifier {
        match self.inner.seats.seat().kind {
            SeatKind::MacOs => Modifier::Super,
            SeatKind::X11 | SeatKind::Wayland | SeatKind::Wsl | SeatKind::Windows | SeatKind::None => Modifier::Ctrl,
        }
    }

    fn type_text(&self, text: &str, total: usize) -> Result<(), OpError> {
        let mut reason = None;
        let done = self.input.type_text(text, &mut |_| {
            let fine = self.go_on().and_then(|()| guard::may_write(self.inner, self.job));
            fine.map_err(|why| reason = Some(why)).is_ok()
        });
        let (typed, reason) = match done {
            Ok(()) => return Ok(()),
            Err(TypeFault::Cannot { character, index, why }) => {
                return Err(OpError::CannotType { character, index, why });
            }
            Err(TypeFault::Stopped { typed }) => (typed, reason.unwrap_or(OpError::Cancelled)),
            Err(TypeFault::Seat { typed, fault }) => (typed, self.told(fault)),
        };
        if typed == 0 || matches!(reason, OpError::Cancelled) {
            return Err(reason);
        }
        Err(OpError::TypingStopped { typed, total, why: reason.to_string(), source: Box::new(reason) })
    }
}
