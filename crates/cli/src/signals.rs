//! The signals by which a person or a service manager ends a program.

/// Waits for the end. Listens from the call on, so that none is missed.
///
/// # Errors
/// When the system does not let us listen.
#[cfg(unix)]
pub(crate) fn ended() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits for the end.
///
/// # Errors
/// None on this system.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail here")]
pub(crate) fn ended() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without the handler the system itself ends the program.
        let _ = tokio::signal::ctrl_c().await;
    })
}
