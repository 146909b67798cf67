//! Sign-in and link of the real binary through a company's proxy, to a platform that is encrypted under a root of its own
//! and known to the proxy alone (FB-32).

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use drawbridge_practice::{ConsentMode, PracticeOptions, Scope};
use drawbridge_testkit::proxy::{Manner, Proxy};
use drawbridge_testkit::tls::TlsFront;
use drawbridge_testkit::turn::ports_turn;
use rig::{Rig, Started, finish, said, within};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

const PLATFORM: &str = "wss://platform.test";
/// The proxy's password, as it is and as it stands in an address.
const PASSWORD: &str = "hunter2&p@ss#";
const WRITTEN: &str = "hunter2&p%40ss%23";

struct Company {
    rig: Rig,
    _front: TlsFront,
    proxy: Proxy,
}

impl Company {
    async fn new(certificate: &str) -> Self {
        let extra_hosts = vec!["platform.test".to_owned()];
        let rig = Rig::with(PracticeOptions { consent: ConsentMode::Allow, extra_hosts, ..Default::default() }).await;
        let target = rig.practice.base_url().rsplit(':').next().unwrap().parse().unwrap();
        let front = TlsFront::bind().await.unwrap().lead_to(target, &pem(certificate), &pem("platform.key")).unwrap();
        let names = [("platform.test", front.port())];
        let proxy = Proxy::start(Some(("user", PASSWORD)), &names).await.unwrap();
        let company = Self { rig, _front: front, proxy };
        company.configure(WRITTEN, true);
        company
    }

    /// Writes `config.toml` with this password for the proxy, and with the test root or not.
    fn configure(&self, password: &str, root: bool) {
        let url = format!("http://user:{password}@127.0.0.1:{}", self.proxy.port());
        let roots = if root { format!("[tls]\nextra_roots = {:?}\n", pem("root.pem")) } else { String::new() };
        self.rig.configure(&format!("[proxy]\nurl = {url:?}\nno_proxy = \"\"\n{roots}"));
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.rig.command(words);
        command.env("DRAWBRIDGE_PLATFORM_URL", PLATFORM).env("DRAWBRIDGE_LOG", "trace");
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        finish(self.command(words)).await
    }

    /// Signs in; the browser of the test finds the platform without the proxy.
    async fn auth(&self) -> Output {
        self.auth_by(self.command(&["auth", "--no-browser"])).await
    }

    async fn auth_by(&self, mut command: Command) -> Output {
        let _turn = ports_turn().await.unwrap();
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let page = within(lines.next_line()).await.unwrap().unwrap();
        let path = page.strip_prefix("https://platform.test").unwrap();
        let browser = reqwest::Client::builder().no_proxy().build().unwrap();
        // What it shows is told by the program's own end.
        let _ = within(browser.get(format!("{}{path}", self.rig.practice.base_url())).send()).await.unwrap();
        within(child.wait_with_output()).await.unwrap()
    }

    async fn signed_in(certificate: &str) -> Self {
        let company = Self::new(certificate).await;
        let output = company.auth().await;
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        company
    }

    async fn start(&self) -> Started {
        let mut started = self.start_alone();
        started.machine = within(self.rig.script.machine()).await;
        started
    }

    fn start_alone(&self) -> Started {
        let mut command = self.command(&["start", "--headless"]);
        command.stdout(Stdio::null()).stderr(self.rig.log());
        Started { child: command.spawn().unwrap(), machine: String::new() }
    }

    /// Asks for the status until it tells of this.
    async fn status_tells(&self, words: &str) {
        let asking = async {
            loop {
                let output = self.run(&["status"]).await;
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                if text.contains(words) {
                    return text;
                }
            }
        };
        let text = within(asking).await;
        assert!(!text.contains("hunter2"), "{text}");
    }

