//! Pointer and keyboard through `enigo`.
//!
//! Text goes as characters and not as keys, so no layout changes it. Enigo's own object belongs to one thread, so one thread has
//! it and is asked.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drawbridge_core::computer::{Button, Direction, Key, Modifier, Point};
use enigo::{Axis, Coordinate, Direction as Way, Enigo, Keyboard as _, Mouse as _, NewConError, Settings};

use super::keys;
use crate::seat::SeatFault;
use crate::seat::input::{Held, Input, TypeFault};

/// Something for the one thread that acts, and who waits for it.
type Act = (Box<dyn FnOnce(&mut Enigo) -> Result<(), SeatFault> + Send>, SyncSender<Result<(), SeatFault>>);

/// How often that thread looks whether something has been held too long, while anything is held.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Pointer and keyboard of this computer.
pub(in crate::seat) struct NativeInput {
    acts: SyncSender<Act>,
    held: Arc<Mutex<Down>>,
}

#[derive(Default)]
struct Down {
    buttons: Vec<Button>,
    keys: Vec<enigo::Key>,
    since: Option<Instant>,
}

impl Down {
    fn noted(&mut self) {
        self.since = match self.buttons.is_empty() && self.keys.is_empty() {
            true => None,
            false => self.since.or_else(|| Some(Instant::now())),
        };
    }
}

impl NativeInput {
    /// Opens both. What is held for `longest` is released.
    pub(in crate::seat) fn open(longest: Duration) -> Result<Self, SeatFault> {
        let (acts, asked) = sync_channel(1);
        let (opened, told) = sync_channel(1);
        let held = Arc::<Mutex<Down>>::default();
        let (thread, watched) = (std::thread::Builder::new().name("input".to_owned()), held.clone());
        let serve = move || serve(&asked, &opened, &watched, longest);
        thread.spawn(serve).map_err(|fault| SeatFault::Other(fault.to_string()))?;
        told.recv().map_err(|_| gone())??;
        Ok(Self { acts, held })
    }

    fn held(&self) -> MutexGuard<'_, Down> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&self, act: impl FnOnce(&mut Enigo) -> Result<(), SeatFault> + Send + 'static) -> Result<(), SeatFault> {
        let (done, told) = sync_channel(1);
        self.acts.send((Box::new(act), done)).map_err(|_| gone())?;
        told.recv().map_err(|_| gone())?
    }

    fn press(&self, key: enigo::Key, down: bool) -> Result<(), SeatFault> {
        let mut held = NativeInput::held(self);
        if held.keys.contains(&key) == down {
            return Ok(());
        }
        // Noted before it is pressed, and forgotten after it is released: what fails between is released once more.
        if down {
            held.keys.push(key);
        }
        let done = self.act(move |enigo| enigo.key(key, way(down)).map_err(|fault| failed(&fault)));
        if !down && done.is_ok() {
            held.keys.retain(|other| *other != key);
        }
        held.noted();
        done
    }
}

