//! Which chat has which folder (spec 6.4).
//!
//! Grants themselves are not kept: the platform holds them. What is kept here makes sure that revisions never go back,
//! across detaching and restarts, and that what the person took back stays taken back.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drawbridge_core::{Binding, SessionId, WallMs};
use drawbridge_os::private;
use serde::{Deserialize, Serialize};

/// So many chats keep their folder; the least recently used one that is not live is forgotten first. Revisions are
/// always kept.
const MOST_ATTACHED: usize = 64;
/// Revisions travel as JSON numbers, which are exact below this.
const REVISION_LIMIT: u64 = 1 << 53;
const VERSION: u32 = 1;

/// What is known about a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The chat.
    pub session: SessionId,
    /// Whether it has its folder now; if not, folder and fingerprint are those it had last.
    pub attached: bool,
    /// The canonical folder, the very text that went to the platform.
    pub allowed_root: String,
    /// Identity of the folder.
    pub fingerprint: String,
    /// The highest revision so far.
    pub revision: u64,
    /// When the grant was signed, Unix seconds.
    pub issued_at: i64,
    /// Last use, Unix milliseconds.
    pub last_used_ms: i64,
    /// The person took back every grant up to this moment.
    pub revoked: bool,
}

/// Why attachments cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum BindingsFault {
    /// The file is damaged or of a newer version. It stays as it is.
    #[error("the list of attached folders {} cannot be read ({why}), so no folder can be attached; move the file away to start with an empty list", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It could not be written; nothing changed.
    #[error("the list of attached folders {} could not be saved: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Document {
    v: u32,
    sessions: BTreeMap<String, Entry>,
    /// Grants signed up to this second are worthless, also those of chats that are not listed.
    #[serde(default)]
    all_revoked_at: Option<i64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    attached: bool,
    allowed_root: String,
    fingerprint: String,
    revision: u64,
    issued_at: i64,
    last_used_ms: i64,
    revoked_up_to: u64,
}

/// The attachments of this machine. Every change is on disk before it is seen.
#[derive(Debug)]
pub struct Bindings {
    path: PathBuf,
    document: Mutex<Document>,
    live: Arc<Mutex<Live>>,
}

/// Chats at work, with how many hold each. Taken after the document's lock where both are.
type Live = BTreeMap<SessionId, usize>;

/// While this lives, the chat does not lose its folder to newer ones.
#[derive(Debug)]
pub struct Kept {
    session: SessionId,
    live: Arc<Mutex<Live>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holders) = live.get_mut(&self.session) {
            *holders -= 1;
            if *holders == 0 {
                live.remove(&self.session);
            }
        }
    }
}

