//! The list of versions, in the form that the bundler's tools know (`latest.json`).

use std::collections::BTreeMap;

use base64::Engine as _;
use drawbridge_core::escape_outside_text;
use drawbridge_os::installed::Kind;
use semver::Version;
use serde::Deserialize;

use super::Channel;

/// More notes than this nobody reads in a window.
const NOTES_LIMIT_CHARS: usize = 8_000;
/// A version is shown in one line.
const VERSION_LIMIT_BYTES: usize = 64;
/// A signature is a few lines.
const SIGNATURE_LIMIT_BYTES: usize = 4 * 1024;

/// A newer version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its version, in its one right form.
    pub version: String,
    /// What is new: lines of plain text, safe to show.
    pub notes: Option<String>,
    /// What this copy can replace itself by; none where the list has nothing for it.
    pub(super) package: Option<Package>,
}

impl Release {
    /// Tells whether this copy can take it by itself.
    #[must_use]
    pub const fn can_be_taken(&self) -> bool {
        self.package.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) url: String,
    /// The text of the signature file.
    pub(super) signature: String,
}

#[derive(Deserialize)]
struct List {
    version: String,
    notes: Option<String>,
    platforms: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    signature: String,
}

/// Reads a list and returns its version if that is newer than `current` and fits the channel.
///
/// # Errors
/// What makes no sense in it.
pub(super) fn newer(text: &[u8], kind: &Kind, channel: Channel, current: &str) -> Result<Option<Release>, String> {
    let list: List = serde_json::from_slice(text).map_err(|fault| format!("line {}", fault.line()))?;
    let offered = version(&list.version).ok_or("it names no version")?;
    let current = version(current).ok_or("this copy has no version")?;
    let tried_out = !offered.pre.is_empty();
    // What is built of the same version does not count: only its own order is one that everybody agrees on.
    if offered.cmp_precedence(&current).is_le() || (tried_out && channel == Channel::Stable) {
        return Ok(None);
    }
    let package = match list.platforms.get(&system(kind)).or_else(|| list.platforms.get(&system(&Kind::Other))) {
        Some(entry) if kind.replaces_itself() => Some(package(entry)?),
        Some(_) | None => None,
    };
    let notes = list.notes.as_deref().map(plain).filter(|notes| !notes.is_empty());
    Ok(Some(Release { version: offered.to_string(), notes, package }))
}

fn version(text: &str) -> Option<Version> {
    let text = Some(text.trim()).filter(|text| text.len() <= VERSION_LIMIT_BYTES)?;
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// The name of this system in a list, alone or with the kind of package.
fn system(kind: &Kind) -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let alone = format!("{system}-{}", std::env::consts::ARCH);
    match kind {
        Kind::AppImage(_) => format!("{alone}-appimage"),
        Kind::Dmg(_) => format!("{alone}-app"),
        Kind::Nsis => format!("{alone}-nsis"),
        Kind::Deb | Kind::Rpm | Kind::Msi | Kind::Other => alone,
    }
}

fn package(entry: &Entry) -> Result<Package, String> {
    if !entry.url.starts_with("https://") {
        return Err("its address is not encrypted".to_owned());
    }
    let bad = || "its signature is broken".to_owned();
    if entry.signature.len() > SIGNATURE_LIMIT_BYTES {
        return Err(bad());
    }
    let signature = base64::engine::general_purpose::STANDARD.decode(entry.signature.trim()).map_err(|_| bad())?;
    Ok(Package { url: entry.url.clone(), signature: String::from_utf8(signature).map_err(|_| bad())? })
}

/// Keeps the lines apart and makes everything else visible.
fn plain(notes: &str) -> String {
    let short: String = notes.chars().take(NOTES_LIMIT_CHARS).collect();
    let cut = short.len() < notes.len();
    let lines: Vec<String> = short.trim().lines().map(|line| escape_outside_text(line.trim_end())).collect();
    format!("{}{}", lines.join("\n"), if cut { "…" } else { "" })
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
