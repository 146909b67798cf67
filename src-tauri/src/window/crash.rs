//! What happens when the process that draws a page dies: the page comes back, and with it the questions (FB-26).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tauri::{Manager, WebviewWindow};

use super::paint::{self, Births};
use crate::rescue;

/// More deaths than this within [`SPAN`] are no accident any more.
const MOST: usize = 3;
/// The time in which deaths are counted.
const SPAN: Duration = Duration::from_secs(60);

/// The latest deaths.
#[derive(Default)]
pub(crate) struct Crashes(Mutex<VecDeque<Instant>>);

impl Crashes {
    /// Counts one. False: it happens too often to go on like this.
    fn count(&self, now: Instant) -> bool {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.retain(|time| now.duration_since(*time) < SPAN);
        times.push_back(now);
        times.len() <= MOST
    }
}

/// Brings the page of a window back whenever its process dies.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(super) fn watch(window: &WebviewWindow) {
    use webkit2gtk::WebViewExt as _;
    let inner = window.clone();
    let watched = window.with_webview(move |webview| {
        webview.inner().connect_web_process_terminated(move |_, reason| {
            tracing::warn!(window = inner.label(), ?reason, "the page's process has ended; the page comes back");
            revive(&inner);
        });
    });
    if let Err(error) = watched {
        tracing::warn!(%error, "a page that dies would stay dead");
    }
}

/// Brings the page of a window back whenever its process dies: the system's web view does that by itself here.
#[cfg(any(windows, target_vendor = "apple"))]
pub(super) fn watch(_: &WebviewWindow) {}

#[cfg_attr(any(windows, target_vendor = "apple"), expect(dead_code, reason = "called by the signal above alone"))]
fn revive(window: &WebviewWindow) {
    let (app, label) = (window.app_handle(), super::of_ours(window));
    if !app.state::<Crashes>().count(Instant::now()) {
        return rescue::stays_blank(app, label);
    }
    // A new page: what the dead one had on screen does not count.
    app.state::<Births>().born(label, Instant::now());
    if let Err(error) = window.reload() {
        tracing::error!(%error, "the page cannot be loaded again");
    }
    paint::watch(app, label);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_dies_again_and_again_is_given_up() {
        let crashes = Crashes::default();
        let now = Instant::now();
        assert!(crashes.count(now));
        assert!(crashes.count(now));
        assert!(crashes.count(now));
        assert!(!crashes.count(now));

        // Much later, the first ones are forgotten.
        assert!(crashes.count(now + SPAN));
    }
}
