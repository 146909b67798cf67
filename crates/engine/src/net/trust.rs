//! Whom we trust: the system's roots plus those of the extra file. A refusal names who issued the certificate.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::certificate::CertificateFacts;

/// A certificate that no trusted root stands behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificate's issuer is not trusted")]
pub(crate) struct UnknownIssuer {
    /// What the certificate says, where it can be read.
    pub(crate) facts: Option<CertificateFacts>,
}

/// Builds the client side of TLS.
pub(super) fn client(roots: &[CertificateDer<'static>]) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let system = Verifier::new_with_extra_roots(roots.iter().cloned(), provider.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NamingVerifier(system)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The system's verifier; it only adds a name to a refusal.
#[derive(Debug)]
struct NamingVerifier(Verifier);

impl ServerCertVerifier for NamingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.map_err(|err| {
            if err != Error::InvalidCertificate(CertificateError::UnknownIssuer) {
                return err;
            }
            let named = UnknownIssuer { facts: CertificateFacts::read(end_entity) };
            Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(named))))
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
