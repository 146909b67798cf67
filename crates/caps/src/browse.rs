//! The folders that a platform may look at before one is attached (spec 5).
//!
//! The peer never names a path: it names references that were minted here. A folder is opened by its handles, one
//! component at a time, each time it is listed, so a reference to a folder that became a link is dead. One [`Browser`]
//! belongs to one control connection; [`Browser::forget_all`] makes its references worthless.
//!
//! Deliberately absent: listing of files, and any way to attach a folder; that is the engine's.

mod listing;
mod roots;
mod shown;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drawbridge_core::{
    BrowseOp, BrowsePlace, Clock, DirectoryEntry, DirectoryPage, OpError, Operation, Outcome, Power, WallMs,
};
use drawbridge_os::root::DirectoryIdentity;
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;

use crate::{Capability, RunCtx};

pub use listing::usable_root;
pub use roots::{RootChoice, default_roots};

/// A browse lives this long from its start.
pub const BROWSE_LIFETIME: Duration = Duration::from_secs(300);
/// Entries in one page.
const PAGE_ENTRIES: usize = 200;
/// References in one browse.
const REFERENCE_LIMIT: usize = 1200;
/// Cursors in one browse.
const CURSOR_LIMIT: usize = 32;
/// Browses at once.
const BROWSE_LIMIT: usize = 8;

/// The browses of one control connection.
#[derive(Debug)]
pub struct Browser {
    clock: Arc<dyn Clock>,
    roots: Mutex<RootChoice>,
    offer: Mutex<Option<Offer>>,
    state: Mutex<State>,
}

/// The folder that the person picked for the next chat. It stands first in every browse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its canonical path.
    pub path: PathBuf,
    /// Which folder it was when it was picked.
    pub identity: DirectoryIdentity,
}

#[derive(Debug, Default)]
struct State {
    browses: HashMap<String, Browse>,
    uses: u64,
}

#[derive(Debug)]
struct Browse {
    ends: Instant,
    expires_at: WallMs,
    last_use: u64,
    held: u32,
    places: HashMap<String, Place>,
    cursors: Vec<Cursor>,
}

#[derive(Debug, Clone)]
struct Place {
    path: PathBuf,
    parent: Option<String>,
    name: String,
    /// The person put it in the place of another one.
    chosen: bool,
}

#[derive(Debug, Clone)]
struct Cursor {
    id: String,
    directory: String,
    offset: usize,
    last_use: u64,
    snapshot: Arc<listing::Snapshot>,
}

/// Keeps a browse from expiring and from being pushed out while a person is asked about it.
#[derive(Debug)]
pub struct BrowseHold {
    browser: Arc<Browser>,
    browse_id: String,
}

impl Drop for BrowseHold {
    fn drop(&mut self) {
        if let Some(browse) = self.browser.state().browses.get_mut(&self.browse_id) {
            browse.held = browse.held.saturating_sub(1);
        }
    }
}

