//! From the start of a command to the moment when nothing of it is left (spec 9.5).

use std::time::Duration;

use drawbridge_core::{CommandOp, CommandResult, Limits, OpError};
use drawbridge_os::process::{self, Running, Start};
use drawbridge_os::sandbox::{WallReport, WallState};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::output::{Output, Stream};

/// Between asking a command to end and ending it.
const GRACE: Duration = Duration::from_secs(2);
/// The same when the operation was cancelled: a person may be waiting for everything to stop.
const GRACE_OF_CANCEL: Duration = Duration::from_millis(300);
/// So long output is read that others still hold open after the command ended.
const LINGER: Duration = Duration::from_secs(2);
/// From this limit on the platform would stop waiting before we answered.
const EARLY_FROM: Duration = Duration::from_secs(28);
/// So much earlier such a command is asked to end.
const EARLY_BY: Duration = Duration::from_secs(3);
/// How often a tree that was asked to end is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How long and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) ask_after: Duration,
    pub(super) budget_bytes: usize,
}

impl Plan {
    pub(super) fn new(op: &CommandOp, limits: &Limits, early_term: bool) -> Self {
        let limit = op.timeout.map_or(limits.command_timeout, |asked| asked.min(limits.command_timeout));
        let ask_after = if early_term && limit >= EARLY_FROM { limit - EARLY_BY } else { limit };
        Self { ask_after, budget_bytes: usize::try_from(limits.max_file_size_bytes).unwrap_or(usize::MAX) }
    }
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    ByItself(i32),
    TimedOut,
    Cancelled,
}

/// Runs a command to its end.
pub(super) async fn run(
    start: Start,
    report: Option<WallReport>,
    shown: &str,
    plan: Plan,
    cancel: &CancellationToken,
) -> Result<CommandResult, OpError> {
    let begin = Instant::now();
    let could_not = |fault: std::io::Error| start_error(shown, report.is_some(), &fault);
    let mut running = process::spawn(start).map_err(could_not)?;
    let mut pipes = Pipes::of(&mut running, plan.budget_bytes);
    let end = until_end(&mut running, &mut pipes, begin + plan.ask_after, cancel).await;
    let end = match end {
        Ok(end) => end,
        Err(fault) => {
            let _ = running.end().await;
            return Err(OpError::Internal(format!("the end of the command could not be seen: {fault}")));
        }
    };
    match end {
        End::ByItself(_) => pipes.drain_until(Instant::now() + LINGER, cancel).await,
        End::TimedOut => ask_to_end(&mut running, &mut pipes, GRACE, cancel).await,
        End::Cancelled => ask_to_end(&mut running, &mut pipes, GRACE_OF_CANCEL, &CancellationToken::new()).await,
    }
    let cancelled = end == End::Cancelled || cancel.is_cancelled();
    if !running.settle_if_quiet() {
        running.end().await.map_err(|fault| OpError::Internal(fault.to_string()))?;
    }
    if cancelled {
        return Err(OpError::Cancelled);
    }
    pipes.drain_rest().await;
    let duration = begin.elapsed();
    let texts = pipes.output.finish();
    let (exit_code, timed_out) = match end {
        End::ByItself(code) => (code, false),
        End::TimedOut | End::Cancelled => (-1, true),
    };
    match report.map(WallReport::read) {
        None | Some(WallState::Stood) => {}
        Some(WallState::NotStarted(message)) => {
            return Err(OpError::CommandStart { program: shown.to_owned(), message });
        }
        Some(WallState::Missing(why)) => {
            let why = why.unwrap_or_else(|| format!("bubblewrap: {}", texts.err.trim()));
            return Err(OpError::ConfinementMissing { why });
        }
    }
    Ok(CommandResult {
        stdout: texts.out,
        stderr: texts.err,
        exit_code,
        timed_out,
        duration,
        output_truncated: texts.truncated,
    })
}

async fn until_end(
    running: &mut Running,
    pipes: &mut Pipes,
    deadline: Instant,
    cancel: &CancellationToken,
) -> std::io::Result<End> {
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(End::Cancelled),
            code = running.wait() => return Ok(End::ByItself(code?)),
            () = tokio::time::sleep_until(deadline) => return Ok(End::TimedOut),
            () = pipes.read_some(), if pipes.any_open() => {}
        }
    }
}

