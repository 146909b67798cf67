//! Where a browse starts (spec 5.4).

use std::path::{Path, PathBuf};

use super::listing::usable_root;
use super::shown::name_is_fit;

/// At most so many roots.
const ROOT_LIMIT: usize = 200;

/// The folders a browse starts with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootChoice {
    /// Offered themselves.
    pub folders: Vec<PathBuf>,
    /// The real folders directly in these are offered, for example where drives are mounted.
    pub parents: Vec<PathBuf>,
}

impl RootChoice {
    /// Offers nothing: folders can be attached only by a person at this computer.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Offers exactly these folders, as the person chose them.
    #[must_use]
    pub fn only(folders: Vec<PathBuf>) -> Self {
        Self { folders, parents: Vec::new() }
    }

    /// Returns each root that can be used at this moment, canonical, with the name to show.
    pub(super) fn folders(&self) -> Vec<(PathBuf, String)> {
        let mut found: Vec<(PathBuf, String)> = Vec::new();
        let below = self.parents.iter().flat_map(|parent| real_folders_in(parent));
        for path in self.folders.iter().cloned().chain(below) {
            let Some(canonical) = usable_root(&path) else { continue };
            let belongs_to_system = ["/dev", "/proc", "/sys"].iter().any(|own| canonical.starts_with(own))
                || (canonical.starts_with("/run") && !canonical.starts_with("/run/media"));
            if belongs_to_system || found.iter().any(|(known, _)| *known == canonical) {
                continue;
            }
            let name = canonical.file_name().unwrap_or(canonical.as_os_str()).to_string_lossy().into_owned();
            if name_is_fit(&name) {
                found.push((canonical, name));
            }
            if found.len() == ROOT_LIMIT {
                break;
            }
        }
        found
    }
}

/// Returns the roots of a person who chose none: home, and what is mounted for this user.
#[must_use]
pub fn default_roots(home: Option<&Path>, user: Option<&str>) -> RootChoice {
    let safe = user.filter(|user| !user.is_empty() && !user.contains('/') && !user.starts_with('.'));
    RootChoice {
        folders: home.map(Path::to_path_buf).into_iter().collect(),
        parents: safe
            .map(|user| vec![Path::new("/media").join(user), Path::new("/run/media").join(user)])
            .unwrap_or_default(),
    }
}

fn real_folders_in(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .take(1000)
        .collect();
    folders.sort();
    folders
}
