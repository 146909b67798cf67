use super::*;
use crate::secrets::{AuditKeyFault, audit_key, entries};

#[test]
fn a_copied_file_opens_with_its_passphrase_alone_and_holds_nothing_in_clear() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("open sesame")).unwrap();
    let key = audit_key(&secrets, false).unwrap();
    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("token-in-clear")).unwrap();
    let bytes = std::fs::read(SecretFile::path(dir.path())).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains("token-in-clear") && !text.contains(key.to_hex().as_str()));

    let other = tempfile::tempdir().unwrap();
    std::fs::write(SecretFile::path(other.path()), &bytes).unwrap();
    let wrong = SecretFile::open(other.path(), SecretString::from("wrong"));
    assert!(matches!(wrong, Err(SecretFault::WrongPassphrase(_))));
    assert_eq!(std::fs::read(SecretFile::path(other.path())).unwrap(), bytes);
    let copy = SecretFile::open(other.path(), SecretString::from("open sesame")).unwrap();
    assert_eq!(audit_key(&copy, true).unwrap().bytes(), key.bytes());

    copy.set(entries::AUDIT_KEY, &SecretString::from("short")).unwrap();
    assert!(matches!(audit_key(&copy, true), Err(AuditKeyFault::Damaged)));
    copy.delete(entries::AUDIT_KEY).unwrap();
    assert!(matches!(audit_key(&copy, true), Err(AuditKeyFault::MissingBesideLog(_))));
}

#[test]
fn opening_and_reading_derives_the_key_once() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    audit_key(&secrets, false).unwrap();
    secrets.set(entries::REFRESH_TOKEN, &SecretString::from("r")).unwrap();
    drop(secrets);

    DERIVED.set(0);
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    audit_key(&secrets, true).unwrap();
    for name in [entries::ACCESS_TOKEN, entries::REFRESH_TOKEN, entries::TOKEN_TIMES, entries::AUDIT_HEAD] {
        secrets.get(name).unwrap();
    }
    secrets.delete(entries::ACCESS_TOKEN).unwrap();

    assert_eq!(DERIVED.get(), 1);
    secrets
        .set_all(&[
            (entries::ACCESS_TOKEN, &SecretString::from("a")),
            (entries::REFRESH_TOKEN, &SecretString::from("r2")),
        ])
        .unwrap();
    secrets.get(entries::ACCESS_TOKEN).unwrap();
    assert_eq!(DERIVED.get(), 2);
}

#[test]
fn what_another_process_wrote_is_seen_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let one = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    let other = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();

    one.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();
    other.set(entries::REFRESH_TOKEN, &SecretString::from("r")).unwrap();

    for store in [&one, &other] {
        assert_eq!(store.get(entries::ACCESS_TOKEN).unwrap().unwrap().expose_secret(), "a");
        assert_eq!(store.get(entries::REFRESH_TOKEN).unwrap().unwrap().expose_secret(), "r");
    }
}

#[test]
fn a_crash_while_saving_keeps_the_old_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();
    drop(secrets);
    let path = SecretFile::path(dir.path());
    let whole = std::fs::read(&path).unwrap();
    for left in [&b""[..], &whole[..whole.len() / 2], &whole] {
        let temporary = dir.path().join(".secrets.enc.0123456789abcdef.tmp");
        std::fs::write(&temporary, left).unwrap();

        let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();

        assert_eq!(secrets.get(entries::ACCESS_TOKEN).unwrap().unwrap().expose_secret(), "a");
        assert!(!temporary.exists());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_damaged_or_changed_file_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();
    drop(secrets);
    let path = SecretFile::path(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let sealed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let salt = sealed["salt"].as_str().unwrap();
    let other_salt = STANDARD.encode([9_u8; 16]);
    for changed in [
        String::new(),
        text[..text.len() - 2].to_owned(),
        text.replace("65536", "8"),
        text.replace("\"t\":3", "\"t\":1"),
        text.replace("\"v\":1", "\"v\":2"),
        text.replace(salt, &other_salt),
        text.replace(salt, "AAAA"),
        text.replace("\"ct\":\"", "\"ct\":\"AAAA"),
        text.replace('{', "{\"x\":1,"),
    ] {
        assert_ne!(changed, text);
        std::fs::write(&path, &changed).unwrap();

        let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

        assert!(matches!(refused, SecretFault::Damaged { .. } | SecretFault::WrongPassphrase(_)), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), changed);
    }
}

#[cfg(unix)]
#[test]
fn the_file_belongs_to_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();

    for entry in std::fs::read_dir(dir.path()).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o077, 0);
    }
}
