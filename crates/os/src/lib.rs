//! The only home of system calls: directory handles, processes, sandbox, keychain, machine identity.

pub mod about;
pub mod again;
pub mod autostart;
pub mod desktop;
pub mod disk;
pub mod folders;
pub mod hardware;
pub mod helper;
pub mod installed;
pub mod keychain;
pub mod local_socket;
pub mod lockfile;
pub mod machine;
pub mod memory;
pub mod permissions;
pub mod private;
pub mod process;
pub mod root;
pub mod sandbox;
pub mod seat;
pub mod system_file;
pub mod terminal;
