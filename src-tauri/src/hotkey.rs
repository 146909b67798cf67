//! The key that raises from anywhere: Ctrl+Alt+Shift+R. It never lowers.
//!
//! Only where one program may listen to keys of all others and one key means one thing: an X11 session. Under Wayland no
//! program may, so none is promised there. The X server is waited for, never asked in a circle: an idle bridge idles.

use std::sync::OnceLock;

use drawbridge_engine::prefs::Prefs;
use tauri::AppHandle;
use tokio::sync::watch;

/// How the key is called.
const NAME: &str = "Ctrl+Alt+Shift+R";

static NOW: OnceLock<watch::Receiver<Option<String>>> = OnceLock::new();

/// The key that raises now, if one does.
pub(crate) fn shown() -> Option<String> {
    NOW.get().and_then(|now| now.borrow().clone())
}

/// Tells whether a session of this kind lets a program take keys.
#[cfg(any(windows, target_vendor = "apple"))]
pub(crate) const fn is_possible() -> bool {
    false
}

/// Tells whether a session of this kind lets a program take keys.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(crate) fn is_possible() -> bool {
    x11::is_session(|name| std::env::var(name).ok())
}

/// Takes and gives back the key as the preferences want. What comes back says which key raises now, if one does.
pub(crate) fn start(app: &AppHandle, prefs: watch::Receiver<Prefs>) -> watch::Receiver<Option<String>> {
    let (tell, told) = watch::channel(None);
    // A second start cannot be.
    let _ = NOW.set(told.clone());
    follow(app.clone(), prefs, tell);
    told
}

#[cfg(any(windows, target_vendor = "apple"))]
fn follow(_app: AppHandle, _prefs: watch::Receiver<Prefs>, _tell: watch::Sender<Option<String>>) {}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn follow(app: AppHandle, mut prefs: watch::Receiver<Prefs>, tell: watch::Sender<Option<String>>) {
    if !is_possible() {
        tracing::debug!("no key raises here: this is no X11 session");
        return;
    }
    tauri::async_runtime::spawn(async move {
        let mut keys: Option<std::sync::Arc<x11::Keys>> = None;
        loop {
            let wanted = prefs.borrow_and_update().hot_key;
            let (before, raiser) = (keys.take(), app.clone());
            let set = tokio::task::spawn_blocking(move || x11::set(before, wanted, &raiser)).await;
            match set {
                Ok(Ok(now)) => {
                    tell.send_replace((wanted && now.is_some()).then(|| NAME.to_owned()));
                    keys = now;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "{NAME} does not raise: the key cannot be taken, perhaps another program has it");
                    tell.send_replace(None);
                }
                Err(error) => tracing::error!(%error, "{NAME} cannot be set"),
            }
            if prefs.changed().await.is_err() {
                return;
            }
        }
    });
}

#[cfg(not(any(windows, target_vendor = "apple")))]
mod x11 {
    use std::error::Error;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use drawbridge_engine::{Command, EngineHandle};
    use tauri::{AppHandle, Manager as _};
    use x11rb::connection::Connection as _;
    use x11rb::protocol::Event;
    use x11rb::protocol::xproto::{ConnectionExt as _, GrabMode, Keycode, ModMask, Window};
    use x11rb::rust_connection::RustConnection;

    type Fault = Box<dyn Error + Send + Sync>;

    /// Names of the letter R, small and large, in the X server.
    const LETTER: [u32; 2] = [0x72, 0x52];

    /// A connection that holds the key, or held it.
    pub(super) struct Keys {
        server: RustConnection,
        root: Window,
    }

    /// Tells whether this is a session in which a key reaches us whatever program is in front.
    pub(super) fn is_session(variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        // Under Wayland there is often an X server too; it only hears keys meant for its own windows.
        set("DISPLAY").is_some()
            && set("WAYLAND_DISPLAY").is_none()
            && set("XDG_SESSION_TYPE").is_none_or(|kind| kind != "wayland")
    }

