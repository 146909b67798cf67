//! Names of keys as `enigo` has them.

use drawbridge_core::computer::{Key, Modifier};
use enigo::Key as Native;

pub(super) const fn modifier(modifier: Modifier) -> Native {
    match modifier {
        Modifier::Shift => Native::Shift,
        Modifier::Ctrl => Native::Control,
        Modifier::Alt => Native::Alt,
        Modifier::Super => Native::Meta,
    }
}

/// Returns the key; none where this system has none.
pub(super) fn key(key: &Key) -> Option<Native> {
    Some(match key {
        Key::Modifier(which) => modifier(*which),
        Key::Character(letter) => Native::Unicode(*letter),
        Key::Function(number) => return function(*number),
        Key::Enter => Native::Return,
        Key::Tab => Native::Tab,
        Key::Escape => Native::Escape,
        Key::Space => Native::Space,
        Key::Up => Native::UpArrow,
        Key::Down => Native::DownArrow,
        Key::Left => Native::LeftArrow,
        Key::Right => Native::RightArrow,
        Key::PageUp => Native::PageUp,
        Key::PageDown => Native::PageDown,
        Key::Home => Native::Home,
        Key::End => Native::End,
        Key::Backspace => Native::Backspace,
        Key::Delete => Native::Delete,
        Key::CapsLock => Native::CapsLock,
        #[cfg(windows)]
        Key::Insert => Native::Insert,
        #[cfg(not(windows))]
        Key::Insert => return None,
    })
}

fn function(number: u8) -> Option<Native> {
    const KEYS: [Native; 20] = [
        Native::F1,
        Native::F2,
        Native::F3,
        Native::F4,
        Native::F5,
        Native::F6,
        Native::F7,
        Native::F8,
        Native::F9,
        Native::F10,
        Native::F11,
        Native::F12,
        Native::F13,
        Native::F14,
        Native::F15,
        Native::F16,
        Native::F17,
        Native::F18,
        Native::F19,
        Native::F20,
    ];
    #[cfg(windows)]
    match number {
        21 => return Some(Native::F21),
        22 => return Some(Native::F22),
        23 => return Some(Native::F23),
        24 => return Some(Native::F24),
        _ => {}
    }
    KEYS.get(usize::from(number).checked_sub(1)?).copied()
}
