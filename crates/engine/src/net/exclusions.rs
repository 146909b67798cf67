//! Hosts that are reached without the proxy: the forms of `NO_PROXY` that curl and Go agree on.
//!
//! Entries stand between commas or blanks: `*` (all), a host or domain (with or without a leading dot or `*.`; covers the
//! host itself and everything below it), an IP address, a network (`10.0.0.0/8`, `fd00::/8`), each of the first kinds with an
//! optional `:port` that must then match. Names are never looked up, so a network covers only hosts that are given as
//! addresses. An entry of no such form covers nothing.

use std::net::IpAddr;

/// The exclusion list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exclusions(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    hosts: Hosts,
    /// Only this port, if one is named.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    All,
    Name(String),
    Address(IpAddr),
    Network { base: IpAddr, prefix: u32 },
}

impl Exclusions {
    pub(super) fn parse(text: &str) -> Self {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        Self(words.filter_map(Entry::parse).collect())
    }

    /// Tells whether a host (without brackets, in lower case) is reached without the proxy.
    pub(super) fn cover(&self, host: &str, port: u16) -> bool {
        let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        let host = host.trim_end_matches('.');
        self.0.iter().any(|entry| entry.port.is_none_or(|only| only == port) && entry.hosts.cover(host, address))
    }
}

impl Entry {
    fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        if let Some((base, prefix)) = word.split_once('/') {
            return Some(Self { hosts: network(base, prefix)?, port: None });
        }
        let (host, port) = split_port(&word)?;
        let host = super::bare(host);
        let hosts = if host == "*" {
            Hosts::All
        } else if let Ok(address) = host.parse::<IpAddr>() {
            Hosts::Address(address.to_canonical())
        } else {
            let name = host.trim_start_matches("*.").trim_matches('.');
            if name.is_empty() {
                return None;
            }
            Hosts::Name(name.to_owned())
        };
        Some(Self { hosts, port })
    }
}

impl Hosts {
    fn cover(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::All => true,
            // An address is no name below another.
            Self::Name(name) => {
                address.is_none()
                    && (host == name || host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.')))
            }
            Self::Address(one) => address == Some(*one),
            Self::Network { base, prefix } => address.is_some_and(|address| within(address, *base, *prefix)),
        }
    }
}

/// Cuts a port off: not the colons of a bare IPv6 address. None for a port that is no number.
fn split_port(word: &str) -> Option<(&str, Option<u16>)> {
    let port_of = |text: &str| text.parse::<u16>().ok().map(Some);
    match (word.rsplit_once(':'), word.contains("]:"), word.matches(':').count()) {
        (Some((host, port)), true, _) | (Some((host, port)), false, 1) => Some((host, port_of(port)?)),
        _ => Some((word, None)),
    }
}

fn network(base: &str, prefix: &str) -> Option<Hosts> {
    let base: IpAddr = super::bare(base).parse().ok()?;
    let prefix = prefix.parse().ok().filter(|prefix| *prefix <= width(base))?;
    Some(Hosts::Network { base, prefix })
}

fn within(address: IpAddr, base: IpAddr, prefix: u32) -> bool {
    let (one, other) = (bits(address), bits(base));
    // A shift by the whole width leaves nothing to compare: prefix 0 covers all of its family.
    width(address) == width(base) && (one ^ other).checked_shr(width(base) - prefix).unwrap_or(0) == 0
}

const fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
#[path = "exclusions_tests.rs"]
mod tests;
