//! The lexical stage of paths: never panics, never hands on a component that could mean more than one step.

#![no_main]

use std::os::unix::ffi::OsStrExt;

use drawbridge_os::root::{Component, Rules, lexical, windows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let spellings = ["/home/zo\u{eb}/R".to_owned(), "/alias/R".to_owned()];
    if let Ok(components) = lexical(text, &Rules { spellings: &spellings, home: Some("/home/zo\u{eb}") }) {
        for component in components {
            if let Component::Name(name) = component {
                assert!(!name.is_empty() && name != "." && name != "..");
                assert!(!name.as_bytes().contains(&b'/') && !name.as_bytes().contains(&0));
            }
        }
    }
    if let Ok(shape) = windows::classify(text) {
        assert!(shape.components.iter().all(|part| !part.is_empty() && !part.contains(['\\', '/', ':'])));
    }
});
