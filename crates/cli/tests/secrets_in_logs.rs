//! What must never be in a log is planted through the main jobs of the real program, and then looked for everywhere.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where its ground is missing")]

mod rig;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use drawbridge_practice::{Refusal, Switches};
use rig::{PASSPHRASE, Rig, files_below, said, within};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Contents that an agent reads and writes.
const WRITTEN: &str = "WRITTEN-marker-7f31";
const READ: &str = "READ-marker-90ab";
/// What a command gets and prints.
const ENV: &str = "ENV-marker-5c1d";
/// Its own words: they belong into the audit log and into no other.
const TYPED: &str = "TYPED-marker-e2f4";
const PRINTED: &str = "PRINTED-marker-11c8";
/// The password of a proxy.
const PROXY: &str = "PROXY-marker-6a6a";
/// Names that diagnostics must not have.
const FOLDER: &str = "Geheimvorhaben";
const DISPLAY: &str = "Rechner der Burgherrin";

struct Planted {
    rig: Rig,
    /// What was said on standard error and printed, of every start.
    outputs: Vec<u8>,
    secrets: Vec<String>,
}

impl Planted {
    async fn new() -> Self {
        let rig = Rig::new().await;
        rig.configure(&format!("display_name = {DISPLAY:?}"));
        Self { rig, outputs: Vec::new(), secrets: vec![PASSPHRASE.to_owned()] }
    }

    /// The program, telling everything that it ever tells.
    fn command(&self, words: &[&str]) -> tokio::process::Command {
        let mut command = self.rig.command(words);
        command.env("DRAWBRIDGE_LOG", "trace,tungstenite=trace,hyper=trace,reqwest=trace,rustls=trace,zbus=trace");
        command
    }

    /// Signs in as a person would, by the page that the program names.
    async fn sign_in(&mut self) {
        let mut child = self.command(&["auth", "--no-browser"]).spawn().unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        within(printed.read_line(&mut line)).await.unwrap();
        let callback = self.rig.script.visit(line.trim()).unwrap();
        let code = callback.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
        self.secrets.push(code);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        http.get(&callback).send().await.unwrap();
        let output = within(child.wait_with_output()).await.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        self.outputs.extend(output.stderr);
        let tokens = self.rig.tokens().unwrap();
        self.secrets.extend([tokens.access.expose_secret().to_owned(), tokens.refresh.expose_secret().to_owned()]);
    }

    /// Lets an agent read, write and run something, with the markers in it.
    async fn work(&mut self) {
        let log = self.rig.dir.path().join("engine.log");
        let mut command = self.command(&["start", "--headless", "--enable-shell"]);
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let child = command.stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let machine = within(self.rig.script.machine()).await;
        let started = rig::Started { child, machine };
        let (chat, folder) = self.rig.chat_in(&started, FOLDER).await;
        std::fs::write(folder.join("there.txt"), READ).unwrap();

        let write = json!({ "path": folder.join("a.txt"), "content": WRITTEN, "encoding": "utf-8" });
        self.rig.ask(&chat, "FILE_WRITE", write).await.unwrap();
        let read = json!({ "path": folder.join("there.txt"), "encoding": "utf-8" });
        assert_eq!(self.rig.ask(&chat, "FILE_READ", read).await.unwrap()["content"], READ);
        let line = format!(
            "printf %s \"$SECRET\" | grep -q '^ENV-.*5c1d$' && printf PRINTED; printf %s -marker-11c8; : {TYPED}"
        );
        let run = json!({ "command": line, "shell": "sh", "env": { "SECRET": ENV } });
        let done = self.rig.ask(&chat, "EXECUTE_COMMAND", run).await.unwrap();
        assert_eq!(done["stdout"], PRINTED);
        self.rig.refused(&chat, "FILE_READ", json!({ "path": "/etc/shadow", "encoding": "utf-8" })).await;
        let grants = self.rig.script.frames(0).iter().filter_map(|frame| grant_in(&frame.text)).collect::<Vec<_>>();
        assert!(!grants.is_empty(), "the platform was given no grant");
        self.secrets.extend(grants);
        // A line that breaks, and a token that has to be renewed.
        let refusal = Refusal { status: 401, times: 1, retry_after: None };
        self.rig.script.switches(Switches { refuse_upgrade: Some(refusal), ..Switches::default() });
        let before = self.rig.script.frames(0).last().unwrap().n;
        self.rig.script.cut(&started.control()).unwrap();
        within(self.rig.script.frame(before, |frame| frame.kind == "HELLO")).await;
        within(self.rig.script.connected(&started.control(), true)).await;
        let told = self.rig.expect(0, &["diagnostics"]).await;
        self.check_diagnostics(&told, &folder, &started.machine);
        assert_eq!(started.stop().await, Some(0));
        self.outputs.extend(std::fs::read(log).unwrap());
        let tokens = self.rig.tokens().unwrap();
        self.secrets.extend([tokens.access.expose_secret().to_owned(), tokens.refresh.expose_secret().to_owned()]);
        self.secrets.push(self.rig.expect(0, &["audit", "key", "--show"]).await.trim().to_owned());
    }

