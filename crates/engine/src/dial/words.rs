//! What a person reads when the way to the platform fails: what happened, what it means, what to do.
//!
//! Whatever came from outside is made visible; a proxy is named by host and setting, never by its password.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{CertificateError, InvalidMessage};
use tokio_tungstenite::tungstenite;

use drawbridge_core::{escape_outside_text, shorten_middle};

use super::stream::Target;
use super::tunnel::Answer;
use super::{DialError, DialStep};
use crate::net::{CertificateFacts, NetFault, Proxy, UnknownIssuer, shown_name};

/// The most names of a certificate that are shown.
const NAMES_SHOWN: usize = 3;
const CHECK_INTERNET: &str = "check the internet connection and the platform's address";
/// What is configured is read once, at the start.
const AGAIN: &str = "then start Drawbridge again";
const ASK_PROXY_OWNER: &str = "ask whoever runs the proxy to allow it";
const PORTAL: &str =
    "if this network has a sign-in page, open it in a browser first; else check the platform's address";

/// A host has no address.
pub(crate) fn not_found(host: &str, err: &io::Error, proxy: Option<&Proxy>) -> DialError {
    let why = err.to_string();
    let why = outside(why.strip_prefix("failed to lookup address information: ").unwrap_or(&why));
    match proxy {
        None => {
            DialError::new(DialStep::Dns, format!("the host {host} was not found (DNS): {why}")).remedy(CHECK_INTERNET)
        }
        Some(proxy) => {
            DialError::new(DialStep::Dns, format!("the host of the proxy, {host}, was not found (DNS): {why}"))
                .remedy(check_proxy(proxy))
        }
    }
}

/// No address of a host can be reached.
pub(crate) fn not_reached(host: &str, port: u16, err: &io::Error, proxy: Option<&Proxy>) -> DialError {
    let kind = err.kind();
    let why = if kind == io::ErrorKind::ConnectionRefused {
        "nobody listens there (connection refused)".to_owned()
    } else if matches!(kind, io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) {
        "no network of this computer leads there".to_owned()
    } else {
        outside(&err.to_string())
    };
    let place = crate::net::authority(host, port);
    match proxy {
        None => DialError::new(DialStep::Tcp, format!("{place} cannot be reached (TCP): {why}")).remedy(
            "check the internet connection; where only a proxy leads out, set url under [proxy] in config.toml",
        ),
        Some(proxy) => DialError::new(DialStep::Tcp, format!("the proxy {place} cannot be reached (TCP): {why}"))
            .remedy(check_proxy(proxy)),
    }
}

/// The proxy answered, and not with a tunnel.
pub(crate) fn proxy_refused(proxy: &Proxy, target: &Target, answer: &Answer) -> DialError {
    let (status, setting, place) = (answer.status, proxy.setting, target.authority());
    let form = "http://USER:PASSWORD@HOST:PORT";
    let (why, remedy) = match status {
        407 if !answer.offers.is_empty() && !answer.offers.iter().any(|kind| kind == "basic") => {
            let offers = outside(&answer.offers.join(", "));
            (
                format!("it wants a kind of sign-in that Drawbridge does not know ({offers})"),
                "ask whoever runs the proxy for Basic sign-in, or run a small local proxy that signs in for you"
                    .to_owned(),
            )
        }
        407 if proxy.authorization.is_some() => {
            ("it does not accept the user name and password".to_owned(), format!("correct them in {setting}, {AGAIN}"))
        }
        407 => ("it wants a user name and password".to_owned(), format!("put them into {setting} ({form}), {AGAIN}")),
        403 | 405 => (format!("it does not allow a connection to {place}"), ASK_PROXY_OWNER.to_owned()),
        502..=504 => (
            format!("it cannot reach {place} itself"),
            "check the platform's address; if it is right, ask whoever runs the proxy".to_owned(),
        ),
        300..=399 => ("it wants to lead elsewhere instead of to the platform".to_owned(), PORTAL.to_owned()),
        _ => (format!("it opens no way to {place}"), check_proxy(proxy)),
    };
    let message = format!("the proxy {}: proxy refused ({status}): {why}", proxy.shown());
    DialError { status: Some(status), ..DialError::new(DialStep::Proxy, message).remedy(remedy) }
}

/// What should be a proxy does not behave like one.
pub(crate) fn proxy_broken(proxy: &Proxy, why: &str) -> DialError {
    DialError::new(DialStep::Proxy, format!("the proxy {}: {why}", proxy.shown())).remedy(check_proxy(proxy))
}

fn check_proxy(proxy: &Proxy) -> String {
    format!("check the proxy in {}; after a change, start Drawbridge again", proxy.setting)
}

/// There are no roots to trust.
pub(crate) fn no_trust(fault: &NetFault) -> DialError {
    DialError::new(DialStep::Tls, fault.to_string())
        .remedy("install the root certificates of the system (package ca-certificates) or set extra_roots under [tls]")
}