    /// No secret of anybody passed the proxy in clear, was printed, logged or stored.
    fn assert_kept_secret(&self, printed: &[u8]) {
        let ours = [PASSWORD, WRITTEN, "hunter2"];
        self.rig.assert_nothing_in_clear(&ours, printed);
        for never in ["Bearer", "code_verifier", "grant_type", "local-executor", rig::PASSPHRASE] {
            assert!(!self.proxy.saw(never), "{never}");
        }
        if let Some(tokens) = self.rig.tokens() {
            assert!(!self.proxy.saw(tokens.access.expose_secret()) && !self.proxy.saw(tokens.refresh.expose_secret()));
        }
    }
}

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/tls").canonicalize().unwrap().join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_through_the_proxy_and_nothing_shows_there() {
    let company = Company::new("platform.pem").await;
    let rig = &company.rig;

    let auth = company.auth().await;
    assert_eq!(auth.status.code(), Some(0), "{}", said(&auth));
    company.assert_kept_secret(&auth.stderr);

    let started = company.start().await;
    let (chat, folder) = rig.chat_in(&started, "papers").await;
    std::fs::write(folder.join("a.txt"), "read through the proxy").unwrap();
    let read =
        rig.ask(&chat, "FILE_READ", serde_json::json!({ "path": folder.join("a.txt"), "encoding": "utf-8" })).await;
    assert_eq!(read.unwrap()["content"], "read through the proxy");
    assert!(!company.proxy.saw("read through the proxy") && !company.proxy.saw(&chat));
    assert_eq!(started.stop().await, Some(0));
    company.assert_kept_secret(b"");

    let revoked = company.run(&["revoke"]).await;
    assert_eq!(revoked.status.code(), Some(0), "{}", said(&revoked));
    // One way for the code, one for the control link, one for the chat, two to revoke.
    assert!(company.proxy.count() >= 5, "{}", company.proxy.count());
    company.assert_kept_secret(&revoked.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_for_the_proxy_is_named_everywhere_and_shown_nowhere() {
    let company = Company::new("platform.pem").await;
    company.configure("hunter2-wrong", true);

    let auth = company.auth().await;

    let told = said(&auth);
    assert_eq!(auth.status.code(), Some(1), "{told}");
    assert!(told.contains("proxy refused (407): it does not accept the user name and password"), "{told}");
    assert!(told.contains("correct them in url under [proxy] in config.toml"), "{told}");
    assert!(rig_has_no_tokens(&company));
    company.assert_kept_secret(&auth.stderr);

    // Signed in with the right one; then it is changed.
    company.configure(WRITTEN, true);
    assert_eq!(company.auth().await.status.code(), Some(0));
    company.configure("hunter2-wrong", true);
    let started = company.start_alone();
    company.status_tells("proxy refused (407)").await;
    assert_eq!(started.stop().await, Some(0));

    let revoked = company.run(&["revoke"]).await;
    assert_eq!(revoked.status.code(), Some(1));
    assert!(said(&revoked).contains("proxy refused (407)"), "{}", said(&revoked));
    assert!(!rig_has_no_tokens(&company), "the tokens are kept");
    company.assert_kept_secret(&revoked.stderr);
}

fn rig_has_no_tokens(company: &Company) -> bool {
    company.rig.tokens().is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_trusted_names_step_and_reason() {
    for (certificate, root, words) in [
        ("platform.pem", false, "unknown issuer \"Drawbridge test root\""),
        ("expired.pem", true, "its certificate ended on 2021-01-01; check this computer's clock"),
        ("other.pem", true, "its certificate is for another host (other.example)"),
    ] {
        let company = Company::new(certificate).await;
        company.configure(WRITTEN, root);

        let auth = company.auth().await;

        let told = said(&auth);
        assert_eq!(auth.status.code(), Some(1), "{told}");
        assert!(told.contains("no secure connection (TLS) to platform.test: "), "{told}");
        assert!(told.contains(words), "{told}");
        assert!(rig_has_no_tokens(&company));
        company.assert_kept_secret(&auth.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_comes_back_when_the_proxy_does() {
    let company = Company::signed_in("platform.pem").await;
    let started = company.start().await;
    let (chat, folder) = company.rig.chat_in(&started, "papers").await;
    std::fs::write(folder.join("a.txt"), "still here").unwrap();

    company.proxy.behave(Manner::Close);
    company.proxy.cut();
    within(company.rig.script.connected(&started.control(), false)).await;
    company.status_tells("it closed the connection without an answer").await;

    company.proxy.behave(Manner::Serve);
    within(company.rig.script.connected(&started.control(), true)).await;
    within(company.rig.script.connected(&Scope::Data(chat.clone()), true)).await;
    let read =
        company.rig.ask(&chat, "FILE_READ", serde_json::json!({ "path": folder.join("a.txt"), "encoding": "utf-8" }));
    assert_eq!(read.await.unwrap()["content"], "still here");
    assert_eq!(started.stop().await, Some(0));
    company.assert_kept_secret(b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_a_proxy_as_for_other_programs() {
    let company = Company::new("platform.pem").await;
    company.rig.configure(&format!("[tls]\nextra_roots = {:?}\n", pem("root.pem")));
    let url = format!("http://user:{WRITTEN}@127.0.0.1:{}", company.proxy.port());

    let mut command = company.command(&["auth", "--no-browser"]);
    command.env("https_proxy", &url).env("NO_PROXY", "10.0.0.0/8, elsewhere.test");
    let through = company.auth_by(command).await;
    let tunnels = company.proxy.count();

    // Excluded: the name is looked up here, where nobody knows it.
    let mut command = company.command(&["auth", "--no-browser"]);
    command.env("https_proxy", &url).env("NO_PROXY", ".platform.test:443");
    let past = company.auth_by(command).await;

    assert_eq!((through.status.code(), tunnels), (Some(0), 1), "{}", said(&through));
    assert_eq!(past.status.code(), Some(1));
    assert!(said(&past).contains("the host platform.test was not found (DNS)"), "{}", said(&past));
    assert_eq!(company.proxy.count(), tunnels);
    company.assert_kept_secret(&[through.stderr, past.stderr].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_another_kind_is_refused_by_the_name_of_its_setting() {
    let company = Company::new("platform.pem").await;
    company.rig.configure("");
    for (variable, value) in [
        ("HTTPS_PROXY", "https://user:hunter2@proxy.test:443"),
        ("all_proxy", "socks5://user:hunter2@proxy.test:1080"),
        ("https_proxy", "http://user:12#hunter2@proxy.test:3128"),
    ] {
        for words in [&["auth", "--no-browser"][..], &["start", "--headless"]] {
            let mut command = company.command(words);
            command.env(variable, value);

            let output = finish(command).await;

            let told = said(&output);
            assert_eq!(output.status.code(), Some(78), "{words:?}: {told}");
            assert!(told.contains(&format!("the environment variable {variable}")), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
    company.rig.configure("[proxy]\nurl = \"socks5://user:hunter2@proxy.test\"\n");
    let output = company.run(&["start", "--headless"]).await;
    assert_eq!(output.status.code(), Some(78));
    assert!(said(&output).contains("url under [proxy] in config.toml"), "{}", said(&output));
    company.assert_kept_secret(&output.stderr);
}