fn serve(asked: &Receiver<Act>, opened: &SyncSender<Result<(), SeatFault>>, held: &Mutex<Down>, longest: Duration) {
    let settings = Settings { open_prompt_to_get_permissions: false, ..Settings::default() };
    let mut enigo = match Enigo::new(&settings) {
        Ok(enigo) => enigo,
        Err(fault) => {
            let _ = opened.send(Err(refused(&fault)));
            return;
        }
    };
    let _ = opened.send(Ok(()));
    loop {
        // Whoever asks for an act has it locked until the act is done, so this thread only tries.
        let holds = held.try_lock().map_or(true, |held| held.since.is_some());
        let next = if holds {
            asked.recv_timeout(LOOK_AGAIN)
        } else {
            asked.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match next {
            Ok((act, done)) => {
                let _ = done.send(act(&mut enigo));
            }
            Err(RecvTimeoutError::Timeout) => let_go(&mut enigo, held, longest),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Releases everything that has been held too long.
fn let_go(enigo: &mut Enigo, held: &Mutex<Down>, longest: Duration) {
    let Ok(mut held) = held.try_lock() else { return };
    if held.since.is_none_or(|since| since.elapsed() < longest) {
        return;
    }
    for key in std::mem::take(&mut held.keys).into_iter().rev() {
        let _ = enigo.key(key, Way::Release);
    }
    for button in std::mem::take(&mut held.buttons).into_iter().rev() {
        let _ = enigo.button(native(button), Way::Release);
    }
    held.noted();
}

fn refused(fault: &NewConError) -> SeatFault {
    match fault {
        NewConError::NoPermission => SeatFault::Permission {
            permission: "accessibility",
            hint: "Allow Drawbridge under Privacy & Security, Accessibility, then try again.".to_owned(),
        },
        NewConError::EstablishCon(_) | NewConError::Reply | NewConError::NoEmptyKeycodes => {
            SeatFault::Other(fault.to_string())
        }
    }
}

fn failed(fault: &enigo::InputError) -> SeatFault {
    SeatFault::Other(fault.to_string())
}

fn gone() -> SeatFault {
    SeatFault::NoDisplay("the thread for input has ended".to_owned())
}

const fn way(down: bool) -> Way {
    if down { Way::Press } else { Way::Release }
}

const fn native(button: Button) -> enigo::Button {
    match button {
        Button::Left => enigo::Button::Left,
        Button::Middle => enigo::Button::Middle,
        Button::Right => enigo::Button::Right,
    }
}

impl Input for NativeInput {
    fn move_to(&self, at: Point) -> Result<(), SeatFault> {
        self.act(move |enigo| enigo.move_mouse(at.x, at.y, Coordinate::Abs).map_err(|fault| failed(&fault)))
    }

    fn button(&self, button: Button, down: bool) -> Result<(), SeatFault> {
        let mut held = NativeInput::held(self);
        if held.buttons.contains(&button) == down {
            return Ok(());
        }
        if down {
            held.buttons.push(button);
        }
        let done = self.act(move |enigo| enigo.button(native(button), way(down)).map_err(|fault| failed(&fault)));
        if !down && done.is_ok() {
            held.buttons.retain(|other| *other != button);
        }
        held.noted();
        done
    }

    fn scroll(&self, direction: Direction, steps: u32) -> Result<(), SeatFault> {
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        let (length, axis) = match direction {
            Direction::Up => (-steps, Axis::Vertical),
            Direction::Down => (steps, Axis::Vertical),
            Direction::Left => (-steps, Axis::Horizontal),
            Direction::Right => (steps, Axis::Horizontal),
        };
        self.act(move |enigo| enigo.scroll(length, axis).map_err(|fault| failed(&fault)))
    }

    fn modifier(&self, modifier: Modifier, down: bool) -> Result<(), SeatFault> {
        self.press(keys::modifier(modifier), down)
    }

    fn key(&self, key: &Key, down: bool) -> Result<(), SeatFault> {
        let native =
            keys::key(key).ok_or_else(|| SeatFault::Unsupported("this keyboard has no such key".to_owned()))?;
        self.press(native, down)
    }

    fn type_text(&self, text: &str, go_on: &mut dyn FnMut(usize) -> bool) -> Result<(), TypeFault> {
        let unwanted = |letter: &char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
        if let Some((index, character)) = text.chars().enumerate().find(|(_, letter)| unwanted(letter)) {
            let why = "it is a control character, which is no text".to_owned();
            return Err(TypeFault::Cannot { character, index, why });
        }
        let mut letters = text.chars().peekable();
        let mut typed = 0;
        while let Some(letter) = letters.next() {
            if !go_on(typed) {
                return Err(TypeFault::Stopped { typed });
            }
            // A pair of return and line feed is one line end.
            let pair = letter == '\r' && letters.next_if_eq(&'\n').is_some();
            let done = self.act(move |enigo| {
                match letter {
                    '\n' | '\r' => enigo.key(enigo::Key::Return, Way::Click),
                    '\t' => enigo.key(enigo::Key::Tab, Way::Click),
                    _ => enigo.text(letter.encode_utf8(&mut [0; 4])),
                }
                .map_err(|fault| failed(&fault))
            });
            done.map_err(|fault| TypeFault::Seat { typed, fault })?;
            typed += 1 + usize::from(pair);
        }
        Ok(())
    }

    fn release_all(&self) -> Result<(), SeatFault> {
        let (keys, buttons) = {
            let held = NativeInput::held(self);
            (held.keys.clone(), held.buttons.clone())
        };
        let mut done = Ok(());
        for key in keys.into_iter().rev() {
            done = done.and(self.press(key, false));
        }
        for button in buttons.into_iter().rev() {
            done = done.and(self.button(button, false));
        }
        done
    }

    fn held(&self) -> Held {
        let held = NativeInput::held(self);
        Held { buttons: held.buttons.clone(), keys: held.keys.len(), since: held.since }
    }

    fn person_acted(&self) -> Option<Duration> {
        None
    }
}

impl Drop for NativeInput {
    fn drop(&mut self) {
        // The thread may have ended; then the system is gone, too.
        let _ = self.release_all();
    }
}
