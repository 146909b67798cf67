//! The platform's addresses, all made from one base (spec 1.1).

use oauth2::url::Url;

use drawbridge_core::SessionId;

use crate::net::is_loopback;

/// The base address of the platform: `http(s)` and `ws(s)` mean the same. Plain forms only for this computer itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformUrl {
    /// Always in the `http(s)` form and without a slash at the end.
    base: String,
    secure: bool,
}

/// Why an address cannot be the platform's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformUrlFault {
    /// Not an address at all, or with parts that make no sense here.
    #[error("the platform address is not usable: {0}")]
    Unusable(String),
    /// Unencrypted and not on this computer.
    #[error(
        "the platform address {0} is not encrypted and not on this computer, so a sign-in would be readable on the way; use https:// or wss://"
    )]
    Forbidden(String),
}

impl PlatformUrl {
    /// Checks the text and takes it as the platform's base address.
    ///
    /// # Errors
    /// [`PlatformUrlFault`] when it is no address, or a plain one for another machine.
    pub fn parse(text: &str) -> Result<Self, PlatformUrlFault> {
        let wrong = |why: &str| PlatformUrlFault::Unusable(why.to_owned());
        let url = Url::parse(text.trim()).map_err(|err| wrong(&err.to_string()))?;
        let secure = match url.scheme() {
            "https" | "wss" => true,
            "http" | "ws" => false,
            _ => return Err(wrong("it must start with https://, wss://, or for this computer http:// or ws://")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must not hold a user name or password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it must end with the host or a path"));
        }
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        if !secure && !is_loopback(host) {
            return Err(PlatformUrlFault::Forbidden(format!("{}://{host}{port}", url.scheme())));
        }
        let scheme = if secure { "https" } else { "http" };
        Ok(Self { base: format!("{scheme}://{host}{port}{}", url.path().trim_end_matches('/')), secure })
    }

    /// Returns the address of the control link.
    #[must_use]
    pub fn control_socket(&self) -> String {
        let rest = self.base.trim_start_matches("https").trim_start_matches("http");
        format!("{}{rest}/ws/local-executor", if self.secure { "wss" } else { "ws" })
    }

    /// Returns the address of a chat's data link.
    #[must_use]
    pub fn data_socket(&self, session: &SessionId) -> String {
        let mut address = self.control_socket();
        address.push('/');
        for byte in session.as_str().bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                address.push(char::from(byte));
            } else {
                address.push_str(&format!("%{byte:02X}"));
            }
        }
        address
    }

    /// Returns the base in its `http(s)` form, for the person.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.base
    }

    pub(crate) fn authorize(&self) -> String {
        format!("{}/auth/authorize", self.base)
    }

    pub(crate) fn token(&self) -> String {
        format!("{}/api/oauth/token", self.base)
    }

    pub(crate) fn revoke(&self) -> String {
        format!("{}/api/oauth/revoke", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_comes_from_one_base_in_either_form() {
        for base in ["wss://platform.example", "https://platform.example/"] {
            let url = PlatformUrl::parse(base).unwrap();

            assert_eq!(url.control_socket(), "wss://platform.example/ws/local-executor");
            assert_eq!(url.authorize(), "https://platform.example/auth/authorize");
            assert_eq!(url.token(), "https://platform.example/api/oauth/token");
            assert_eq!(url.revoke(), "https://platform.example/api/oauth/revoke");
        }
        let prefixed = PlatformUrl::parse("http://127.0.0.1:8123/base/").unwrap();
        assert_eq!(prefixed.control_socket(), "ws://127.0.0.1:8123/base/ws/local-executor");
    }

    #[test]
    fn a_session_id_is_escaped_whole() {
        let url = PlatformUrl::parse("ws://localhost:1").unwrap();
        let session = SessionId::parse("chat:1.a_b-c").unwrap();

        assert_eq!(url.data_socket(&session), "ws://localhost:1/ws/local-executor/chat%3A1.a_b-c");
    }

    #[test]
    fn plain_addresses_are_for_this_computer_only() {
        for good in ["http://localhost:1", "ws://127.9.9.9", "http://[::1]:8"] {
            assert!(PlatformUrl::parse(good).is_ok(), "{good}");
        }
        for bad in ["http://platform.example", "ws://10.0.0.1", "http://localhost.evil.example", "http://0.0.0.0"] {
            assert!(matches!(PlatformUrl::parse(bad), Err(PlatformUrlFault::Forbidden(_))), "{bad}");
        }
    }

    #[test]
    fn addresses_with_odd_parts_are_refused() {
        for bad in ["", "platform", "ftp://x", "https://user:pw@host", "https://host/?a=b", "https://host/#x"] {
            assert!(matches!(PlatformUrl::parse(bad), Err(PlatformUrlFault::Unusable(_))), "{bad}");
        }
    }
}
