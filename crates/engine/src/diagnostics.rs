//! What a person copies when they ask for help: a plain text of facts, counts and the end of the program's log.
//!
//! It holds no contents, no tokens and no names: not of the person, the computer, accounts, chats, or folders that agents work
//! in. Every part of it is cleared by [`scrub`], also where nothing of the kind is expected. The person reads it before it is
//! copied, and nothing here sends it anywhere.

mod scrub;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use drawbridge_os::folders::Folders;
use drawbridge_os::{about, installed, machine};
use drawbridge_store::config::{Config, Loaded};
use drawbridge_store::log;
use drawbridge_store::state_dir::StateDir;

use crate::doctor::{Finding, FindingState};
use crate::net::PROXY_VARIABLES;
use crate::view::{AccountState, LinkState, Snapshot, TrayState};

use scrub::Scrub;

/// So many lines of the log are in it.
const LOG_LINES: usize = 200;

/// What the text is made of.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where things are kept.
    pub folders: Folders,
    /// The picture of the running engine; none when none runs.
    pub snapshot: Option<Arc<Snapshot>>,
    /// What the check-up found.
    pub findings: Vec<Finding>,
    /// What only the host knows, each a name and a fact: the version of its web view, for example.
    pub facts: Vec<(&'static str, String)>,
    /// Names and addresses that must not be in it beside those that are found here. See [`names_of`].
    pub names: Vec<String>,
}

/// Returns what the configuration holds of names and addresses: of the computer, the platform, the proxy, servers of models and the
/// organisation.
/// Where no engine runs, they are known from here alone.
#[must_use]
pub fn names_of(loaded: &Loaded) -> Vec<String> {
    let (config, usual) = (&loaded.config, Config::default());
    let mut names = vec![config.display_name.clone()];
    names.extend(Some(&config.platform_url).filter(|url| **url != usual.platform_url).cloned());
    names.extend(Some(&config.oauth_client_id).filter(|id| **id != usual.oauth_client_id).cloned());
    let proxies = PROXY_VARIABLES.iter().filter_map(|name| std::env::var(name).ok()).chain(config.proxy.url.clone());
    names.extend(proxies.map(|url| if url.contains("://") { url } else { format!("http://{url}") }));
    let servers = [&config.ollama_url].into_iter().chain(&config.models.servers).chain(&config.models.far);
    names.extend(servers.filter(|url| url.contains("://")).cloned());
    names.extend(loaded.managed.as_ref().and_then(|managed| managed.organisation.clone()));
    names
}

/// Makes the text. Reads the end of the log, so call it where waiting is allowed.
#[must_use]
pub fn collect(input: &Input) -> String {
    let mut text = String::new();
    write_facts(&mut text, input);
    if let Some(picture) = &input.snapshot {
        write_picture(&mut text, picture);
    }
    write_findings(&mut text, &input.findings);
    write_log(&mut text, &input.folders);
    let scrub = Scrub::new(input);
    let lines: Vec<String> = text.lines().map(|line| scrub.clear(&log::redacted(line))).collect();
    lines.join("\n") + "\n"
}

fn write_facts(text: &mut String, input: &Input) {
    let version = env!("CARGO_PKG_VERSION");
    fact(text, "Drawbridge", &format!("{version}, installed as: {}", installed::kind().name()));
    let platform = machine::platform().unwrap_or("unknown");
    let arch = machine::arch().unwrap_or("unknown");
    fact(text, "System", &format!("{}, {platform}, {arch}", about::system()));
    fact(text, "Kernel", &about::kernel().unwrap_or_default());
    fact(text, "Desktop", &about::session().unwrap_or_else(|| "none".to_owned()));
    for (name, told) in &input.facts {
        fact(text, name, told);
    }
    // Opening makes the folder, and looking must not.
    let there = Some(&input.folders.state).filter(|state| state.is_dir());
    let running = there.and_then(|state| StateDir::open(state).ok()?.owned_since());
    let running = match running.map(|since| SystemTime::now().duration_since(since).unwrap_or_default()) {
        Some(time) => format!("for {}", duration(time)),
        None => "no".to_owned(),
    };
    fact(text, "Running", &running);
}

