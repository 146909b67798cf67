//! Folders that the person picks: for a question about attaching one, for the next chat, and where agents may look.
//!
//! All of it comes from the folder dialog of this computer and never from a page. Everything here reads the disk, so it
//! runs aside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drawbridge_caps::browse::{Browser, Offer, RootChoice, default_roots, usable_root};
use drawbridge_core::{PromptId, escape_outside_text};
use drawbridge_os::root::Root;
use drawbridge_policy::PolicyState;
use serde_json::json;

use super::answers::answer_fault;
use super::aside::Job;
use super::commands::{Done, not_stored};
use super::{Core, OpenRoot};
use crate::handle::{CommandError, Reply};
use crate::record::shown;

/// Folders in which agents may look, at most.
const MAX_ROOTS: usize = 50;

/// Where agents may look for folders, and the folder for the next chat.
pub(super) struct FolderChoice {
    browser: Arc<Browser>,
    /// What the configuration says; none means the home folder and what is mounted.
    configured: Option<Vec<PathBuf>>,
    /// What is configured is all there is: folders of the person do not count.
    fixed: bool,
}

impl FolderChoice {
    pub(super) fn new(browser: Arc<Browser>, configured: Option<Vec<PathBuf>>, fixed: bool) -> Self {
        Self { browser, configured, fixed }
    }

    /// Makes the choice of the person hold; without one, that of the configuration. Reads the disk.
    pub(super) fn apply(&self, state: &PolicyState) {
        let choice = if self.fixed || state.browse_roots.is_empty() {
            match &self.configured {
                Some(folders) => RootChoice::only(folders.clone()),
                None => default_roots(std::env::home_dir().as_deref(), std::env::var("USER").ok().as_deref()),
            }
        } else {
            RootChoice::only(state.browse_roots.iter().map(PathBuf::from).collect())
        };
        self.browser.set_roots(choice);
    }

    /// Returns the roots for the window, safe to show. Empty stands for the home folder.
    pub(super) fn shown_roots(&self, state: &PolicyState) -> Vec<String> {
        if !self.fixed && !state.browse_roots.is_empty() {
            return state.browse_roots.iter().map(|root| escape_outside_text(root)).collect();
        }
        let configured = self.configured.iter().flatten();
        configured.map(|root| escape_outside_text(&root.to_string_lossy())).collect()
    }

    /// Returns the folder for the next chat, safe to show.
    pub(super) fn shown_offer(&self) -> Option<String> {
        self.browser.offered().map(|offer| escape_outside_text(&offer.path.to_string_lossy()))
    }
}

impl Core {
    /// Puts another folder into a question about attaching one.
    pub(super) fn choose_folder(&self, id: u64, path: String) -> Job {
        let (broker, folders, open_root) = (self.broker.clone(), self.folders.clone(), self.open_root.clone());
        Box::new(move || {
            let id = PromptId::new(id);
            let asked = broker.attach_place(id).map_err(answer_fault)?;
            let root = fit(&open_root, &path)?;
            let place = folders.browser.choose(&asked.browse_id, PathBuf::from(root.path())).map_err(|_| {
                let why = "The platform's list of folders has expired, so this folder cannot be attached by this question. Deny it and let the platform ask again.";
                CommandError::new("browse_over", why)
            })?;
            broker.choose(id, place, root.path(), root.identity()).map_err(answer_fault)?;
            Ok(Reply::Done)
        })
    }

    /// Puts a folder first in every browse, or takes that back.
    pub(super) fn offer_folder(&self, path: Option<String>) -> Job {
        let (folders, journal, board) = (self.folders.clone(), self.journal.clone(), self.board.clone());
        let open_root = self.open_root.clone();
        Box::new(move || {
            let offer = match path {
                None => None,
                Some(path) => {
                    let root = fit(&open_root, &path)?;
                    Some(Offer { path: PathBuf::from(root.path()), identity: root.identity() })
                }
            };
            let details = json!({ "offered_folder": offer.as_ref().map(|offer| offer.path.to_string_lossy()) });
            if !journal.event(None, "POLICY_CHANGED", details) && offer.is_some() {
                return Err(unrecorded());
            }
            folders.browser.offer(offer);
            board.touch();
            Ok(Reply::Done)
        })
    }

    /// Lets agents look below a folder.
    pub(super) fn add_browse_root(&self, path: String) -> Job {
        let open_root = self.open_root.clone();
        let change = self.root_change();
        Box::new(move || {
            let root = fit(&open_root, &path)?;
            let added = root.path().to_owned();
            let roots = change.policy.get().browse_roots.clone();
            if roots.contains(&added) {
                return Ok(Reply::Done);
            }
            if roots.len() >= MAX_ROOTS {
                let why = format!("Agents may look in {MAX_ROOTS} folders at most. Remove one first.");
                return Err(CommandError::new("too_many_roots", why));
            }
            let details = json!({ "browse_root_added": added });
            change.make(details, &move |roots| {
                if !roots.contains(&added) {
                    roots.push(added.clone());
                }
            })
        })
    }

    /// Stops agents from looking below a folder.
    pub(super) fn remove_browse_root(&self, path: String) -> Job {
        let change = self.root_change();
        Box::new(move || {
            let roots = change.policy.get().browse_roots.clone();
            let Some(removed) = roots.into_iter().find(|root| *root == path || escape_outside_text(root) == path)
            else {
                let why = format!(
                    "{} is not one of the folders that you added. A folder of the configuration is removed there.",
                    shown(&path)
                );
                return Err(CommandError::new("unknown_root", why));
            };
            let details = json!({ "browse_root_removed": removed });
            change.make(details, &move |roots| roots.retain(|root| *root != removed))
        })
    }

    pub(super) fn may_change_roots(&self) -> Result<(), CommandError> {
        self.managed.may_change("browse.roots", "The folders in which agents may look are set")
    }

    fn root_change(&self) -> RootChange {
        RootChange {
            policy: self.policy.clone(),
            folders: self.folders.clone(),
            journal: self.journal.clone(),
            board: self.board.clone(),
        }
    }
}

/// What changing the roots needs.
struct RootChange {
    policy: Arc<crate::policy_cell::PolicyCell>,
    folders: Arc<FolderChoice>,
    journal: Arc<crate::journal::Journal>,
    board: Arc<crate::board::Board>,
}

impl RootChange {
    fn make(&self, details: serde_json::Value, edit: &dyn Fn(&mut Vec<String>)) -> Done {
        let state = self.policy.change(|state| edit(&mut state.browse_roots)).map_err(not_stored)?;
        self.folders.apply(&state);
        self.journal.event(None, "POLICY_CHANGED", details);
        self.board.touch();
        Ok(Reply::Done)
    }
}

/// Checks that a folder can be attached: there, no link, usable, not ours or the system's, and with a path that the
/// platform takes.
fn fit(open_root: &OpenRoot, path: &str) -> Result<Root, CommandError> {
    let unusable = |why: &str| {
        let message = format!("{} cannot be used: {why}. Pick another folder.", shown(path));
        CommandError::new("folder_unusable", message)
    };
    let root = open_root(path).map_err(|fault| unusable(&fault.to_string()))?;
    if usable_root(Path::new(root.path())).is_none() {
        return Err(unusable("the platform does not take a path with such characters"));
    }
    Ok(root)
}

fn unrecorded() -> CommandError {
    let why =
        "The audit log cannot be written, so nothing has changed. Make room on the disk and start Drawbridge again.";
    CommandError::new("audit_unavailable", why)
}
