//! Hands one notification to the desktop, and takes it away again.

use std::sync::Arc;
use std::time::Duration;

use notify_rust::{Notification, Timeout};
use tauri::async_runtime::JoinHandle;
use tokio::sync::{oneshot, watch};

use super::news::Text;

/// A desktop that has not taken a notification by then is not waited for.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);

/// A notification that was handed over, or is about to be.
pub(super) struct Posted {
    close: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Posted {
    /// Takes it away. Returns at once.
    pub(super) fn close(self) {
        // It may have been clicked away.
        let _ = self.close.send(());
        drop(self.task);
    }
}

/// Shows a text in the place of the one before. Returns at once.
pub(super) fn post(
    text: Text,
    urgent: bool,
    before: Option<Posted>,
    clicked: impl FnOnce() + Send + 'static,
    broken: Arc<watch::Sender<bool>>,
) -> Posted {
    let (close, closed) = oneshot::channel();
    let task = tauri::async_runtime::spawn(async move {
        if let Some(before) = before {
            before.close();
        }
        let shown = tokio::time::timeout(TAKEN_WITHIN, desktop::show(notification(&text, urgent))).await;
        let fault = match shown {
            Ok(Ok(handle)) => {
                broken.send_replace(false);
                return desktop::stay(handle, closed, clicked).await;
            }
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => format!("no answer within {} s", TAKEN_WITHIN.as_secs()),
        };
        if !broken.send_replace(true) {
            tracing::warn!(fault, "this desktop shows no notifications; the tray icon calls instead");
        }
    });
    Posted { close, task }
}

fn notification(text: &Text, urgent: bool) -> Notification {
    let mut notification = Notification::new();
    notification
        .appname("Drawbridge")
        .icon("drawbridge-desktop")
        .summary(text.heading)
        .body(text.body)
        .action("default", text.show)
        .timeout(if urgent { Timeout::Never } else { Timeout::Default });
    notification
}

#[cfg(not(any(windows, target_vendor = "apple")))]
mod desktop {
    use std::pin::pin;

    use notify_rust::{Notification, NotificationHandle, NotificationResponse};
    use tokio::sync::oneshot;

    pub(super) async fn show(notification: Notification) -> Result<NotificationHandle, notify_rust::error::Error> {
        notification.show_async().await
    }

    /// Until it is clicked, clicked away or no longer true.
    pub(super) async fn stay(handle: NotificationHandle, closed: oneshot::Receiver<()>, clicked: impl FnOnce()) {
        let mut pressed = false;
        {
            let answer = pin!(handle.wait_for_action_async(|response: &NotificationResponse| {
                pressed = matches!(response, NotificationResponse::Default | NotificationResponse::Action(_));
            }));
            tokio::select! {
                () = answer => {}
                _ = closed => {
                    // A desktop that does not take it away keeps it; nobody waits for that either.
                    let _ = tokio::time::timeout(super::TAKEN_WITHIN, handle.close_async()).await;
                }
            }
        }
        if pressed {
            clicked();
        }
    }
}

#[cfg(any(windows, target_vendor = "apple"))]
mod desktop {
    use notify_rust::{Notification, NotificationHandle};
    use tokio::sync::oneshot;

    /// These systems take it at once or wait for the person: never on a thread of ours.
    pub(super) async fn show(notification: Notification) -> Result<NotificationHandle, String> {
        let shown = tokio::task::spawn_blocking(move || notification.show().map_err(|fault| fault.to_string())).await;
        shown.map_err(|fault| fault.to_string())?
    }

    /// Here a notification cannot be taken away, and a click opens the program by itself.
    pub(super) async fn stay(handle: NotificationHandle, closed: oneshot::Receiver<()>, _clicked: impl FnOnce()) {
        let _ = closed.await;
        drop(handle);
    }
}
