//! Goes to the platform step by step, so that the check-up can say which step fails (FB-32).
//!
//! It carries no token, changes nothing and follows no redirect. Texts name hosts and what others answered, made visible;
//! no step names a password.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use drawbridge_core::Clock;
use tokio::time::timeout;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{self, http::HeaderMap, http::header::DATE};

use crate::account::PlatformUrl;
use crate::dial::stream::{self, Stream, Target};
use crate::dial::{self, DialError, DialStep, tunnel, words};
use crate::net::{CertificateFacts, NetConfig, Way};

/// The longest that one step may take.
const STEP_LIMIT: Duration = Duration::from_secs(4);
/// The longest that all steps together may take.
const WHOLE_LIMIT: Duration = Duration::from_secs(15);
/// A clock that is further off makes tokens look old or new.
const SKEW_WARN_S: u64 = 60;
/// A clock that is further off breaks certificates and the sign-in.
const SKEW_FAIL_S: u64 = 3600;
/// The most addresses of a host that are shown.
const ADDRESSES_SHOWN: usize = 4;

/// The steps in the order in which they are taken and listed.
pub const STEPS: [&str; 7] = ["address", "dns", "tcp", "proxy", "tls", "http", "clock"];

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// As it should be.
    Ok,
    /// It works, and something about it will make trouble.
    Warn,
    /// It does not work; the later steps were not taken.
    Fail,
    /// Not taken: not needed here, or an earlier one failed.
    Skipped,
}

/// What one step of the way to the platform found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its stable name, one of [`STEPS`].
    pub name: &'static str,
    /// How it went.
    pub state: StepState,
    /// What was found, in English, safe to show.
    pub text: String,
    /// What to do, if there is something to do; in English, safe to show.
    pub fix: Option<String>,
    /// How long it took, in milliseconds. 0 for what was not taken.
    pub took_ms: u64,
}

/// Walks to the platform without any token and tells of every step, in the order of [`STEPS`], each exactly once.
///
/// Every step has a limit of its own, and all together take at most 15 s. Whoever drops the future ends the walk. The last
/// step asks for a WebSocket as a link does, without a token, so that the platform's no is the answer that is hoped for.
pub async fn probe(platform: &PlatformUrl, net: &NetConfig, clock: &dyn Clock) -> Vec<Step> {
    let now = clock.now();
    let mut walk = Walk { clock, begun: now, since: now, steps: Vec::with_capacity(STEPS.len()) };
    if let Err((name, fault)) = walk.go(platform, net).await {
        walk.push(name, StepState::Fail, fault.message, fault.remedy);
    }
    walk.rest()
}

/// Where a walk ended, and why.
type Ended = (&'static str, DialError);

struct Walk<'a> {
    clock: &'a dyn Clock,
    begun: Instant,
    /// When the step on hand began.
    since: Instant,
    steps: Vec<Step>,
}

impl Walk<'_> {
    async fn go(&mut self, platform: &PlatformUrl, net: &NetConfig) -> Result<(), Ended> {
        let address = platform.control_socket();
        let target = Target::parse(&address).map_err(at("address"))?;
        let kind = if target.secure { "encrypted" } else { "not encrypted, since it is this computer itself" };
        self.ok("address", format!("{} ({kind})", platform.shown()));

        let proxy = target.proxy(net);
        let (host, port) = proxy.map_or((&target.host, target.port), |proxy| (&proxy.host, proxy.port));
        let found = stream::find(host, port, proxy, self.limit()).await.map_err(at("dns"))?;
        self.ok("dns", addresses_in_words(host, &found));

        let tcp = stream::reach(found, host, port, proxy, self.limit()).await.map_err(at("tcp"))?;
        let peer = tcp.peer_addr().map_or_else(|_| host.clone(), |peer| peer.to_string());
        self.ok("tcp", format!("{peer} answers"));

        let tcp = match (proxy, net.way_to(&target.host, target.port)) {
            (Some(proxy), _) => {
                let opened = tunnel::open(tcp, proxy, &target, self.limit()).await.map_err(at("proxy"))?;
                self.ok("proxy", format!("the proxy {} opens the way to {}", proxy.shown(), target.authority()));
                opened
            }
            (None, way) => {
                self.skip("proxy", no_proxy(&way));
                tcp
            }
        };
        let stream = self.encrypt(tcp, &target, net).await.map_err(at("tls"))?;
        self.ask(&address, stream).await.map_err(at("http"))
    }

    async fn encrypt(
        &mut self,
        tcp: tokio::net::TcpStream,
        target: &Target,
        net: &NetConfig,
    ) -> Result<Stream, DialError> {
        if !target.secure {
            self.skip("tls", "nothing is encrypted on the way to this computer itself");
            return Ok(MaybeTlsStream::Plain(tcp));
        }
        let stream = stream::secure(tcp, target, net, self.limit()).await?;
        self.ok("tls", encryption_in_words(&stream));
        Ok(stream)
    }

    /// Asks for a WebSocket without a token, and takes the platform's time from its answer.
    async fn ask(&mut self, address: &str, stream: Stream) -> Result<(), DialError> {
        let request = dial::upgrade_request(address, None)?;
        let (limit, asked) = (self.limit(), self.clock.wall());
        let answer = timeout(limit, dial::upgrade(request, stream)).await;
        let (status, headers) = match answer.map_err(|_| words::no_answer(DialStep::Http, limit))? {
            Ok((_, response)) => (response.status().as_u16(), response.into_parts().0.headers),
            Err(tungstenite::Error::Http(response)) => {
                let (parts, _) = response.into_parts();
                (parts.status.as_u16(), parts.headers)
            }
            Err(other) => return Err(words::no_web_socket(&other)),
        };
        let (state, text, fix) = answer_in_words(status);
        self.push("http", state, text, fix);
        // The platform looked at its clock somewhere between the question and the answer.
        let ours = asked.seconds().midpoint(self.clock.wall().seconds());
        let (state, text, fix) = skew_in_words(ours, &headers);
        self.push("clock", state, text, fix);
        Ok(())
    }

    /// What is left for the next step.
    fn limit(&self) -> Duration {
        STEP_LIMIT.min(WHOLE_LIMIT.saturating_sub(self.clock.now().duration_since(self.begun)))
    }

    fn ok(&mut self, name: &'static str, text: String) {
        self.push(name, StepState::Ok, text, None);
    }

    fn skip(&mut self, name: &'static str, text: &str) {
        self.push(name, StepState::Skipped, text.to_owned(), None);
    }

    fn push(&mut self, name: &'static str, state: StepState, text: String, fix: Option<String>) {
        let now = self.clock.now();
        let took = if state == StepState::Skipped { Duration::ZERO } else { now.duration_since(self.since) };
        self.since = now;
        self.steps.push(Step { name, state, text, fix, took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) });
    }

    fn rest(mut self) -> Vec<Step> {
        for name in STEPS.into_iter().skip(self.steps.len()) {
            self.skip(name, "not taken, since an earlier step failed");
        }
        self.steps
    }
}

