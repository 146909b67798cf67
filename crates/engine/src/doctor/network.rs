//! The way to the platform: its address, each step to it, the clock, and the ports to which a browser comes back.

use std::fmt::Display;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::SystemClock;

use super::door::Door;
use super::{Finding, FindingState, Input, QUICK, limit, words};
use crate::account::{PlatformUrl, SIGN_IN_PORTS};
use crate::net::{NetConfig, NetSettings};
use crate::probe::{self, Step, StepState};
use crate::view::LinkState;

/// The walk has a limit of its own of 15 s.
const WALK: Duration = Duration::from_secs(20);

pub(super) async fn findings(input: &Arc<Input>, door: &Door) -> Vec<Finding> {
    let mut found = match platform(input, door).await {
        Ok(url) => way(input, &url).await,
        Err(finding) => vec![*finding],
    };
    found.extend(limit::within(QUICK, "sign_in_ports", "", || vec![ports(SIGN_IN_PORTS)]).await);
    found
}

/// How the main link of a running engine is. Nothing is said while none is wanted.
pub(super) fn link(door: &Door) -> Vec<Finding> {
    const CHECK: &str = "link";
    let Some(link) = door.snapshot().map(|snapshot| &snapshot.link) else { return Vec::new() };
    let why = link.reason.clone().unwrap_or_default();
    let code = link.code.as_deref().unwrap_or_default();
    let because: [(&str, &dyn Display); 2] = [("why", &why), ("code", &code)];
    match link.state {
        LinkState::Off => Vec::new(),
        LinkState::Connected => vec![Finding::ok(CHECK, &words::LINK_UP, &[])],
        LinkState::Connecting => vec![Finding::info(CHECK, &words::LINK_TRYING, &[])],
        LinkState::Waiting => vec![Finding::warn(CHECK, &words::LINK_WAITS, &because).with_action("connect")],
        LinkState::Halted => vec![Finding::fail(CHECK, &words::LINK_HALTED, &because).with_action("connect")],
    }
}

/// The platform of a running engine, or else the one that a start would use.
async fn platform(input: &Arc<Input>, door: &Door) -> Result<PlatformUrl, Box<Finding>> {
    let parsed = match door.snapshot() {
        Some(snapshot) => PlatformUrl::parse(&snapshot.account.platform_url),
        None => {
            let input = Arc::clone(input);
            let chosen = tokio::task::spawn_blocking(move || input.chosen().map(|chosen| chosen.platform));
            match tokio::time::timeout(QUICK, chosen).await {
                Ok(Ok(chosen)) => chosen,
                Ok(Err(_)) | Err(_) => return Err(Box::new(limit::silent("platform", QUICK))),
            }
        }
    };
    parsed.map_err(|fault| {
        let wrong = Finding::fail("platform", &words::PLATFORM_WRONG, &[("why", &fault)]);
        Box::new(wrong.with_action("open_config"))
    })
}

async fn way(input: &Input, url: &PlatformUrl) -> Vec<Finding> {
    let mut found = vec![Finding::info("platform", &words::PLATFORM_NAMED, &[("url", &url.shown())])];
    let config = input.config();
    let settings =
        NetSettings { proxy: config.proxy.url, no_proxy: config.proxy.no_proxy, extra_roots: config.tls.extra_roots };
    let net = match NetConfig::new(&settings) {
        Ok(net) => net,
        Err(fault) => {
            let wrong = Finding::fail("network", &words::NETWORK_WRONG, &[("why", &fault)]);
            found.push(wrong.with_action("open_config"));
            return found;
        }
    };
    match tokio::time::timeout(WALK, probe::probe(url, &net, &SystemClock)).await {
        Ok(steps) => found.extend(steps.iter().filter_map(step)),
        Err(_) => found.push(limit::silent("network", WALK)),
    }
    found
}

/// A step that was not taken tells nothing: the failed one before it does.
fn step(step: &Step) -> Option<Finding> {
    let state = match step.state {
        StepState::Ok => FindingState::Ok,
        StepState::Warn => FindingState::Warn,
        StepState::Fail => FindingState::Fail,
        StepState::Skipped => return None,
    };
    let outcome = if state == FindingState::Ok { "ok" } else { "wrong" };
    let check = if step.name == "clock" { "clock" } else { "network" };
    // What is wrong always says what to do.
    let fix = step.fix.as_deref().or((state != FindingState::Ok).then_some("try again in a minute"));
    let text = sentence(&step.text);
    let params = [("said", text.clone()), ("milliseconds", step.took_ms.to_string())];
    Some(Finding {
        check: check.to_owned(),
        state,
        text,
        fix: fix.map(sentence),
        action: None,
        key: format!("network_{}_{outcome}", step.name),
        params: params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    })
}

/// Makes a sentence of words that stand in the middle of others elsewhere. Addresses stay as they are.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().filter(|_| !words.split(' ').next().is_some_and(|word| word.contains([':', '.', '/'])));
    let begun = first.map_or_else(|| words.to_owned(), |first| first.to_uppercase().chain(letters).collect());
    if begun.ends_with(['.', '!', '?', ')', ':']) { begun } else { begun + "." }
}

/// How a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    Free,
    FreeOnOneFamily,
    Taken,
}

/// A sign-in needs one port that is free on both address families, like its listener.
fn ports(range: impl IntoIterator<Item = u16>) -> Finding {
    const CHECK: &str = "sign_in_ports";
    let ports: Vec<Port> = range.into_iter().map(port).collect();
    let free = ports.iter().filter(|port| **port == Port::Free).count();
    if free > 0 {
        Finding::ok(CHECK, &words::PORTS_FREE, &[("free", &free)])
    } else if ports.contains(&Port::FreeOnOneFamily) {
        Finding::fail(CHECK, &words::PORTS_HALF, &[])
    } else {
        Finding::fail(CHECK, &words::PORTS_TAKEN, &[])
    }
}

fn port(port: u16) -> Port {
    let v4 = is_free(Ipv4Addr::LOCALHOST.into(), port);
    let v6 = is_free(Ipv6Addr::LOCALHOST.into(), port);
    match (v4, v6) {
        (true, true) => Port::Free,
        (false, false) => Port::Taken,
        (true, false) | (false, true) => Port::FreeOnOneFamily,
    }
}

/// A family that this machine lacks takes no visits away.
fn is_free(address: IpAddr, port: u16) -> bool {
    match TcpListener::bind((address, port)) {
        Ok(_) => true,
        Err(fault) => address.is_ipv6() && fault.kind() != ErrorKind::AddrInUse,
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
