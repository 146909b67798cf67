//! The windows: made when wanted, destroyed when closed, so that the tray alone idles light.
//!
//! What holds for all is here, and the main window. The one for questions is in [`prompt`], the one that says that the screen is
//! in use in [`pill`].

pub(crate) mod crash;
pub(crate) mod paint;
pub(crate) mod pill;
pub(crate) mod prompt;

use std::time::{Duration, Instant};

use drawbridge_engine::prefs::Prefs;
use drawbridge_os::memory;
use tauri::utils::config::Color;
use tauri::{AppHandle, Manager, Theme, WebviewUrl, WebviewWindow, WebviewWindowBuilder, Window, WindowEvent, Wry};

use crate::prefs::PrefsDesk;
use crate::shell::{self, Shell};
use paint::Births;

/// Name of the main window, as its capability file knows it.
pub(crate) const MAIN: &str = "main";
/// Name of the window for questions, as its capability file knows it.
pub(crate) const PROMPT: &str = "prompt";
/// Name of the pill's window, as its capability file knows it.
pub(crate) const PILL: &str = "pill";

/// Size of the main window at the first start, in logical pixels.
const FIRST_SIZE: (u32, u32) = (1080, 760);
/// The smallest size at which every page can be used.
const MIN_SIZE: (u32, u32) = (420, 420);
/// The dark page's own ground (`tokens.css`).
const DARK_GROUND: Color = Color(0x0f, 0x15, 0x1c, 0xff);
/// No screen is larger; a size beyond was not measured.
const MAX_SIZE: (u32, u32) = (16_000, 16_000);

/// The toolkit has let go of a closed window by then.
const LET_GO_WITHIN: Duration = Duration::from_secs(2);

/// Opens the main window, or brings the open one to the front. Works from any thread.
pub(crate) fn open(app: &AppHandle) {
    on_main(app, |app| {
        if let Some(window) = app.get_webview_window(MAIN) {
            let _ = window.unminimize();
            let _ = window.show();
            let _ = window.set_focus();
            return;
        }
        let (width, height) = fitting(app.state::<PrefsDesk>().get().size);
        let window = build(app, MAIN, "index.html", |builder| {
            builder
                .title("Drawbridge")
                .inner_size(f64::from(width), f64::from(height))
                .min_inner_size(f64::from(MIN_SIZE.0), f64::from(MIN_SIZE.1))
        });
        if let Some(window) = window {
            let _ = window.set_focus();
        }
    });
}

/// Does something on the thread that owns the windows. Works from any thread.
fn on_main(app: &AppHandle, act: impl FnOnce(&AppHandle) + Send + 'static) {
    let inner = app.clone();
    if let Err(error) = app.run_on_main_thread(move || act(&inner)) {
        tracing::error!(%error, "the windows cannot be reached");
    }
}

type Builder<'a> = WebviewWindowBuilder<'a, Wry, AppHandle>;

/// Makes a window with a page of ours and watches whether it paints.
fn build(
    app: &AppHandle,
    label: &'static str,
    page: &str,
    shape: impl FnOnce(Builder<'_>) -> Builder<'_>,
) -> Option<WebviewWindow> {
    let prefs = app.state::<PrefsDesk>().get();
    let trial = app.state::<Shell>().trial;
    let url = if trial.blank { blank() } else { WebviewUrl::App(page.into()) };
    let asked = Instant::now();
    let builder = WebviewWindowBuilder::new(app, label, url)
        .theme(theme(&prefs))
        // The page is ours and has no links: going anywhere else is never right.
        .on_navigation(move |url| {
            url.scheme() == "tauri"
                || url.host_str() == Some("tauri.localhost")
                || (trial.blank && url.scheme() == "about")
        });
    // What is seen until the page paints: no white flash before a dark page.
    let builder = match prefs.theme.as_str() {
        // What lies below the pill is seen at its corners.
        "dark" if label != PILL => builder.background_color(DARK_GROUND),
        _ => builder,
    };
    let window = match shape(builder).build() {
        Ok(window) => window,
        Err(error) => {
            tracing::error!(%error, window = label, "the window cannot open");
            return None;
        }
    };
    app.state::<Births>().born(label, asked);
    paint::watch(app, label);
    crash::watch(&window);
    let _ = window.set_zoom(f64::from(prefs.zoom) / 100.0);
    Some(window)
}

/// Returns the name of a window of ours.
fn of_ours(window: &WebviewWindow) -> &'static str {
    match window.label() {
        PROMPT => PROMPT,
        PILL => PILL,
        _ => MAIN,
    }
}

