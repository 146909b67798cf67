//! How this machine reaches the platform: trust anchors and the company proxy (FB-32).
//!
//! One choice serves both the HTTP client of the sign-in and the WebSocket dial. The proxy only ever carries encrypted
//! connections to other machines: loopback and plain connections go straight, so no token crosses a proxy in clear.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oauth2::url::{Host, Url};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};

/// The longest that one HTTP request of the sign-in may take.
const HTTP_TIMEOUT: Duration = Duration::from_secs(20);

/// What the configuration says about the network. Everything may be missing.
#[derive(Debug, Clone, Default)]
pub struct NetSettings {
    /// `http://[user:password@]host:port` of a proxy; "none" switches proxies off; missing means: as the environment says.
    pub proxy: Option<String>,
    /// Hosts that are reached without the proxy, in the form of `NO_PROXY`; missing means: as the environment says.
    pub no_proxy: Option<String>,
    /// A PEM file with further trusted root certificates.
    pub extra_roots: Option<PathBuf>,
}

/// The network cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetFault(String);

/// How to reach the platform. Cheap to clone.
#[derive(Clone)]
pub struct NetConfig(Arc<Inner>);

struct Inner {
    proxy: Option<Proxy>,
    no_proxy: Vec<String>,
    extra_roots: Vec<CertificateDer<'static>>,
    tls: OnceLock<Arc<ClientConfig>>,
}

/// A proxy that understands HTTP CONNECT.
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The whole value of `Proxy-Authorization`.
    pub(crate) authorization: Option<SecretString>,
}

impl std::fmt::Debug for NetConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let proxy = self.0.proxy.as_ref().map(Proxy::shown);
        f.debug_struct("NetConfig").field("proxy", &proxy).field("extra_roots", &self.0.extra_roots.len()).finish()
    }
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
        Self(Arc::new(Inner { proxy: None, no_proxy: Vec::new(), extra_roots: Vec::new(), tls: OnceLock::new() }))
    }

    pub(crate) fn with_environment(
        settings: &NetSettings,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, NetFault> {
        let first = |names: &[&str]| names.iter().find_map(|name| environment(name)).filter(|value| !value.is_empty());
        let proxy = match settings.proxy.as_deref().map(str::trim) {
            Some("none") => None,
            Some(address) if !address.is_empty() => Some(Proxy::parse(address)?),
            Some(_) | None => first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
                .map(|address| Proxy::parse(&address))
                .transpose()?,
        };
        let no_proxy = settings.no_proxy.clone().or_else(|| first(&["NO_PROXY", "no_proxy"])).unwrap_or_default();
        let no_proxy = no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase());
        let extra_roots = settings.extra_roots.as_deref().map(read_roots).transpose()?.unwrap_or_default();
        Ok(Self(Arc::new(Inner {
            proxy,
            no_proxy: no_proxy.filter(|entry| !entry.is_empty()).collect(),
            extra_roots,
            tls: OnceLock::new(),
        })))
    }

    /// Returns the proxy for an encrypted connection to a host, if there is one.
    pub(crate) fn proxy_for(&self, host: &str) -> Option<&Proxy> {
        let proxy = self.0.proxy.as_ref()?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let excluded = is_loopback(&host) || self.0.no_proxy.iter().any(|entry| covers(entry, &host));
        (!excluded).then_some(proxy)
    }

    /// Returns the trust of the system plus the further roots. Built at the first encrypted connection.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, NetFault> {
        if let Some(config) = self.0.tls.get() {
            return Ok(config.clone());
        }
        let config = Arc::new(self.build_tls()?);
        Ok(self.0.tls.get_or_init(|| config).clone())
    }

    fn build_tls(&self) -> Result<ClientConfig, NetFault> {
        let fault = |err: rustls::Error| NetFault(format!("encrypted connections cannot be set up: {err}"));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let roots = self.0.extra_roots.iter().cloned();
        let verifier =
            rustls_platform_verifier::Verifier::new_with_extra_roots(roots, provider.clone()).map_err(fault)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(fault)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Builds the HTTP client for one address: no redirects, since a redirect could carry a token elsewhere.
    pub(crate) fn http_client(&self, target: &Url) -> Result<reqwest::Client, NetFault> {
        let fault = |err: reqwest::Error| NetFault(format!("the HTTP client cannot be set up: {err}"));
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(HTTP_TIMEOUT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("drawbridge/", env!("CARGO_PKG_VERSION")));
        if target.scheme() == "https" {
            builder = builder.tls_backend_preconfigured(self.tls()?.as_ref().clone());
            if let Some(proxy) = target.host_str().and_then(|host| self.proxy_for(host)) {
                builder = builder.proxy(proxy.for_reqwest().map_err(fault)?);
            }
        } else {
            // Even a plain client would otherwise load the system's certificates, which costs tens of milliseconds.
            builder = builder.tls_backend_preconfigured(no_trust()?);
        }
        builder.build().map_err(fault)
    }
}

impl Proxy {
    fn parse(address: &str) -> Result<Self, NetFault> {
        let text = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        // The address may hold a password, so it is not repeated.
        let wrong = |why: &str| NetFault(format!("the address of the proxy is not usable: {why}"));
        let url = Url::parse(&text).map_err(|err| wrong(&err.to_string()))?;
        if url.scheme() != "http" {
            return Err(wrong("only http:// proxies (HTTP CONNECT) are supported"));
        }
        let host = url.host_str().ok_or_else(|| wrong("it names no host"))?.to_owned();
        let authorization = (!url.username().is_empty()).then(|| {
            let plain = format!("{}:{}", unescape(url.username()), unescape(url.password().unwrap_or_default()));
            SecretString::from(format!("Basic {}", STANDARD.encode(plain)))
        });
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }

    pub(crate) fn shown(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    fn for_reqwest(&self) -> Result<reqwest::Proxy, reqwest::Error> {
        let proxy = reqwest::Proxy::https(format!("http://{}", self.shown()))?;
        let header = self.authorization.as_ref().and_then(|value| {
            let mut header = reqwest::header::HeaderValue::from_str(value.expose_secret()).ok()?;
            header.set_sensitive(true);
            Some(header)
        });
        Ok(match header {
            Some(header) => proxy.custom_http_auth(header),
            None => proxy,
        })
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

/// Tells whether an entry of an exclusion list covers a host: `*`, the host itself, or a domain above it.
fn covers(entry: &str, host: &str) -> bool {
    let entry = entry.trim_start_matches("*.").trim_start_matches('.');
    entry == "*" || entry == host || host.strip_suffix(entry).is_some_and(|rest| rest.ends_with('.'))
}

fn read_roots(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetFault> {
    let fault = |why: String| NetFault(format!("the certificate file {} cannot be used: {why}", path.display()));
    let found = CertificateDer::pem_file_iter(path).map_err(|err| fault(err.to_string()))?;
    let roots = found.collect::<Result<Vec<_>, _>>().map_err(|err| fault(err.to_string()))?;
    if roots.is_empty() { Err(fault("it holds no certificate in PEM form".to_owned())) } else { Ok(roots) }
}

fn no_trust() -> Result<ClientConfig, NetFault> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(|err| NetFault(format!("the HTTP client cannot be set up: {err}")))?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// Undoes percent encoding in the user part of an address.
fn unescape(text: &str) -> String {
    oauth2::url::form_urlencoded::parse(format!("v={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