fn write_picture(text: &mut String, picture: &Snapshot) {
    let usual = Config::default().platform_url == picture.account.platform_url;
    let platform = if usual { "the usual platform" } else { "another platform" };
    fact(text, "Engine", &picture.version);
    fact(text, "Account", &format!("{} at {platform}", account(&picture.account.state)));
    fact(text, "Accounts", &picture.accounts.len().to_string());
    fact(text, "Link", &format!("{}{}", link(picture.link.state), reason(picture.link.reason.as_deref())));
    fact(text, "Bridge", if picture.raised { "raised" } else { "lowered" });
    let active = picture.chats.iter().filter(|chat| chat.active).count();
    let revoked = picture.chats.iter().filter(|chat| chat.revoked).count();
    fact(text, "Chats", &format!("{}, of them {active} active and {revoked} taken back", picture.chats.len()));
    fact(text, "Questions", &picture.prompts.len().to_string());
    fact(text, "Rules", &picture.rules.len().to_string());
    fact(text, "Browse roots", &picture.browse_roots.len().to_string());
    let powers: Vec<String> = picture.powers.iter().map(|power| format!("{}={}", power.power, power.mode)).collect();
    fact(text, "Powers", &powers.join(" "));
    let shell = &picture.shell;
    let walls = if shell.confinement_missing.is_some() { ", confinement is missing" } else { "" };
    fact(text, "Shell", &format!("{}, network {}{walls}", shell.mode, shell.network));
    let broken = if picture.audit.unavailable { ", cannot be written" } else { "" };
    fact(text, "Audit log", &format!("{} records{broken}", picture.audit.records));
    fact(text, "Secrets", &picture.secrets.place);
    let tray = match picture.tray {
        TrayState::Unknown => "not known",
        TrayState::None => "none",
        TrayState::Shown => "shown",
    };
    fact(text, "Tray", tray);
    let managed = picture.managed.as_ref().map(|managed| managed.locked.join(" "));
    fact(text, "Fixed by an organisation", managed.as_deref().unwrap_or("nothing"));
    let told = picture.trouble.iter().chain(&picture.notices).map(|notice| notice.code.as_str());
    fact(text, "Notices", &told.collect::<Vec<_>>().join(" "));
}

fn write_findings(text: &mut String, findings: &[Finding]) {
    text.push_str("\nCheck-up\n");
    for finding in findings {
        let mark = match finding.state {
            FindingState::Ok => "ok  ",
            FindingState::Info => "info",
            FindingState::Warn => "WARN",
            FindingState::Fail => "FAIL",
        };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{mark}  {}: {}", finding.check, finding.text);
    }
}

fn write_log(text: &mut String, folders: &Folders) {
    let _ = writeln!(text, "\nThe last lines of the log, at most {LOG_LINES}");
    match log::last_lines(&folders.logs, LOG_LINES) {
        Ok(lines) if lines.is_empty() => text.push_str("(there is no log)\n"),
        Ok(lines) => lines.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        }),
        Err(error) => {
            let _ = writeln!(text, "(it cannot be read: {error})");
        }
    }
}

fn fact(text: &mut String, name: &str, told: &str) {
    let told = if told.is_empty() { "-" } else { told };
    let _ = writeln!(text, "{name}: {told}");
}

fn reason(reason: Option<&str>) -> String {
    reason.map(|reason| format!(", {reason}")).unwrap_or_default()
}

fn duration(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    format!("{} h {} min", minutes / 60, minutes % 60)
}

const fn account(state: &AccountState) -> &'static str {
    match state {
        AccountState::SignedOut => "signed out",
        AccountState::SigningIn => "signing in",
        AccountState::SignedIn => "signed in",
        AccountState::Expired => "expired",
        AccountState::Refused => "refused",
    }
}

const fn link(state: LinkState) -> &'static str {
    match state {
        LinkState::Off => "off",
        LinkState::Connecting => "connecting",
        LinkState::Connected => "connected",
        LinkState::Waiting => "waiting to dial again",
        LinkState::Halted => "ended until somebody acts",
    }
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
