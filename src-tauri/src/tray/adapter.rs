//! Draws the tray's value with the system's tray.

use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_engine::Command;
use drawbridge_engine::view::Snapshot;
use tauri::AppHandle;
use tray_icon::menu::{ContextMenu, IsMenuItem, Menu as NativeMenu, MenuEvent, MenuItem, PredefinedMenuItem, Submenu};
use tray_icon::{TrayIcon, TrayIconBuilder, TrayIconEvent};

use super::{Action, Icon, Line, Menu, tray_menu};
use crate::{shell, window};

/// Actions by their item's number.
type Actions = Arc<Mutex<Vec<Action>>>;

/// The tray on the screen.
pub(crate) struct Adapter {
    tray: TrayIcon,
    shown: Menu,
    actions: Actions,
}

impl Adapter {
    /// Puts the tray on the session bus.
    ///
    /// # Errors
    /// When there is no session bus, or the picture is broken.
    pub(crate) fn build(app: &AppHandle, snapshot: &Snapshot) -> Result<Self, Box<dyn std::error::Error>> {
        let shown = tray_menu(snapshot);
        let actions = Actions::default();
        let handler_actions = Arc::clone(&actions);
        let handler_app = app.clone();
        MenuEvent::set_event_handler(Some(move |event: MenuEvent| {
            let action =
                event.id().as_ref().parse::<usize>().ok().and_then(|number| {
                    handler_actions.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
                });
            if let Some(action) = action {
                perform(&handler_app, action);
            }
        }));
        let click_app = app.clone();
        TrayIconEvent::set_event_handler(Some(move |event: TrayIconEvent| {
            if matches!(event, TrayIconEvent::Click { .. }) {
                window::open(&click_app);
            }
        }));
        let tray = TrayIconBuilder::new()
            .with_id("drawbridge")
            .with_title("Drawbridge")
            .with_menu(native(&shown, &actions))
            .with_icon(picture(shown.icon)?)
            .build()?;
        Ok(Self { tray, shown, actions })
    }

    /// Shows a snapshot, if it changes what the tray says.
    pub(crate) fn show(&mut self, snapshot: &Snapshot) {
        let wanted = tray_menu(snapshot);
        if wanted == self.shown {
            return;
        }
        if wanted.icon != self.shown.icon {
            match picture(wanted.icon) {
                Ok(icon) => drop(self.tray.set_icon(Some(icon))),
                Err(error) => tracing::warn!(%error, "the tray icon cannot be drawn"),
            }
        }
        if wanted.lines != self.shown.lines {
            self.tray.set_menu(Some(native(&wanted, &self.actions)));
        }
        self.shown = wanted;
    }
}

fn perform(app: &AppHandle, action: Action) {
    match action {
        Action::Open => window::open(app),
        Action::SetRaised(raised) => shell::send(app, Command::SetRaised { raised }),
        Action::Detach(session_id) => shell::send(app, Command::Detach { session_id }),
        Action::Quit => shell::quit(app),
    }
}

fn native(menu: &Menu, actions: &Actions) -> Box<dyn ContextMenu> {
    let mut actions = actions.lock().unwrap_or_else(PoisonError::into_inner);
    // Numbers are never used twice, so that a click on a menu that has just been replaced cannot do something else.
    let items: Vec<Box<dyn IsMenuItem>> = menu.lines.iter().map(|line| item(line, &mut actions)).collect();
    let native = NativeMenu::new();
    for item in &items {
        if let Err(error) = native.append(item.as_ref()) {
            tracing::warn!(%error, "a tray menu line cannot be shown");
        }
    }
    Box::new(native)
}

fn item(line: &Line, actions: &mut Vec<Action>) -> Box<dyn IsMenuItem> {
    match line {
        Line::Status(text) => Box::new(MenuItem::new(label(text), false, None)),
        Line::Separator => Box::new(PredefinedMenuItem::separator()),
        Line::Item(text, action) => {
            // The same action keeps its number, so the list stays as short as the chats are few.
            let number = actions.iter().position(|known| known == action).unwrap_or_else(|| {
                actions.push(action.clone());
                actions.len() - 1
            });
            Box::new(MenuItem::with_id(number.to_string(), label(text), true, None))
        }
        Line::Submenu(text, lines) => {
            let submenu = Submenu::new(label(text), true);
            for line in lines {
                if let Err(error) = submenu.append(item(line, actions).as_ref()) {
                    tracing::warn!(%error, "a tray menu line cannot be shown");
                }
            }
            Box::new(submenu)
        }
    }
}

/// An `&` marks a key in a menu; in a folder's name it is only a letter.
fn label(text: &str) -> String {
    text.replace('&', "&&")
}

/// Side of the tray pictures, in pixels.
const SIDE: u32 = 32;

fn picture(icon: Icon) -> Result<tray_icon::Icon, tray_icon::BadIcon> {
    let rgba: &[u8] = match icon {
        Icon::Attention => include_bytes!("../../../icons/tray/attention.rgba"),
        Icon::Raised => include_bytes!("../../../icons/tray/raised.rgba"),
        Icon::SignedOut => include_bytes!("../../../icons/tray/signed_out.rgba"),
        Icon::Working => include_bytes!("../../../icons/tray/working.rgba"),
        Icon::Lowered => include_bytes!("../../../icons/tray/lowered.rgba"),
    };
    tray_icon::Icon::from_rgba(rgba.to_vec(), SIDE, SIDE)
}
