//! The thread that the tray lives on.
//!
//! Where a tray is a matter of the session bus it has a thread of its own: a bus that is stuck must stop neither the window
//! nor the engine. Elsewhere the system wants it on the main thread.

use super::adapter::Adapter;

/// Something to do with the tray.
type Work = Box<dyn FnOnce(&mut Option<Adapter>) + Send>;

/// Where the tray lives.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) struct Place(std::sync::mpsc::Sender<Work>);

#[cfg(not(any(windows, target_vendor = "apple")))]
impl Place {
    pub(crate) fn new(_app: &tauri::AppHandle) -> std::io::Result<Self> {
        let (sender, works) = std::sync::mpsc::channel::<Work>();
        std::thread::Builder::new().name("tray".to_owned()).spawn(move || {
            let mut tray = None;
            while let Ok(work) = works.recv() {
                work(&mut tray);
            }
        })?;
        Ok(Self(sender))
    }

    fn run(&self, work: Work) {
        // The thread lives as long as this.
        let _ = self.0.send(work);
    }
}

/// Where the tray lives.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) struct Place(tauri::AppHandle);

#[cfg(any(windows, target_vendor = "apple"))]
impl Place {
    #[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
    pub(crate) fn new(app: &tauri::AppHandle) -> std::io::Result<Self> {
        Ok(Self(app.clone()))
    }

    fn run(&self, work: Work) {
        thread_local! {
            static TRAY: std::cell::RefCell<Option<Adapter>> = const { std::cell::RefCell::new(None) };
        }
        // When the main thread has ended there is nothing left to draw on.
        let _ = self.0.run_on_main_thread(move || TRAY.with_borrow_mut(work));
    }
}

impl Place {
    /// Does something with the tray and waits until that is done. None when the tray's thread is gone.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Option<Adapter>) -> T + Send + 'static,
    ) -> Option<T> {
        let (tell, done) = tokio::sync::oneshot::channel();
        self.run(Box::new(move |tray| {
            // Whoever asked may have gone.
            let _ = tell.send(work(tray));
        }));
        done.await.ok()
    }
}