fn at(name: &'static str) -> impl Fn(DialError) -> Ended {
    move |fault| (name, fault)
}

fn addresses_in_words(host: &str, found: &[SocketAddr]) -> String {
    if host.parse::<IpAddr>().is_ok() {
        return format!("{host} is an address already");
    }
    let mut shown = found.iter().take(ADDRESSES_SHOWN).map(|one| one.ip().to_string()).collect::<Vec<_>>().join(", ");
    if found.len() > ADDRESSES_SHOWN {
        shown.push_str(", …");
    }
    format!("{host} is {shown}")
}

const fn no_proxy(way: &Way<'_>) -> &'static str {
    match way {
        Way::OwnComputer => "no proxy on the way to this computer itself",
        Way::Excluded => "no proxy for this host: the exclusion list (no_proxy) covers it",
        Way::Straight | Way::Through(_) => "no proxy is set",
    }
}

fn encryption_in_words(stream: &Stream) -> String {
    let MaybeTlsStream::Rustls(stream) = stream else { return "encrypted".to_owned() };
    let session = stream.get_ref().1;
    let version = match session.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLS 1.2",
        _ => "TLS 1.3",
    };
    let certificate = session.peer_certificates().and_then(|chain| CertificateFacts::read(chain.first()?));
    match certificate {
        Some(CertificateFacts { issuer, until: Some(until), .. }) => {
            format!("{version}; the certificate was issued by \"{issuer}\" and holds until {until}")
        }
        Some(CertificateFacts { issuer, .. }) => format!("{version}; the certificate was issued by \"{issuer}\""),
        None => version.to_owned(),
    }
}

/// What the answer to a request without a token means.
fn answer_in_words(status: u16) -> (StepState, String, Option<String>) {
    let check = "check platform_url in config.toml or DRAWBRIDGE_PLATFORM_URL";
    match status {
        401 | 403 => (StepState::Ok, format!("the platform answers and asks for a sign-in ({status})"), None),
        101 => (
            StepState::Warn,
            "it opened a link without asking for a sign-in (101), which the platform never does".to_owned(),
            Some(check.to_owned()),
        ),
        429 | 500..=599 => (
            StepState::Warn,
            format!("the platform answers that it is not available now ({status})"),
            Some("wait a while: a link tries again by itself".to_owned()),
        ),
        _ => {
            let fault = words::upgrade_refused(status);
            (StepState::Fail, fault.message, Some(fault.remedy.unwrap_or_else(|| check.to_owned())))
        }
    }
}

/// Compares our time (Unix seconds) with the `Date` of an answer.
fn skew_in_words(ours: i64, headers: &HeaderMap) -> (StepState, String, Option<String>) {
    let told = headers.get(DATE).and_then(|value| value.to_str().ok());
    let Some(theirs) = told.and_then(|text| jiff::fmt::rfc2822::parse(text).ok()) else {
        return (StepState::Skipped, "the platform did not tell its time".to_owned(), None);
    };
    let ahead = ours.saturating_sub(theirs.timestamp().as_second());
    let (off, side) = (ahead.unsigned_abs(), if ahead > 0 { "ahead of" } else { "behind" });
    let text = format!("this computer's clock is {} {side} the platform's", span_in_words(off));
    let fix = Some("set this computer's clock, best by network time".to_owned());
    if off <= SKEW_WARN_S {
        (StepState::Ok, format!("this computer's clock agrees with the platform's ({off} s apart)"), None)
    } else if off <= SKEW_FAIL_S {
        (StepState::Warn, text, fix)
    } else {
        (StepState::Fail, format!("{text}: certificates and the sign-in depend on it"), fix)
    }
}

fn span_in_words(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{seconds} s ({} minutes)", seconds / 60),
        7200..=172_799 => format!("{seconds} s ({} hours)", seconds / 3600),
        _ => format!("{seconds} s ({} days)", seconds / 86_400),
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
