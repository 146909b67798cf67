//! The one window: made when wanted, destroyed when closed.

use tauri::{AppHandle, Manager, WebviewUrl, WebviewWindowBuilder};

/// Name of the window, as the capability file knows it.
pub(crate) const LABEL: &str = "main";

/// Opens the window, or brings the open one to the front. Works from any thread.
pub(crate) fn open(app: &AppHandle) {
    let inner = app.clone();
    let asked = app.run_on_main_thread(move || {
        if let Some(window) = inner.get_webview_window(LABEL) {
            let _ = window.unminimize();
            let _ = window.show();
            let _ = window.set_focus();
            return;
        }
        let built = WebviewWindowBuilder::new(&inner, LABEL, WebviewUrl::App("index.html".into()))
            .title("Drawbridge")
            .inner_size(1080.0, 760.0)
            .min_inner_size(420.0, 420.0)
            // The page is ours and has no links: going anywhere else is never right.
            .on_navigation(|url| url.scheme() == "tauri" || url.host_str() == Some("tauri.localhost"))
            .build();
        if let Err(error) = built {
            tracing::error!(%error, "the window cannot open");
        }
    });
    if let Err(error) = asked {
        tracing::error!(%error, "the window cannot open");
    }
}
