use drawbridge_core::{BadPathReason, RefusalReason};

use super::super::fault::PathFault;
use super::{Prefix, classify};

#[test]
fn spellings_that_hide_a_device_stream_or_share_are_refused() {
    let stream = PathFault::BadPath(BadPathReason::Stream);
    let characters = PathFault::BadPath(BadPathReason::Characters);
    let unresolvable = PathFault::BadPath(BadPathReason::Unresolvable);
    let outside = PathFault::Refused(RefusalReason::Outside);
    let table = [
        (r"C:\w\file.txt:hid", &stream),
        (r"C:\w\con.", &PathFault::ReservedName),
        (r"C:\w\COM¹", &PathFault::ReservedName),
        (r"C:\w\deep\aux\x.txt", &PathFault::ReservedName),
        (r"C:\w\NUL .txt", &PathFault::ReservedName),
        (r"lpt9.tar.gz", &PathFault::ReservedName),
        (r"CONIN$", &PathFault::ReservedName),
        (r"\\?\C:\w\..\x", &unresolvable),
        (r"\\.\pipe\x", &stream),
        (r"\??\C:\w\x", &stream),
        (r"\\?\GLOBALROOT\Device\x", &stream),
        (r"\\127.0.0.1\c$\w", &outside),
        (r"\\localhost\share\w", &outside),
        (r"\\?\UNC\localhost\C$", &outside),
        (r"\\server\ADMIN$\x", &outside),
        (r"\\server", &outside),
        (r"C:w\x", &unresolvable),
        (r"\w\x", &unresolvable),
        (r"C:\w\a?b", &characters),
        ("C:\\w\\a\u{1}b", &characters),
        (r"C:\w\name ", &characters),
        (r"C:\w\name.", &characters),
        (r"//./pipe/x", &stream),
    ];

    for (raw, expected) in table {
        assert_eq!(classify(raw).as_ref(), Err(expected), "{raw}");
    }
}

#[test]
fn ordinary_spellings_pass_and_keep_their_dots_for_the_walk() {
    for (raw, prefix, components) in [
        (r"C:\w\a.txt", Prefix::Drive('C'), vec!["w", "a.txt"]),
        (r"c:/w/./b", Prefix::Drive('C'), vec!["w", "b"]),
        (r"\\?\C:\w\long", Prefix::Drive('C'), vec!["w", "long"]),
        (r"a\..\b", Prefix::None, vec!["a", "..", "b"]),
        (r"PROGRA~1\x", Prefix::None, vec!["PROGRA~1", "x"]),
        (r"com10.txt", Prefix::None, vec!["com10.txt"]),
        (r"console.log", Prefix::None, vec!["console.log"]),
        (r"\\Srv\Data\x", Prefix::Share { server: "srv".into(), share: "data".into() }, vec!["x"]),
    ] {
        let shape = classify(raw).unwrap();
        assert_eq!((shape.prefix, shape.components), (prefix, components.iter().map(|c| (*c).to_owned()).collect()));
    }
    assert_eq!(classify(&"a".repeat(32_768)), Err(PathFault::BadPath(BadPathReason::TooLong)));
}
