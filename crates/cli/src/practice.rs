//! The practice platform in the foreground, until somebody ends it.

use anyhow::Context as _;
use drawbridge_practice::{Practice, PracticeOptions};

use crate::{out, signals};

pub(crate) async fn run(port: Option<u16>) -> anyhow::Result<u8> {
    let practice = Practice::start(PracticeOptions { port, ..PracticeOptions::default() })
        .await
        .context("the practice platform cannot listen on this port")?;
    // Ready before the address is known to anybody: whoever reads it may end us at once.
    let ended = signals::ended()?;
    out::line(&practice.base_url())?;
    ended.await;
    practice.stop().await;
    Ok(0)
}
