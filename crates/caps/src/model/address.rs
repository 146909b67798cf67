//! Addresses of model servers: what a person may write, and the one form in which it is kept.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest address that is taken.
const MAX_ADDRESS_BYTES: usize = 500;
/// Paths that people copy along with the address; the path that is asked is added here.
const KNOWN_PATHS: [&str; 5] = ["", "/", "/v1", "/api", "/v1/models"];

/// What is wrong with the address of a server. Its text is a sentence for the person who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerFault {
    /// Nothing was given.
    Empty,
    /// Longer than any address.
    TooLong,
    /// Neither `http` nor `https`.
    Scheme,
    /// The host is missing, or is no name and no address.
    Host,
    /// The port is no number from 1 to 65535.
    Port,
    /// It holds a user name or a password.
    Credentials,
    /// It goes on after the host in a way that no model server uses.
    Path,
    /// It is an address of another computer, and the person has not said that this is meant.
    Far,
}

impl ServerFault {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::Scheme => "scheme",
            Self::Host => "host",
            Self::Port => "port",
            Self::Credentials => "credentials",
            Self::Path => "path",
            Self::Far => "far",
        }
    }
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "no address was given; write it like http://localhost:11434",
            Self::TooLong => "the address is too long; write it like http://localhost:11434",
            Self::Scheme => "the address must begin with http:// or https://",
            Self::Host => "the address names no computer; write it like http://localhost:11434",
            Self::Port => "the port must be a number from 1 to 65535",
            Self::Credentials => "an address with a user name or a password is not taken, since it would be kept in the clear",
            Self::Path => "the address goes on after the port; only /v1 or nothing may follow",
            Self::Far => {
                "this address is on another computer: prompts and answers would leave this one; say that this is meant, or use \
                 a server on this computer"
            }
        })
    }
}

impl std::error::Error for ServerFault {}

/// Checks the address of a server and returns the form in which it is kept: `http://host:port`, the host in lower case, without
/// a path, and the port left out where it is the scheme's own. `far` says that another computer is meant or allowed.
///
/// Names pass: what they lead to is checked at each connection.
///
/// # Errors
/// What is wrong with it.
pub fn parse_server(url: &str, far: bool) -> Result<String, ServerFault> {
    Address::parse(url, far).map(|address| address.to_string())
}

/// An address in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// TLS is spoken.
    pub(crate) secure: bool,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Ip(IpAddr),
    Name(String),
}

impl Address {
    pub(crate) fn parse(url: &str, far: bool) -> Result<Self, ServerFault> {
        let url = url.trim();
        if url.is_empty() {
            return Err(ServerFault::Empty);
        }
        if url.len() > MAX_ADDRESS_BYTES {
            return Err(ServerFault::TooLong);
        }
        let (secure, rest) = scheme(url)?;
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(ServerFault::Credentials);
        }
        let known = KNOWN_PATHS.contains(&path.strip_suffix('/').unwrap_or(path));
        if !known {
            return Err(ServerFault::Path);
        }
        let (host, port) = split_port(authority)?;
        let host = Host::parse(host)?;
        if let Host::Ip(ip) = host
            && !far
            && !ip.is_loopback()
        {
            return Err(ServerFault::Far);
        }
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or(ServerFault::Port)?,
            None => default_port(secure),
        };
        Ok(Self { secure, host, port })
    }

    /// Returns what the `Host` header says.
    pub(crate) fn authority(&self) -> String {
        if self.port == default_port(self.secure) {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.secure { "https://" } else { "http://" }, self.authority())
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, ServerFault> {
        if let Some(inner) = text.strip_prefix('[') {
            let ip: Ipv6Addr = inner.strip_suffix(']').and_then(|ip| ip.parse().ok()).ok_or(ServerFault::Host)?;
            return Ok(Self::Ip(here(ip.to_canonical())));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Ip(here(ip.into())));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let clean = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        // A name that ends in a number is an odd spelling of an IPv4 address, such as 127.1 or 0x7f000001.
        let last = name.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
        if name.len() > 253 || !name.split('.').all(clean) || number {
            return Err(ServerFault::Host);
        }
        Ok(Self::Name(name))
    }
}

