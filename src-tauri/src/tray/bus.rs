//! What the session bus tells about the desktop: whether somebody draws tray icons, and the ground they stand on.
//!
//! Nothing waits for it: a bus that is stuck or missing is as good as a desktop without a tray.

use std::time::Duration;

use drawbridge_engine::view::TrayState;
use futures_util::StreamExt as _;
use tokio::sync::watch;
use zbus::Connection;
use zbus::fdo::DBusProxy;
use zbus::zvariant::{OwnedValue, Value};

use super::icon::Ground;

/// Who draws tray icons registers this name.
const WATCHER: &str = "org.kde.StatusNotifierWatcher";
/// So long may an answer take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// The desktop's look, in the settings portal.
const LOOK: (&str, &str) = ("org.freedesktop.appearance", "color-scheme");

/// Follows the session bus from now on, on tasks of their own.
pub(crate) fn follow(host: watch::Sender<TrayState>, ground: watch::Sender<Ground>) {
    tauri::async_runtime::spawn(async move {
        let Some(bus) = within(Connection::session()).await else {
            host.send_replace(TrayState::None);
            return;
        };
        let look = bus.clone();
        tauri::async_runtime::spawn(async move {
            if let Err(error) = follow_look(&look, &ground).await {
                tracing::debug!(%error, "the desktop does not tell its colours");
            }
        });
        if let Err(error) = follow_host(&bus, &host).await {
            tracing::warn!(%error, "whether the tray is shown cannot be known");
        }
        // Nobody can tell any more, so the window must not rely on the tray.
        host.send_replace(TrayState::None);
    });
}

async fn within<T>(call: impl Future<Output = zbus::Result<T>>) -> Option<T> {
    tokio::time::timeout(ANSWER_WITHIN, call).await.ok()?.ok()
}

async fn follow_host(bus: &Connection, host: &watch::Sender<TrayState>) -> zbus::Result<()> {
    let names = DBusProxy::new(bus).await?;
    // Listening comes first, or a change right after the question would be missed.
    let mut changes = names.receive_name_owner_changed_with_args(&[(0, WATCHER)]).await?;
    let asked = async { Ok(names.name_has_owner(WATCHER.try_into()?).await?) };
    host.send_replace(state(within(asked).await.unwrap_or(false)));
    while let Some(change) = changes.next().await {
        host.send_replace(state(change.args()?.new_owner.is_some()));
    }
    Ok(())
}

const fn state(shown: bool) -> TrayState {
    if shown { TrayState::Shown } else { TrayState::None }
}

async fn follow_look(bus: &Connection, ground: &watch::Sender<Ground>) -> zbus::Result<()> {
    let portal = zbus::Proxy::new(
        bus,
        "org.freedesktop.portal.Desktop",
        "/org/freedesktop/portal/desktop",
        "org.freedesktop.portal.Settings",
    )
    .await?;
    let mut changes = portal.receive_signal_with_args("SettingChanged", &[(0, LOOK.0), (1, LOOK.1)]).await?;
    let asked = async {
        match portal.call::<_, _, OwnedValue>("ReadOne", &LOOK).await {
            Ok(value) => Ok(value),
            // Before its second version the portal had only this.
            Err(_) => portal.call::<_, _, OwnedValue>("Read", &LOOK).await,
        }
    };
    if let Some(value) = within(asked).await {
        ground.send_replace(ground_of(&value));
    }
    while let Some(change) = changes.next().await {
        let body = change.body();
        let (_, _, value): (&str, &str, Value<'_>) = body.deserialize()?;
        ground.send_replace(ground_of(&value));
    }
    Ok(())
}

/// The portal's number for the look: 1 dark, 2 light, all else no preference. Older portals wrap it twice.
fn ground_of(value: &Value<'_>) -> Ground {
    if let Value::Value(inner) = value {
        return ground_of(inner);
    }
    match u32::try_from(value) {
        Ok(1) => Ground::Dark,
        Ok(2) => Ground::Light,
        Ok(_) | Err(_) => Ground::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_look_is_read_however_it_is_wrapped_and_nonsense_is_no_look() {
        assert_eq!(ground_of(&Value::from(1_u32)), Ground::Dark);
        assert_eq!(ground_of(&Value::Value(Box::new(Value::from(2_u32)))), Ground::Light);
        assert_eq!(ground_of(&Value::from(0_u32)), Ground::Any);
        assert_eq!(ground_of(&Value::from(77_u32)), Ground::Any);
        assert_eq!(ground_of(&Value::from("dark")), Ground::Any);
    }
}
