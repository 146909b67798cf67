//! Starts the desktop shell.

#[cfg(feature = "desktop")]
fn main() -> std::process::ExitCode {
    // Confined commands start this program again to put on the inner wall; nothing may come before that.
    if let Some(code) = drawbridge_desktop::host::confine_if_asked() {
        return code;
    }
    drawbridge_desktop::log_to_stderr();
    drawbridge_desktop::run(drawbridge_desktop::host::start())
}

#[cfg(not(feature = "desktop"))]
fn main() {}
