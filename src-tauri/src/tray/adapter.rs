//! Draws the tray's value with the system's tray.

use std::sync::{Arc, Mutex, PoisonError};

use tray_icon::menu::{
    CheckMenuItem, ContextMenu, IsMenuItem, Menu as NativeMenu, MenuEvent, MenuItem, PredefinedMenuItem, Submenu,
};
use tray_icon::{MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};

use super::actions::Actions;
use super::icon::{Ground, SIDE, picture};
use super::menu::{Action, Line, Menu};

/// The tray on the screen.
pub(crate) struct Adapter {
    tray: TrayIcon,
    icon: (super::icon::Icon, Ground),
    actions: Arc<Mutex<Actions>>,
}

impl Adapter {
    /// Puts the tray on the screen. `perform` is called from a thread of the tray's own.
    ///
    /// # Errors
    /// When there is no session bus, or the system refuses.
    pub(crate) fn build(
        menu: &Menu,
        ground: Ground,
        perform: impl Fn(Action) + Clone + Send + Sync + 'static,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let actions = Arc::new(Mutex::new(Actions::default()));
        let (handler_actions, click) = (Arc::clone(&actions), perform.clone());
        MenuEvent::set_event_handler(Some(move |event: MenuEvent| {
            let action = handler_actions.lock().unwrap_or_else(PoisonError::into_inner).find(event.id().as_ref());
            if let Some(action) = action {
                perform(action);
            }
        }));
        TrayIconEvent::set_event_handler(Some(move |event: TrayIconEvent| {
            // Systems that tell both halves of a click would open the window twice.
            if matches!(event, TrayIconEvent::Click { button_state: MouseButtonState::Up, .. }) {
                click(Action::Open);
            }
        }));
        let tray = TrayIconBuilder::new()
            .with_id("drawbridge")
            .with_title("Drawbridge")
            .with_tooltip(&menu.status)
            .with_menu(native(menu, &actions))
            .with_icon(drawn(menu.icon, ground)?)
            .build()?;
        Ok(Self { tray, icon: (menu.icon, ground), actions })
    }

    /// Shows a menu and its icon.
    pub(crate) fn show(&mut self, menu: &Menu, ground: Ground) {
        if self.icon != (menu.icon, ground) {
            match drawn(menu.icon, ground) {
                Ok(icon) => drop(self.tray.set_icon(Some(icon))),
                Err(error) => tracing::warn!(%error, "the tray icon cannot be drawn"),
            }
            self.icon = (menu.icon, ground);
        }
        // A bubble that is not shown is no loss.
        let _ = self.tray.set_tooltip(Some(&menu.status));
        self.tray.set_menu(Some(native(menu, &self.actions)));
    }
}

fn native(menu: &Menu, actions: &Mutex<Actions>) -> Box<dyn ContextMenu> {
    let mut actions = actions.lock().unwrap_or_else(PoisonError::into_inner);
    actions.begin();
    let native = NativeMenu::new();
    for line in &menu.lines {
        if let Err(error) = native.append(item(line, &mut actions).as_ref()) {
            tracing::warn!(%error, "a tray menu line cannot be shown");
        }
    }
    Box::new(native)
}

fn item(line: &Line, actions: &mut Actions) -> Box<dyn IsMenuItem> {
    match line {
        Line::Status(text) => Box::new(MenuItem::new(label(text), false, None)),
        Line::Separator => Box::new(PredefinedMenuItem::separator()),
        Line::Item(text, action) => Box::new(MenuItem::with_id(actions.number(action), label(text), true, None)),
        Line::Check(text, checked, action) => {
            Box::new(CheckMenuItem::with_id(actions.number(action), label(text), true, *checked, None))
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

fn drawn(icon: super::icon::Icon, ground: Ground) -> Result<tray_icon::Icon, tray_icon::BadIcon> {
    tray_icon::Icon::from_rgba(picture(icon, ground).to_vec(), SIDE, SIDE)
}
