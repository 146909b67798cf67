//! Where newer versions come from and whose signature counts: built in, so that nothing on the computer can change it.

use base64::Engine as _;
use minisign_verify::PublicKey;
use serde::Deserialize;

/// Filled in by whoever makes releases. Committed empty: then nothing can be taken.
const BUILT_IN: &str = include_str!("source.json");

/// Which versions are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Finished ones.
    Stable,
    /// Also those that are still tried out.
    Beta,
}

impl Channel {
    /// Finds a channel by its stable name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "stable" => Some(Self::Stable),
            "beta" => Some(Self::Beta),
            _ => None,
        }
    }
}

/// Where newer versions come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The public key as `tauri signer generate` writes it: a minisign key file in base64.
    key: String,
    lists: Lists,
    page: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    stable: String,
    beta: String,
}

impl Source {
    /// Returns what is built in.
    #[must_use]
    pub fn built_in() -> Self {
        serde_json::from_str(BUILT_IN).unwrap_or_default()
    }

    /// Makes another one, for whoever tries it out: the key, and one address for lists and for the page.
    #[must_use]
    pub fn new(key: &str, list: &str, page: &str) -> Self {
        let lists = Lists { stable: list.to_owned(), beta: list.to_owned() };
        Self { key: key.trim().to_owned(), lists, page: page.to_owned() }
    }

    /// Returns the address of the list of a channel; none without an encrypted one.
    #[must_use]
    pub fn list(&self, channel: Channel) -> Option<&str> {
        encrypted(match channel {
            Channel::Stable => &self.lists.stable,
            Channel::Beta => &self.lists.beta,
        })
    }

    /// Returns the page that people get versions from; none without an encrypted one.
    #[must_use]
    pub fn page(&self) -> Option<&str> {
        encrypted(&self.page)
    }

    /// Tells whether versions can be taken: there are lists and a key.
    #[must_use]
    pub fn can_take(&self) -> bool {
        self.key().is_some() && self.list(Channel::Stable).is_some()
    }

    /// Returns the key; none for what is no key.
    pub(super) fn key(&self) -> Option<PublicKey> {
        let text = base64::engine::general_purpose::STANDARD.decode(self.key.trim()).ok()?;
        PublicKey::decode(std::str::from_utf8(&text).ok()?).ok()
    }
}

fn encrypted(address: &str) -> Option<&str> {
    Some(address).filter(|address| address.starts_with("https://") && address.len() > "https://".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_either_empty_or_whole() {
        let source: Source = serde_json::from_str(BUILT_IN).unwrap();

        assert_eq!(source, Source::built_in());
        if !source.key.is_empty() {
            assert!(source.can_take(), "the key is no key, or the list has no encrypted address");
            assert!(source.list(Channel::Beta).is_some() && source.page().is_some());
        }
    }
}
