//! The one window: made when wanted, destroyed when closed.

use tauri::{AppHandle, Manager, UserAttentionType, WebviewUrl, WebviewWindowBuilder};

/// Name of the window, as the capability file knows it.
pub(crate) const LABEL: &str = "main";

/// Opens the window, or brings the open one to the front. Works from any thread.
pub(crate) fn open(app: &AppHandle) {
    show(app, false);
}

/// Brings the window up because somebody must answer, above the other windows until [`calm`] is called.
pub(crate) fn open_for_question(app: &AppHandle) {
    show(app, true);
}

/// No question waits any more: the window goes back among the others.
pub(crate) fn calm(app: &AppHandle) {
    let inner = app.clone();
    let _ = app.run_on_main_thread(move || {
        if let Some(window) = inner.get_webview_window(LABEL) {
            let _ = window.set_always_on_top(false);
            let _ = window.request_user_attention(None);
        }
    });
}

fn show(app: &AppHandle, asks: bool) {
    let inner = app.clone();
    let asked = app.run_on_main_thread(move || {
        if let Some(window) = inner.get_webview_window(LABEL) {
            let _ = window.unminimize();
            let _ = window.show();
            if asks {
                let _ = window.set_always_on_top(true);
                let _ = window.request_user_attention(Some(UserAttentionType::Critical));
            }
            let _ = window.set_focus();
            return;
        }
        let built = WebviewWindowBuilder::new(&inner, LABEL, WebviewUrl::App("index.html".into()))
            .title("Drawbridge")
            .inner_size(1080.0, 760.0)
            .min_inner_size(420.0, 420.0)
            .always_on_top(asks)
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
