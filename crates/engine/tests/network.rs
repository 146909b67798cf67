//! The walk of the check-up to a practice platform that is encrypted and known to a company's proxy alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

use std::path::{Path, PathBuf};

use drawbridge_core::SystemClock;
use drawbridge_engine::account::PlatformUrl;
use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::probe::{STEPS, Step, StepState, probe};
use drawbridge_practice::{Practice, PracticeOptions, Refusal, Switches};
use drawbridge_testkit::proxy::{Manner, Proxy};
use drawbridge_testkit::tls::TlsFront;

use StepState::{Fail, Ok, Skipped, Warn};

/// A platform under a certificate, before it something that encrypts, and a proxy that finds it as `platform.test`.
struct Company {
    practice: Practice,
    front: TlsFront,
    proxy: Proxy,
}

impl Company {
    async fn new(certificate: &str) -> Self {
        let waiting = TlsFront::bind().await.unwrap();
        let port = waiting.port().unwrap();
        let extra_hosts = vec!["platform.test".to_owned(), format!("localhost:{port}")];
        let practice = Practice::start(PracticeOptions { extra_hosts, ..Default::default() }).await.unwrap();
        let target = practice.base_url().rsplit(':').next().unwrap().parse().unwrap();
        let front = waiting.lead_to(target, &pem(certificate), &pem("platform.key")).unwrap();
        let proxy = Proxy::start(Some(("user", "hunter2")), &[("platform.test", port)]).await.unwrap();
        Self { practice, front, proxy }
    }

    fn settings(&self) -> NetSettings {
        NetSettings {
            proxy: Some(format!("http://user:hunter2@127.0.0.1:{}", self.proxy.port())),
            no_proxy: Some(String::new()),
            extra_roots: Some(pem("root.pem")),
        }
    }

    async fn walk(&self) -> Vec<Step> {
        walk("https://platform.test", &self.settings()).await
    }
}

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// Walks, and holds what every walk must hold.
async fn walk(platform: &str, settings: &NetSettings) -> Vec<Step> {
    let net = NetConfig::new(settings).unwrap();
    let steps = probe(&PlatformUrl::parse(platform).unwrap(), &net, &SystemClock).await;

    assert_eq!(steps.iter().map(|step| step.name).collect::<Vec<_>>(), STEPS);
    assert!(!format!("{steps:?} {settings:?} {net:?}").contains("hunter2"), "{steps:?}");
    for step in &steps {
        assert!(!step.text.is_empty());
        assert_eq!(step.fix.is_some(), matches!(step.state, Warn | Fail), "{step:?}");
    }
    steps
}

fn states(steps: &[Step]) -> Vec<StepState> {
    steps.iter().map(|step| step.state).collect()
}

fn step<'a>(steps: &'a [Step], name: &str) -> &'a Step {
    steps.iter().find(|step| step.name == name).unwrap()
}

/// Expects an end at this step and nothing after it; returns what it says.
fn ended_at(steps: &[Step], name: &str) -> String {
    let at = steps.iter().position(|step| step.name == name).unwrap();
    assert!(steps[..at].iter().all(|step| matches!(step.state, Ok | Skipped)), "{steps:?}");
    assert_eq!(steps[at].state, Fail, "{steps:?}");
    assert!(steps[at + 1..].iter().all(|step| step.state == Skipped && step.took_ms == 0), "{steps:?}");
    format!("{}; {}", steps[at].text, steps[at].fix.as_deref().unwrap())
}

#[tokio::test]
async fn every_step_through_a_proxy_tells_what_it_found() {
    let company = Company::new("platform.pem").await;

    let steps = company.walk().await;

    assert_eq!(states(&steps), [Ok; 7], "{steps:?}");
    let port = company.proxy.port();
    let texts: Vec<_> = steps.iter().map(|step| step.text.as_str()).collect();
    assert_eq!(
        texts[..6],
        [
            "https://platform.test (encrypted)",
            "127.0.0.1 is an address already",
            &format!("127.0.0.1:{port} answers"),
            &format!("the proxy 127.0.0.1:{port} opens the way to platform.test:443"),
            "TLS 1.3; the certificate was issued by \"Drawbridge test root\" and holds until 2126-01-01",
            "the platform answers and asks for a sign-in (401)",
        ]
    );
    assert!(texts[6].starts_with("this computer's clock agrees with the platform's"), "{}", texts[6]);
    // Nothing was signed in, and no link came to be.
    assert!(company.practice.script().faults().is_empty());
    assert!(!company.proxy.saw("Bearer"));
}

