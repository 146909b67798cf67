//! Apps: started by their program, on macOS also by their bundle identifier. Which ones are installed is not told.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::seat::SeatFault;
use crate::seat::app::{Apps, Installed, Process, Target};
use crate::seat::window::Owner;

/// The apps of this computer.
pub(in crate::seat) struct NativeApps;

impl Apps for NativeApps {
    fn find(&self, id: &str) -> Result<Installed, SeatFault> {
        // The system's launcher says whether there is one; the name is its own word for it.
        if !cfg!(target_os = "macos") {
            return Err(SeatFault::Gone);
        }
        Ok(Installed {
            id: id.to_owned(),
            name: id.to_owned(),
            program: None,
            words: vec!["/usr/bin/open".to_owned(), "-b".to_owned(), id.to_owned()],
            in_terminal: false,
            listed: true,
            window_class: None,
            file: None,
        })
    }

    fn of_program(&self, _program: &Path) -> Option<Installed> {
        None
    }

    fn of_window(&self, _owner: &Owner) -> Option<Installed> {
        None
    }

    fn running(&self) -> Vec<Process> {
        Vec::new()
    }

    fn came_out_of(&self, pid: u32, ancestor: u32) -> bool {
        pid == ancestor
    }

    fn launch(&self, target: &Target, args: &[String]) -> Result<Option<u32>, SeatFault> {
        let id = match target {
            Target::Program(_) => None,
            Target::Id(id) => Some(id),
            Target::Found(found) => Some(&found.id),
        };
        let (mut command, tells_pid) = match (target, id) {
            (Target::Program(program), _) => (Command::new(program), true),
            (_, Some(id)) if cfg!(target_os = "macos") => {
                let mut open = Command::new("/usr/bin/open");
                open.args(["-b", id]);
                if !args.is_empty() {
                    open.arg("--args");
                }
                (open, false)
            }
            (Target::Id(_) | Target::Found(_), _) => return Err(SeatFault::Gone),
        };
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DRAWBRIDGE_")) {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|fault| match fault.kind() {
            std::io::ErrorKind::NotFound => SeatFault::Gone,
            _ => SeatFault::Other(fault.to_string()),
        })?;
        if tells_pid {
            let pid = child.id();
            // Takes its end in, so that nothing is left of it in the list of processes.
            std::thread::spawn(move || child.wait());
            return Ok(Some(pid));
        }
        let opened = child.wait().map_err(|fault| SeatFault::Other(fault.to_string()))?;
        if opened.success() { Ok(None) } else { Err(SeatFault::Gone) }
    }
}
