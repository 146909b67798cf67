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
