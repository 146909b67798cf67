//! Which connections go through a proxy.

use super::*;

fn with(settings: &NetSettings, environment: &[(&str, &str)]) -> Result<NetConfig, NetFault> {
    NetConfig::with_environment(settings, |name| {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    })
}

fn proxy(config: &NetConfig, host: &str) -> Option<String> {
    match config.way_to(host, 443) {
        Way::Through(proxy) => Some(proxy.shown()),
        Way::Straight | Way::OwnComputer | Way::Excluded => None,
    }
}

#[test]
fn the_environment_names_a_proxy_and_its_exclusions() {
    let environment =
        [("HTTPS_PROXY", "http://proxy.example:3128"), ("NO_PROXY", "direct.example, .inside.example,10.0.0.1")];
    let config = with(&NetSettings::default(), &environment).unwrap();

    assert_eq!(proxy(&config, "platform.example"), Some("proxy.example:3128".to_owned()));
    for direct in
        ["direct.example", "a.inside.example", "x.direct.example", "10.0.0.1", "localhost", "127.0.0.1", "[::1]"]
    {
        assert_eq!(proxy(&config, direct), None, "{direct}");
    }
    assert!(proxy(&config, "notdirect.example").is_some());
}

#[test]
fn settings_come_before_the_environment() {
    let environment = [("https_proxy", "http://environment.example:1"), ("no_proxy", "*")];
    let ours =
        NetSettings { proxy: Some("ours.example:8080".to_owned()), no_proxy: Some(String::new()), extra_roots: None };
    let none = NetSettings { proxy: Some("none".to_owned()), ..NetSettings::default() };

    assert_eq!(proxy(&with(&ours, &environment).unwrap(), "p.example"), Some("ours.example:8080".to_owned()));
    assert_eq!(proxy(&with(&none, &environment).unwrap(), "p.example"), None);
    assert_eq!(proxy(&with(&NetSettings::default(), &environment).unwrap(), "p.example"), None);
}

#[test]
fn an_unusable_proxy_is_refused_without_showing_its_password() {
    for bad in ["socks5://user:hunter2@proxy.example", "https://user:hunter2@proxy.example", "http://"] {
        let settings = NetSettings { proxy: Some(bad.to_owned()), ..NetSettings::default() };
        let fault = with(&settings, &[]).unwrap_err().to_string();
        assert!(!fault.contains("hunter2"), "{fault}");
    }
    let settings = NetSettings { proxy: Some("http://user:hunter2@p.example".to_owned()), ..NetSettings::default() };
    assert!(!format!("{:?}", with(&settings, &[]).unwrap()).contains("hunter2"));
}

#[test]
fn a_certificate_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("roots.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    for path in [empty, folder.path().join("missing.pem")] {
        let settings = NetSettings { extra_roots: Some(path), ..NetSettings::default() };
        assert!(with(&settings, &[]).unwrap_err().to_string().contains("certificate file"));
    }
}
