//! Newer versions of this program: whether there is one, getting it, and proving that it is ours.
//!
//! Nothing is taken without its signature under the key that is built in, over an encrypted connection, for a version that is
//! newer than this one. As long as no key is built in nothing can be taken. When and whether to look is the host's to decide;
//! what replaces the old copy is in `drawbridge_os::installed`.

mod list;
mod source;

use drawbridge_os::installed::{self, Kind, Part, ReplaceFault};
use minisign_verify::Signature;

use crate::dial::fetch::{self, FetchFault};
use crate::net::NetConfig;

pub use list::Release;
pub use source::{Channel, Source};

/// A list is far smaller.
const LIST_LIMIT_BYTES: u64 = 256 * 1024;
/// No package of this program is nearly as large.
const PACKAGE_LIMIT_BYTES: u64 = 512 * 1024 * 1024;

/// Why there is no newer version here. Nothing has changed, and the program goes on as it is.
#[derive(Debug, thiserror::Error)]
pub enum UpdateFault {
    /// No address or no key is built in.
    #[error("this build cannot take updates by itself; get the newer version from where you got this one")]
    NotOffered,
    /// The list could not be got.
    #[error("the list of versions could not be read: {0}")]
    Unreachable(String),
    /// The list could be got and makes no sense.
    #[error("the list of versions cannot be understood ({0}); the next look may find it mended")]
    BadList(String),
    /// The package could not be got.
    #[error("the newer version could not be downloaded: {0}")]
    Download(String),
    /// What was got is not signed by whoever makes this program.
    #[error(
        "the download is not signed by whoever makes Drawbridge ({0}), so it was thrown away; do not install it by hand"
    )]
    BadSignature(&'static str),
    /// It could not be put in place.
    #[error("{0}; get the newer version from the release page")]
    Place(ReplaceFault),
}

impl UpdateFault {
    /// Returns the stable name of what went wrong.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotOffered => "not_offered",
            Self::Unreachable(_) => "unreachable",
            Self::BadList(_) => "bad_list",
            Self::Download(_) => "download",
            Self::BadSignature(_) => "bad_signature",
            Self::Place(_) => "place",
        }
    }
}

/// Looks for a version that is newer than `current`, on a channel, for this kind of installation.
///
/// # Errors
/// [`UpdateFault`].
pub async fn look(
    net: &NetConfig,
    source: &Source,
    channel: Channel,
    kind: &Kind,
    current: &str,
) -> Result<Option<Release>, UpdateFault> {
    let address = source.list(channel).ok_or(UpdateFault::NotOffered)?;
    let mut text = Vec::new();
    let got = fetch::get(net, address, LIST_LIMIT_BYTES, |bytes, _, _| {
        text.extend_from_slice(bytes);
        Ok(())
    });
    got.await.map_err(|fault| UpdateFault::Unreachable(in_words(&fault)))?;
    list::newer(&text, kind, channel, current).map_err(UpdateFault::BadList)
}

/// Downloads a release, checks it and puts it in the place of this copy. `progress` hears percents, each once. The program has to
/// start again to use it; on Windows it has to end, since the installer waits for that.
///
/// # Errors
/// [`UpdateFault`]; the old copy is in its place then, whole.
pub async fn take(
    net: &NetConfig,
    source: &Source,
    kind: &Kind,
    release: &Release,
    mut progress: impl FnMut(u8) + Send,
) -> Result<(), UpdateFault> {
    let key = source.key().ok_or(UpdateFault::NotOffered)?;
    let package = release.package.as_ref().ok_or(UpdateFault::NotOffered)?;
    let signature =
        Signature::decode(&package.signature).map_err(|_| UpdateFault::BadSignature("its signature is broken"))?;
    // Before anything is downloaded: where this user may not write, nothing can be replaced.
    let mut part = Part::new(kind).map_err(UpdateFault::Place)?;
    let mut check = key
        .verify_stream(&signature)
        .map_err(|_| UpdateFault::BadSignature("it is signed by somebody else or in an old way"))?;
    let mut told = None;
    fetch::get(net, &package.url, PACKAGE_LIMIT_BYTES, |bytes, came, of| {
        check.update(bytes);
        part.write(bytes).map_err(|fault| fault.to_string())?;
        let percent = of.filter(|of| *of > 0).map(|of| u8::try_from(came * 100 / of).unwrap_or(100));
        if percent != told {
            told = percent;
            percent.into_iter().for_each(&mut progress);
        }
        Ok(())
    })
    .await
    .map_err(|fault| UpdateFault::Download(in_words(&fault)))?;
    check.finalize().map_err(|_| UpdateFault::BadSignature("its signature does not fit"))?;
    // Only now is what the signature says of itself proven.
    if !names_version(signature.trusted_comment(), kind, &release.version) {
        return Err(UpdateFault::BadSignature("it is another version than it says"));
    }
    let kind = kind.clone();
    let placed = tokio::task::spawn_blocking(move || installed::replace(&kind, part)).await;
    placed.map_err(|_| UpdateFault::Download("it broke off".to_owned()))?.map_err(UpdateFault::Place)
}

/// The list is not signed. So that nobody can bring an old version back under a new name, or give one kind of package for
/// another, the name of the signed file must hold the version and end as this kind does.
fn names_version(comment: &str, kind: &Kind, version: &str) -> bool {
    let file = comment.split('\t').find_map(|part| part.strip_prefix("file:")).unwrap_or_default();
    let end = match kind {
        Kind::AppImage(_) => ".AppImage",
        Kind::Dmg(_) => ".app.tar.gz",
        Kind::Nsis => "-setup.exe",
        Kind::Deb | Kind::Rpm | Kind::Msi | Kind::Other => return false,
    };
    file.contains(&format!("_{version}_")) && file.ends_with(end)
}

fn in_words(fault: &FetchFault) -> String {
    drawbridge_core::escape_outside_text(&fault.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_signature_counts_for_its_version_and_its_kind_of_package_alone() {
        let place = || PathBuf::from("/x");
        let kinds = [
            (Kind::AppImage(place()), "Drawbridge_9.1.0_amd64.AppImage"),
            (Kind::Dmg(place()), "Drawbridge_9.1.0_aarch64.app.tar.gz"),
            (Kind::Nsis, "Drawbridge_9.1.0_x64-setup.exe"),
        ];
        for (kind, own) in &kinds {
            for (_, file) in &kinds {
                let comment = format!("timestamp:1796041000\tfile:{file}");
                assert_eq!(names_version(&comment, kind, "9.1.0"), file == own, "{kind:?} {file}");
                assert!(!names_version(&comment, kind, "9.2.0") && !names_version(&comment, kind, "1.0"), "{file}");
            }
        }
        assert!(!names_version("timestamp:1\tfile:Drawbridge.app.tar.gz", &Kind::Dmg(place()), "9.1.0"));
        assert!(!names_version("", &Kind::Nsis, "9.1.0"));
    }
}
