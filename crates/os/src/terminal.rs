//! Asking on the terminal for something that must not be seen there.

use std::io;

/// Writes a question to the terminal and reads the answer without showing it. Never reads from standard input: what a script
/// pipes there is not for this.
///
/// # Errors
/// `NotFound` where there is no terminal, `Interrupted` when the person gave up (Ctrl-C), `Unsupported` on systems where the
/// answer would be shown.
pub fn ask_hidden(question: &str) -> io::Result<String> {
    system::ask_hidden(question)
}

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io::{self, Read as _, Write as _};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// The longest answer.
    const LIMIT_BYTES: usize = 4096;
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const CLEAR: u8 = 21;
    const ERASE: [u8; 2] = [8, 127];

    pub(super) fn ask_hidden(question: &str) -> io::Result<String> {
        let terminal = File::options().read(true).write(true).open("/dev/tty");
        let terminal =
            terminal.map_err(|_| io::Error::new(io::ErrorKind::NotFound, "there is no terminal to ask on"))?;
        (&terminal).write_all(question.as_bytes())?;
        let answer = Unseen::begin(&terminal).and_then(|_unseen| read_line(&terminal));
        // The person's own line end was not shown.
        (&terminal).write_all(b"\n")?;
        answer
    }

    /// As long as this lives the terminal shows nothing, and keys that end a program come as letters: a program that ended here
    /// would leave the terminal silent.
    struct Unseen<'a> {
        terminal: &'a File,
        before: Termios,
    }

    impl<'a> Unseen<'a> {
        fn begin(terminal: &'a File) -> io::Result<Self> {
            let before = tcgetattr(terminal)?;
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
            tcsetattr(terminal, OptionalActions::Flush, &silent)?;
            Ok(Self { terminal, before })
        }
    }

    impl Drop for Unseen<'_> {
        fn drop(&mut self) {
            // There is nothing left to try.
            let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
        }
    }

    fn read_line(terminal: &File) -> io::Result<String> {
        // Never grown, so that no copy of a part stays behind.
        let mut line = Vec::with_capacity(LIMIT_BYTES);
        let mut byte = [0_u8; 1];
        let mut reader = terminal;
        loop {
            if reader.read(&mut byte)? == 0 || matches!(byte[0], b'\n' | b'\r' | END) {
                break;
            }
            match byte[0] {
                INTERRUPT => return Err(io::Error::new(io::ErrorKind::Interrupted, "you gave up")),
                CLEAR => line.clear(),
                letter if ERASE.contains(&letter) => {
                    while line.pop().is_some_and(|byte: u8| byte & 0b1100_0000 == 0b1000_0000) {}
                }
                letter if line.len() < LIMIT_BYTES => line.push(letter),
                _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "that is too long")),
            }
        }
        String::from_utf8(line).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "that is not valid text"))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    pub(super) fn ask_hidden(_question: &str) -> io::Result<String> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system's terminal would show the answer"))
    }
}
