//! What is remembered of each chat: its stubs until it connects anew, and which files were asked about in this run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::{SessionId, WallMs};

use super::place::Place;

/// Stubs that a chat has at most; the oldest goes.
pub(super) const MAX_STUBS: usize = 256;
/// Files of a chat that are told of; the one that was asked about longest ago goes.
const MAX_ASKED: usize = 100;
/// Chats that are remembered; the one that asked longest ago goes.
const MAX_CHATS: usize = 256;

/// How often a file was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The file, by its whole path. Not yet safe to show.
    pub path: String,
    /// So often it was described.
    pub stubs: u64,
    /// So many questions were about it.
    pub turns: u64,
    /// When it was asked about last, Unix milliseconds.
    pub last_ms: i64,
}

/// A file that was described.
#[derive(Debug)]
pub(super) struct Stub {
    /// Its name, never used again.
    pub(super) id: String,
    /// Where it is.
    pub(super) place: Place,
    /// The SHA-256 of what was in it.
    pub(super) sha256: [u8; 32],
}

/// Which stubs of a chat are meant: those since it was wiped last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Since(u64);

#[derive(Debug, Default)]
struct Chat {
    wiped: u64,
    stubs: VecDeque<Arc<Stub>>,
    asked: Vec<Asked>,
}

impl Chat {
    fn last_ms(&self) -> i64 {
        self.asked.iter().map(|one| one.last_ms).max().unwrap_or_default()
    }
}

/// All chats.
#[derive(Debug, Default)]
pub(super) struct Registry {
    chats: Mutex<Chats>,
}

#[derive(Debug, Default)]
struct Chats {
    /// Counts wipes over all chats, so that none comes back with the number of an older one.
    wipes: u64,
    known: HashMap<SessionId, Chat>,
}

impl Chats {
    fn of(&mut self, session: &SessionId) -> &mut Chat {
        if self.known.len() >= MAX_CHATS
            && !self.known.contains_key(session)
            && let Some(oldest) = self.known.iter().min_by_key(|(_, chat)| chat.last_ms()).map(|(id, _)| id.clone())
        {
            self.known.remove(&oldest);
            // Work for it that still goes on must not find it again.
            self.wipes += 1;
        }
        let wipes = self.wipes;
        self.known.entry(session.clone()).or_insert_with(|| Chat { wiped: wipes, ..Chat::default() })
    }
}

impl Registry {
    /// Begins a description, which may take long.
    pub(super) fn begin(&self, session: &SessionId) -> Since {
        Since(self.lock().of(session).wiped)
    }

    /// Keeps a stub. False when the chat was wiped since the description began: then it does not hold.
    pub(super) fn keep(&self, session: &SessionId, since: Since, stub: Stub, now: WallMs) -> bool {
        let mut chats = self.lock();
        let chat = chats.of(session);
        if chat.wiped != since.0 {
            return false;
        }
        note(chat, &stub.place.path(), now, |asked| asked.stubs += 1);
        if chat.stubs.len() >= MAX_STUBS {
            chat.stubs.pop_front();
        }
        chat.stubs.push_back(Arc::new(stub));
        true
    }

    /// Finds a stub of a chat by its name.
    pub(super) fn find(&self, session: &SessionId, id: &str) -> Option<Arc<Stub>> {
        self.lock().known.get(session)?.stubs.iter().find(|stub| stub.id == id).cloned()
    }

    /// Notes a question about files.
    pub(super) fn turn<'a>(&self, session: &SessionId, stubs: impl Iterator<Item = &'a Arc<Stub>>, now: WallMs) {
        let mut chats = self.lock();
        let chat = chats.of(session);
        for stub in stubs {
            note(chat, &stub.place.path(), now, |asked| asked.turns += 1);
        }
    }

    /// Forgets the stubs of a chat.
    pub(super) fn wipe(&self, session: &SessionId) {
        self.wipe_where(|known| known == session);
    }

    /// Forgets the stubs of some chats.
    pub(super) fn wipe_where(&self, which: impl Fn(&SessionId) -> bool) {
        let mut chats = self.lock();
        chats.wipes += 1;
        let wipes = chats.wipes;
        for (_, chat) in chats.known.iter_mut().filter(|(session, _)| which(session)) {
            chat.stubs.clear();
            chat.wiped = wipes;
        }
    }

    /// Forgets a chat.
    pub(super) fn forget(&self, session: &SessionId) {
        let mut chats = self.lock();
        chats.wipes += 1;
        chats.known.remove(session);
    }

    /// Returns which files were asked about, the latest first.
    pub(super) fn asked(&self, session: &SessionId) -> Vec<Asked> {
        let mut asked = self.lock().known.get(session).map(|chat| chat.asked.clone()).unwrap_or_default();
        // Of two of the same moment the later one in the list is the newer one.
        asked.reverse();
        asked.sort_by_key(|one| std::cmp::Reverse(one.last_ms));
        asked
    }

    fn lock(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts at the end of the list, where the latest are.
fn note(chat: &mut Chat, path: &str, now: WallMs, count: impl Fn(&mut Asked)) {
    let known = chat.asked.iter().position(|asked| asked.path == path);
    let mut asked = match known {
        Some(index) => chat.asked.remove(index),
        None => Asked { path: path.to_owned(), stubs: 0, turns: 0, last_ms: 0 },
    };
    count(&mut asked);
    asked.last_ms = now.0;
    if chat.asked.len() >= MAX_ASKED {
        chat.asked.remove(0);
    }
    chat.asked.push(asked);
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
