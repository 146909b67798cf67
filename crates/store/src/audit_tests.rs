//! The log as its readers see it: whole scenarios on real files, with what somebody might do to them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drawbridge_core::{ManualClock, WallMs};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::SecretString;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::secrets::{SecretFault, SecretPlace, SecretStore, entries};

const START: i64 = 1_800_000_000_000;

/// Secrets in memory: another place than the files of the log.
#[derive(Debug)]
struct Memory {
    entries: Mutex<BTreeMap<String, SecretString>>,
    place: SecretPlace,
}

impl Memory {
    fn new(place: SecretPlace) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), place })
    }
}

impl SecretStore for Memory {
    fn get(&self, name: &str) -> Result<Option<SecretString>, SecretFault> {
        Ok(self.entries.lock().unwrap().get(name).cloned())
    }

    fn set_all(&self, values: &[(&str, &SecretString)]) -> Result<(), SecretFault> {
        let mut entries = self.entries.lock().unwrap();
        entries.extend(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), SecretFault> {
        self.entries.lock().unwrap().remove(name);
        Ok(())
    }

    fn place(&self) -> SecretPlace {
        self.place
    }
}

pub(super) struct Rig {
    pub(super) dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    secrets: Option<Arc<Memory>>,
}

impl Rig {
    pub(super) fn new() -> Self {
        let clock = Arc::new(ManualClock::starting_at(WallMs(START)));
        Self { dir: tempfile::tempdir().unwrap(), clock, secrets: None }
    }

    fn with_secrets(place: SecretPlace) -> Self {
        Self { secrets: Some(Memory::new(place)), ..Self::new() }
    }

    pub(super) fn paths(&self) -> AuditPaths {
        AuditPaths { log: self.dir.path().join("logs/audit.log"), state_dir: self.dir.path().to_owned() }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.paths().log.with_file_name(name)
    }

    fn key(&self) -> AuditKey {
        AuditKey::new([7; 32])
    }

    pub(super) fn open(&self) -> AuditLog {
        self.try_open().unwrap()
    }

    fn try_open(&self) -> Result<AuditLog, AuditFault> {
        AuditLog::open(AuditOptions {
            paths: self.paths(),
            key: self.key(),
            machine_id: "m-1".to_owned(),
            shim_version: "drawbridge-0.1.0".to_owned(),
            sync: SyncMode::Interval,
            clock: self.clock.clone(),
            secrets: self.secrets.clone().map(|secrets| secrets as Arc<dyn SecretStore>),
        })
    }

    /// Writes a log of one file for each number, with so many records beside its first.
    fn written(&self, files: &[usize]) -> Vec<PathBuf> {
        let log = self.open();
        let mut rotated = Vec::new();
        for (at, count) in files.iter().enumerate() {
            if at > 0 {
                rotated.push(log.rotate().unwrap());
            }
            for number in 0..*count {
                log.append(record(&format!("file {at} record {number}"))).unwrap();
            }
            self.clock.advance(Duration::from_secs(3600));
        }
        rotated
    }