impl Bindings {
    /// Reads the list of a state folder.
    ///
    /// # Errors
    /// [`BindingsFault::Broken`]: an empty list in its place would let old grants be used again.
    pub fn open(state_dir: &Path) -> Result<Self, BindingsFault> {
        let path = state_dir.join("bindings.json");
        private::sweep(&path);
        let broken = |why: String| BindingsFault::Broken { path: path.clone(), why };
        let document = match private::read(&path) {
            Ok(bytes) => {
                let document: Document = serde_json::from_slice(&bytes).map_err(|err| broken(err.to_string()))?;
                if document.v != VERSION {
                    return Err(broken(format!("its version is {}", document.v)));
                }
                if let Some(id) = document.sessions.keys().find(|id| SessionId::parse(id).is_err()) {
                    return Err(broken(format!("{id:?} is no session id")));
                }
                let sane = |entry: &Entry| entry.revision.max(entry.revoked_up_to) < REVISION_LIMIT;
                if let Some((id, _)) = document.sessions.iter().find(|(_, entry)| !sane(entry)) {
                    return Err(broken(format!("{id} has an impossible revision")));
                }
                document
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => Document { v: VERSION, ..Document::default() },
            Err(err) => return Err(broken(err.to_string())),
        };
        Ok(Self { path, document: Mutex::new(document), live: Arc::default() })
    }

    /// By the person's wish: sets a list that cannot be read aside and begins a new one, in which every grant that was signed
    /// up to now is worthless: an empty list alone would let old ones be used again. Returns where the old list is.
    ///
    /// # Errors
    /// [`BindingsFault::Io`].
    pub fn start_afresh(path: &Path, now: WallMs) -> Result<PathBuf, BindingsFault> {
        let path = path.to_owned();
        let fault = |error| BindingsFault::Io { path: path.clone(), error };
        let document = Document { v: VERSION, all_revoked_at: Some(now.seconds()), ..Document::default() };
        let bytes = serde_json::to_vec(&document).map_err(|error| fault(io::Error::other(error)))?;
        let aside = private::set_aside(&path).map_err(fault)?;
        if let Err(error) = private::replace(&path, &bytes) {
            // Without the new list the old one must stand in its place: nothing there would mean an empty list.
            return match std::fs::rename(&aside, &path) {
                Ok(()) => Err(fault(error)),
                Err(worse) => Err(fault(worse)),
            };
        }
        Ok(aside)
    }

    /// Keeps a live chat from losing its folder when more chats are attached than keep one.
    #[must_use]
    pub fn keep(&self, session: &SessionId) -> Kept {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        *live.entry(session.clone()).or_default() += 1;
        Kept { session: session.clone(), live: self.live.clone() }
    }

    /// Returns what is known about a chat.
    #[must_use]
    pub fn get(&self, session: &SessionId) -> Option<Attachment> {
        self.lock().sessions.get(session.as_str()).map(|entry| entry.view(session.clone()))
    }

    /// Returns every chat that is known, also those without a folder now.
    #[must_use]
    pub fn list(&self) -> Vec<Attachment> {
        let document = self.lock();
        document.sessions.iter().filter_map(|(id, entry)| Some(entry.view(SessionId::parse(id).ok()?))).collect()
    }

    /// Returns the chats that have a folder now, those known ones whose id is one of `others`, and of those whose grant is
    /// still good, so that the platform may open them again, at most `closed`, the last used ones. Chats are kept for ever,
    /// so the rest is passed over without a copy.
    #[must_use]
    pub fn list_shown(&self, others: &dyn Fn(&str) -> bool, closed: usize) -> Vec<Attachment> {
        let document = self.lock();
        let (mut wanted, mut away): (Vec<_>, Vec<_>) = document
            .sessions
            .iter()
            .filter(|(id, entry)| entry.attached || others(id) || !entry.is_revoked())
            .partition(|(id, entry)| entry.attached || others(id));
        away.sort_unstable_by_key(|(_, entry)| std::cmp::Reverse(entry.last_used_ms));
        wanted.extend(away.into_iter().take(closed));
        wanted.into_iter().filter_map(|(id, entry)| Some(entry.view(SessionId::parse(id).ok()?))).collect()
    }

    /// Takes their folders back for good from all chats that have none now, and returns those chats.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn revoke_closed(&self) -> Result<Vec<SessionId>, BindingsFault> {
        self.change(|document| {
            let closed = document.sessions.iter_mut().filter(|(_, entry)| !entry.attached && !entry.is_revoked());
            let revoked = closed.filter_map(|(id, entry)| {
                entry.revoke();
                SessionId::parse(id).ok()
            });
            revoked.collect()
        })
    }

    /// Attaches a folder under a new revision, one above every earlier one of this chat, and returns it.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing is attached then.
    pub fn attach(
        &self,
        session: &SessionId,
        allowed_root: &str,
        fingerprint: &str,
        issued_at: i64,
    ) -> Result<u64, BindingsFault> {
        self.change(|document| {
            let known = document.sessions.get(session.as_str());
            let revoked_up_to = known.map_or(0, |entry| entry.revoked_up_to);
            let revision = known.map_or(0, |entry| entry.revision).max(revoked_up_to).saturating_add(1);
            let binding = Binding {
                session: session.clone(),
                allowed_root: allowed_root.to_owned(),
                fingerprint: fingerprint.to_owned(),
                revision,
            };
            document.put(&binding, issued_at, revoked_up_to, &self.live());
            revision
        })
    }

