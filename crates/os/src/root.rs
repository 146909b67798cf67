//! The attached folder as a directory handle (DESIGN invariant 2, spec 7.3).

/// A folder that operations are confined to.
#[derive(Debug)]
pub struct Root {}
