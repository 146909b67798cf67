//! What a close code of the platform means for us (spec 4.6).

use super::effect::{End, Halt, HaltKind, Pace, Retry, Revoked, RevokedSource};
use crate::executor::codec::cut_at;

/// Reads a close. `code` is none when the connection broke without one.
pub(super) fn of_close(code: Option<u16>, reason: &str) -> End {
    match code {
        Some(4426) => revoked(4426, "protocol_version_mismatch"),
        Some(4427) => revoked(4427, "session_taken_over"),
        Some(4428) => revoked(4428, "session_revoked"),
        Some(4429) => revoked(4429, "platform_shutdown"),
        Some(4401) => End::Retry(Retry {
            refresh_first: true,
            ..retry(
                code,
                "token_expired",
                "The access token expired; it is renewed and the link comes back.".to_owned(),
            )
        }),
        Some(4400) => halt(
            HaltKind::Protocol,
            "greeting_refused",
            "The platform refused the greeting of this computer, and would again. The link stays down. Update \
             Drawbridge, then connect again.",
        ),
        Some(4403) => halt(
            HaltKind::Auth,
            "account_refused",
            "The platform refused this account or chat. The link stays down. Check the account at the platform, then \
             sign in again.",
        ),
        Some(1000) => {
            End::Retry(Retry { pace: Pace::Base, ..retry(code, "closed", "The platform closed the link.".to_owned()) })
        }
        Some(number) => End::Retry(retry(code, name(number), words(number, reason))),
        None => End::Retry(retry(code, "broke", "The link broke.".to_owned())),
    }
}

/// A plain retry with a growing wait.
pub(super) fn retry(close_code: Option<u16>, code: &'static str, reason: String) -> Retry {
    Retry { pace: Pace::Grow, refresh_first: false, bad_handshake: false, close_code, code, reason }
}

const fn name(code: u16) -> &'static str {
    match code {
        4408 => "greeting_late",
        4500 | 1011 => "platform_fault",
        1009 => "too_large",
        _ => "closed",
    }
}

fn words(code: u16, reason: &str) -> String {
    match code {
        4408 => "The platform did not get our greeting in time.".to_owned(),
        4500 | 1011 => format!("The platform had a fault of its own (close code {code})."),
        1009 => "The platform found one of our messages too large (close code 1009).".to_owned(),
        _ if reason.is_empty() => format!("The link was closed (close code {code})."),
        _ => format!(
            "The link was closed (close code {code}: {}).",
            drawbridge_core::escape_outside_text(cut_at(reason, 123))
        ),
    }
}

fn revoked(code: u16, label: &str) -> End {
    End::Revoked(Revoked {
        reason: label.to_owned(),
        source: RevokedSource::WsCloseCode,
        close_code: Some(code),
        new_shim_machine_id: None,
    })
}

fn halt(kind: HaltKind, code: &'static str, reason: &str) -> End {
    End::Halt(Halt { kind, code, reason: reason.to_owned() })
}
