//! The words of `audit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// The audit key, for support and for other verifiers
    Key(KeyArgs),
    /// Checks the current file and the head kept elsewhere. Exit 0 sound, 1 findings
    Verify {
        /// Accepts the older way of writing numbers
        #[arg(long)]
        compat: bool,
    },
    /// Checks all files and their order. Exit 0 sound, 1 findings
    VerifyAll {
        /// Accepts the older way of writing numbers
        #[arg(long)]
        compat: bool,
    },
    /// Prints one record as a JSON object
    Show {
        /// Its number
        seq: u64,
        /// Name of the file to look in; without it the current one, then the rotated ones
        #[arg(long, value_name = "NAME")]
        file: Option<String>,
    },
    /// Prints records as JSON lines, then follows until it is ended
    Tail {
        /// Start with the newest N; all without it
        #[arg(short, value_name = "N")]
        n: Option<usize>,
        /// Do not follow
        #[arg(long)]
        no_follow: bool,
    },
    /// Closes the current file under a new name and begins a new one
    Rotate,
    /// Writes a signed bundle of all files for somebody else. It holds paths and command lines, and not the key
    Export {
        /// The file to write; it must not be there yet
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Removes rotated files whose newest record is older
    Prune {
        /// The age: a number with d, h, m or s
        #[arg(long, value_name = "N[dhms]", value_parser = duration)]
        older_than: Duration,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Print the key as 64 hex digits. Whoever has it can forge the log
    #[arg(long, required = true)]
    pub(crate) show: bool,
}

/// Reads an integer with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a whole number followed by d, h, m or s is wanted, for example 90d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| "this is longer than any log is old".to_owned())?;
    let seconds = number.checked_mul(seconds).ok_or("this is longer than any log is old")?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(duration("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for bad in ["", "d", "90", "-1d", "+1d", "1.5h", "1w", "1d2h", " 1d", "٣d", "99999999999999999d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
