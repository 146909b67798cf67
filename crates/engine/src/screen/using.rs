//! That the screen is seen or used now, or was a moment ago. A person sees it for as long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_caps::computer::Computer;
use drawbridge_core::computer::{ComputerOp, InputOp};
use drawbridge_core::{Clock, OpError, Outcome, SessionId};
use tokio::time::Instant;

use crate::board::Board;
use crate::view::ScreenUseView;

/// So long after the last operation the screen still counts as used.
const LINGERS: Duration = Duration::from_secs(30);
/// So often it is looked, during that time, whether the person has pointer and keyboard.
const PERSON_LOOK: Duration = Duration::from_secs(1);

/// One time of use.
#[derive(Debug)]
struct Use {
    session: Option<SessionId>,
    since_ms: i64,
    pictures: u64,
    acts: u64,
    /// Operations that run now.
    running: u32,
    /// When the last one ended.
    last: Instant,
    /// When it began; tells it from the next one.
    began: Instant,
    /// The person had pointer and keyboard at the last look.
    person: bool,
}

/// Whether the screen is in use.
pub(super) struct InUse {
    computer: Computer,
    board: Arc<Board>,
    clock: Arc<dyn Clock>,
    now: Mutex<Option<Use>>,
    /// The chat whose operation uses pointer or keyboard at this moment.
    acting: Mutex<Option<SessionId>>,
}

/// An operation that sees or touches the screen. It has ended when this is dropped, and did nothing unless [`Using::done`] said so.
pub(crate) struct Using {
    of: Arc<InUse>,
    acts: bool,
    picture: bool,
    act: bool,
}

impl InUse {
    pub(super) fn new(computer: Computer, board: Arc<Board>, clock: Arc<dyn Clock>) -> Self {
        Self { computer, board, clock, now: Mutex::new(None), acting: Mutex::new(None) }
    }

    /// Notes that an operation begins, if it sees or touches the screen.
    pub(super) fn begin(me: &Arc<Self>, op: &ComputerOp, session: Option<&SessionId>) -> Option<Using> {
        if !shares(op) {
            return None;
        }
        {
            let mut now = me.lock();
            let one = now.get_or_insert_with(|| Use {
                session: None,
                since_ms: me.clock.wall().0,
                pictures: 0,
                acts: 0,
                running: 0,
                last: Instant::now(),
                began: Instant::now(),
                person: false,
            });
            one.session = session.cloned();
            one.running += 1;
        }
        me.board.touch();
        let acts = matches!(op, ComputerOp::Input(_));
        if acts {
            *me.acting() = session.cloned();
        }
        Some(Using { of: me.clone(), acts, picture: false, act: false })
    }

    /// Tells whether an operation of another chat uses pointer or keyboard at this moment.
    pub(super) fn is_another_acting(&self, session: &SessionId) -> bool {
        self.acting().as_ref().is_some_and(|acting| acting != session)
    }

    /// Ends it at once.
    pub(super) fn end(&self) {
        let ended = self.lock().take();
        if ended.is_some() {
            self.board.touch();
        }
    }

    pub(super) fn view(&self) -> Option<ScreenUseView> {
        let now = self.lock();
        let one = now.as_ref()?;
        Some(ScreenUseView {
            session_id: one.session.as_ref().map(|session| session.as_str().to_owned()),
            since_ms: one.since_ms,
            pictures: one.pictures,
            acts: one.acts,
            person_active: self.computer.person_active(),
        })
    }

    fn ended(me: &Arc<Self>, picture: bool, act: bool) {
        let first = {
            let mut now = me.lock();
            let Some(one) = now.as_mut() else { return };
            let untold = one.pictures + one.acts == 0;
            one.running = one.running.saturating_sub(1);
            one.pictures += u64::from(picture);
            one.acts += u64::from(act);
            one.last = Instant::now();
            let began = one.began;
            if untold && one.running == 0 && !picture && !act {
                // Nothing was seen and nothing touched, so nothing is told.
                *now = None;
            }
            (untold && (picture || act)).then_some(began)
        };
        me.board.touch();
        if let Some(began) = first {
            Self::look_after(me, began);
        }
    }

    /// Ends a use when its time is over. One task as long as it lasts, and none while nothing is used.
    fn look_after(me: &Arc<Self>, began: Instant) {
        let me = Arc::downgrade(me);
        tokio::spawn(async move {
            while let Some(next) = me.upgrade().and_then(|me| me.look(began)) {
                tokio::time::sleep_until(next).await;
            }
        });
    }

    /// Returns when to look again; none once it has ended.
    fn look(&self, began: Instant) -> Option<Instant> {
        let person = self.computer.person_active();
        let mut now = self.lock();
        let one = now.as_mut().filter(|one| one.began == began)?;
        let (current, ends) = (Instant::now(), one.last + LINGERS);
        let over = one.running == 0 && ends <= current;
        let differs = std::mem::replace(&mut one.person, person) != person;
        let next = if one.running == 0 { ends.min(current + PERSON_LOOK) } else { current + PERSON_LOOK };
        if over {
            *now = None;
        }
        drop(now);
        if over || differs {
            self.board.touch();
        }
        (!over).then_some(next)
    }

    fn acting(&self) -> MutexGuard<'_, Option<SessionId>> {
        self.acting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Use>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Using {
    /// Says what came of it.
    pub(crate) fn done(mut self, result: &Result<Outcome, OpError>) {
        match result {
            Ok(outcome) => {
                self.picture = matches!(outcome, Outcome::Picture(_));
                self.act = !self.picture;
            }
            // A part of it arrived.
            Err(OpError::TypingStopped { typed, .. }) => self.act = *typed > 0,
            Err(_) => {}
        }
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        if self.acts {
            *self.of.acting() = None;
        }
        InUse::ended(&self.of, self.picture, self.act);
    }
}

/// Facts of the machine and waiting share nothing of what is on the screen, and the clipboard is not the screen.
const fn shares(op: &ComputerOp) -> bool {
    match op {
        ComputerOp::Screenshot(_)
        | ComputerOp::CursorPosition
        | ComputerOp::WindowList(_)
        | ComputerOp::WindowFocus { .. }
        | ComputerOp::AppList { .. }
        | ComputerOp::AppLaunch(_) => true,
        ComputerOp::Input(op) => !matches!(op, InputOp::Wait { .. }),
        ComputerOp::DisplayInfo
        | ComputerOp::ClipboardRead
        | ComputerOp::ClipboardWrite { .. }
        | ComputerOp::PermissionsCheck { .. } => false,
    }
}
