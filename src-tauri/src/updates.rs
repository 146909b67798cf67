//! Updates: what this copy was installed as, whether there is a newer one, and taking it.
//!
//! What is a newer version and how it is proven is in `drawbridge_engine::updates`. Here is when to look and what the person is
//! told. Nothing is ever taken without their click.

mod desk;

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use drawbridge_engine::CommandError;
use drawbridge_engine::prefs::Prefs;
use drawbridge_os::installed::Kind;
use tauri::{AppHandle, Manager as _, State};

use crate::prefs::PrefsDesk;
use crate::{outside, shell};
pub(crate) use desk::{UpdateDesk, UpdateView};

/// The start has better things to do than to look for updates.
const FIRST_LOOK_AFTER: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// So much later at random, so that not all computers ask at once: of the first look, and of the others.
const FIRST_JITTER: Duration = Duration::from_secs(60);
const JITTER: Duration = Duration::from_secs(2 * 60 * 60);

/// Tells how updates stand.
#[tauri::command]
pub(crate) async fn updates(
    desk: State<'_, UpdateDesk>,
    prefs: State<'_, PrefsDesk>,
) -> Result<UpdateView, CommandError> {
    desk.view(&prefs.get().update_channel).await
}

/// Looks for a newer version now.
#[tauri::command]
pub(crate) async fn check_updates(
    desk: State<'_, UpdateDesk>,
    prefs: State<'_, PrefsDesk>,
) -> Result<UpdateView, CommandError> {
    let channel = prefs.get().update_channel;
    desk.look(&channel).await?;
    desk.view(&channel).await
}

/// Takes the newer version that was found, then starts again.
#[tauri::command]
pub(crate) async fn install_update(app: AppHandle, desk: State<'_, UpdateDesk>) -> Result<(), CommandError> {
    match desk.take().await? {
        // The installer waits for this program to end and starts the new one itself.
        Kind::Nsis => shell::quit(&app),
        Kind::AppImage(_) | Kind::Deb | Kind::Rpm | Kind::Dmg(_) | Kind::Msi | Kind::Other => shell::start_again(&app),
    }
    Ok(())
}

/// Opens the page of releases in the browser. The page in the window cannot name an address.
#[tauri::command]
pub(crate) async fn open_release(desk: State<'_, UpdateDesk>) -> Result<(), CommandError> {
    let none =
        || CommandError::new("no_page", "This build does not know where its releases are. Look where you got it from.");
    outside::open_in_browser(desk.page().ok_or_else(none)?).await
}

/// Looks for newer versions by itself, a minute after the start and once a day, as long as the person wants that.
pub(crate) fn follow(app: &AppHandle) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let random = RandomState::new();
        tokio::time::sleep(later(FIRST_LOOK_AFTER, FIRST_JITTER, random.hash_one("first"))).await;
        for day in 0_u64.. {
            let prefs = app.state::<PrefsDesk>().get();
            if looks_by_itself(&prefs)
                && let Err(fault) = app.state::<UpdateDesk>().look_quietly(&prefs.update_channel).await
            {
                // Nobody asked, so nobody is told: the next look may find it mended.
                tracing::info!(fault = fault.message, "no look for a newer version");
            }
            tokio::time::sleep(later(LOOK_EVERY, JITTER, random.hash_one(day))).await;
        }
    });
}

/// A trial on the practice platform is for trying, and asks nobody anything.
fn looks_by_itself(prefs: &Prefs) -> bool {
    prefs.check_updates && !prefs.practice
}

/// A wait with a random part on top.
fn later(wait: Duration, most: Duration, random: u64) -> Duration {
    let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).max(1);
    wait + Duration::from_millis(random % most_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_spread_and_never_early() {
        for random in [0, 1, 59_999, 60_000, u64::MAX] {
            let wait = later(FIRST_LOOK_AFTER, FIRST_JITTER, random);
            assert!(wait >= FIRST_LOOK_AFTER && wait < FIRST_LOOK_AFTER + FIRST_JITTER, "{wait:?}");
        }
        assert_ne!(later(LOOK_EVERY, JITTER, 7), later(LOOK_EVERY, JITTER, 8));
    }

    #[test]
    fn nobody_is_asked_in_a_trial_or_against_the_persons_will() {
        let wanted = Prefs::default();
        assert!(looks_by_itself(&wanted));
        assert!(!looks_by_itself(&Prefs { check_updates: false, ..wanted.clone() }));
        assert!(!looks_by_itself(&Prefs { practice: true, ..wanted }));
    }
}
