//! The practice platform in the foreground, with the practice model server beside it, until somebody ends them.

use anyhow::Context as _;
use drawbridge_practice::{Beside, Practice, PracticeOptions};

use crate::{out, signals};

pub(crate) async fn run(port: Option<u16>) -> anyhow::Result<u8> {
    let practice = Practice::start(PracticeOptions { port, beside: Beside::Model, ..PracticeOptions::default() })
        .await
        .context("the practice platform cannot listen on this port")?;
    // Ready before the address is known to anybody: whoever reads it may end us at once.
    let ended = signals::ended()?;
    let model = practice.model_url().map(|url| format!("\nPractice model: {url}")).unwrap_or_default();
    out::line(&format!("{}{model}", practice.base_url()))?;
    ended.await;
    practice.stop().await;
    Ok(0)
}
