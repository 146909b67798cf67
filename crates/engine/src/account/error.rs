//! Why something about the account did not work, in words for the person and by stable names.

/// Why something about the account did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// There are no tokens.
    #[error("you are not signed in; sign in first")]
    SignedOut,
    /// The platform does not accept the code or the refresh token any more.
    #[error("the platform refused the sign-in ({status}); sign in again")]
    Refused {
        /// Its HTTP status.
        status: u16,
    },
    /// The sign-in has run out by age.
    #[error("your sign-in has run out; sign in again")]
    RunOut,
    /// The platform refused, and the last renewal never came to its end.
    #[error(
        "the platform took the sign-in back ({status}): Drawbridge was ended in the middle of renewing it, before it could store the new one; sign in again"
    )]
    CutOff {
        /// Its HTTP status.
        status: u16,
    },
    /// The tokens that are kept are for another platform or another client id. They are not sent anywhere.
    #[error(
        "the sign-in that is kept here is for {kept}, and this is {here}, so it is not used; sign in here, which replaces it, or go back to the other platform"
    )]
    OtherPlatform {
        /// Whom they are for, safe to show.
        kept: String,
        /// What is set now, safe to show.
        here: String,
    },
    /// The platform does not know this program's client id, or takes it for another kind of client.
    #[error("the platform does not know this client id (401); check oauth_client_id and platform_url in config.toml")]
    UnknownClient,
    /// The platform cannot be reached, or is not well. Everything is kept; trying again makes sense.
    #[error("the platform cannot be reached: {why}; your tokens are kept, try again later")]
    Unreachable {
        /// In words.
        why: String,
    },
    /// The platform's answer makes no sense to us.
    #[error("the sign-in did not work: {why}")]
    Unusable {
        /// In words.
        why: String,
    },
    /// An address cannot be used as it is configured.
    #[error("the sign-in cannot be set up: {why}")]
    Configuration {
        /// In words.
        why: String,
    },
    /// The place for secrets did not work.
    #[error("the tokens cannot be read or stored: {why}")]
    Store {
        /// In words.
        why: String,
    },
    /// The platform did not revoke a token.
    #[error("the platform did not revoke the tokens ({status}); they are kept, try again")]
    RevokeRefused {
        /// Its HTTP status.
        status: u16,
    },
    /// The person said no at the platform, or the platform ended the attempt.
    #[error("the platform did not give access ({}); nothing was stored", shown_error(.error))]
    Denied {
        /// The OAuth error, as the platform wrote it.
        error: String,
    },
    /// None of the registered ports is free.
    #[error(
        "all ports from 41899 to 41910 are in use, so the browser could not come back; nothing was stored, close another sign-in and try again"
    )]
    PortsTaken,
    /// Nobody finished the page in time.
    #[error("nobody finished the sign-in page within 5 minutes; nothing was stored, start it again")]
    TimedOut,
    /// Too many visits with a wrong state.
    #[error("too many visits with a wrong sign-in state came; nothing was stored, start it again")]
    TooManyStrays,
    /// The person gave up.
    #[error("the sign-in was cancelled; nothing was stored")]
    Cancelled,
}

impl AccountError {
    /// Tells whether the same call may work later without the person.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Store { .. } => true,
            Self::SignedOut
            | Self::Refused { .. }
            | Self::RunOut
            | Self::CutOff { .. }
            | Self::OtherPlatform { .. }
            | Self::UnknownClient
            | Self::Unusable { .. }
            | Self::Configuration { .. }
            | Self::RevokeRefused { .. }
            | Self::Denied { .. }
            | Self::PortsTaken
            | Self::TimedOut
            | Self::TooManyStrays
            | Self::Cancelled => false,
        }
    }

    /// Returns the stable name, for the page and the control socket.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SignedOut => "signed_out",
            Self::Refused { .. } => "sign_in_refused",
            Self::CutOff { .. } => "sign_in_cut_off",
            Self::RunOut => "sign_in_expired",
            Self::OtherPlatform { .. } => "other_platform",
            Self::UnknownClient => "unknown_client",
            Self::Unreachable { .. } => "platform_unreachable",
            Self::Unusable { .. } => "unusable_answer",
            Self::Configuration { .. } => "configuration",
            Self::Store { .. } => "secret_store",
            Self::RevokeRefused { .. } => "revoke_refused",
            Self::Denied { .. } => "denied",
            Self::PortsTaken => "ports_taken",
            Self::TimedOut => "timed_out",
            Self::TooManyStrays => "too_many_strays",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The OAuth error is text from outside.
fn shown_error(error: &str) -> String {
    drawbridge_core::shorten_middle(&drawbridge_core::escape_outside_text(error), 60)
}
