//! Several accounts on the command line, against two platforms.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::process::{Output, Stdio};

use drawbridge_practice::{ConsentMode, Practice, PracticeOptions};
use drawbridge_testkit::turn::ports_turn;
use rig::{Rig, said, within};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// A rig whose platform is named by `config.toml` instead of the environment, and a second platform.
struct Two {
    rig: Rig,
    other: Practice,
}

impl Two {
    async fn new(rig: Rig) -> Self {
        rig.configure(&format!("platform_url = {:?}", rig.practice.ws_url()));
        let extra_clients = vec!["desk-7".to_owned()];
        let options = PracticeOptions { consent: ConsentMode::Allow, extra_clients, ..PracticeOptions::default() };
        Self { other: Practice::start(options).await.unwrap(), rig }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.rig.command(words);
        command.env_remove("DRAWBRIDGE_PLATFORM_URL");
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        within(self.command(words).output()).await.unwrap()
    }

    async fn expect(&self, code: i32, words: &[&str]) -> (String, String) {
        let output = self.run(words).await;
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    /// Runs `auth` and visits its page as a browser would.
    async fn auth(&self, words: &[&str]) -> Output {
        let mut all = vec!["auth", "--no-browser"];
        all.extend(words);
        let mut child = self.command(&all).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let page = within(lines.next_line()).await.unwrap().unwrap();
        let browser = reqwest::Client::builder().no_proxy().build().unwrap();
        within(browser.get(page).send()).await.unwrap();
        within(child.wait_with_output()).await.unwrap()
    }

    async fn accounts(&self) -> Vec<Value> {
        let (lines, _) = self.expect(0, &["accounts", "--json"]).await;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The ids of the accounts, each with `*` when it is in use and `+` when it is signed in.
    async fn shape(&self) -> Vec<String> {
        let mark = |row: &Value, key: &str, sign: &'static str| if row[key] == true { sign } else { "" };
        let rows = self.accounts().await;
        let shape = |row: &Value| {
            format!("{}{}{}", row["id"].as_str().unwrap(), mark(row, "active", "*"), mark(row, "signed_in", "+"))
        };
        rows.iter().map(shape).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_profile_is_added_signed_in_used_and_removed() {
    let _turn = ports_turn().await.unwrap();
    let two = Two::new(Rig::signed_in().await).await;
    let at = two.other.ws_url();

    let output = two.auth(&["--profile", "Work", "--platform-url", &at, "--client-id", "desk-7"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("accounts use work"), "{}", said(&output));
    two.rig.assert_nothing_in_clear(&[], &output.stderr);
    assert_eq!(two.shape().await, ["default*+", "work+"]);
    let rows = two.accounts().await;
    assert_eq!(rows[1]["platform_url"], two.other.base_url());
    assert_eq!((&rows[1]["client_id"], &rows[1]["name"]), (&"desk-7".into(), &"Work".into()));

    two.expect(0, &["accounts", "use", "WORK"]).await;
    assert_eq!(two.shape().await, ["default+", "work*+"]);
    let mut engine = two.command(&["start", "--headless"]);
    let mut engine = engine.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    within(two.other.script().machine()).await;
    assert!(two.rig.script.machines().is_empty(), "the first platform is left alone");
    assert_eq!(two.shape().await, ["work*+", "default+"]);
    let (_, words) = two.expect(1, &["accounts", "remove", "work"]).await;
    assert!(words.contains("in use"), "{words}");

    two.expect(0, &["accounts", "use", "default"]).await;
    engine.start_kill().unwrap();
    within(engine.wait()).await.unwrap();
    let (_, words) = two.expect(0, &["accounts", "remove", "work"]).await;
    assert!(words.contains("still honours"), "{words}");
    assert_eq!(two.shape().await, ["default*+"]);
    let changes: Vec<_> = two.rig.audit().into_iter().filter(|record| record["op"] == "POLICY_CHANGED").collect();
    for (key, id) in [("account", "default"), ("account_removed", "work")] {
        assert!(changes.iter().any(|record| record["details"][key] == id), "{key}: {changes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_profile_is_cannot_be_changed_by_a_flag_and_a_slip_leaves_nothing() {
    let _turn = ports_turn().await.unwrap();
    let two = Two::new(Rig::new().await).await;
    let (first, other) = (two.rig.practice.ws_url(), two.other.ws_url());
    two.expect(0, &["accounts", "add", "Work", "--platform-url", &other, "--client-id", "desk-7"]).await;

    let (page, words) = two.expect(78, &["auth", "--no-browser", "--profile", "work", "--platform-url", &first]).await;
    assert!(page.is_empty() && words.contains(&two.other.base_url()), "{words}");
    let (page, _) =
        two.expect(78, &["auth", "--no-browser", "--profile", "x", "--platform-url", "http://10.1.2.3"]).await;
    assert!(page.is_empty());
    two.expect(78, &["accounts", "add", "Work", "--platform-url", &other]).await;
    two.expect(1, &["accounts", "use", "nobody"]).await;
    two.expect(2, &["accounts", "choose", "work"]).await;
    two.expect(2, &["accounts", "add", "Lab"]).await;

    two.other.script().consent(ConsentMode::Deny);
    let output = two.auth(&["--profile", "Lab", "--platform-url", &other]).await;
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(two.shape().await, ["default*", "work"], "the new account went with its failed sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_forgotten_here_or_revoked_there_for_each_account_alone() {
    let _turn = ports_turn().await.unwrap();
    let two = Two::new(Rig::signed_in().await).await;
    let at = two.other.ws_url();
    two.auth(&["--profile", "work", "--platform-url", &at]).await;
    assert_eq!(two.shape().await, ["default*+", "work+"]);

    let (_, words) = two.expect(0, &["accounts", "forget"]).await;
    assert!(words.contains("still honours"), "{words}");
    assert_eq!(two.shape().await, ["default*", "work+"]);
    two.expect(77, &["start", "--headless"]).await;
    two.expect(1, &["revoke"]).await;
    two.expect(0, &["revoke", "--profile", "work"]).await;
    assert_eq!(two.shape().await, ["default*", "work"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_the_environment_counts_over_what_was_chosen() {
    let two = Two::new(Rig::signed_in().await).await;
    two.expect(0, &["accounts", "add", "Work", "--platform-url", &two.other.ws_url()]).await;

    let output = two.rig.run(&["accounts", "use", "work"]).await;
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("environment"), "{}", said(&output));

    let started = two.rig.start(&[]).await;
    assert!(two.other.script().machines().is_empty());
    let refused = two.rig.run(&["accounts", "use", "work"]).await;
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert_eq!(started.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_for_another_platform_is_told_and_not_used() {
    let two = Two::new(Rig::signed_in().await).await;
    assert_eq!(two.rig.start(&[]).await.stop().await, Some(0));
    // The first renewal names the platform; tokens that the rig stored name none.
    let account = two.rig.tokens().unwrap();
    two.rig.seed(&drawbridge_engine::account::Tokens {
        origin: Some(drawbridge_engine::account::TokenOrigin {
            platform: two.rig.practice.base_url(),
            client_id: "autogpt-local-executor".to_owned(),
        }),
        ..account
    });

    let other = two.other.ws_url();
    let output = two.rig.run(&["start", "--headless", "--platform-url", &other]).await;

    assert_eq!(output.status.code(), Some(77), "{}", said(&output));
    assert!(said(&output).contains(&two.rig.practice.base_url()), "{}", said(&output));
    assert!(two.other.script().machines().is_empty());
    assert_eq!(two.rig.start(&[]).await.stop().await, Some(0), "and it is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_cannot_be_read_is_told_and_stays() {
    let two = Two::new(Rig::signed_in().await).await;
    let file = two.rig.state().join("accounts.json");
    std::fs::write(&file, "{\"v\": 1,").unwrap();

    let (rows, words) = two.expect(0, &["accounts"]).await;
    assert!(rows.starts_with("* default") && rows.lines().count() == 1, "{rows}");
    assert!(words.contains("accounts.json"), "{words}");
    two.expect(78, &["accounts", "add", "Work", "--platform-url", "https://work.example"]).await;
    two.expect(1, &["accounts", "use", "work"]).await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{\"v\": 1,");
}
