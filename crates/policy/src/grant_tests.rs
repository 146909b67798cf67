use super::*;

fn audit_key() -> [u8; 32] {
    std::array::from_fn(|index| u8::try_from(index).unwrap())
}

fn claims() -> GrantClaims {
    GrantClaims {
        allowed_root: "/home/zoë/Projekte".to_owned(),
        fingerprint: "6709c5eb858a8b39dc3a29a9f251505b330fbf6107a283edf98e699a59a72811".to_owned(),
        issued_at: 1_712_345_678,
        machine_id: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".to_owned(),
        revision: 3,
        session: SessionId::parse("5b0c2f6e-1111-4222-8333-444455556666").unwrap(),
    }
}

#[test]
fn grant_key_is_vector_1() {
    let key = GrantKey::derive(&audit_key());

    assert_eq!(
        drawbridge_core::hex::encode(&key.0[..]),
        "85e9080af817312f50ebdffe75d7ddce1b00271b95af13b852f6dbe5ce5e6eb0"
    );
}

#[test]
fn fingerprint_is_vector_2() {
    let id = Fingerprint { device: 66306, inode: 1_234_567 };

    assert_eq!(
        directory_fingerprint(id, "/home/zoë/Projekte"),
        "6709c5eb858a8b39dc3a29a9f251505b330fbf6107a283edf98e699a59a72811"
    );
}

#[test]
fn grant_is_vector_3() {
    let grant = GrantKey::derive(&audit_key()).sign(&claims());

    assert_eq!(grant.len(), 398);
    assert!(grant.ends_with(".pLkWYGnY31W-zB2rMupKbVO78rUQyso92dpgPnjoZKQ"));
}

#[test]
fn a_signed_grant_verifies_for_its_chat_and_machine_only() {
    let key = GrantKey::derive(&audit_key());
    let grant = key.sign(&claims());
    let other = SessionId::parse("another").unwrap();

    assert_eq!(key.verify(&grant, &claims().session, &claims().machine_id), Ok(claims()));
    assert_eq!(key.verify(&grant, &other, &claims().machine_id), Err(GrantFault::OtherSession));
    assert_eq!(key.verify(&grant, &claims().session, "other"), Err(GrantFault::OtherMachine));
    assert_eq!(
        GrantKey::derive(&[7; 32]).verify(&grant, &claims().session, &claims().machine_id),
        Err(GrantFault::Signature)
    );
}

#[test]
fn broken_grants_name_their_fault() {
    let key = GrantKey::derive(&audit_key());
    let check = |grant: &str| key.verify(grant, &claims().session, &claims().machine_id).unwrap_err();
    let signed = |body: &str| {
        let encoded = URL_SAFE_NO_PAD.encode(body);
        let tag = URL_SAFE_NO_PAD.encode(mac(&key.0[..], encoded.as_bytes()));
        format!("v1.{encoded}.{tag}")
    };

    for malformed in ["", "v1", "v1.a", "v2.a.b", "v1.a.b.c", "v1.a.+++", &"v".repeat(GRANT_LIMIT_BYTES + 1)] {
        assert_eq!(check(malformed), GrantFault::Malformed, "{malformed:.20}");
    }
    assert_eq!(check("v1.e30.AAAA"), GrantFault::Signature);
    for body in [
        "[]",
        "{}",
        r#"{"allowed_root":"/r","fingerprint":"f","issued_at":1,"machine_id":"m","revision":true,"session_id":"s"}"#,
        r#"{"allowed_root":"/r","fingerprint":"f","issued_at":1,"machine_id":"m","revision":0,"session_id":"s"}"#,
        r#"{"allowed_root":1,"fingerprint":"f","issued_at":1,"machine_id":"m","revision":1,"session_id":"s"}"#,
    ] {
        assert_eq!(check(&signed(body)), GrantFault::Claims, "{body}");
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let key = GrantKey::derive(&audit_key());
    let grant = key.sign(&claims());
    for index in 0..grant.len() {
        let mut bytes = grant.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(bytes).unwrap();
        // The last character carries two unused bits; a decoder that ignored them would take a second spelling.
        assert!(key.verify(&forged, &claims().session, &claims().machine_id).is_err(), "byte {index}");
    }
}

#[test]
fn a_grant_of_one_account_is_worth_nothing_in_another() {
    let derive = |account: &str| GrantKey::derive_for(&audit_key(), account);
    let (session, machine) = (claims().session, claims().machine_id);
    let grant = derive("work-1").sign(&claims());

    assert_eq!(derive("work-1").verify(&grant, &session, &machine).unwrap(), claims());
    for other in [derive("work-2"), derive(""), GrantKey::derive(&audit_key())] {
        assert_eq!(other.verify(&grant, &session, &machine), Err(GrantFault::Signature));
    }
    let of_default = GrantKey::derive(&audit_key()).sign(&claims());
    assert_eq!(derive("work-1").verify(&of_default, &session, &machine), Err(GrantFault::Signature));
}
