//! Where tokens rest. All calls may block, so they run off the async threads.

use super::tokens::Tokens;

/// The place for secrets did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VaultFault(pub String);

/// Keeps the tokens of one account, and one turn at a time over all processes of that account.
pub trait TokenVault: Send + Sync + std::fmt::Debug {
    /// Reads the pair.
    ///
    /// # Errors
    /// [`VaultFault`] when the store is locked, absent or broken. Missing tokens are no error.
    fn load(&self) -> Result<Option<Tokens>, VaultFault>;

    /// Stores the pair durably and in one step.
    ///
    /// # Errors
    /// [`VaultFault`]; what was stored before is still there then.
    fn save(&self, tokens: &Tokens) -> Result<(), VaultFault>;

    /// Drops the pair.
    ///
    /// # Errors
    /// [`VaultFault`].
    fn clear(&self) -> Result<(), VaultFault>;

    /// Waits until no other process refreshes or revokes; the turn ends when the guard is dropped.
    ///
    /// # Errors
    /// [`VaultFault`] when the turn cannot be had in reasonable time.
    fn turn(&self) -> Result<Box<dyn Send>, VaultFault>;

    /// Notes that a refresh token is about to be sent (true), or that what came of it is known and stored (false). Returns
    /// whether a renewal was noted before that never came to its end. No secret, and without it only a reason is missing:
    /// faults are for the log.
    fn note_renewal(&self, under_way: bool) -> bool;
}