    /// Attaches again by a grant whose signature, folder and revision were checked.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn restore(&self, binding: &Binding, issued_at: i64) -> Result<(), BindingsFault> {
        self.change(|document| {
            let known = document.sessions.get(binding.session.as_str());
            let revoked_up_to = known.map_or(0, |entry| entry.revoked_up_to);
            // A caller that checked nothing must still not turn a revision back.
            if known.is_none_or(|entry| entry.revision <= binding.revision) {
                document.put(binding, issued_at, revoked_up_to, &self.live());
            }
        })
    }

    /// Takes the folder from a chat; its grant stays good, and its revision is kept.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn detach(&self, session: &SessionId) -> Result<(), BindingsFault> {
        if self.get(session).is_none_or(|known| !known.attached) {
            return Ok(());
        }
        self.change(|document| {
            if let Some(entry) = document.sessions.get_mut(session.as_str()) {
                entry.attached = false;
            }
        })
    }

    /// Takes a chat's folder back for good: every grant up to now is worthless.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn revoke(&self, session: &SessionId) -> Result<(), BindingsFault> {
        self.change(|document| {
            if let Some(entry) = document.sessions.get_mut(session.as_str()) {
                entry.revoke();
            }
        })
    }

    /// Takes a folder back from every chat that has or had it last, and returns those chats.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn revoke_folder(&self, allowed_root: &str) -> Result<Vec<SessionId>, BindingsFault> {
        self.change(|document| {
            let mut hit = Vec::new();
            for (id, entry) in document.sessions.iter_mut().filter(|(_, entry)| entry.allowed_root == allowed_root) {
                entry.revoke();
                hit.extend(SessionId::parse(id).ok());
            }
            hit
        })
    }

    /// Takes every folder back, also of chats that are not known here: grants signed up to `now` are worthless.
    ///
    /// # Errors
    /// [`BindingsFault::Io`]; nothing changed then.
    pub fn revoke_all(&self, now: WallMs) -> Result<(), BindingsFault> {
        self.change(|document| {
            document.sessions.values_mut().for_each(Entry::revoke);
            document.all_revoked_at = document.all_revoked_at.max(Some(now.seconds()));
        })
    }

    /// Tells whether the person took back a grant: by its revision, or with everything that was signed up to a moment.
    /// `issued_at` in Unix seconds. Ask before each use of a grant, also of one whose signature is good.
    #[must_use]
    pub fn refuses(&self, session: &SessionId, revision: u64, issued_at: i64) -> bool {
        let document = self.lock();
        let known = document.sessions.get(session.as_str());
        let revoked_up_to = known.map_or(0, |entry| entry.revoked_up_to);
        // What has a revision of its own above that was attached or let in after everything was taken back, whatever the
        // clock said then.
        let is_later = known.is_some_and(|entry| entry.revision == revision && revision > revoked_up_to);
        let by_time = document.all_revoked_at.is_some_and(|moment| issued_at <= moment);
        revision <= revoked_up_to || (by_time && !is_later)
    }

    /// Tells whether the person took back this revision of a chat that is known here.
    #[must_use]
    pub fn is_revoked(&self, session: &SessionId, revision: u64) -> bool {
        self.lock().sessions.get(session.as_str()).is_some_and(|entry| revision <= entry.revoked_up_to)
    }

    /// Notes a use. Kept in memory and written with the next change.
    pub fn touch(&self, session: &SessionId, now: WallMs) {
        if let Some(entry) = self.lock().sessions.get_mut(session.as_str()) {
            entry.last_used_ms = entry.last_used_ms.max(now.0);
        }
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Document) -> T) -> Result<T, BindingsFault> {
        let mut document = self.lock();
        let mut next = document.clone();
        let value = edit(&mut next);
        let fault = |error| BindingsFault::Io { path: self.path.clone(), error };
        let bytes = serde_json::to_vec(&next).map_err(|err| fault(io::Error::other(err)))?;
        private::replace(&self.path, &bytes).map_err(fault)?;
        *document = next;
        Ok(value)
    }

    fn lock(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Document {
    fn put(&mut self, binding: &Binding, issued_at: i64, revoked_up_to: u64, live: &Live) {
        let id = binding.session.as_str();
        let issued_ms = issued_at.saturating_mul(1000);
        let last_used_ms = self.sessions.get(id).map_or(issued_ms, |entry| entry.last_used_ms.max(issued_ms));
        let entry = Entry {
            attached: true,
            allowed_root: binding.allowed_root.clone(),
            fingerprint: binding.fingerprint.clone(),
            revision: binding.revision,
            issued_at,
            last_used_ms,
            revoked_up_to,
        };
        self.sessions.insert(id.to_owned(), entry);
        let attached = self.sessions.values().filter(|entry| entry.attached).count();
        if attached > MOST_ATTACHED {
            let is_live = |other: &str| live.keys().any(|session| session.as_str() == other);
            let others = self
                .sessions
                .iter_mut()
                .filter(|(other, entry)| entry.attached && other.as_str() != id && !is_live(other));
            if let Some((_, oldest)) = others.min_by_key(|(_, entry)| entry.last_used_ms) {
                oldest.attached = false;
            }
        }
    }
}

impl Entry {
    fn is_revoked(&self) -> bool {
        self.revision <= self.revoked_up_to
    }

    fn revoke(&mut self) {
        self.attached = false;
        self.revoked_up_to = self.revoked_up_to.max(self.revision);
    }

    fn view(&self, session: SessionId) -> Attachment {
        Attachment {
            session,
            attached: self.attached,
            allowed_root: self.allowed_root.clone(),
            fingerprint: self.fingerprint.clone(),
            revision: self.revision,
            issued_at: self.issued_at,
            last_used_ms: self.last_used_ms,
            revoked: self.is_revoked(),
        }
    }
}

#[cfg(test)]
#[path = "bindings_tests.rs"]
mod tests;