#[tokio::test]
async fn this_computer_itself_is_reached_past_the_proxy_with_and_without_encryption() {
    let company = Company::new("platform.pem").await;
    let settings = company.settings();

    let encrypted = walk(&format!("https://localhost:{}", company.front.port()), &settings).await;
    let plain = walk(&company.practice.base_url(), &settings).await;

    assert_eq!(states(&encrypted), [Ok, Ok, Ok, Skipped, Ok, Ok, Ok], "{encrypted:?}");
    assert_eq!(states(&plain), [Ok, Ok, Ok, Skipped, Skipped, Ok, Ok], "{plain:?}");
    assert_eq!(step(&plain, "proxy").text, "no proxy on the way to this computer itself");
    assert!(company.proxy.seen().is_empty());
}

#[tokio::test]
async fn each_fault_of_a_certificate_ends_the_walk_at_tls() {
    for (certificate, words) in [
        ("expired.pem", "its certificate ended on 2021-01-01; check this computer's clock"),
        ("future.pem", "holds only from 2090-01-01 on; check this computer's clock"),
        ("other.pem", "its certificate is for another host (other.example)"),
        ("own.pem", "signed by itself"),
    ] {
        let company = Company::new(certificate).await;

        let said = ended_at(&company.walk().await, "tls");

        assert!(said.contains(words), "{said}");
    }
    let company = Company::new("platform.pem").await;
    let no_root = NetSettings { extra_roots: None, ..company.settings() };
    let said = ended_at(&walk("https://platform.test", &no_root).await, "tls");
    assert!(said.contains("unknown issuer \"Drawbridge test root\""), "{said}");
}

#[tokio::test]
async fn each_fault_of_the_proxy_ends_the_walk_at_its_step() {
    let company = Company::new("platform.pem").await;
    let port = company.proxy.port();
    let with = |proxy: String| NetSettings { proxy: Some(proxy), ..company.settings() };

    let wrong = walk("https://platform.test", &with(format!("http://user:wrong@127.0.0.1:{port}"))).await;
    assert!(ended_at(&wrong, "proxy").contains("proxy refused (407): it does not accept the user name"), "{wrong:?}");

    let unknown = walk("https://elsewhere.test", &company.settings()).await;
    assert!(ended_at(&unknown, "proxy").contains("proxy refused (502): it cannot reach elsewhere.test:443"));

    company.proxy.behave(Manner::Close);
    assert!(ended_at(&company.walk().await, "proxy").contains("closed the connection without an answer"));

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = walk("https://platform.test", &with(format!("http://{closed}"))).await;
    assert!(ended_at(&away, "tcp").starts_with(&format!("the proxy {closed} cannot be reached (TCP): nobody listens")));

    // A label of 64 letters is no name, so no network is asked.
    let nameless = walk("https://platform.test", &with(format!("{}.test:3128", "a".repeat(64)))).await;
    assert!(ended_at(&nameless, "dns").starts_with("the host of the proxy, aaa"));
}

#[tokio::test]
async fn an_excluded_host_goes_past_the_proxy() {
    let company = Company::new("platform.pem").await;
    let host = format!("{}.test", "a".repeat(64));
    let settings = NetSettings { no_proxy: Some(host.clone()), ..company.settings() };

    let said = ended_at(&walk(&format!("https://{host}"), &settings).await, "dns");

    assert!(said.starts_with(&format!("the host {host} was not found (DNS)")), "{said}");
    assert!(company.proxy.seen().is_empty());
}

#[tokio::test]
async fn a_wrong_clock_is_told_with_its_distance() {
    let company = Company::new("platform.pem").await;
    for (ahead, state, words) in [
        (600, Warn, "(10 minutes) behind the platform's"),
        (-600, Warn, "(10 minutes) ahead of the platform's"),
        (86_400, Fail, "hours) behind the platform's: certificates and the sign-in depend on it"),
        (-30 * 86_400, Fail, "days) ahead of the platform's"),
    ] {
        company.practice.script().switches(Switches { clock_ahead_s: ahead, ..Switches::default() });

        let steps = company.walk().await;

        let clock = step(&steps, "clock");
        assert_eq!(clock.state, state, "{clock:?}");
        // A second may pass between the two looks at the clock.
        assert!(clock.text.contains(words) || ahead.abs() == 600 && clock.text.contains("minutes) "), "{clock:?}");
    }
}

#[tokio::test]
async fn what_the_platform_answers_is_judged() {
    let company = Company::new("platform.pem").await;
    for (status, state) in [(401, Ok), (403, Ok), (503, Warn), (302, Fail), (404, Fail)] {
        let refuse_upgrade = Some(Refusal { status, times: 1, retry_after: None });
        company.practice.script().switches(Switches { refuse_upgrade, ..Switches::default() });

        let steps = company.walk().await;

        let http = step(&steps, "http");
        assert_eq!(http.state, state, "{http:?}");
        assert!(http.text.contains(&status.to_string()), "{http:?}");
        assert_eq!(step(&steps, "clock").state, Ok);
    }
}
