//! Whether the pages are really painted: on some graphics a web view stays blank while everything below it works (FB-41).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tauri::{AppHandle, Manager, WebviewWindow};

use crate::rescue;
use crate::shell::Shell;

/// Until its first sign of life a page may take so many times as long: a busy machine is no broken one.
const LOAD_FACTOR: u32 = 2;

/// The pages that were asked for.
#[derive(Default)]
pub(crate) struct Births(Mutex<Book>);

#[derive(Default)]
struct Book {
    last: u64,
    pages: HashMap<String, Page>,
    /// Questions on screen in the page that is there now: number and revision.
    shown: HashSet<(u64, u64)>,
}

struct Page {
    number: u64,
    asked: Instant,
    /// Its code runs.
    alive: bool,
    painted: bool,
}

/// A page that waits for its paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unpainted {
    number: u64,
    alive: bool,
}

impl Births {
    /// A page was asked for, at this moment.
    pub(crate) fn born(&self, label: &str, asked: Instant) {
        let mut book = self.book();
        book.last += 1;
        let page = Page { number: book.last, asked, alive: false, painted: false };
        book.pages.insert(label.to_owned(), page);
        if label == super::PROMPT {
            book.shown.clear();
        }
    }

    /// The page is gone.
    pub(crate) fn gone(&self, label: &str) {
        let mut book = self.book();
        book.pages.remove(label);
        if label == super::PROMPT {
            book.shown.clear();
        }
    }

    /// The page says that it is painted. Gives how long that took, the first time.
    pub(crate) fn painted(&self, label: &str) -> Option<Duration> {
        let mut book = self.book();
        let page = book.pages.get_mut(label).filter(|page| !page.painted)?;
        page.painted = true;
        Some(page.asked.elapsed())
    }

    /// The page's code runs. True for the first time.
    fn alive(&self, label: &str) -> bool {
        self.book().pages.get_mut(label).is_some_and(|page| !std::mem::replace(&mut page.alive, true))
    }

    /// Tells which page of this window waits for its paint, if one does.
    fn unpainted(&self, label: &str) -> Option<Unpainted> {
        let book = self.book();
        let page = book.pages.get(label).filter(|page| !page.painted)?;
        Some(Unpainted { number: page.number, alive: page.alive })
    }

    /// The page for questions has this one on screen.
    pub(crate) fn show(&self, id: u64, revision: u64) {
        self.book().shown.insert((id, revision));
    }

    /// Tells whether the page that is there now has this question on screen.
    pub(crate) fn shows(&self, id: u64, revision: u64) -> bool {
        self.book().shown.contains(&(id, revision))
    }

    fn book(&self) -> std::sync::MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sees that a page that was asked for comes to life.
pub(crate) fn watch(app: &AppHandle, label: &'static str) {
    // The plain window that takes the pill's place can do the same, so nobody waits long for its page.
    let factor = if label == super::PILL { 1 } else { LOAD_FACTOR };
    wait(app, label, app.state::<Shell>().trial.paint_within * factor);
}

/// The page's code runs: sees that it is painted, too.
pub(crate) fn lives(window: &WebviewWindow) {
    let app = window.app_handle();
    let label = super::of_ours(window);
    if app.state::<Births>().alive(label) {
        wait(app, label, app.state::<Shell>().trial.paint_within);
    }
}

fn wait(app: &AppHandle, label: &'static str, within: Duration) {
    let Some(page) = app.state::<Births>().unpainted(label) else { return };
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        loop {
            tokio::time::sleep(within).await;
            // Painted, gone, or come to life: then another watch has begun.
            if app.state::<Births>().unpainted(label) != Some(page) {
                return;
            }
            // Nothing paints a window that nobody can see.
            if app.get_webview_window(label).is_some_and(|window| is_seen(&window)) {
                return rescue::stays_blank(&app, label);
            }
        }
    });
}

fn is_seen(window: &WebviewWindow) -> bool {
    window.is_visible().unwrap_or(true) && !window.is_minimized().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_painted_once_and_a_new_one_anew() {
        let births = Births::default();
        assert_eq!(births.painted("main"), None);

        births.born("main", Instant::now());
        let first = births.unpainted("main").unwrap();
        assert!(births.painted("main").is_some());
        assert_eq!(births.painted("main"), None);
        assert_eq!(births.unpainted("main"), None);

        births.born("main", Instant::now());
        assert_ne!(births.unpainted("main"), Some(first));
        assert!(births.alive("main") && !births.alive("main"));
        assert!(births.unpainted("main").unwrap().alive);
        births.gone("main");
        assert_eq!(births.unpainted("main"), None);
    }

    #[test]
    fn what_a_dead_page_showed_is_on_screen_no_more() {
        let births = Births::default();
        births.born("prompt", Instant::now());
        births.show(7, 1);
        assert!(births.shows(7, 1));
        assert!(!births.shows(7, 2));

        // The main window has nothing to do with it.
        births.born("main", Instant::now());
        assert!(births.shows(7, 1));

        births.born("prompt", Instant::now());
        assert!(!births.shows(7, 1));
    }
}
