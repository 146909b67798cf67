//! The figures, each group beside its physical limit.

pub(crate) mod command;
pub(crate) mod growth;
pub(crate) mod idle;
pub(crate) mod model;
pub(crate) mod package;
pub(crate) mod raise;
pub(crate) mod screen;
pub(crate) mod start;
pub(crate) mod stub;
pub(crate) mod window;
pub(crate) mod wire;
