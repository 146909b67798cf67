//! Which hosts go past the proxy.

use super::*;

fn past(list: &str, hosts: &[(&str, u16)]) -> Vec<bool> {
    let list = Exclusions::parse(list);
    hosts.iter().map(|(host, port)| list.cover(host, *port)).collect()
}

#[test]
fn a_domain_covers_itself_and_what_is_below_it_in_every_spelling() {
    let hosts =
        [("inside.example", 443), ("a.b.inside.example", 443), ("notinside.example", 443), ("inside.example.org", 443)];
    for list in
        ["inside.example", ".inside.example", "*.inside.example", "Inside.Example.", " x.test , inside.example "]
    {
        assert_eq!(past(list, &hosts), [true, true, false, false], "{list}");
    }
    assert_eq!(past("inside.example", &[("inside.example.", 443)]), [true]);
}

#[test]
fn a_star_covers_everything_and_an_empty_list_nothing() {
    let hosts = [("platform.example", 443), ("10.0.0.1", 443), ("fd00::1", 443)];

    assert_eq!(past("*", &hosts), [true; 3]);
    assert_eq!(past("", &hosts), [false; 3]);
    assert_eq!(past(" , ,", &hosts), [false; 3]);
}

#[test]
fn a_port_must_match_when_one_is_named() {
    let hosts = [("p.example", 443), ("p.example", 8443), ("10.0.0.1", 8443), ("fd00::1", 8443), ("fd00::1", 443)];

    assert_eq!(past("p.example:8443", &hosts), [false, true, false, false, false]);
    assert_eq!(past("10.0.0.1:8443 [fd00::1]:8443", &hosts), [false, false, true, true, false]);
    assert_eq!(past("*:8443", &hosts), [false, true, true, true, false]);
}

#[test]
fn addresses_and_networks_cover_only_hosts_given_as_addresses() {
    let hosts = [("10.1.2.3", 443), ("10.200.0.1", 443), ("11.0.0.1", 443), ("fd00:1::5", 443), ("ten.example", 443)];

    assert_eq!(past("10.0.0.0/8", &hosts), [true, true, false, false, false]);
    assert_eq!(past("10.1.2.3/32,fd00::/8", &hosts), [true, false, false, true, false]);
    assert_eq!(past("0.0.0.0/0", &hosts), [true, true, true, false, false]);
    assert_eq!(past("::/0", &hosts), [false, false, false, true, false]);
    assert_eq!(past("10.1.2.3 fd00:1:0::5", &hosts), [true, false, false, true, false]);
    // An IPv4 address in the clothes of IPv6 is the same machine.
    assert_eq!(past("10.0.0.0/8", &[("::ffff:10.1.2.3", 443)]), [true]);
    // The end of an address is no domain.
    assert_eq!(past("2.3", &hosts), [false; 5]);
}

#[test]
fn entries_that_make_no_sense_cover_nothing() {
    let hosts = [("platform.example", 443), ("10.0.0.1", 443)];

    for list in [
        "10.0.0.0/33",
        "fd00::/129",
        "10.0.0/8",
        "platform.example:port",
        "platform.example:70000",
        ".",
        "/8",
        "*.",
        ":443",
    ] {
        assert_eq!(past(list, &hosts), [false; 2], "{list}");
    }
}
