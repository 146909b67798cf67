//! Notifications of the desktop: what a person should hear of while no window is in front.
//!
//! A courtesy and no more. Nothing waits for them, consent least of all: each is handed over on a task of its own with a
//! limit, and a desktop that shows none costs one line in the log and one in the tray's menu. They name what happened, never
//! contents; of a question they say only that it waits.

mod news;
mod post;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use drawbridge_engine::EngineHandle;
use drawbridge_engine::prefs::Prefs;
use drawbridge_engine::view::Snapshot;
use tauri::AppHandle;
use tokio::sync::watch;

use crate::words::Language;
use crate::{around, window};
use news::{News, Raiser, Step, Topic};
use post::{Posted, post};

/// Who raises the bridge just now.
static RAISER: Mutex<Raiser> = Mutex::new(Raiser::Elsewhere);

/// Says that the person raises the bridge here and sees that it happens.
pub(crate) fn raised_here() {
    set_raiser(Raiser::Here);
}

/// Says that the person's hot key raises the bridge.
pub(crate) fn raised_by_key() {
    set_raiser(Raiser::Key);
}

fn set_raiser(raiser: Raiser) -> Raiser {
    std::mem::replace(&mut *RAISER.lock().unwrap_or_else(PoisonError::into_inner), raiser)
}

/// Starts telling. What comes back says whether the desktop failed to show a notification that was wanted.
pub(crate) fn start(app: &AppHandle, engine: &EngineHandle, prefs: watch::Receiver<Prefs>) -> watch::Receiver<bool> {
    let (broken, told) = watch::channel(false);
    let (app, snapshots) = (app.clone(), engine.subscribe());
    tauri::async_runtime::spawn(follow(app, snapshots, prefs, broken));
    told
}

async fn follow(
    app: AppHandle,
    mut snapshots: watch::Receiver<Arc<Snapshot>>,
    mut prefs: watch::Receiver<Prefs>,
    broken: watch::Sender<bool>,
) {
    let mut news = News::default();
    let mut open: HashMap<Topic, Posted> = HashMap::new();
    let broken = Arc::new(broken);
    loop {
        let wanted = prefs.borrow_and_update().clone();
        let snapshot = Arc::clone(&snapshots.borrow_and_update());
        // It counts for the picture that shows it.
        let raiser = if snapshot.raised { set_raiser(Raiser::Elsewhere) } else { Raiser::Elsewhere };
        let steps = news.follow(&snapshot, raiser);
        if !wanted.notifications {
            open.drain().for_each(|(_, posted)| posted.close());
            broken.send_replace(false);
        }
        for step in steps {
            match step {
                Step::Close(topic) => drop(open.remove(&topic).map(Posted::close)),
                Step::Tell(topic, what) if wanted.notifications => {
                    let text = what.text(Language::chosen(&wanted.language));
                    let before = open.remove(&topic);
                    let (shower, urgent) = (app.clone(), topic == Topic::Question);
                    let clicked = move || if urgent { around::show_question(&shower) } else { window::open(&shower) };
                    open.insert(topic, post(text, urgent, before, clicked, Arc::clone(&broken)));
                }
                Step::Tell(..) => {}
            }
        }
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            Ok(()) = prefs.changed() => {}
        }
    }
}
