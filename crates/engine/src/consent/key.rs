//! Which requests are the same request.

use std::hash::{Hash, Hasher};

use drawbridge_policy::Question;
use sha2::{Digest, Sha256};

/// The same chat and the same operation, down to the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn of(question: &Question) -> Self {
        /// Feeds every byte that `Hash` sees into SHA-256, so that no two operations share a key by chance.
        struct Feed(Sha256);
        impl Hasher for Feed {
            fn write(&mut self, bytes: &[u8]) {
                self.0.update(bytes);
            }
            fn finish(&self) -> u64 {
                0
            }
        }
        let mut feed = Feed(Sha256::new());
        question.session().hash(&mut feed);
        question.operation().hash(&mut feed);
        Self(feed.0.finalize().into())
    }
}
