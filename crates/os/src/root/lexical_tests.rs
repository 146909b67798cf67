use std::ffi::OsString;

use drawbridge_core::{BadPathReason, RefusalReason};

use super::*;

fn parse(raw: &str) -> Result<Vec<Component>, PathFault> {
    let spellings = ["/home/zoë/R".to_owned(), "/alias/R".to_owned()];
    lexical(raw, &Rules { spellings: &spellings, home: Some("/home/zoë") })
}

fn name(text: &str) -> Component {
    Component::Name(OsString::from(text))
}

#[test]
fn every_spelling_of_the_root_gives_the_same_components() {
    for raw in ["a/b", "./a//b/", "/home/zoë/R/a/b", "//home/zoë/./R/a/b", "/alias/R/a/b", "~/R/a/b"] {
        assert_eq!(parse(raw).unwrap(), [name("a"), name("b")], "{raw}");
    }
    assert_eq!(parse("a/../../b").unwrap(), [name("a"), Component::Parent, Component::Parent, name("b")]);
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse("~zoe").unwrap(), [name("~zoe")]);
}

#[test]
fn texts_that_cannot_be_right_are_refused_before_the_disk() {
    assert_eq!(parse("a\0b"), Err(PathFault::BadPath(BadPathReason::Characters)));
    assert_eq!(parse(&"a/".repeat(2049)), Err(PathFault::BadPath(BadPathReason::TooLong)));
    for raw in ["/", "/home/zoë/R-secret", "/home/zoë", "~", "/home/zoë/../zoë/R"] {
        assert_eq!(parse(raw), Err(PathFault::Refused(RefusalReason::Outside)), "{raw}");
    }
}