    fn kinds(&self, copy: HeadCopy<'_>) -> Vec<FindingKind> {
        let report = verify_all(&self.paths(), &self.key(), copy, false).unwrap();
        let mut kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    fn ops(&self, path: &Path) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let op = |line: &str| serde_json::from_str::<Value>(line).unwrap()["op"].as_str().unwrap().to_owned();
        text.lines().map(op).collect()
    }
}

fn record(what: &str) -> Record {
    let Value::Object(details) = json!({ "what": what }) else { panic!("an object") };
    let op = Cow::Borrowed("FILE_READ");
    Record { session_id: None, request_id: None, op, details, result: RecordResult::happened() }
}

fn what(line: &str) -> String {
    let record: Value = serde_json::from_str(line).unwrap();
    record["details"]["what"].as_str().unwrap_or("-").to_owned()
}

#[test]
fn the_tail_begins_with_the_newest_and_follows_across_rotation() {
    let rig = Rig::new();
    let log = rig.open();
    for name in ["a", "b", "c"] {
        log.append(record(name)).unwrap();
    }
    let mut tail = Tail::open(&rig.paths(), Some(2)).unwrap();
    let mut next = || tail.next_now().unwrap().map(|line| what(&line));
    assert_eq!([next(), next(), next()], [Some("b".to_owned()), Some("c".to_owned()), None]);

    log.append(record("d")).unwrap();
    log.rotate().unwrap();
    log.append(record("e")).unwrap();

    // "-" is the LOG_OPENED of the new file.
    let seen: Vec<String> = std::iter::from_fn(next).collect();
    assert_eq!(seen, ["d", "-", "e"]);

    // Twice between two looks.
    log.append(record("f")).unwrap();
    log.rotate().unwrap();
    log.append(record("g")).unwrap();
    log.rotate().unwrap();
    let seen: Vec<String> = std::iter::from_fn(|| tail.next_now().unwrap().map(|line| what(&line))).collect();
    assert_eq!(seen, ["f", "-", "g", "-"]);
    log.append(record("h")).unwrap();
    let mut all = Tail::open(&rig.paths(), None).unwrap();
    assert_eq!(std::iter::from_fn(|| all.next_now().unwrap()).count(), 2);
}

#[test]
fn the_tail_waits_for_a_log_that_is_not_there_and_for_the_end_of_a_line() {
    let rig = Rig::new();
    fs::create_dir_all(rig.dir.path().join("logs")).unwrap();
    let mut tail = Tail::open(&rig.paths(), Some(0)).unwrap();
    assert_eq!(tail.next_now().unwrap(), None);

    fs::write(rig.paths().log, "{\"seq\":1}\n{\"se").unwrap();
    assert_eq!(tail.next_now().unwrap().as_deref(), Some("{\"seq\":1}"));
    assert_eq!(tail.next_now().unwrap(), None);

    fs::write(rig.paths().log, "{\"seq\":1}\n{\"seq\":2}\n").unwrap();
    assert_eq!(tail.next_now().unwrap().as_deref(), Some("{\"seq\":2}"));
}

#[test]
fn a_record_is_shown_by_its_number_newest_file_first() {
    let rig = Rig::new();
    let rotated = rig.written(&[2, 3]);
    let name = files::name(&rotated[0]);

    let found = show(&rig.paths(), 2, None).unwrap();

    let seen: Vec<(&str, &str)> =
        found.iter().map(|one| (one.file.as_str(), one.record["details"]["what"].as_str().unwrap())).collect();
    assert_eq!(seen, [("audit.log", "file 1 record 0"), (name.as_str(), "file 0 record 0")]);
    assert_eq!(show(&rig.paths(), 2, Some(&name)).unwrap().len(), 1);
    assert_eq!(show(&rig.paths(), 4, None).unwrap().len(), 1);
    assert_eq!(show(&rig.paths(), 99, None).unwrap(), []);
    assert_eq!(show(&rig.paths(), 2, Some("audit.head")).unwrap(), []);
}

#[test]
fn a_bundle_holds_whole_records_and_a_manifest_that_anybody_with_the_key_can_check() {
    let rig = Rig::new();
    let rotated = rig.written(&[2, 3]);
    let whole = fs::read(rig.paths().log).unwrap();
    fs::write(rig.paths().log, [&whole[..], b"{\"seq\":"].concat()).unwrap();
    let output = rig.dir.path().join("bundle.zip");
    let key = rig.key();

    let exported = export(&rig.paths(), &key, "default/audit_key", WallMs(START), &output).unwrap();

    assert_eq!(exported.files, [files::name(&rotated[0]), "audit.log".to_owned()]);
    let mut zip = zip::ZipArchive::new(fs::File::open(&output).unwrap()).unwrap();
    let mut entry = |name: &str| {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let manifest = entry("manifest.json");
    let facts: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(facts["key_username"], "default/audit_key");
    assert_eq!(facts["exported_at"], "2027-01-15T08:00:00Z");
    let listed = facts["files"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    for (file, source) in listed.iter().zip([fs::read(&rotated[0]).unwrap(), whole]) {
        let bytes = entry(file["name"].as_str().unwrap());
        assert_eq!(bytes, source);
        assert_eq!(file["size"], source.len());
        assert_eq!(file["sha256"].as_str().unwrap(), drawbridge_core::hex::encode(Sha256::digest(&source)));
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
    mac.update(&manifest);
    assert_eq!(entry("manifest.sig"), drawbridge_core::hex::encode(mac.finalize().into_bytes()).as_bytes());
    assert_eq!(zip.len(), 4);
    let bytes = fs::read(&output).unwrap();
    assert!(!bytes.windows(64).any(|part| part == key.to_hex().as_bytes()));
}

#[test]
fn a_bundle_never_overwrites_and_leaves_nothing_half_done() {
    let rig = Rig::new();
    rig.written(&[1]);
    let output = rig.dir.path().join("bundle.zip");
    fs::write(&output, "mine").unwrap();
    assert!(export(&rig.paths(), &rig.key(), "k", WallMs(START), &output).is_err());
    assert_eq!(fs::read_to_string(&output).unwrap(), "mine");

    fs::remove_file(rig.paths().log).unwrap();
    let other = rig.dir.path().join("other.zip");
    assert!(export(&rig.paths(), &rig.key(), "k", WallMs(START), &other).is_err());
    assert!(!other.exists());
}

#[test]
fn pruning_takes_what_is_old_enough_and_what_is_left_stays_sound() {
    let rig = Rig::new();
    let rotated = rig.written(&[1, 1, 1, 1]);
    let log = rig.open();

    // The newest records of the files are 4, 3 and 2 hours old by now.
    let gone = log.prune(Duration::from_secs(150 * 60)).unwrap();

    assert_eq!(gone, [files::name(&rotated[0]), files::name(&rotated[1])]);
    assert!(!rotated[0].exists() && !rotated[1].exists() && rotated[2].exists());
    assert_eq!(rig.kinds(HeadCopy::Nowhere), []);
    assert_eq!(log.prune(Duration::from_secs(150 * 60)).unwrap(), [""; 0]);
    drop(log);
    drop(rig.open());
    assert_eq!(rig.kinds(HeadCopy::Nowhere), []);

    // What was removed without a word is missing.
    fs::remove_file(&rotated[2]).unwrap();
    assert_eq!(rig.kinds(HeadCopy::Nowhere), [FindingKind::MissingFile]);
}

#[test]
fn a_rotated_file_that_is_missing_swapped_cut_or_changed_is_found() {
    type Deed = fn(&[PathBuf]);
    let deeds: [(&str, Deed, &[FindingKind]); 5] = [
        ("missing", |files| fs::remove_file(&files[1]).unwrap(), &[FindingKind::MissingFile, FindingKind::FileOrder]),
        (
            "swapped",
            |files| {
                let aside = files[0].with_file_name("aside");
                fs::rename(&files[0], &aside).unwrap();
                fs::rename(&files[1], &files[0]).unwrap();
                fs::rename(&aside, &files[1]).unwrap();
            },
            &[FindingKind::FileOrder],
        ),
        (
            "cut",
            |files| {
                let text = fs::read_to_string(&files[1]).unwrap();
                let last = text.trim_end().rfind('\n').unwrap();
                fs::write(&files[1], &text[..=last]).unwrap();
            },
            &[FindingKind::Truncated],
        ),
        (
            "changed",
            |files| {
                let text = fs::read_to_string(&files[1]).unwrap();
                fs::write(&files[1], text.replace("file 1 record 0", "file 1 record x")).unwrap();
            },
            &[FindingKind::HmacMismatch],
        ),
        (
            "twice",
            |files| fs::copy(&files[0], files[0].with_file_name("audit.log.20270101-000000")).map(|_| ()).unwrap(),
            &[FindingKind::FileOrder],
        ),
    ];
    for (name, deed, expected) in deeds {
        let rig = Rig::new();
        let rotated = rig.written(&[2, 2, 2]);
        assert_eq!(rig.kinds(HeadCopy::Nowhere), [], "{name}");

        deed(&rotated);

        let kinds = rig.kinds(HeadCopy::Nowhere);
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| expected.contains(kind)), "{name}: {kinds:?}");
        assert!(kinds.contains(&expected[0]), "{name}: {kinds:?}");
    }
}

#[test]
fn a_record_that_is_changed_removed_or_put_in_is_found() {
    let rig = Rig::new();
    rig.written(&[3]);
    let text = fs::read_to_string(rig.paths().log).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    for (changed, kind) in [
        (text.replacen("record 0", "record 9", 1), FindingKind::HmacMismatch),
        (joined(&[lines[0], lines[2], lines[3]]), FindingKind::ChainBreak),
        (joined(&[lines[0], lines[1], lines[1], lines[2], lines[3]]), FindingKind::SequenceGap),
        (joined(&[lines[0], lines[2], lines[1], lines[3]]), FindingKind::SequenceGap),
        (joined(&[lines[0], "not json", lines[2], lines[3]]), FindingKind::ParseError),
        (joined(&[lines[0], "{}", lines[2], lines[3]]), FindingKind::MissingField),
        (joined(&lines[..2]), FindingKind::HeadMismatch),
        (text[..text.len() - 1].to_owned(), FindingKind::Truncated),
        (String::new(), FindingKind::HeadMismatch),
    ] {
        fs::write(rig.paths().log, &changed).unwrap();
        let kinds = rig.kinds(HeadCopy::Nowhere);
        assert!(kinds.contains(&kind), "{kind:?} not in {kinds:?}");
    }
    fs::write(rig.paths().log, &text).unwrap();
    assert_eq!(rig.kinds(HeadCopy::Nowhere), []);
    let other_key = verify(&rig.paths(), &AuditKey::new([8; 32]), HeadCopy::Nowhere, false).unwrap();
    assert!(other_key.findings.iter().any(|finding| finding.kind == FindingKind::HmacMismatch));
}

#[test]
fn log_and_head_rolled_back_together_are_found_by_the_copy_in_the_secret_store() {
    let rig = Rig::with_secrets(SecretPlace::Keychain);
    rig.written(&[2]);
    let head = rig.dir.path().join("audit.head");
    let (old_log, old_head) = (fs::read(rig.paths().log).unwrap(), fs::read(&head).unwrap());
    {
        let log = rig.open();
        log.append(record("what somebody wants to hide")).unwrap();
    }
    let secrets = rig.secrets.clone().unwrap();
    let copy = HeadCopy::In(secrets.as_ref());
    assert_eq!(rig.kinds(copy), []);

    fs::write(rig.paths().log, old_log).unwrap();
    fs::write(&head, old_head).unwrap();

    assert_eq!(rig.kinds(HeadCopy::Nowhere), []);
    assert_eq!(rig.kinds(copy), [FindingKind::HeadMismatch]);
    // Going on does not make it good again.
    drop(rig.open());
    assert_eq!(rig.kinds(copy), [FindingKind::Suspect]);
    drop(rig.open());
    assert_eq!(rig.kinds(copy), [FindingKind::Suspect]);
}

#[test]
fn a_log_without_its_head_is_found_and_the_notice_stays() {
    let rig = Rig::new();
    rig.written(&[3]);
    let text = fs::read_to_string(rig.paths().log).unwrap();
    let second = text.match_indices('\n').nth(1).unwrap().0;
    fs::write(rig.paths().log, &text[..=second]).unwrap();
    fs::remove_file(rig.dir.path().join("audit.head")).unwrap();
    assert_eq!(rig.kinds(HeadCopy::Nowhere), [FindingKind::HeadMismatch]);

    drop(rig.open());

    assert_eq!(rig.kinds(HeadCopy::Nowhere), [FindingKind::Suspect]);
}

#[test]
fn a_log_that_is_gone_with_its_head_is_found_by_a_secret_file_of_the_same_folder() {
    for (place, expected) in [(SecretPlace::File, &[FindingKind::Suspect][..]), (SecretPlace::Keychain, &[])] {
        let rig = Rig::with_secrets(place);
        rig.written(&[3]);
        fs::remove_file(rig.paths().log).unwrap();
        fs::remove_file(rig.dir.path().join("audit.head")).unwrap();

        drop(rig.open());

        assert_eq!(rig.kinds(HeadCopy::In(rig.secrets.clone().unwrap().as_ref())), expected, "{place:?}");
    }
}

#[test]
fn the_head_is_copied_at_start_at_rotation_and_at_the_end_wherever_secrets_are() {
    for place in [SecretPlace::File, SecretPlace::Keychain] {
        let rig = Rig::with_secrets(place);
        let secrets = rig.secrets.clone().unwrap();
        let log = rig.open();
        // At start: without any further record, and before the end.
        while secrets.get(entries::AUDIT_HEAD).unwrap().is_none() {
            std::thread::yield_now();
        }
        log.append(record("a")).unwrap();
        log.close();

        let entry =
            secrecy::ExposeSecret::expose_secret(&secrets.get(entries::AUDIT_HEAD).unwrap().unwrap()).to_owned();
        let heads: Value = serde_json::from_str(&entry).unwrap();
        assert_eq!(heads.as_array().unwrap().len(), 1);
        assert_eq!(heads[0]["seq"], 2);
    }
}

#[test]
fn a_file_whose_last_record_does_not_verify_is_set_aside_and_the_new_one_says_so() {
    let rig = Rig::new();
    rig.written(&[2]);
    let text = fs::read_to_string(rig.paths().log).unwrap();
    let changed = text.replace("record 1", "record 9");
    fs::write(rig.paths().log, &changed).unwrap();

    let log = rig.open();
    log.append(record("after")).unwrap();
    drop(log);

    let older = files::older(&rig.paths().log).unwrap();
    assert_eq!(older.len(), 1);
    assert!(files::name(&older[0]).starts_with("audit.log.suspect-"));
    assert_eq!(fs::read_to_string(&older[0]).unwrap(), changed);
    assert_eq!(rig.ops(&rig.paths().log), ["LOG_OPENED", "LOG_SUSPECT", "FILE_READ"]);
    assert_eq!(rig.kinds(HeadCopy::Nowhere), [FindingKind::HmacMismatch, FindingKind::Suspect]);
}

#[test]
fn a_last_record_torn_at_any_byte_is_set_aside_byte_by_byte_and_the_chain_goes_on() {
    let rig = Rig::new();
    rig.written(&[1]);
    // The head of a program that is killed while it appends is that of the record before.
    let head = fs::read(rig.dir.path().join("audit.head")).unwrap();
    let before = fs::read(rig.paths().log).unwrap();
    {
        let log = rig.open();
        log.append(record("zoë")).unwrap();
    }
    let whole = fs::read(rig.paths().log).unwrap();
    // Most of the time goes into syncing, so several are tried at once.
    let ends = Mutex::new(before.len()..=whole.len());
    std::thread::scope(|threads| {
        for _ in 0..16 {
            threads.spawn(|| {
                while let Some(end) = { ends.lock().unwrap().next() } {
                    torn_at(end, &before, &whole, &head);
                }
            });
        }
    });
}

fn torn_at(end: usize, before: &[u8], whole: &[u8], head: &[u8]) {
    let now = Rig::new();
    fs::create_dir_all(now.dir.path().join("logs")).unwrap();
    fs::write(now.paths().log, &whole[..end]).unwrap();
    fs::write(now.dir.path().join("audit.head"), head).unwrap();

    drop(now.open());

    assert_eq!(now.kinds(HeadCopy::Nowhere), [], "{end}");
    let after = fs::read(now.paths().log).unwrap();
    if end == before.len() || end == whole.len() {
        assert_eq!(after, whole[..end]);
        return;
    }
    assert_eq!(after[..before.len()], *before);
    assert_eq!(now.ops(&now.paths().log), ["LOG_OPENED", "FILE_READ", "LOG_REPAIRED"]);
    let repaired = show(&now.paths(), 3, None).unwrap().remove(0).record;
    assert_eq!(repaired["details"]["bytes_set_aside"], end - before.len());
    let aside = now.beside(repaired["details"]["file"].as_str().unwrap());
    assert_eq!(fs::read(aside).unwrap(), whole[before.len()..end]);
}

/// Puts a pipe, a socket, a folder or a link to a device in the place of a file.
#[cfg(unix)]
fn put_strange_things(path: &Path, each: impl Fn(&str)) {
    let _ = fs::remove_file(path);
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    each("pipe");
    fs::remove_file(path).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(path).unwrap();
    each("socket");
    drop(socket);
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
    each("folder");
    fs::remove_dir(path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    each("link to a device");
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once_in_the_place_of_the_log_or_its_head() {
    const WORDS: &str = "is not a regular file";
    let rig = Rig::new();
    rig.written(&[2]);
    let (paths, key) = (rig.paths(), rig.key());

    put_strange_things(&paths.log, |what| {
        let refused = rig.try_open().unwrap_err();
        assert!(matches!(&refused, AuditFault::Unavailable { why, .. } if why.contains(WORDS)), "{what}: {refused}");
        let told = |refused: std::io::Error| assert!(refused.to_string().contains(WORDS), "{what}: {refused}");
        told(verify(&paths, &key, HeadCopy::Nowhere, false).unwrap_err());
        told(verify_all(&paths, &key, HeadCopy::Nowhere, false).unwrap_err());
        told(Tail::open(&paths, None).unwrap_err());
        told(show(&paths, 1, None).unwrap_err());
        told(export(&paths, &key, "k", WallMs(START), &rig.beside("bundle.zip")).unwrap_err());
    });
    put_strange_things(&rig.dir.path().join("audit.head"), |what| {
        let refused = rig.try_open().unwrap_err();
        assert!(matches!(&refused, AuditFault::Unavailable { why, .. } if why.contains(WORDS)), "{what}: {refused}");
        let refused = verify(&paths, &key, HeadCopy::Nowhere, false).unwrap_err();
        assert!(refused.to_string().contains(WORDS), "{what}: {refused}");
    });
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_in_the_place_of_a_rotated_file_stops_readers_but_not_the_log() {
    let rig = Rig::new();
    let rotated = rig.written(&[2, 2]);

    put_strange_things(&rotated[0], |what| {
        let refused = verify_all(&rig.paths(), &rig.key(), HeadCopy::Nowhere, false).unwrap_err();
        assert!(refused.to_string().contains("is not a regular file"), "{what}: {refused}");
        let log = rig.open();
        log.append(record("goes on")).unwrap();
        assert!(log.prune(Duration::ZERO).is_err(), "{what}");
        assert!(show(&rig.paths(), 1, None).is_err(), "{what}");
        assert!(Tail::open(&rig.paths(), None).unwrap().next_now().unwrap().is_some(), "{what}");
    });
}