/// A page that never says that it was painted, for trying what happens then.
fn blank() -> WebviewUrl {
    tauri::Url::parse("about:blank").map_or_else(|_| WebviewUrl::default(), WebviewUrl::External)
}

/// Makes the open windows look as remembered.
pub(crate) fn apply(app: &AppHandle, prefs: &Prefs) {
    let prefs = prefs.clone();
    on_main(app, move |app| {
        for window in app.webview_windows().values() {
            let _ = window.set_theme(theme(&prefs));
            let _ = window.set_zoom(f64::from(prefs.zoom) / 100.0);
        }
        pill::resize(app);
    });
}

/// Follows what happens to the windows.
pub(crate) fn on_event(window: &Window, event: &WindowEvent) {
    match (window.label(), event) {
        (MAIN, WindowEvent::CloseRequested { .. }) => {
            keep_size(window);
            // Without a tray the program would live on unseen.
            if !window.state::<Shell>().has_tray() {
                shell::quit(window.app_handle());
            }
        }
        (PROMPT, WindowEvent::CloseRequested { api, .. }) => {
            // It goes when no question is left, and not before.
            api.prevent_close();
            prompt::deny_shown(window.app_handle());
        }
        // It goes when use ends, and not before.
        (PILL, WindowEvent::CloseRequested { api, .. }) => api.prevent_close(),
        (label, WindowEvent::Destroyed) => {
            window.state::<Births>().gone(label);
            give_memory_back();
        }
        _ => {}
    }
}

/// Gives back what the window needed, once the toolkit has let go of it: that happens some turns of the main loop later.
fn give_memory_back() {
    tauri::async_runtime::spawn(async {
        tokio::time::sleep(LET_GO_WITHIN).await;
        memory::give_back();
    });
}

/// Remembers the size of the open main window. For the end of the program.
pub(crate) fn keep_sizes(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(MAIN) {
        keep_size(&window.as_ref().window());
    }
}

fn keep_size(window: &Window) {
    // A maximised window is the size of this screen, and no wish.
    if window.is_maximized().unwrap_or(false) || window.is_fullscreen().unwrap_or(false) {
        return;
    }
    let (Ok(size), Ok(scale)) = (window.inner_size(), window.scale_factor()) else { return };
    let size = size.to_logical::<u32>(scale);
    // What could not be stored was logged; the window closes all the same.
    let _ = window.state::<PrefsDesk>().change(|prefs| prefs.size = Some((size.width, size.height)));
}

/// Returns a size at which the window can be used.
fn fitting(remembered: Option<(u32, u32)>) -> (u32, u32) {
    let (width, height) = remembered.unwrap_or(FIRST_SIZE);
    (width.clamp(MIN_SIZE.0, MAX_SIZE.0), height.clamp(MIN_SIZE.1, MAX_SIZE.1))
}

fn theme(prefs: &Prefs) -> Option<Theme> {
    match prefs.theme.as_str() {
        "light" => Some(Theme::Light),
        "dark" => Some(Theme::Dark),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_size_is_one_at_which_the_window_can_be_used() {
        assert_eq!(fitting(None), (1080, 760));
        assert_eq!(fitting(Some((900, 600))), (900, 600));
        assert_eq!(fitting(Some((0, 1))), (420, 420));
        assert_eq!(fitting(Some((u32::MAX, 500))), (16_000, 500));
    }
}
