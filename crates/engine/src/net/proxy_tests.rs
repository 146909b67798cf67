//! The address of a proxy and its password.

use secrecy::ExposeSecret as _;

use super::*;

fn parse(address: &str) -> Result<Proxy, String> {
    Proxy::parse(address, Setting::Variable("HTTPS_PROXY")).map_err(|fault| fault.to_string())
}

/// What the proxy would read as user and password.
fn credentials(address: &str) -> Option<Vec<u8>> {
    let authorization = parse(address).unwrap().authorization?;
    Some(STANDARD.decode(authorization.expose_secret().strip_prefix("Basic ").unwrap()).unwrap())
}

#[test]
fn every_usual_spelling_names_host_and_port() {
    let shown = |address: &str| parse(address).unwrap().shown();

    assert_eq!(shown("http://proxy.example:3128"), "proxy.example:3128");
    assert_eq!(shown("proxy.example:3128"), "proxy.example:3128");
    assert_eq!(shown(" http://user:word@proxy.example:3128/ "), "proxy.example:3128");
    assert_eq!(shown("http://proxy.example"), "proxy.example:80");
    assert_eq!(shown("http://[fd00::1]:3128"), "[fd00::1]:3128");
    assert_eq!(shown("user:word@10.0.0.1:8080"), "10.0.0.1:8080");
    assert!(credentials("http://proxy.example:3128").is_none());
}

#[test]
fn a_password_reaches_the_proxy_byte_by_byte() {
    let of = |userinfo: &str| credentials(&format!("http://{userinfo}@proxy.example:3128")).unwrap();

    assert_eq!(of("user:p%40ss%3Aw%2Fo%23r%3Fd%25"), b"user:p@ss:w/o#r?d%");
    assert_eq!(of("user:a&b=c+d;e$f!g'h(i)"), b"user:a&b=c+d;e$f!g'h(i)");
    assert_eq!(of("user:per%zent%"), b"user:per%zent%");
    assert_eq!(of("user:two@ats"), b"user:two@ats");
    assert_eq!(of("DOMAIN%5Cuser:a:b"), b"DOMAIN\\user:a:b");
    assert_eq!(of("üser:pässwörd"), "üser:pässwörd".as_bytes());
    assert_eq!(of("user:%FF%00%0D%0A"), b"user:\xff\x00\r\n");
    assert_eq!(of("user"), b"user:");
    assert_eq!(of(":token"), b":token");
}

#[test]
fn an_unusable_address_names_its_setting_and_repeats_nothing() {
    for bad in [
        "https://user:hunter2@proxy.example",
        "socks5://user:hunter2@proxy.example:1080",
        "socks5h://hunter2.example",
        "http://user:hunter2#x@proxy.example:3128",
        "http://user:12#hunter2@proxy.example:3128",
        "http://user:12/hunter2@proxy.example:3128",
        "http://user:12?hunter2@proxy.example:3128",
        "http://proxy.example:3128/hunter2",
        "http://user:hunter2@proxy.example:port",
        "http://user:hunter2@",
        "http://",
    ] {
        let fault = parse(bad).map(|proxy| proxy.shown()).unwrap_err();

        assert!(fault.contains("the environment variable HTTPS_PROXY"), "{bad}: {fault}");
        assert!(!fault.contains("hunter2"), "{bad}: {fault}");
    }
    let fault = Proxy::parse("socks5://p", Setting::Key("url under [proxy]")).map(|_| ()).unwrap_err().to_string();
    assert!(fault.contains("url under [proxy] in config.toml") && fault.contains("only http://"), "{fault}");
}