/// Asks all of it to end and waits until it has, for the grace at most.
async fn ask_to_end(running: &mut Running, pipes: &mut Pipes, grace: Duration, cancel: &CancellationToken) {
    let deadline = Instant::now() + grace;
    let tree = running.tree();
    let _ = tokio::task::spawn_blocking(move || tree.terminate()).await;
    let mut ended = false;
    loop {
        if ended && running.tree().is_quiet() {
            return;
        }
        let look = (Instant::now() + LOOK).min(deadline);
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(deadline) => return,
            () = cancel.cancelled() => return,
            _ = running.wait(), if !ended => ended = true,
            () = pipes.read_some(), if pipes.any_open() => {}
            () = tokio::time::sleep_until(look), if ended => {}
        }
    }
}

/// Both pipes and what came through them.
#[derive(Debug)]
struct Pipes {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    output: Output,
    out_buffer: Vec<u8>,
    err_buffer: Vec<u8>,
}

impl Pipes {
    fn of(running: &mut Running, budget: usize) -> Self {
        let buffer = || vec![0_u8; 32 * 1024];
        Self {
            out: running.stdout.take(),
            err: running.stderr.take(),
            output: Output::new(budget),
            out_buffer: buffer(),
            err_buffer: buffer(),
        }
    }

    fn any_open(&self) -> bool {
        self.out.is_some() || self.err.is_some()
    }

    /// Reads once from whichever pipe has something. Loses nothing when dropped before it is done.
    async fn read_some(&mut self) {
        let Self { out, err, output, out_buffer, err_buffer } = self;
        tokio::select! {
            read = read_from(out.as_mut(), out_buffer), if out.is_some() => match read {
                Ok(count) if count > 0 => output.push(Stream::Out, out_buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => *out = None,
            },
            read = read_from(err.as_mut(), err_buffer), if err.is_some() => match read {
                Ok(count) if count > 0 => output.push(Stream::Err, err_buffer.get(..count).unwrap_or_default()),
                Ok(_) | Err(_) => *err = None,
            },
            else => {}
        }
    }

    async fn drain_until(&mut self, deadline: Instant, cancel: &CancellationToken) {
        while self.any_open() {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                () = tokio::time::sleep_until(deadline) => return,
                () = self.read_some() => {}
            }
        }
    }

    /// Takes what is still in the pipes once everybody who could write is gone; a moment at most.
    async fn drain_rest(&mut self) {
        self.drain_until(Instant::now() + Duration::from_millis(200), &CancellationToken::new()).await;
    }
}

async fn read_from<R: tokio::io::AsyncRead + Unpin>(pipe: Option<&mut R>, buffer: &mut [u8]) -> std::io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}

fn start_error(shown: &str, confined: bool, fault: &std::io::Error) -> OpError {
    if confined {
        OpError::ConfinementMissing { why: format!("bubblewrap: {fault}") }
    } else if fault.kind() == std::io::ErrorKind::NotFound {
        OpError::ShellNotAvailable { requested: shown.to_owned() }
    } else {
        OpError::CommandStart { program: shown.to_owned(), message: fault.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use drawbridge_core::{CommandLine, ShellKind};

    use super::*;

    #[test]
    fn a_command_that_may_run_to_the_ceiling_is_asked_to_end_early() {
        let seconds = Duration::from_secs;
        for (asked, ceiling, early, expected) in [
            (None, 30, true, 27),
            (None, 30, false, 30),
            (Some(28), 30, true, 25),
            (Some(27), 30, true, 27),
            (Some(90), 30, true, 27),
            (Some(90), 120, true, 87),
            (Some(1), 30, true, 1),
            (Some(60), 10, true, 10),
        ] {
            let op = CommandOp {
                line: CommandLine::Shell { command: "true".to_owned(), shell: ShellKind::Auto },
                cwd: None,
                timeout: asked.map(seconds),
                env: BTreeMap::new(),
            };
            let limits = Limits { command_timeout: seconds(ceiling), ..Limits::default() };
            assert_eq!(Plan::new(&op, &limits, early).ask_after, seconds(expected), "{asked:?} of {ceiling}");
        }
    }
}
