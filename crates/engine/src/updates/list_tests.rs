use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

fn image() -> Kind {
    Kind::AppImage(PathBuf::from("/x.AppImage"))
}

fn here() -> String {
    system(&Kind::Other)
}

fn list(version: &str) -> Value {
    json!({
        "version": version,
        "notes": "One\n\u{202e}two\u{0}\n",
        "pub_date": "2026-11-30T12:00:00Z",
        "platforms": { here(): { "url": "https://x.example/a", "signature": "c2ln" }, "sun-sparc": { "url": "", "signature": "" } },
    })
}

fn read(list: &Value, kind: &Kind, channel: Channel) -> Result<Option<Release>, String> {
    newer(list.to_string().as_bytes(), kind, channel, "0.9.1")
}

#[test]
fn only_a_newer_version_is_one_and_each_channel_has_its_own() {
    for (version, stable, beta) in [
        ("0.9.2", true, true),
        ("v1.0.0", true, true),
        ("0.10.0", true, true),
        ("0.9.2-beta.1", false, true),
        ("0.9.1", false, false),
        ("0.9.1+later", false, false),
        ("0.9.1-beta.9", false, false),
        ("0.8.99", false, false),
    ] {
        let found = |channel| read(&list(version), &image(), channel).unwrap().is_some();
        assert_eq!((found(Channel::Stable), found(Channel::Beta)), (stable, beta), "{version}");
    }
}

#[test]
fn notes_keep_their_lines_and_show_what_hides() {
    let release = read(&list("1.0.0"), &image(), Channel::Stable).unwrap().unwrap();
    let notes = release.notes.unwrap();
    assert!(notes.starts_with("One\n\\u{202E}two") && notes.lines().count() == 2, "{notes:?}");

    let mut long = list("1.0.0");
    long["notes"] = json!("ä".repeat(100_000));
    let notes = read(&long, &image(), Channel::Stable).unwrap().unwrap().notes.unwrap();
    assert!(notes.ends_with('…') && notes.chars().count() == NOTES_LIMIT_CHARS + 1);
    long["notes"] = json!(" \n");
    assert_eq!(read(&long, &image(), Channel::Stable).unwrap().unwrap().notes, None);
}

#[test]
fn a_copy_takes_what_fits_it_and_others_only_hear_of_it() {
    let mut list = list("1.0.0");
    let taken =
        |list: &Value, kind: &Kind| read(list, kind, Channel::Stable).unwrap().unwrap().package.map(|one| one.url);
    assert_eq!(taken(&list, &image()).as_deref(), Some("https://x.example/a"));
    list["platforms"][system(&image())] = json!({ "url": "https://x.example/image", "signature": "c2ln" });
    assert_eq!(taken(&list, &image()).as_deref(), Some("https://x.example/image"));
    assert_eq!(taken(&list, &Kind::Nsis).as_deref(), Some("https://x.example/a"));
    assert_eq!((taken(&list, &Kind::Deb), taken(&list, &Kind::Other)), (None, None));
    list["platforms"] = json!({});
    assert_eq!(taken(&list, &image()), None);
}

#[test]
fn a_list_that_makes_no_sense_is_told_and_nothing_is_found() {
    let broken = |text: &str| newer(text.as_bytes(), &image(), Channel::Stable, "0.9.1").unwrap_err();
    assert_eq!(broken("{\n\"version\": \"1.0.0\",\n"), "line 3");
    assert_eq!(broken("<html>not found</html>"), "line 1");
    assert!(broken("{}").starts_with("line"));
    let mut odd = list("newest");
    assert_eq!(broken(&odd.to_string()), "it names no version");
    odd = list(&format!("1.0.0-{}", "a".repeat(64)));
    assert_eq!(broken(&odd.to_string()), "it names no version");
    odd = list("1.0.0");
    odd["platforms"][here()]["url"] = json!("http://x.example/a");
    assert_eq!(broken(&odd.to_string()), "its address is not encrypted");
    odd["platforms"][here()] = json!({ "url": "https://x.example/a", "signature": "%%" });
    assert_eq!(broken(&odd.to_string()), "its signature is broken");
    odd["platforms"][here()]["signature"] = json!("A".repeat(SIGNATURE_LIMIT_BYTES + 4));
    assert_eq!(broken(&odd.to_string()), "its signature is broken");
}
