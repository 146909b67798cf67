#![allow(clippy::print_stderr, reason = "what was skipped is said aloud")]

use super::*;

/// Ports of the system, each free on both families a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let mut held = Vec::new();
    while held.len() < count {
        let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = v4.local_addr().unwrap().port();
        if is_free(Ipv6Addr::LOCALHOST.into(), port) {
            held.push(v4);
        }
    }
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

#[test]
fn a_port_that_is_free_on_both_families_is_enough() {
    let ports_of_test = free_ports(3);
    let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, ports_of_test[0])).unwrap();

    let found = ports(ports_of_test);

    assert_eq!((found.state, found.key.as_str()), (FindingState::Ok, "ports_free"));
    assert_eq!(found.params["free"], "2");
}

#[test]
fn ports_that_are_all_taken_are_told() {
    let ports_of_test = free_ports(2);
    let held: Vec<TcpListener> =
        ports_of_test.iter().map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).unwrap()).collect();
    let also: Vec<_> = ports_of_test.iter().map(|port| TcpListener::bind((Ipv6Addr::LOCALHOST, *port))).collect();

    let found = ports(ports_of_test);

    // Without IPv6 on this machine nobody can hold the other family.
    let key = if also.iter().all(Result::is_ok) { "ports_taken" } else { "ports_half" };
    assert_eq!((found.state, found.key.as_str()), (FindingState::Fail, key));
    assert!(found.fix.is_some());
    drop(held);
}

#[test]
fn ports_that_somebody_holds_on_one_family_are_no_place_to_come_back_to() {
    let ports_of_test = free_ports(2);
    let _v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, ports_of_test[0])).unwrap();
    let Ok(_v6) = TcpListener::bind((Ipv6Addr::LOCALHOST, ports_of_test[1])) else {
        eprintln!("skipped: this machine has no IPv6");
        return;
    };

    let found = ports(ports_of_test);

    assert_eq!((found.state, found.key.as_str()), (FindingState::Fail, "ports_half"));
}

#[test]
fn a_step_is_told_in_its_own_words_and_one_that_was_not_taken_is_not_told() {
    let with = |state, fix: Option<&str>| Step {
        name: "tls",
        state,
        text: "the certificate is unknown".to_owned(),
        fix: fix.map(str::to_owned),
        took_ms: 7,
    };

    let failed = step(&with(StepState::Fail, Some("name its root"))).unwrap();
    assert_eq!((failed.check.as_str(), failed.state), ("network", FindingState::Fail));
    assert_eq!((failed.key.as_str(), failed.fix.as_deref()), ("network_tls_wrong", Some("Name its root.")));
    assert_eq!(failed.params["said"], "The certificate is unknown.");
    assert_eq!(step(&with(StepState::Ok, None)).unwrap().key, "network_tls_ok");
    assert!(step(&with(StepState::Warn, None)).unwrap().fix.is_some());
    assert_eq!(step(&with(StepState::Skipped, None)), None);
}

#[test]
fn words_become_a_sentence_and_addresses_stay_as_they_are() {
    assert_eq!(sentence("the host was not found"), "The host was not found.");
    assert_eq!(sentence("platform.test:443 answered"), "platform.test:443 answered.");
    assert_eq!(sentence("https://platform.test (encrypted)"), "https://platform.test (encrypted)");
    assert_eq!(sentence(""), ".");
}
