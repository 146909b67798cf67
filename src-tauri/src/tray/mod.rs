//! The tray: a pure value (`menu`, `icon`), what draws it (`adapter`), and what the desktop tells about it (`bus`).

mod actions;
mod adapter;
#[cfg(not(any(windows, target_vendor = "apple")))]
mod bus;
mod icon;
mod menu;
mod perform;
mod place;

use std::sync::Arc;
use std::time::Duration;

use drawbridge_engine::EngineHandle;
use drawbridge_engine::prefs::Prefs;
use drawbridge_engine::view::{Snapshot, TrayState};
use tauri::AppHandle;
use tokio::sync::{Notify, watch};

use adapter::Adapter;
use icon::Ground;
use menu::{Around, Menu, tray_menu};
use place::Place;

use crate::words::Language;

/// Nobody reads a menu that changes more often.
const SPACING: Duration = Duration::from_millis(400);

/// What the tray follows beside the engine.
pub(crate) struct Follows {
    /// For the language.
    pub(crate) prefs: watch::Receiver<Prefs>,
    /// The key that raises, if one does.
    pub(crate) hot_key: watch::Receiver<Option<String>>,
    /// Notifications are wanted and the desktop shows none.
    pub(crate) notifications_broken: watch::Receiver<bool>,
}

/// Starts the tray. What comes back says whether it is shown: unknown for at most a few seconds, and from then on always true.
pub(crate) fn start(app: &AppHandle, engine: &EngineHandle, follows: Follows) -> watch::Receiver<TrayState> {
    let (host, hosted) = watch::channel(TrayState::Unknown);
    let (shown, told) = watch::channel(TrayState::Unknown);
    let (ground, grounds) = watch::channel(Ground::Any);
    #[cfg(not(any(windows, target_vendor = "apple")))]
    bus::follow(host, ground);
    #[cfg(any(windows, target_vendor = "apple"))]
    {
        drop(ground);
        host.send_replace(TrayState::Shown);
    }
    let (app, snapshots) = (app.clone(), engine.subscribe());
    tauri::async_runtime::spawn(async move {
        let built = draw(app, snapshots, grounds, follows, hosted, &shown).await;
        if let Err(error) = built {
            tracing::warn!(error, "there is no tray: the window is the only sign of the program");
        }
        shown.send_replace(TrayState::None);
    });
    told
}

async fn draw(
    app: AppHandle,
    mut snapshots: watch::Receiver<Arc<Snapshot>>,
    mut grounds: watch::Receiver<Ground>,
    mut follows: Follows,
    mut hosted: watch::Receiver<TrayState>,
    shown: &watch::Sender<TrayState>,
) -> Result<(), String> {
    let redraw = Arc::new(Notify::new());
    let place = Place::new(&app).map_err(|fault| fault.to_string())?;
    let mut last = value(&mut snapshots, &mut follows, &mut grounds);
    let (first, perform) = (last.clone(), perform::performer(app, Arc::clone(&redraw)));
    place
        .ask(move |tray| {
            *tray = Some(Adapter::build(&first.0, first.1, perform).map_err(|fault| fault.to_string())?);
            Ok(())
        })
        .await
        .unwrap_or_else(|| Err("its thread is gone".to_owned()))?;
    loop {
        shown.send_replace(*hosted.borrow_and_update());
        let wanted = value(&mut snapshots, &mut follows, &mut grounds);
        if wanted != last {
            last = wanted.clone();
            show(&place, wanted).await;
            tokio::time::sleep(SPACING).await;
        }
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return Ok(()) },
            Ok(()) = hosted.changed() => {}
            Ok(()) = grounds.changed() => {}
            Ok(()) = follows.prefs.changed() => {}
            Ok(()) = follows.hot_key.changed() => {}
            Ok(()) = follows.notifications_broken.changed() => {}
            // A check mark follows the click at once; the truth may be another.
            () = redraw.notified() => show(&place, last.clone()).await,
        }
    }
}

async fn show(place: &Place, (menu, ground): (Menu, Ground)) {
    place
        .ask(move |tray| {
            if let Some(adapter) = tray {
                adapter.show(&menu, ground);
            }
        })
        .await;
}

fn value(
    snapshots: &mut watch::Receiver<Arc<Snapshot>>,
    follows: &mut Follows,
    grounds: &mut watch::Receiver<Ground>,
) -> (Menu, Ground) {
    let around = Around {
        language: Language::chosen(&follows.prefs.borrow_and_update().language),
        hot_key: follows.hot_key.borrow_and_update().clone(),
        notifications_broken: *follows.notifications_broken.borrow_and_update(),
    };
    let snapshot = Arc::clone(&snapshots.borrow_and_update());
    (tray_menu(&snapshot, &around), *grounds.borrow_and_update())
}
