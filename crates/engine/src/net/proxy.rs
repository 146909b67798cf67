//! A proxy that understands HTTP CONNECT: its address, its password, and the setting that names it.
//!
//! Nothing here prints the password. Proxies of other kinds (https://, socks5://) are refused with the setting's name.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oauth2::url::Url;
use secrecy::SecretString;
use zeroize::Zeroizing;

use super::NetFault;

/// The setting that a value came from, for the person who has to correct it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// A key in config.toml.
    Key(&'static str),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "{key} in config.toml"),
            Self::Variable(name) => write!(f, "the environment variable {name}"),
        }
    }
}

/// A proxy that understands HTTP CONNECT.
pub(crate) struct Proxy {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The whole value of `Proxy-Authorization`.
    pub(crate) authorization: Option<SecretString>,
    /// What named it.
    pub(crate) setting: Setting,
}

impl Proxy {
    /// Reads `[http://][user:password@]host[:port]`. The text may hold a password, so no fault repeats any of it.
    pub(super) fn parse(address: &str, setting: Setting) -> Result<Self, NetFault> {
        let wrong = |why: &str| NetFault(format!("the address of the proxy in {setting} is not usable: {why}"));
        let address = address.trim();
        let text = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let text = Zeroizing::new(text);
        let url = Url::parse(&text).map_err(|err| wrong(&format!("{err}; {CHARACTERS}")))?;
        if url.scheme() != "http" {
            return Err(wrong(
                "only http:// proxies (HTTP CONNECT) are supported; name one, or set url = \"none\" under [proxy] in config.toml to go without",
            ));
        }
        // A password with one of these three unwritten would end the host early, and the rest would be taken for a host.
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(&format!("it must end with the host or its port; {CHARACTERS}")));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        Ok(Self {
            host: super::bare(host).to_owned(),
            port: url.port_or_known_default().unwrap_or(80),
            authorization: authorization(&url),
            setting,
        })
    }

    /// Returns `host:port`, without the password.
    pub(crate) fn shown(&self) -> String {
        super::authority(&self.host, self.port)
    }
}

/// What people stumble over.
const CHARACTERS: &str = "in a password, characters such as # / ? @ % are written %23 %2F %3F %40 %25";

/// Basic credentials (RFC 7617), from the bytes that the percent encoding stands for.
fn authorization(url: &Url) -> Option<SecretString> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut plain = Zeroizing::new(unescape(url.username()));
    plain.push(b':');
    plain.extend(unescape(url.password().unwrap_or_default()));
    Some(SecretString::from(format!("Basic {}", STANDARD.encode(&*plain))))
}

/// Undoes percent encoding. A percent sign that starts no code stands for itself.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let code = (byte == b'%').then(|| Some((digit(ahead.next()?)? << 4) | digit(ahead.next()?)?)).flatten();
        if code.is_some() {
            bytes = ahead;
        }
        plain.push(code.unwrap_or(byte));
    }
    plain
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