    fn check_diagnostics(&self, told: &str, folder: &Path, machine: &str) {
        let home = self.rig.home();
        let host = drawbridge_os::machine::host_name();
        let address = self.rig.practice.ws_url();
        let place = address.trim_start_matches("ws://");
        for name in [folder.to_str().unwrap(), home.to_str().unwrap(), FOLDER, DISPLAY, machine, &host, place] {
            assert!(!told.contains(name), "{name} is in the diagnostics:\n{told}");
        }
        for wanted in ["Link: connected", "Chats: 1, of them 1 active", "Check-up", "The last lines of the log"] {
            assert!(told.contains(wanted), "{wanted} is missing in:\n{told}");
        }
        for secret in &self.secrets {
            assert!(!told.contains(secret.as_str()), "a secret is in the diagnostics:\n{told}");
        }
    }

    /// Fails at a proxy that has a password.
    async fn fail_at_a_proxy(&mut self) {
        // A pair that does not say whom it is for is taken to another platform too.
        let pair = self.rig.fresh_tokens().await;
        self.rig.seed(&pair);
        self.secrets.extend([pair.access.expose_secret().to_owned(), pair.refresh.expose_secret().to_owned()]);
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        self.rig.configure(&format!("display_name = {DISPLAY:?}\n[proxy]\nurl = \"http://anna:{PROXY}@{closed}\""));
        let mut command = self.command(&["start", "--headless", "--platform-url", "wss://platform.example"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut told = String::new();
        while !told.contains("could not connect") {
            let before = told;
            let next = within(lines.next_line()).await.unwrap();
            told = next.unwrap_or_else(|| panic!("it ended before it dialled: {before}"));
            self.outputs.extend(told.as_bytes());
        }
        let id = child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        while let Some(line) = within(lines.next_line()).await.unwrap() {
            self.outputs.extend(line.as_bytes());
        }
        within(child.wait()).await.unwrap();
    }

    /// Everything that is kept, but what undo keeps for this user alone: that is contents.
    fn kept(&self) -> Vec<PathBuf> {
        let undo = self.rig.state().join("undo/kept");
        files_below(&self.rig.state()).into_iter().filter(|file| !file.starts_with(&undo)).collect()
    }
}

/// The grant in a frame, if there is one.
fn grant_in(frame: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(frame).ok()?;
    frame["payload"]["root_grant"].as_str().map(ToOwned::to_owned)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_planted_is_in_any_log_and_nobodys_names_are_in_the_diagnostics() {
    let mut planted = Planted::new().await;
    planted.sign_in().await;
    planted.work().await;
    planted.fail_at_a_proxy().await;

    let log = std::fs::read_to_string(planted.rig.state().join("drawbridge.log")).unwrap();
    assert!(log.contains("could not connect"), "the log tells of what failed: {log}");
    let mut secrets = planted.secrets.clone();
    secrets.extend([WRITTEN, READ, ENV, PRINTED, PROXY].map(ToOwned::to_owned));
    assert!(!log.contains(TYPED) && !holds(&planted.outputs, TYPED), "the words of a command are in the log: {log}");
    let files = planted.kept();
    assert!(files.iter().any(|file| file.ends_with("audit.log")) && files.len() > 4, "{files:?}");
    for secret in &secrets {
        assert!(secret.len() > 8, "{secret} would be found anywhere");
        assert!(!holds(&planted.outputs, secret), "{secret} was said: {}", String::from_utf8_lossy(&planted.outputs));
        for file in &files {
            assert!(!holds(&std::fs::read(file).unwrap(), secret), "{secret} is in {}", file.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_this_users_alone_and_a_second_start_leaves_it_alone() {
    let rig = Rig::signed_in().await;
    let started = rig.start(&[]).await;
    let log = rig.state().join("drawbridge.log");
    let second = rig.run(&["start", "--headless"]).await;
    assert_eq!(second.status.code(), Some(1));
    use std::os::unix::fs::PermissionsExt as _;
    if let Ok(facts) = std::fs::metadata(&log) {
        assert_eq!(facts.permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(started.stop().await, Some(0));

    // A log that cannot be written is said once, and everything goes on.
    let _ = std::fs::remove_file(&log);
    std::fs::create_dir(&log).unwrap();
    let mut command = rig.command(&["start", "--headless"]);
    command.env("DRAWBRIDGE_LOG", "trace").env("DRAWBRIDGE_PLATFORM_URL", "ws://127.0.0.1:9");
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = Vec::new();
    while !told.iter().any(|line: &String| line.contains("could not connect")) {
        told.push(within(lines.next_line()).await.unwrap().unwrap());
    }
    let id = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    while let Some(line) = within(lines.next_line()).await.unwrap() {
        told.push(line);
    }
    assert_eq!(within(child.wait()).await.unwrap().code(), Some(0));
    assert_eq!(told.iter().filter(|line| line.contains("cannot be written")).count(), 1, "{told:?}");
}
