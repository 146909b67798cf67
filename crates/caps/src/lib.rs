//! What an agent can do here, one capability a module.
//!
//! A capability runs what was permitted and nothing else: it never asks and never reads settings.

pub mod browse;
pub mod computer;
pub mod files;
pub mod hardware;
mod minute;
pub mod model;
mod pieces;
pub mod privacy;
pub mod shell;

use std::sync::Arc;

use drawbridge_core::{Limits, LinkId, OpError, Outcome, Power};
use drawbridge_os::root::{Root, Stamp};
use drawbridge_policy::Permit;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use pieces::{Hold, Pieces};

/// What an operation may use while it runs.
#[derive(Debug, Clone)]
pub struct RunCtx {
    /// The attached folder. Operations on files and commands always have one.
    pub root: Option<Arc<Root>>,
    /// The ceilings of the link.
    pub limits: Limits,
    /// Fires when the operation must end: link lost, detach, stop.
    pub cancel: CancellationToken,
    /// What the person saw when they said yes. The capability does nothing when something else is there by now.
    pub shown: Option<Shown>,
    /// Who asks: what it opens is held for it alone and closed with it.
    pub holder: LinkId,
    /// Where parts of an answer go before its end; none where nobody wants them.
    pub pieces: Option<Pieces>,
    /// What the person's settings say about computer use; the strictest without it.
    pub computer: Option<computer::Rules>,
}

/// What a yes is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The program and the working folder of a command.
    Command(shell::Preview),
    /// The state of the file that is to be written; none when there was none.
    Write(Option<Stamp>),
    /// The app that is to be started.
    Launch(computer::LaunchTarget),
}

/// One kind of thing an agent can do.
pub trait Capability: Send + Sync {
    /// Returns the power that covers it.
    fn power(&self) -> Power;

    /// Runs the permitted operation. Ends promptly when `ctx.cancel` fires, with everything it started gone.
    ///
    /// # Errors
    /// What the operation failed with, in the caller's terms.
    fn run<'a>(&'a self, permit: Permit, ctx: RunCtx) -> BoxFuture<'a, Result<Outcome, OpError>>;
}
