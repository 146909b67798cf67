//! Several processes with one sign-in: refresh tokens may be used once, and a second use signs the person out everywhere.
//!
//! The other processes are this very test program, started anew on the same state folder.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::print_stdout, reason = "one process tells the other")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use drawbridge_core::SystemClock;
use drawbridge_engine::account::{Account, AccountError, AccountOptions, PlatformUrl, TokenVault, Tokens, VaultFault};
use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::token_vault::SecretVault;
use drawbridge_engine::view::AccountState;
use drawbridge_practice::{ConsentMode, Practice, PracticeOptions};
use drawbridge_store::secrets::SecretFile;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

const PASSPHRASE: &str = "a passphrase for tests";
/// Refreshes that one process asks for at once.
const AT_ONCE: usize = 4;
/// What another process is told by its environment.
const PLATFORM: &str = "DRAWBRIDGE_TEST_PLATFORM";
const STATE: &str = "DRAWBRIDGE_TEST_STATE";

fn vault(state: &Path) -> SecretVault {
    let file = SecretFile::open(state, SecretString::from(PASSPHRASE)).unwrap();
    SecretVault::new(Arc::new(file), state.to_owned())
}

async fn account(platform: &str, vault: Arc<dyn TokenVault>) -> Account {
    let options = AccountOptions {
        id: "default".to_owned(),
        platform: PlatformUrl::parse(platform).unwrap(),
        client_id: "autogpt-local-executor".to_owned(),
        net: NetConfig::new(&NetSettings { proxy: Some("none".to_owned()), ..NetSettings::default() }).unwrap(),
        vault,
        clock: Arc::new(SystemClock),
    };
    Account::open(options).await.unwrap()
}

/// A platform and a state folder that is signed in to it.
struct Rig {
    practice: Practice,
    dir: TempDir,
}

impl Rig {
    async fn signed_in() -> Self {
        let options = PracticeOptions { consent: ConsentMode::Allow, ..PracticeOptions::default() };
        let rig = Self { practice: Practice::start(options).await.unwrap(), dir: TempDir::new().unwrap() };
        let account = rig.account().await;
        let attempt = account.sign_in().await.unwrap();
        let address = rig.practice.script().visit(attempt.authorize_url()).unwrap();
        let (done, pasted) = tokio::join!(attempt.finish(), account.paste_redirect(&address));
        pasted.unwrap();
        done.unwrap();
        rig
    }

    fn state(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    async fn account(&self) -> Account {
        account(&self.practice.base_url(), Arc::new(vault(&self.state()))).await
    }

    /// Starts this program as another process that runs one of the tests below. It waits for a line where it reads one.
    fn process(&self, test: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(PLATFORM, self.practice.base_url())
            .env(STATE, self.state())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// Asks many times at once for another token than this one; returns how often this process got it from the platform.
async fn renewals(account: &Account, refused: &SecretString) -> usize {
    let asked: Vec<_> = (0..AT_ONCE).map(|_| (account.clone(), refused.clone())).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for (account, refused) in asked {
        tasks.spawn(async move { account.refresh_if(&refused).await.unwrap() });
    }
    let mut renewed = 0;
    while let Some(renewal) = tasks.join_next().await {
        let renewal = renewal.unwrap();
        assert_ne!(renewal.bearer.token.expose_secret(), refused.expose_secret());
        renewed += usize::from(renewal.renewed);
    }
    renewed
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a process of the test below"]
async fn another_process_renews() {
    let account =
        account(&std::env::var(PLATFORM).unwrap(), Arc::new(vault(Path::new(&std::env::var(STATE).unwrap())))).await;
    // All that are here use the token that was stored when they began.
    let refused = account.bearer().unwrap().token;
    println!("ready");
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    println!("renewed={}", renewals(&account, &refused).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_refreshes_of_three_processes_are_one_at_the_platform() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let rig = Rig::signed_in().await;
    for round in 0..2 {
        let ours = rig.account().await;
        let refused = ours.bearer().unwrap().token;
        rig.practice.script().expire_access_tokens();
        let mut others: Vec<_> = (0..2)
            .map(|_| {
                let mut child = rig.process("another_process_renews");
                let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                (child, lines)
            })
            .collect();
        for (_, lines) in &mut others {
            assert!(lines.any(|line| line.unwrap().contains("ready")), "a process did not come up");
        }
        for (child, _) in &mut others {
            child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        }

        let mut renewed = renewals(&ours, &refused).await;
        for (mut child, lines) in others {
            // To the end: a process whose listener has gone cannot finish what it says.
            let told: Vec<String> = lines.map(Result::unwrap).collect();
            let count = told.iter().find_map(|line| line.split("renewed=").nth(1)).unwrap();
            renewed += count.trim().parse::<usize>().unwrap();
            assert!(child.wait().unwrap().success());
        }

        assert_eq!(renewed, 1, "round {round}");
        assert_eq!(ours.view().state, AccountState::SignedIn);
    }
    // The family lives: a second use of any refresh token would have ended it.
    let account = rig.account().await;
    assert_eq!(renewals(&account, &account.bearer().unwrap().token).await, 1);
}

/// Ends the process, as `kill -9` would, when the new pair is about to be stored.
#[derive(Debug)]
struct Killed(SecretVault);

impl TokenVault for Killed {
    fn load(&self) -> Result<Option<Tokens>, VaultFault> {
        self.0.load()
    }

    fn save(&self, _: &Tokens) -> Result<(), VaultFault> {
        std::process::abort()
    }

    fn clear(&self) -> Result<(), VaultFault> {
        self.0.clear()
    }

    fn turn(&self) -> Result<Box<dyn Send>, VaultFault> {
        self.0.turn()
    }

    fn note_renewal(&self, under_way: bool) -> bool {
        self.0.note_renewal(under_way)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a process of the test below"]
async fn another_process_is_killed_before_it_stores() {
    let vault = Killed(vault(Path::new(&std::env::var(STATE).unwrap())));
    let account = account(&std::env::var(PLATFORM).unwrap(), Arc::new(vault)).await;
    let refused = account.bearer().unwrap().token;
    let _ = account.refresh_if(&refused).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_between_answer_and_store_costs_the_sign_in_and_the_next_one_says_why() {
    let rig = Rig::signed_in().await;
    let end = rig.process("another_process_is_killed_before_it_stores").wait_with_output().unwrap();
    assert!(!end.status.success(), "it should not have lived to its end");

    // The turn did not stay taken, and the old access token is still good until the platform says otherwise.
    let account = rig.account().await;
    assert_eq!(account.view().state, AccountState::SignedIn);
    let fault = account.refresh_if(&account.bearer().unwrap().token).await.unwrap_err();

    assert_eq!(fault, AccountError::CutOff { status: 400 });
    let view = account.view();
    assert_eq!((view.state, view.problem_code.as_deref()), (AccountState::Refused, Some("sign_in_cut_off")));

    // Signing in again mends it, and leaves no trace of the cut.
    let attempt = account.sign_in().await.unwrap();
    let address = rig.practice.script().visit(attempt.authorize_url()).unwrap();
    let (done, pasted) = tokio::join!(attempt.finish(), account.paste_redirect(&address));
    pasted.unwrap();
    done.unwrap();
    assert!(!rig.state().join("refresh.started").exists());
    assert_eq!(renewals(&account, &account.bearer().unwrap().token).await, 1);
}