/// The connection is there, and not a trusted one.
pub(crate) fn not_secure(host: &str, err: &io::Error) -> DialError {
    let fault = err.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let (why, remedy) = match fault {
        Some(rustls::Error::InvalidCertificate(fault)) => certificate(fault),
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            ("the other side does not speak TLS at this port".to_owned(), Some(PORTAL.to_owned()))
        }
        Some(other) => (outside(&other.to_string()), None),
        None if matches!(err.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => (
            "the connection was cut while it was being encrypted".to_owned(),
            Some("a firewall or proxy may forbid this host; ask whoever runs the network".to_owned()),
        ),
        None => (outside(&err.to_string()), None),
    };
    let error = DialError::new(DialStep::Tls, format!("no secure connection (TLS) to {host}: {why}"));
    DialError { remedy, ..error }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library adds kinds, and its own words do for the rare ones")]
fn certificate(fault: &CertificateError) -> (String, Option<String>) {
    match fault {
        CertificateError::UnknownIssuer => unknown_issuer(None),
        CertificateError::Other(other) => match other.0.downcast_ref::<UnknownIssuer>() {
            Some(unknown) => unknown_issuer(unknown.facts.as_ref()),
            None => (outside(&other.to_string()), None),
        },
        CertificateError::ExpiredContext { time, not_after } => (
            format!("its certificate ended on {}", day(*not_after)),
            Some(format!(
                "check this computer's clock, which says {}; if it is right, the platform has to renew its certificate",
                minute(*time)
            )),
        ),
        CertificateError::Expired => (
            "its certificate has ended".to_owned(),
            Some("check this computer's clock; if it is right, the platform has to renew its certificate".to_owned()),
        ),
        CertificateError::NotValidYetContext { time, not_before } => (
            format!("its certificate holds only from {} on", day(*not_before)),
            Some(format!("check this computer's clock, which says {}", minute(*time))),
        ),
        CertificateError::NotValidYet => {
            ("its certificate does not hold yet".to_owned(), Some("check this computer's clock".to_owned()))
        }
        CertificateError::NotValidForNameContext { presented, .. } => wrong_name(presented),
        CertificateError::NotValidForName => wrong_name(&[]),
        CertificateError::Revoked => ("its certificate was revoked".to_owned(), None),
        other => (format!("its certificate is not acceptable: {}", outside(&other.to_string())), None),
    }
}

fn unknown_issuer(facts: Option<&CertificateFacts>) -> (String, Option<String>) {
    let issuer = match facts {
        Some(facts) if facts.own_issuer => format!("unknown issuer: it is signed by itself (\"{}\")", facts.issuer),
        Some(facts) => format!("unknown issuer \"{}\", which this computer does not trust", facts.issuer),
        None => "unknown issuer, which this computer does not trust".to_owned(),
    };
    let remedy = "if your organisation or your own platform issued it, name that root certificate in extra_roots under [tls] \
                  in config.toml, or add it to this computer's trust store, then start Drawbridge again; else somebody \
                  may be reading along";
    (format!("its certificate has an {issuer}"), Some(remedy.to_owned()))
}

fn wrong_name(presented: &[String]) -> (String, Option<String>) {
    // The library writes names as `DnsName("…")`.
    let bare = |name: &String| match (name.find('"'), name.rfind('"')) {
        (Some(start), Some(end)) if start < end => shown_name(&name[start + 1..end]),
        _ => shown_name(name),
    };
    let mut names = presented.iter().take(NAMES_SHOWN).map(bare).collect::<Vec<_>>().join(", ");
    if presented.len() > NAMES_SHOWN {
        names.push_str(", …");
    }
    let why = if names.is_empty() {
        "its certificate is for another host".to_owned()
    } else {
        format!("its certificate is for another host ({names})")
    };
    (why, Some(PORTAL.to_owned()))
}

fn day(time: UnixTime) -> String {
    timestamp(time).map_or_else(|| "an unknown day".to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}

fn minute(time: UnixTime) -> String {
    timestamp(time).map_or_else(|| "an unknown time".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

fn timestamp(time: UnixTime) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()
}

/// The platform answered the upgrade, and not with a WebSocket.
pub(crate) fn upgrade_refused(status: u16) -> DialError {
    let error = DialError::new(DialStep::Upgrade, format!("the platform answered the WebSocket upgrade with {status}"));
    match status {
        300..=399 => error.remedy(PORTAL),
        404 | 405 => error.remedy("check the platform's address: nothing there knows this protocol"),
        _ => error,
    }
}

/// The platform's answer to the upgrade is no answer at all.
pub(crate) fn no_web_socket(err: &tungstenite::Error) -> DialError {
    let why = outside(&err.to_string());
    DialError::new(DialStep::Upgrade, format!("the platform did not open a WebSocket: {why}"))
        .remedy("a proxy or firewall that cannot pass WebSockets does this; ask whoever runs the network")
}

/// Nothing came in time after the connection was there.
pub(crate) fn no_answer(step: DialStep, limit: Duration) -> DialError {
    let asked = if step == DialStep::Upgrade { "the WebSocket upgrade" } else { "the request" };
    DialError::new(step, format!("the platform did not answer {asked} within {} s", limit.as_secs_f32().ceil()))
}

/// A request or its answer was broken off.
pub(crate) fn no_http(why: &str) -> DialError {
    DialError::new(DialStep::Http, format!("the platform gave no usable answer (HTTP): {}", outside(why)))
}

fn outside(text: &str) -> String {
    shorten_middle(&escape_outside_text(text), 200)
}
