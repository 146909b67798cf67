//! The tray as a value: what its icon and menu say for a snapshot. The adapter only draws it.
//!
//! Everything works from the menu alone, since on many desktops a click on the icon never reaches the program.

mod adapter;
mod presence;

use drawbridge_engine::view::{AccountState, LinkState, Snapshot};

pub(crate) use adapter::Adapter;
pub(crate) use presence::is_shown;

/// What the icon shows, from the most to the least urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// Somebody must answer or repair something.
    Attention,
    /// Nothing may act.
    Raised,
    /// No account.
    SignedOut,
    /// A request runs.
    Working,
    /// Ready.
    Lowered,
}

/// What a menu line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Opens the window.
    Open,
    /// Raises or lowers the bridge.
    SetRaised(bool),
    /// Detaches a chat.
    Detach(String),
    /// Ends the program.
    Quit,
}

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Only tells something.
    Status(String),
    /// Does something.
    Item(String, Action),
    /// Opens more lines.
    Submenu(String, Vec<Line>),
    /// A thin line.
    Separator,
}

/// The whole tray.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The icon.
    pub icon: Icon,
    /// The lines, from the top.
    pub lines: Vec<Line>,
}

/// Most chats that the menu lists; the window has them all.
const CHATS_MAX: usize = 12;

/// Says what the tray shows for a snapshot.
#[must_use]
pub fn tray_menu(snapshot: &Snapshot) -> Menu {
    let mut lines = vec![Line::Status(status(snapshot)), Line::Separator];
    lines.push(if snapshot.raised {
        Line::Item("Lower the bridge (agents may act again)".to_owned(), Action::SetRaised(false))
    } else {
        Line::Item("Raise the bridge (stop everything)".to_owned(), Action::SetRaised(true))
    });
    let chats: Vec<Line> = snapshot
        .chats
        .iter()
        .filter(|chat| chat.active)
        .take(CHATS_MAX)
        .map(|chat| {
            Line::Submenu(
                chat.folder.clone(),
                vec![Line::Item("Detach".to_owned(), Action::Detach(chat.session_id.clone()))],
            )
        })
        .collect();
    if !chats.is_empty() {
        lines.push(Line::Submenu("Chats".to_owned(), chats));
    }
    if let Some(row) = snapshot.activity.first() {
        lines.push(Line::Status(format!("Last: {} {}", row.operation, row.subject).trim_end().to_owned()));
    }
    lines.push(Line::Separator);
    lines.push(Line::Item("Open Drawbridge".to_owned(), Action::Open));
    lines.push(Line::Item("Quit (ends all links and commands)".to_owned(), Action::Quit));
    Menu { icon: icon(snapshot), lines }
}

fn icon(snapshot: &Snapshot) -> Icon {
    let broken = snapshot.trouble.is_some() || snapshot.audit.unavailable || snapshot.link.state == LinkState::Halted;
    if !snapshot.prompts.is_empty() || (broken && !snapshot.raised) {
        Icon::Attention
    } else if snapshot.raised {
        Icon::Raised
    } else if snapshot.account.state != AccountState::SignedIn {
        Icon::SignedOut
    } else if snapshot.chats.iter().any(|chat| chat.in_flight > 0) {
        Icon::Working
    } else {
        Icon::Lowered
    }
}

fn status(snapshot: &Snapshot) -> String {
    let waiting = snapshot.prompts.len();
    let running: u32 = snapshot.chats.iter().map(|chat| chat.in_flight).sum();
    if waiting > 0 {
        return format!("{waiting} question{} waiting for you", if waiting == 1 { "" } else { "s" });
    }
    if snapshot.raised {
        return "Raised: nothing can act".to_owned();
    }
    if snapshot.trouble.is_some() || snapshot.audit.unavailable {
        return "Something is wrong: open Drawbridge".to_owned();
    }
    match (&snapshot.account.state, snapshot.link.state) {
        (AccountState::SignedOut, _) => "Signed out".to_owned(),
        (AccountState::SigningIn, _) => "Signing in: finish in the browser".to_owned(),
        (AccountState::Refused, _) => "The platform refused the sign-in: sign in again".to_owned(),
        (AccountState::SignedIn, _) if running > 0 => format!("Working: {running} running"),
        (AccountState::SignedIn, LinkState::Connected) => "Connected and idle".to_owned(),
        (AccountState::SignedIn, LinkState::Halted) => "The link has ended: open Drawbridge".to_owned(),
        (AccountState::SignedIn, LinkState::Connecting | LinkState::Waiting) => "Connecting…".to_owned(),
        (AccountState::SignedIn, LinkState::Off) => "Not connected".to_owned(),
    }
}

#[cfg(test)]
#[path = "tray_tests.rs"]
mod tests;