    /// Takes the key or gives it back. Blocks as long as the X server takes.
    pub(super) fn set(keys: Option<Arc<Keys>>, wanted: bool, app: &AppHandle) -> Result<Option<Arc<Keys>>, Fault> {
        match (keys, wanted) {
            (None, false) => Ok(None),
            (Some(keys), false) => {
                keys.release()?;
                Ok(Some(keys))
            }
            (Some(keys), true) => {
                keys.take()?;
                Ok(Some(keys))
            }
            (None, true) => {
                let (server, screen) = x11rb::connect(None)?;
                let root = server.setup().roots.get(screen).ok_or("the X server has no screen")?.root;
                let keys = Arc::new(Keys { server, root });
                keys.take()?;
                let (waiting, app) = (Arc::clone(&keys), app.clone());
                std::thread::Builder::new().name("hot key".to_owned()).spawn(move || waiting.wait(&app))?;
                Ok(Some(keys))
            }
        }
    }

    impl Keys {
        fn take(&self) -> Result<(), Fault> {
            self.release()?;
            let code = self.code()?;
            for modifiers in combinations() {
                let grab = self.server.grab_key(false, self.root, modifiers, code, GrabMode::ASYNC, GrabMode::ASYNC)?;
                if let Err(fault) = grab.check() {
                    // Half of a key is none.
                    self.release()?;
                    return Err(fault.into());
                }
            }
            Ok(())
        }

        fn release(&self) -> Result<(), Fault> {
            // Key 0 stands for all, also those of an older keyboard layout.
            self.server.ungrab_key(x11rb::protocol::xproto::Grab::ANY, self.root, ModMask::ANY)?.check()?;
            Ok(())
        }

        /// The key with the letter on it, in the present layout.
        fn code(&self) -> Result<Keycode, Fault> {
            let setup = self.server.setup();
            let (first, last) = (setup.min_keycode, setup.max_keycode);
            let map = self.server.get_keyboard_mapping(first, last - first + 1)?.reply()?;
            let width = usize::from(map.keysyms_per_keycode).max(1);
            let with_letter = |names: &[u32]| names.iter().any(|name| LETTER.contains(name));
            let place = map.keysyms.chunks(width).position(with_letter).ok_or("no key has the letter R")?;
            Ok(first.saturating_add(u8::try_from(place)?))
        }

        /// Waits for the key until the X server goes.
        fn wait(&self, app: &AppHandle) {
            let raising = Arc::new(AtomicBool::new(false));
            loop {
                match self.server.wait_for_event() {
                    Ok(Event::KeyPress(_)) => raise(app, &raising),
                    Ok(Event::MappingNotify(_)) => {
                        // Only what is taken is taken anew.
                        if super::shown().is_some()
                            && let Err(error) = self.take()
                        {
                            tracing::warn!(%error, "the key that raises was lost with the keyboard layout");
                        }
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::info!(%error, "the X server is gone, and the key that raises with it");
                        return;
                    }
                }
            }
        }
    }

    /// Ctrl, Alt and Shift, whatever CapsLock and NumLock are.
    fn combinations() -> [ModMask; 4] {
        let key = ModMask::CONTROL | ModMask::M1 | ModMask::SHIFT;
        [key, key | ModMask::LOCK, key | ModMask::M2, key | ModMask::LOCK | ModMask::M2]
    }

    /// Raises, once however long the key is held.
    fn raise(app: &AppHandle, raising: &Arc<AtomicBool>) {
        let engine = app.state::<EngineHandle>().inner().clone();
        if engine.snapshot().raised || raising.swap(true, Ordering::AcqRel) {
            return;
        }
        let raising = Arc::clone(raising);
        crate::notify::raised_by_key();
        tauri::async_runtime::spawn(async move {
            if let Err(error) = engine.send(Command::SetRaised { raised: true }).await {
                tracing::error!(code = error.code, "the key could not raise the bridge");
            }
            raising.store(false, Ordering::Release);
        });
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn session(pairs: &[(&str, &str)]) -> bool {
            is_session(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        }

        #[test]
        fn the_key_is_promised_in_an_x11_session_alone() {
            assert!(session(&[("DISPLAY", ":0")]));
            assert!(session(&[("DISPLAY", ":0"), ("XDG_SESSION_TYPE", "x11"), ("WAYLAND_DISPLAY", "")]));
            assert!(!session(&[]));
            assert!(!session(&[("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0")]));
            assert!(!session(&[("DISPLAY", ":0"), ("XDG_SESSION_TYPE", "wayland")]));
        }

        #[test]
        fn locks_do_not_matter_and_no_combination_comes_twice() {
            let all = combinations().map(u16::from);

            assert_eq!(all.len(), 4);
            assert!(all.iter().all(|mask| mask & 0b1101 == 0b1101), "{all:?}");
            assert!((1..4).all(|index| !all[..index].contains(&all[index])));
        }
    }
}
