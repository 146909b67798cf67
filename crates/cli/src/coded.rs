//! Errors that end the program with an exit code of their own (`cli.md`). All others end it with 1.

use std::fmt;

/// A wrong command line, or no audit key.
pub(crate) const USAGE: u8 = 2;
/// No engine runs, and one is needed.
pub(crate) const NO_ENGINE: u8 = 3;
/// The platform's protocol ended it.
pub(crate) const PROTOCOL: u8 = 76;
/// Not signed in, or refused.
pub(crate) const CONFIGURATION: u8 = 78;

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) code: u8,
    error: anyhow::Error,
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Coded {}

/// Gives an error an exit code.
pub(crate) fn coded(code: u8, error: impl Into<anyhow::Error>) -> anyhow::Error {
    Coded { code, error: error.into() }.into()
}

/// Returns the exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Coded>().map_or(1, |coded| coded.code)
}
