use super::*;

/// A keychain nobody can reach, whatever this computer has.
fn nothing_there() -> Keychain {
    let keychain = Keychain::for_service("drawbridge-test-nowhere");
    keychain.give_up();
    keychain
}

#[test]
fn without_keychain_and_passphrase_there_is_no_place() {
    let dir = tempfile::tempdir().unwrap();

    let refused = open_secrets(dir.path(), None, &nothing_there()).unwrap_err();

    assert!(matches!(&refused, NoPlaceForSecrets::Nowhere { .. }), "{refused}");
    assert!(refused.to_string().contains("DRAWBRIDGE_KEYCHAIN_PASSPHRASE"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_passphrase_makes_a_file_where_no_keychain_is() {
    let dir = tempfile::tempdir().unwrap();

    let store = open_secrets(dir.path(), Some(SecretString::from("p")), &nothing_there()).unwrap();
    assert_eq!(store.place(), SecretPlace::File);
    store.set(entries::REFRESH_TOKEN, &SecretString::from("r")).unwrap();

    let again = open_secrets(dir.path(), Some(SecretString::from("p")), &nothing_there()).unwrap();
    assert_eq!(again.get(entries::REFRESH_TOKEN).unwrap().unwrap().expose_secret(), "r");
    let wrong = open_secrets(dir.path(), Some(SecretString::from("q")), &nothing_there());
    assert!(matches!(wrong, Err(NoPlaceForSecrets::File(SecretFault::WrongPassphrase(_)))));
}

#[test]
fn a_file_without_its_passphrase_is_never_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = SecretFile::path(dir.path());
    for content in ["{}", ""] {
        std::fs::write(&path, content).unwrap();

        let refused = open_secrets(dir.path(), None, &nothing_there()).unwrap_err();

        assert!(matches!(refused, NoPlaceForSecrets::PassphraseMissing(_)), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/nowhere/secrets.enc", SecretFile::path(dir.path())).unwrap();

    let refused = open_secrets(dir.path(), Some(SecretString::from("p")), &nothing_there()).unwrap_err();

    assert!(matches!(refused, NoPlaceForSecrets::File(SecretFault::Io { .. })), "{refused}");
    assert!(SecretFile::path(dir.path()).symlink_metadata().unwrap().is_symlink());
}

#[test]
fn of_new_tokens_the_refresh_token_is_written_first() {
    let values = [(entries::ACCESS_TOKEN, 1), (entries::TOKEN_TIMES, 2), (entries::REFRESH_TOKEN, 3)];

    let names: Vec<&str> = refresh_first(&values).into_iter().map(|(name, _)| name).collect();

    assert_eq!(names, [entries::REFRESH_TOKEN, entries::ACCESS_TOKEN, entries::TOKEN_TIMES]);
}

#[test]
fn two_state_folders_never_share_a_keychain_and_a_copy_keeps_its_own() {
    let place = tempfile::tempdir().unwrap();
    let (one, other, copy) = (place.path().join("one"), place.path().join("other"), place.path().join("copy"));
    let name = |folder: &Path| std::fs::read_to_string(folder.join("keychain-name")).unwrap();

    for folder in [&one, &other] {
        keychain_of(folder).unwrap();
        assert!(!folder.exists(), "looking makes nothing");
        std::fs::create_dir(folder).unwrap();
        keychain_of(folder).unwrap();
    }
    let first = name(&one);
    keychain_of(&one).unwrap();
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(one.join("keychain-name"), copy.join("keychain-name")).unwrap();
    keychain_of(&copy).unwrap();

    assert_ne!(first, name(&other));
    assert_eq!((&first, &first), (&name(&one), &name(&copy)));
    std::fs::write(one.join("keychain-name"), "../drawbridge").unwrap();
    assert!(keychain_of(&one).is_err());
}

#[test]
fn why_nothing_was_moved_is_told_once() {
    let fault = MoveFault::from(SecretFault::Moved(PathBuf::from("secrets.enc")));

    assert!(fault.to_string().contains("secrets.enc") && std::error::Error::source(&fault).is_none());
}

#[test]
fn programs_that_name_the_entries_at_once_agree() {
    let dir = tempfile::tempdir().unwrap();
    let named: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| format!("{:?}", keychain_of(dir.path()).unwrap()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });

    assert!(named.iter().all(|name| *name == named[0]), "{named:?}");
}
