//! Judges what comes to the redirect address: the one right visit, strays, and visits with a wrong state (spec 1.2).
//! No I/O.

use oauth2::url::Url;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

/// The path of the redirect address.
pub(super) const CALLBACK_PATH: &str = "/callback";

/// What a visit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Visit {
    /// Not for us.
    Elsewhere,
    /// The right path without our state: from another attempt, or from somebody who guesses.
    WrongState,
    /// The person said no, or the platform could not.
    Failed(String),
    /// The code that can be exchanged.
    Code(String),
}

/// Judges a request target or the rest of a pasted address, for example `/callback?code=…&state=…`.
pub(super) fn judge(target: &str, state: &SecretString) -> Visit {
    let Some(url) = target.starts_with('/').then(|| Url::parse(&format!("http://localhost{target}")).ok()).flatten()
    else {
        return Visit::Elsewhere;
    };
    if url.path() != CALLBACK_PATH {
        return Visit::Elsewhere;
    }
    let values = |name: &str| -> Vec<String> {
        url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    };
    let right = match values("state").as_slice() {
        [given] => given.as_bytes().ct_eq(state.expose_secret().as_bytes()).into(),
        _ => false,
    };
    if !right {
        return Visit::WrongState;
    }
    match (values("error").as_slice(), values("code").as_slice()) {
        ([], [code]) if !code.is_empty() => Visit::Code(code.clone()),
        ([error, ..], _) => Visit::Failed(error.clone()),
        ([], _) => Visit::Failed("the platform sent no code".to_owned()),
    }
}

/// Why a pasted address cannot be used. The attempt goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasteFault {
    /// Not the address where the browser should have ended up.
    #[error(
        "this is not the address of the page where the browser ended up; it starts with http://localhost and holds /callback"
    )]
    OtherAddress,
    /// From another attempt.
    #[error("this address belongs to another sign-in attempt; use the page that was opened last")]
    WrongState,
    /// The sign-in is over.
    #[error("this sign-in has ended already; start it again")]
    Over,
}

/// Takes the target out of a pasted address, if it is an address of this attempt's listener.
pub(super) fn pasted_target(address: &str, port: u16) -> Result<String, PasteFault> {
    let url = Url::parse(address.trim()).map_err(|_| PasteFault::OtherAddress)?;
    let ours = url.scheme() == "http"
        && matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
        && url.port_or_known_default() == Some(port)
        && url.path() == CALLBACK_PATH
        && url.username().is_empty()
        && url.password().is_none();
    match (ours, url.query()) {
        (true, Some(query)) => Ok(format!("{CALLBACK_PATH}?{query}")),
        _ => Err(PasteFault::OtherAddress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(target: &str) -> Visit {
        judge(target, &SecretString::from("right"))
    }

    #[test]
    fn only_the_right_path_with_the_right_state_counts() {
        assert_eq!(visit("/callback?code=c%2F1&state=right"), Visit::Code("c/1".to_owned()));
        assert_eq!(visit("/callback?error=access_denied&state=right"), Visit::Failed("access_denied".to_owned()));
        for stray in ["/favicon.ico", "/", "/callback/", "/callback2?code=c&state=right", "http://x/callback", "*"] {
            assert_eq!(visit(stray), Visit::Elsewhere, "{stray}");
        }
        for wrong in [
            "/callback",
            "/callback?code=c",
            "/callback?code=c&state=bad",
            "/callback?error=access_denied&state=bad",
            "/callback?code=c&state=right&state=right",
            "/callback?code=c&state=",
        ] {
            assert_eq!(visit(wrong), Visit::WrongState, "{wrong}");
        }
    }

    #[test]
    fn the_right_state_without_one_code_ends_the_attempt() {
        for odd in ["/callback?state=right", "/callback?code=&state=right", "/callback?code=a&code=b&state=right"] {
            assert_eq!(visit(odd), Visit::Failed("the platform sent no code".to_owned()), "{odd}");
        }
    }

    #[test]
    fn only_an_address_of_this_attempt_can_be_pasted() {
        let good = " http://localhost:41900/callback?code=c&state=s ";

        assert_eq!(pasted_target(good, 41900), Ok("/callback?code=c&state=s".to_owned()));
        for bad in [
            "http://localhost:41901/callback?code=c&state=s",
            "https://localhost:41900/callback?code=c&state=s",
            "http://localhost.evil.example:41900/callback?code=c&state=s",
            "http://localhost@evil.example:41900/callback?code=c&state=s",
            "http://localhost:41900/callback",
            "http://localhost:41900/elsewhere?code=c",
            "code=c&state=s",
            "",
        ] {
            assert_eq!(pasted_target(bad, 41900), Err(PasteFault::OtherAddress), "{bad}");
        }
    }
}
