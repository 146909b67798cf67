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

/// A sealed file and its fields.
fn sealed_file() -> (tempfile::TempDir, PathBuf, serde_json::Value) {
    let dir = tempfile::tempdir().unwrap();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();
    let path = SecretFile::path(dir.path());
    let fields = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    (dir, path, fields)
}

#[test]
fn every_changed_field_is_noticed_and_the_file_is_left_alone() {
    let (dir, path, fields) = sealed_file();
    let ct = fields["ct"].as_str().unwrap();
    let last = ct.len() - 4;
    let base64 = |bytes: &[u8]| serde_json::Value::from(STANDARD.encode(bytes));
    let changes = [
        ("v", 0.into()),
        ("v", "1".into()),
        ("v", (-1).into()),
        ("kdf", "argon2i".into()),
        // A hostile file must neither fill the memory, keep a processor busy for hours, nor weaken the next write.
        ("m_kib", 8.into()),
        ("m_kib", u32::MAX.into()),
        ("m_kib", u64::MAX.into()),
        ("t", 1.into()),
        ("t", u32::MAX.into()),
        ("p", 0.into()),
        ("p", 2.into()),
        ("p", 0x00FF_FFFF.into()),
        ("salt", base64(&[9; 16])),
        ("salt", base64(&[9; 15])),
        ("salt", base64(&[])),
        ("salt", "no base64".into()),
        ("nonce", base64(&[9; 12])),
        ("nonce", base64(&[9; 13])),
        ("nonce", serde_json::Value::Null),
        ("ct", base64(&[9; 64])),
        ("ct", base64(&[])),
        ("ct", format!("AAAA{ct}").into()),
        ("ct", ct[..last].into()),
        ("ct", ct[4..].into()),
        ("more", 1.into()),
    ];
    for (field, value) in changes {
        let mut changed = fields.clone();
        changed[field] = value.clone();
        assert_ne!(changed, fields);
        std::fs::write(&path, changed.to_string()).unwrap();
        DERIVED.set(0);

        let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

        assert!(
            matches!(refused, SecretFault::Damaged { .. } | SecretFault::WrongPassphrase(_)),
            "{field} = {value}: {refused}"
        );
        if ["v", "kdf", "m_kib", "t", "p"].contains(&field) {
            assert_eq!(DERIVED.get(), 0, "{field} = {value}: no key is derived at somebody else's price");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), changed.to_string());
    }
    for field in ["v", "kdf", "m_kib", "t", "p", "salt", "nonce", "ct"] {
        let mut changed = fields.clone();
        changed.as_object_mut().unwrap().remove(field);
        std::fs::write(&path, changed.to_string()).unwrap();
        assert!(SecretFile::open(dir.path(), SecretString::from("p")).is_err(), "without {field}");
    }
}

#[test]
fn a_torn_file_is_refused_at_every_length() {
    let (dir, path, _) = sealed_file();
    let whole = std::fs::read(&path).unwrap();
    let lengths = (0..whole.len()).step_by(7).chain([whole.len() - 1]);
    for length in lengths {
        std::fs::write(&path, &whole[..length]).unwrap();

        let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

        assert!(matches!(refused, SecretFault::Damaged { .. }), "{length}: {refused}");
        assert_eq!(std::fs::read(&path).unwrap(), &whole[..length]);
    }
}

#[test]
fn a_file_of_a_newer_version_is_told_apart_and_left_alone() {
    let (dir, path, mut fields) = sealed_file();
    fields["v"] = 2.into();
    fields["pepper"] = "what only a newer one knows".into();
    std::fs::write(&path, fields.to_string()).unwrap();

    let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

    assert!(matches!(refused, SecretFault::Newer { version: 2, .. }), "{refused}");
    assert!(refused.to_string().contains("newer Drawbridge"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), fields.to_string());
}

#[test]
fn a_file_far_too_large_is_not_taken_apart() {
    let (dir, path, mut fields) = sealed_file();
    fields["ct"] = "A".repeat(SIZE_LIMIT_BYTES).into();
    std::fs::write(&path, fields.to_string()).unwrap();

    let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

    assert!(refused.to_string().contains("far larger"), "{refused}");
}

#[test]
fn each_write_has_a_salt_and_a_nonce_of_its_own() {
    let (dir, path, before) = sealed_file();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();

    secrets.set(entries::ACCESS_TOKEN, &SecretString::from("a")).unwrap();

    let after: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for field in ["salt", "nonce", "ct"] {
        assert_ne!(before[field], after[field], "{field}");
    }
    for (field, value) in [("v", 1), ("m_kib", 65_536), ("t", 3), ("p", 1)] {
        assert_eq!(after[field], serde_json::json!(value), "{field}");
    }
    assert_eq!(after["kdf"], "argon2id");
}

#[test]
fn a_file_that_was_taken_away_is_not_made_anew_with_one_entry() {
    let (dir, path, _) = sealed_file();
    let secrets = SecretFile::open(dir.path(), SecretString::from("p")).unwrap();
    std::fs::rename(&path, dir.path().join("elsewhere.enc")).unwrap();

    assert!(secrets.set(entries::REFRESH_TOKEN, &SecretString::from("r")).is_err());
    assert!(secrets.get(entries::ACCESS_TOKEN).is_err());
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn what_only_has_the_name_is_refused_and_never_waited_for() {
    let (dir, path, _) = sealed_file();
    let real = dir.path().join("real.enc");
    std::fs::rename(&path, &real).unwrap();
    let kinds: [(&str, &dyn Fn()); 3] = [
        ("a folder", &|| std::fs::create_dir(&path).unwrap()),
        ("a pipe", &|| {
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        }),
        ("a link", &|| std::os::unix::fs::symlink(&real, &path).unwrap()),
    ];
    for (what, make) in kinds {
        make();
        let before = path.symlink_metadata().unwrap().file_type();

        let refused = SecretFile::open(dir.path(), SecretString::from("p")).unwrap_err();

        assert!(matches!(refused, SecretFault::Io { .. }), "{what}: {refused}");
        assert_eq!(path.symlink_metadata().unwrap().file_type(), before, "{what}");
        if before.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) }.unwrap();
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

#[test]
fn what_a_killed_move_left_goes_also_when_it_was_half_written() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["secrets.enc.new", ".secrets.enc.new.6e6c5f8c89ee54a4.tmp"] {
        std::fs::write(dir.path().join(name), "{").unwrap();
    }

    SecretFile::sweep_draft(dir.path());

    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["secrets.lock"]);
}
