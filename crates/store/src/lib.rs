//! What is kept: configuration, audit log, secrets, attachments, undo store.

pub mod undo;
