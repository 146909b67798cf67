//! Starts the desktop shell.

fn main() {}
