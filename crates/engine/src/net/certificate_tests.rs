//! Facts of real certificates, and of what is none.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::*;

fn der(pem: &[u8]) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem).unwrap()
}

fn facts(pem: &[u8]) -> CertificateFacts {
    CertificateFacts::read(&der(pem)).unwrap()
}

#[test]
fn issuer_and_end_are_read() {
    let of_root = |until: &str| CertificateFacts {
        issuer: "Drawbridge test root".to_owned(),
        own_issuer: false,
        until: Some(until.to_owned()),
    };

    assert_eq!(facts(include_bytes!("../../tests/tls/platform.pem")), of_root("2126-01-01"));
    // Before 2050 the year has two digits.
    assert_eq!(facts(include_bytes!("../../tests/tls/expired.pem")), of_root("2021-01-01"));
    let own = facts(include_bytes!("../../tests/tls/own.pem"));
    assert_eq!((own.issuer.as_str(), own.own_issuer), ("appliance.test", true));
}

#[test]
fn what_is_cut_or_bent_gives_no_facts_and_no_panic() {
    let whole = der(include_bytes!("../../tests/tls/platform.pem"));
    for end in 0..whole.len() {
        let _ = CertificateFacts::read(&whole[..end]);
    }
    for at in 0..whole.len() {
        for byte in [0x00, 0x30, 0x80, 0x84, 0xff] {
            let mut bent = whole.to_vec();
            bent[at] = byte;
            let _ = CertificateFacts::read(&bent);
        }
    }

    assert_eq!(CertificateFacts::read(&whole[..60]), None);
    assert_eq!(CertificateFacts::read(b""), None);
    assert_eq!(CertificateFacts::read(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
}

#[test]
fn a_name_that_would_deceive_is_made_visible_and_cut() {
    let shown = shown(&format!("\u{202e}evil{}", "x".repeat(500)));

    assert!(!shown.contains('\u{202e}'), "{shown}");
    assert!(shown.chars().count() <= 60, "{shown}");
}
