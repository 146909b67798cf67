//! Makes a keymap of what the server says.

use x11rb::protocol::xkb::{self, GetMapReply, KeySymMap, SAType};
use x11rb::protocol::xproto::ModMask;

use super::keymap::{Action, KeyEntry, KeyType, Keymap, Mods, OutOfRange};

/// Takes real modifiers over.
pub(super) fn mods(mask: ModMask) -> Mods {
    // A byte on the wire.
    (u16::from(mask) & 0xff) as Mods
}

/// Makes a keymap.
pub(super) fn read_keymap(reply: &GetMapReply) -> Keymap {
    let types = reply.map.types_rtrn.iter().flatten();
    let types = types.map(|kind| KeyType {
        mask: mods(kind.mods_mask),
        entries: kind
            .map
            .iter()
            .filter(|entry| entry.active)
            .map(|entry| (mods(entry.mods_mask), entry.level))
            .collect(),
    });
    let symbols = reply.map.syms_rtrn.iter().flatten();
    let mut keys: Vec<KeyEntry> = symbols.map(read_key).collect();
    let mut at = |code: u8, change: &mut dyn FnMut(&mut KeyEntry)| {
        let place = code.checked_sub(reply.first_key_sym).map(usize::from);
        if let Some(key) = place.and_then(|place| keys.get_mut(place)) {
            change(key);
        }
    };
    for entry in reply.map.modmap_rtrn.iter().flatten() {
        at(entry.keycode, &mut |key| key.modmap = mods(entry.mods));
    }
    if let Some(actions) = &reply.map.key_actions {
        let mut rest = actions.acts_rtrn_acts.as_slice();
        for (code, count) in (reply.first_key_action..=u8::MAX).zip(&actions.acts_rtrn_count) {
            let (own, others) = rest.split_at(usize::from(*count).min(rest.len()));
            rest = others;
            at(code, &mut |key| key.actions = own.iter().map(read_action).collect());
        }
    }
    Keymap::new(reply.first_key_sym, types.collect(), keys)
}

fn read_key(key: &KeySymMap) -> KeyEntry {
    let groups = usize::from(key.group_info & 0x0f).min(key.kt_index.len());
    KeyEntry {
        types: key.kt_index.iter().take(groups).map(|number| usize::from(*number)).collect(),
        out_of_range: match key.group_info & 0xc0 {
            0x40 => OutOfRange::Clamp,
            0x80 => OutOfRange::Redirect((key.group_info & 0x30) >> 4),
            _ => OutOfRange::Wrap,
        },
        width: usize::from(key.width),
        symbols: key.syms.clone(),
        actions: Vec::new(),
        modmap: 0,
    }
}

fn read_action(action: &xkb::Action) -> Action {
    let kind = action.as_type();
    if kind == SAType::SET_MODS {
        Action::Sets(mods(action.as_setmods().mask))
    } else if kind == SAType::LOCK_MODS {
        Action::Locks(mods(action.as_lockmods().mask))
    } else if kind == SAType::NO_ACTION {
        Action::None
    } else {
        Action::Other
    }
}
