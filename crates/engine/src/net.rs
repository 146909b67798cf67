//! How this machine reaches the platform: trust anchors and the company proxy (FB-32).
//!
//! One choice serves both the HTTP requests of the sign-in and the WebSocket dial. The proxy only ever carries encrypted
//! connections to other machines: loopback and plain connections go straight, so no token crosses a proxy in clear.

mod certificate;
mod exclusions;
mod proxy;
mod trust;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use oauth2::url::Host;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

pub(crate) use certificate::{CertificateFacts, shown as shown_name};
use exclusions::Exclusions;
pub(crate) use proxy::{Proxy, Setting};
pub(crate) use trust::UnknownIssuer;

/// The variables that other programs take a proxy from, in the order in which they are asked.
pub(crate) const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The largest certificate file that is read. The roots of a whole system take a quarter of a mebibyte.
const ROOTS_LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// What the configuration says about the network. Everything may be missing. `Debug` shows no password.
#[derive(Clone, Default)]
pub struct NetSettings {
    /// `http://[user:password@]host:port` of a proxy; "none" switches proxies off; missing means: as the environment says.
    pub proxy: Option<String>,
    /// Hosts that are reached without the proxy, in the form of `NO_PROXY`; missing means: as the environment says.
    pub no_proxy: Option<String>,
    /// A PEM file with further trusted root certificates.
    pub extra_roots: Option<PathBuf>,
}

impl fmt::Debug for NetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetSettings")
            .field("proxy", &self.proxy.as_ref().map(|_| "<redacted>"))
            .field("no_proxy", &self.no_proxy)
            .field("extra_roots", &self.extra_roots)
            .finish()
    }
}

/// The network cannot be used as it is configured. Names the setting, never a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetFault(String);

/// How to reach the platform. Cheap to clone.
#[derive(Clone)]
pub struct NetConfig(Arc<Inner>);

#[derive(Default)]
struct Inner {
    proxy: Option<Proxy>,
    exclusions: Exclusions,
    extra_roots: Vec<CertificateDer<'static>>,
    tls: OnceLock<Arc<ClientConfig>>,
}

impl fmt::Debug for NetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.0.proxy.as_ref().map(Proxy::shown);
        f.debug_struct("NetConfig").field("proxy", &proxy).field("extra_roots", &self.0.extra_roots.len()).finish()
    }
}

/// How a host is reached.
pub(crate) enum Way<'a> {
    /// Straight: there is no proxy.
    Straight,
    /// Straight, although there is a proxy: this computer itself.
    OwnComputer,
    /// Straight, although there is a proxy: the exclusion list says so.
    Excluded,
    /// Through this proxy.
    Through(&'a Proxy),
}

impl NetConfig {
    /// Takes the settings; what they leave open comes from the environment variables that other programs use, too.
    ///
    /// # Errors
    /// [`NetFault`] when the proxy's address is not usable or the certificate file cannot be read.
    pub fn new(settings: &NetSettings) -> Result<Self, NetFault> {
        Self::with_environment(settings, |name| std::env::var(name).ok())
    }

    /// Returns a configuration without proxy and without further roots, whatever the environment says.
    #[must_use]
    pub fn direct() -> Self {
        Self(Arc::new(Inner::default()))
    }

    pub(crate) fn with_environment(
        settings: &NetSettings,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, NetFault> {
        let first = |names: &[&'static str]| {
            let set = |name: &&'static str| environment(name).filter(|value| !value.trim().is_empty());
            names.iter().find_map(|name| set(name).map(|value| (*name, value)))
        };
        let proxy = match settings.proxy.as_deref().map(str::trim) {
            Some(word) if word.eq_ignore_ascii_case("none") => None,
            Some(address) if !address.is_empty() => Some(Proxy::parse(address, Setting::Key("url under [proxy]"))?),
            Some(_) | None => {
                let named = first(&PROXY_VARIABLES);
                named.map(|(name, address)| Proxy::parse(&address, Setting::Variable(name))).transpose()?
            }
        };
        let no_proxy = settings.no_proxy.clone().or_else(|| first(&NO_PROXY_VARIABLES).map(|(_, value)| value));
        let extra_roots = settings.extra_roots.as_deref().map(read_roots).transpose()?.unwrap_or_default();
        Ok(Self(Arc::new(Inner {
            proxy,
            exclusions: Exclusions::parse(&no_proxy.unwrap_or_default()),
            extra_roots,
            tls: OnceLock::new(),
        })))
    }

    /// Returns how an encrypted connection to a host is made.
    pub(crate) fn way_to(&self, host: &str, port: u16) -> Way<'_> {
        let Some(proxy) = self.0.proxy.as_ref() else { return Way::Straight };
        let host = bare(host).to_ascii_lowercase();
        if is_loopback(&host) {
            Way::OwnComputer
        } else if self.0.exclusions.cover(&host, port) {
            Way::Excluded
        } else {
            Way::Through(proxy)
        }
    }

    /// Returns the trust of the system plus the further roots. Built at the first encrypted connection.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, NetFault> {
        if let Some(config) = self.0.tls.get() {
            return Ok(config.clone());
        }
        let fault =
            |err: rustls::Error| NetFault(format!("the root certificates of this computer cannot be used: {err}"));
        let config = Arc::new(trust::client(&self.0.extra_roots).map_err(fault)?);
        Ok(self.0.tls.get_or_init(|| config).clone())
    }
}

/// Tells whether a host is this machine itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Err(_) => host.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.is_loopback()),
    }
}

/// Returns a host without the brackets of an IPv6 address.
pub(crate) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns `host:port`, with the brackets that an IPv6 address needs there.
pub(crate) fn authority(bare_host: &str, port: u16) -> String {
    if bare_host.contains(':') { format!("[{bare_host}]:{port}") } else { format!("{bare_host}:{port}") }
}

fn read_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetFault> {
    let fault = |why: String| {
        NetFault(format!(
            "the certificate file {} (extra_roots under [tls] in config.toml) cannot be used: {why}",
            drawbridge_core::escape_outside_text(&path.display().to_string())
        ))
    };
    let facts = std::fs::metadata(path).map_err(|err| fault(err.to_string()))?;
    // Whoever reads a pipe waits for its writer.
    if !facts.is_file() || facts.len() > ROOTS_LIMIT_BYTES {
        return Err(fault("it is no ordinary file of a reasonable size".to_owned()));
    }
    let found = CertificateDer::pem_file_iter(path).map_err(|err| fault(err.to_string()))?;
    let roots = found.collect::<Result<Vec<_>, _>>().map_err(|err| fault(err.to_string()))?;
    if roots.is_empty() {
        return Err(fault("it holds no certificate in PEM form".to_owned()));
    }
    let mut store = rustls::RootCertStore::empty();
    for (at, root) in roots.iter().enumerate() {
        store.add(root.clone()).map_err(|_| fault(format!("its certificate number {} is damaged", at + 1)))?;
    }
    Ok(roots)
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
