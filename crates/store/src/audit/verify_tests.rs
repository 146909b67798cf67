use super::*;

#[test]
fn a_record_of_an_older_client_needs_the_older_rule() {
    let mut bytes = [0_u8; 32];
    for (at, byte) in (0_u8..).zip(bytes.iter_mut()) {
        *byte = at;
    }
    let mac = canonical::keyed(&AuditKey::new(bytes));
    let prev = "265e0e9299a051ade1e6d1a8bf6318013bb4007588b4da70e1c071d258cb5f8b";
    for (ts, hmac, rule) in [
        ("1712345679", "4b8ba9a828b6f3aee6567574703de4925879bbd1b21f9d7d12853dfd4716eb0a", Rule::Strict),
        ("1712345679.0", "d403c9c84747bc98ab1776821aa80856f35a642ed197976c1f14fbccb9c7832c", Rule::Older),
        ("1712345679.001", "ac348b428a295db0563c66c9bdafc4304e365613b126f33af0d08a5f9ba82d97", Rule::Strict),
    ] {
        let line = format!(
            r#"{{"ts":{ts},"details":{{}},"hmac":"{hmac}","machine_id":"m-1","op":"TOKEN_REFRESHED","prev_hmac":"{prev}","request_id":null,"result":{{"duration_ms":0,"error_code":null,"exit_code":null,"ok":true}},"seq":2,"session_id":"-","shim_version":"0.1.0"}}"#
        );

        let found = rule_of(Token::parse(&line).unwrap(), &mac).unwrap();

        assert_eq!(found, (hmac.to_owned(), Some(rule)), "{ts}");
        assert!(!line_is_sound(line.replace("m-1", "m-2").as_bytes(), &mac));
    }
}
