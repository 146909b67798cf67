//! Notifications of the desktop: what a person should hear of while no window is in front.
//!
//! A courtesy and no more. Nothing waits for them, consent least of all: each is handed over on a task of its own with a
//! limit, and a desktop that shows none costs one line in the log and one in the tray's menu. They name what happened, never
//! contents; of a question they show the one sentence that the engine made safe.

mod news;
mod post;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drawbridge_engine::EngineHandle;
use drawbridge_engine::prefs::Prefs;
use drawbridge_engine::view::Snapshot;
use tauri::AppHandle;
use tokio::sync::watch;

use crate::words::Language;
use crate::{around, window};
use news::{News, Step, Topic};
use post::{Posted, post};

/// Somebody in this program has just raised the bridge, so nobody has to be told.
static RAISED_HERE: AtomicBool = AtomicBool::new(false);

/// Says that the person raises the bridge here and sees that it happens.
pub(crate) fn raised_here() {
    RAISED_HERE.store(true, Ordering::Release);
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
        let here = RAISED_HERE.load(Ordering::Acquire);
        let steps = news.follow(&snapshot, here);
        if snapshot.raised {
            RAISED_HERE.store(false, Ordering::Release);
        }
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
