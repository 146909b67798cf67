//! The only home of system calls: directory handles, processes, sandbox, keychain, machine identity.

pub mod local_socket;
pub mod root;
