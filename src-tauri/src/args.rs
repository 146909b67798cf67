//! What the program may be started with.

use std::ffi::OsString;

/// What a start was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Run.
    Run {
        /// With the tray alone, where one is shown.
        hidden: bool,
    },
    /// Print the version.
    Version,
    /// Print how to use it.
    Help,
}

/// How the program is used.
pub const USAGE: &str = "Usage: drawbridge-desktop [--hidden]\n\n  \
    --hidden   start with the tray icon alone; the window opens where no tray icon is shown\n  \
    --version  print the version\n  \
    --help     print this\n\n\
    Everything else is done with the command drawbridge.\n";

/// Reads the arguments after the program's name.
///
/// # Errors
/// What to tell whoever started it.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut hidden = false;
    for argument in args {
        match argument.to_str() {
            Some("--hidden") => hidden = true,
            Some("--version" | "-V") => return Ok(Asked::Version),
            Some("--help" | "-h") => return Ok(Asked::Help),
            _ => {
                let shown = drawbridge_core::escape_outside_text(&argument.to_string_lossy());
                return Err(format!("drawbridge-desktop does not know the argument {shown}.\n\n{USAGE}"));
            }
        }
    }
    Ok(Asked::Run { hidden })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Asked, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn a_start_is_visible_unless_it_is_asked_to_hide() {
        assert_eq!(read(&[]), Ok(Asked::Run { hidden: false }));
        assert_eq!(read(&["--hidden"]), Ok(Asked::Run { hidden: true }));
        assert_eq!(read(&["--version"]), Ok(Asked::Version));
        assert_eq!(read(&["--help"]), Ok(Asked::Help));
    }

    #[test]
    fn what_is_not_known_is_refused_and_shown_safely() {
        for bad in ["--hide", "chat", "", "--hidden=yes", "drawbridge://open"] {
            assert!(read(&[bad]).unwrap_err().contains("Usage:"), "{bad}");
        }
        let told = read(&["--hidden", "a\u{202e}b"]).unwrap_err();
        assert!(!told.contains('\u{202e}'), "{told}");
    }
}