impl Host {
    /// Tells whether it is this computer, whatever a resolver says.
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Self::Ip(ip) => ip.is_loopback(),
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Self::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A server says that it listens at "any address", and people copy that: for a client it is this computer.
fn here(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) | IpAddr::V6(_) => ip,
    }
}

/// Takes the scheme off. Without one, as people often write it, it is `http`.
fn scheme(url: &str) -> Result<(bool, &str), ServerFault> {
    match url.split_once("://") {
        None => Ok((false, url)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => Ok((false, rest)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => Ok((true, rest)),
        Some(_) => Err(ServerFault::Scheme),
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), ServerFault> {
    let after_host = authority.find(']').map_or(0, |at| at + 1);
    let (before, after) = authority.split_at(after_host);
    match after.split_once(':') {
        // `http://:8080`
        Some(("", port)) if !before.is_empty() => Ok((before, Some(port))),
        Some((host, port)) if before.is_empty() && !host.is_empty() => Ok((host, Some(port))),
        None if before.is_empty() && !after.is_empty() => Ok((after, None)),
        None if after.is_empty() && !before.is_empty() => Ok((before, None)),
        Some(_) | None => Err(ServerFault::Host),
    }
}

const fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::{Address, ServerFault, parse_server};

    #[test]
    fn what_people_write_comes_to_one_form() {
        let written = [
            ("http://localhost:11434", "http://localhost:11434"),
            (" HTTP://LocalHost:1234/v1/ ", "http://localhost:1234"),
            ("localhost:8080/v1", "http://localhost:8080"),
            ("127.0.0.1:11434/api", "http://127.0.0.1:11434"),
            ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
            ("http://[::]:8000/", "http://[::1]:8000"),
            ("http://[::1]", "http://[::1]"),
            ("http://[::ffff:127.0.0.1]:8000", "http://127.0.0.1:8000"),
            ("http://localhost.:80", "http://localhost"),
            ("https://box.local:443/v1/models", "https://box.local"),
        ];

        for (given, kept) in written {
            let found = parse_server(given, false);

            assert_eq!(found.as_deref(), Ok(kept), "{given}");
            assert_eq!(parse_server(kept, false).as_deref(), Ok(kept), "what is kept is taken again");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_is_wrong() {
        let long = format!("http://{}", "a".repeat(600));
        let refused = [
            ("  ", ServerFault::Empty),
            (long.as_str(), ServerFault::TooLong),
            ("ftp://localhost", ServerFault::Scheme),
            ("http://", ServerFault::Host),
            ("http://:8080", ServerFault::Host),
            ("http://[::1", ServerFault::Host),
            ("http://[::1]x:80", ServerFault::Host),
            ("http://[fe80::1%25eth0]:80", ServerFault::Host),
            ("http://a..b", ServerFault::Host),
            ("http://loc alhost", ServerFault::Host),
            ("http://lo\u{200B}calhost", ServerFault::Host),
            ("http://127.1:80", ServerFault::Host),
            ("http://2130706433", ServerFault::Host),
            ("http://0x7f000001", ServerFault::Host),
            ("http://localhost:0", ServerFault::Port),
            ("http://localhost:65536", ServerFault::Port),
            ("http://localhost:", ServerFault::Port),
            ("http://localhost:80:80", ServerFault::Port),
            ("http://me:secret@localhost", ServerFault::Credentials),
            ("http://localhost@example.com", ServerFault::Credentials),
            ("http://localhost/v2", ServerFault::Path),
            ("http://localhost/v1/chat/completions", ServerFault::Path),
            ("http://localhost?x=1", ServerFault::Path),
            ("http://localhost\\x", ServerFault::Path),
            ("http://192.168.1.5:11434", ServerFault::Far),
            ("http://[2001:db8::1]", ServerFault::Far),
            ("http://[::ffff:10.0.0.1]", ServerFault::Far),
        ];

        for (given, fault) in refused {
            assert_eq!(parse_server(given, false), Err(fault), "{given}");
        }
    }

    #[test]
    fn another_computer_is_taken_once_that_is_meant() {
        assert_eq!(parse_server("http://192.168.1.5:11434", true).as_deref(), Ok("http://192.168.1.5:11434"));

        let address = Address::parse("http://[2001:db8::1]:11434", true).unwrap();

        assert_eq!(address.authority(), "[2001:db8::1]:11434");
    }
}
