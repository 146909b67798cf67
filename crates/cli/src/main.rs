//! The command line of Drawbridge.

fn main() {}