impl Browser {
    /// Starts with no browse.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, roots: RootChoice) -> Self {
        Self { clock, roots: Mutex::new(roots), offer: Mutex::default(), state: Mutex::default() }
    }

    /// Replaces the roots. References to folders that no root leads to any more are worthless from now on. Reads the disk.
    pub fn set_roots(&self, roots: RootChoice) {
        let mut kept: Vec<PathBuf> = roots.folders().into_iter().map(|(path, _)| path).collect();
        kept.extend(self.offered().map(|offer| offer.path));
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = roots;
        for browse in self.state().browses.values_mut() {
            browse.places.retain(|_, place| place.chosen || kept.iter().any(|root| place.path.starts_with(root)));
        }
    }

    /// Puts a folder first in every browse from now on; none takes that back.
    pub fn offer(&self, offer: Option<Offer>) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = offer;
    }

    /// Returns the folder that stands first in every browse.
    #[must_use]
    pub fn offered(&self) -> Option<Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a folder to a browse that the person chose in the place of another one. The peer never hears the reference.
    ///
    /// # Errors
    /// [`OpError::ReferenceInvalid`] when the browse is over.
    pub fn choose(&self, browse_id: &str, path: PathBuf) -> Result<BrowsePlace, OpError> {
        let directory_ref = mint()?;
        let mut state = self.state();
        let browse = state.alive(browse_id, self.clock.now())?;
        // One choice for each browse: the last one.
        browse.places.retain(|_, place| !place.chosen);
        let place = Place { path, parent: None, name: String::new(), chosen: true };
        browse.places.insert(directory_ref.clone(), place);
        Ok(BrowsePlace { browse_id: browse_id.to_owned(), directory_ref })
    }

    /// Makes every reference worthless. To be called whenever the control connection is a new one.
    pub fn forget_all(&self) {
        self.state().browses.clear();
    }

    /// Deletes one browse, after a folder of it was attached.
    pub fn consume(&self, browse_id: &str) {
        self.state().browses.remove(browse_id);
    }

    /// Keeps a browse alive until the returned value is dropped. An unknown one stays unknown.
    #[must_use]
    pub fn hold(self: &Arc<Self>, browse_id: &str) -> BrowseHold {
        let now = self.clock.now();
        if let Some(browse) = self.state().browses.get_mut(browse_id).filter(|browse| browse.is_alive(now)) {
            browse.held += 1;
        }
        BrowseHold { browser: Arc::clone(self), browse_id: browse_id.to_owned() }
    }

    /// Returns the canonical path behind a reference, if it is still a real folder that can be used.
    ///
    /// # Errors
    /// [`OpError::ReferenceInvalid`] for what was never minted, has expired or was consumed;
    /// [`OpError::DirectoryUnavailable`] when the folder is gone, became a link, or cannot be used.
    pub fn resolve(&self, place: &BrowsePlace) -> Result<String, OpError> {
        let path = {
            let mut state = self.state();
            let browse = state.alive(&place.browse_id, self.clock.now())?;
            browse.places.get(&place.directory_ref).ok_or(OpError::ReferenceInvalid)?.path.clone()
        };
        listing::check(&path)?;
        path.into_os_string().into_string().map_err(|_| unavailable("its path is not valid text"))
    }

    /// Makes one page.
    ///
    /// # Errors
    /// As [`Browser::resolve`], and [`OpError::ReferenceInvalid`] for a cursor that is unknown or of another folder.
    pub fn list(&self, op: &BrowseOp) -> Result<DirectoryPage, OpError> {
        match (&op.place, &op.cursor) {
            (None, None) => self.start(),
            (None, Some(_)) => Err(OpError::ReferenceInvalid),
            (Some(place), cursor) => self.page(place, cursor.as_deref()),
        }
    }

    fn start(&self) -> Result<DirectoryPage, OpError> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let offered = self.offered().and_then(|offer| RootChoice::only(vec![offer.path]).folders().pop());
        let others = roots.folders().into_iter().filter(|root| Some(root) != offered.as_ref());
        let folders: Vec<(PathBuf, String)> = offered.iter().cloned().chain(others).collect();
        let now = self.clock.now();
        let mut browse = Browse {
            ends: now + BROWSE_LIFETIME,
            expires_at: self.clock.wall().plus(BROWSE_LIFETIME),
            last_use: 0,
            held: 0,
            places: HashMap::new(),
            cursors: Vec::new(),
        };
        let browse_id = mint()?;
        let mut entries = Vec::new();
        for (path, name) in folders {
            entries.extend(browse.add(path, name, None)?);
        }
        let page = DirectoryPage {
            browse_id: browse_id.clone(),
            current: None,
            parent_ref: None,
            entries,
            next_cursor: None,
            truncated: false,
            expires_at: browse.expires_at,
        };
        let mut state = self.state();
        state.make_room(now);
        browse.last_use = state.next_use();
        state.browses.insert(browse_id, browse);
        Ok(page)
    }

    fn page(&self, at: &BrowsePlace, cursor: Option<&str>) -> Result<DirectoryPage, OpError> {
        let now = self.clock.now();
        let (place, found) = {
            let mut state = self.state();
            let used = state.next_use();
            let browse = state.alive(&at.browse_id, now)?;
            let place = browse.places.get(&at.directory_ref).ok_or(OpError::ReferenceInvalid)?.clone();
            let found = match cursor {
                None => None,
                Some(id) => {
                    let cursor = browse
                        .cursors
                        .iter_mut()
                        .find(|known| known.id == id && known.directory == at.directory_ref)
                        .ok_or(OpError::ReferenceInvalid)?;
                    cursor.last_use = used;
                    Some((cursor.offset, Arc::clone(&cursor.snapshot)))
                }
            };
            (place, found)
        };
        // The disk is read without the lock: a slow one must not hold up a `forget_all`.
        let (offset, snapshot) = match found {
            Some(found) => found,
            None => (0, Arc::new(listing::Snapshot::take(&place.path)?)),
        };
        let names = listing::still_listed(&place.path, snapshot.names.get(offset..).unwrap_or_default(), PAGE_ENTRIES)?;

        let mut state = self.state();
        let used = state.next_use();
        let browse = state.alive(&at.browse_id, now)?;
        let mut entries = Vec::new();
        let mut next = offset;
        let mut out_of_references = false;
        for (name, listed) in &names {
            if *listed {
                match browse.add(place.path.join(name), name.clone(), Some(&at.directory_ref))? {
                    Some(entry) => entries.push(entry),
                    None => {
                        out_of_references = true;
                        break;
                    }
                }
            }
            next += 1;
        }
        let more = next < snapshot.names.len();
        let next_cursor = if more && !out_of_references {
            Some(browse.cursor(&at.directory_ref, next, &snapshot, used)?)
        } else {
            None
        };
        Ok(DirectoryPage {
            browse_id: at.browse_id.clone(),
            current: Some(DirectoryEntry {
                directory_ref: at.directory_ref.clone(),
                name: place.name,
                path: place.path.to_string_lossy().into_owned(),
            }),
            parent_ref: place.parent,
            entries,
            next_cursor,
            truncated: snapshot.truncated || out_of_references,
            expires_at: browse.expires_at,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn alive(&mut self, browse_id: &str, now: Instant) -> Result<&mut Browse, OpError> {
        let used = self.next_use();
        let browse =
            self.browses.get_mut(browse_id).filter(|browse| browse.is_alive(now)).ok_or(OpError::ReferenceInvalid)?;
        browse.last_use = used;
        Ok(browse)
    }

    /// Drops what has expired, and the least recently used browse when there are too many. One that is held goes last.
    fn make_room(&mut self, now: Instant) {
        self.browses.retain(|_, browse| browse.is_alive(now));
        while self.browses.len() >= BROWSE_LIMIT {
            let oldest = self.browses.iter().min_by_key(|(_, browse)| (browse.held > 0, browse.last_use));
            let Some(id) = oldest.map(|(id, _)| id.clone()) else { return };
            self.browses.remove(&id);
        }
    }
}

impl Browse {
    fn is_alive(&self, now: Instant) -> bool {
        self.held > 0 || now < self.ends
    }

    /// Mints a reference; none when the browse has all it may have.
    fn add(&mut self, path: PathBuf, name: String, parent: Option<&str>) -> Result<Option<DirectoryEntry>, OpError> {
        if self.places.len() >= REFERENCE_LIMIT {
            return Ok(None);
        }
        let directory_ref = mint()?;
        let text = path.to_string_lossy().into_owned();
        let place = Place { path, parent: parent.map(str::to_owned), name: name.clone(), chosen: false };
        self.places.insert(directory_ref.clone(), place);
        Ok(Some(DirectoryEntry { directory_ref, name, path: text }))
    }

    /// Returns the cursor for a place in a snapshot, the same one when asked again.
    fn cursor(
        &mut self,
        directory: &str,
        offset: usize,
        snapshot: &Arc<listing::Snapshot>,
        used: u64,
    ) -> Result<String, OpError> {
        let known = self.cursors.iter_mut().find(|known| {
            known.directory == directory
                && known.offset == offset
                && (Arc::ptr_eq(&known.snapshot, snapshot) || known.snapshot == *snapshot)
        });
        if let Some(known) = known {
            known.last_use = used;
            return Ok(known.id.clone());
        }
        if self.cursors.len() >= CURSOR_LIMIT
            && let Some(oldest) =
                self.cursors.iter().enumerate().min_by_key(|(_, c)| c.last_use).map(|(index, _)| index)
        {
            self.cursors.remove(oldest);
        }
        let id = mint()?;
        let snapshot = Arc::clone(snapshot);
        self.cursors.push(Cursor { id: id.clone(), directory: directory.to_owned(), offset, last_use: used, snapshot });
        Ok(id)
    }
}

impl Capability for Browser {
    fn power(&self) -> Power {
        Power::Attach
    }

    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>> {
        Box::pin(async move {
            if ctx.cancel.is_cancelled() {
                return Err(OpError::Cancelled);
            }
            match permit.into_operation() {
                Operation::Browse(op) => self.list(&op).map(Outcome::Directory),
                Operation::File(_)
                | Operation::Command(_)
                | Operation::Session(_)
                | Operation::Computer(_)
                | Operation::Model(_)
                | Operation::Hardware(_) => {
                    Err(OpError::Internal("an operation that is not about folders came to the browser".to_owned()))
                }
            }
        })
    }
}

fn unavailable(why: &str) -> OpError {
    OpError::DirectoryUnavailable { why: why.to_owned() }
}

/// Makes an id of 24 random bytes.
fn mint() -> Result<String, OpError> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|_| OpError::Internal("the system gives no random numbers".to_owned()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
#[path = "browse/browse_tests.rs"]
mod tests;
