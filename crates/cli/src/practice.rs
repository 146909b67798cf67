//! The practice platform in the foreground, until somebody ends it.

use anyhow::Context as _;
use drawbridge_practice::{Practice, PracticeOptions};

use crate::out;

pub(crate) async fn run(port: Option<u16>) -> anyhow::Result<u8> {
    let practice = Practice::start(PracticeOptions { port, ..PracticeOptions::default() })
        .await
        .context("the practice platform cannot listen on this port")?;
    // Ready before the address is known to anybody: whoever reads it may end us at once.
    let ended = ended()?;
    out::line(&practice.base_url())?;
    ended.await;
    practice.stop().await;
    Ok(0)
}

/// Waits for the person or the service manager to end the program. Listens from the call on.
#[cfg(unix)]
fn ended() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Waits for the person to end the program.
#[cfg(not(unix))]
fn ended() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without the handler the system itself ends the program.
        let _ = tokio::signal::ctrl_c().await;
    })
}
