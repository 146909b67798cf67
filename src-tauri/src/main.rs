//! Starts the desktop shell.

#[cfg(feature = "desktop")]
fn main() -> std::process::ExitCode {
    drawbridge_desktop::host::confine_if_asked();
    drawbridge_desktop::run(drawbridge_desktop::host::start)
}

#[cfg(not(feature = "desktop"))]
fn main() {}
