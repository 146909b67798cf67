//! Starts the desktop shell.

#[cfg(feature = "desktop")]
fn main() -> std::process::ExitCode {
    use std::io::Write as _;
    use std::process::ExitCode;

    use drawbridge_desktop::args::{self, Asked};
    use drawbridge_desktop::{Launch, host};

    // This program starts itself again for small tasks, such as the inner wall of a confined command; nothing may come before that.
    if let Some(code) = host::help_if_asked() {
        return code;
    }
    drawbridge_os::memory::keep_little();
    let said = match args::parse(std::env::args_os().skip(1)) {
        Ok(Asked::Run { hidden }) => {
            drawbridge_desktop::start_the_log();
            return match host::state_folder() {
                Ok(state) => drawbridge_desktop::run(Launch::new(state, hidden), |prefs| host::start(prefs.practice)),
                Err(reason) => drawbridge_desktop::tell(&reason),
            };
        }
        Ok(Asked::Version) => writeln!(std::io::stdout(), "drawbridge-desktop {}", env!("CARGO_PKG_VERSION")),
        Ok(Asked::Help) => write!(std::io::stdout(), "{}", args::USAGE),
        Err(wrong) => {
            let _ = write!(std::io::stderr(), "{wrong}");
            return ExitCode::from(2);
        }
    };
    // Nobody reads it: that is no failure of ours.
    drop(said);
    ExitCode::SUCCESS
}

#[cfg(not(feature = "desktop"))]
fn main() {}
