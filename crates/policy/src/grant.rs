//! Signed grants: the proof, kept by the platform, that a folder was attached to a chat (spec 6.1, 6.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drawbridge_core::SessionId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The longest grant text that is looked at, in bytes.
const GRANT_LIMIT_BYTES: usize = 131_072;

/// The key that signs grants. Derived from the audit key, so that a copied grant is worth nothing elsewhere.
pub struct GrantKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for GrantKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrantKey(<redacted>)")
    }
}

/// What a grant says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantClaims {
    /// The canonical folder.
    pub allowed_root: String,
    /// Identity of the folder (spec 6.2).
    pub fingerprint: String,
    /// When it was signed, Unix seconds.
    pub issued_at: i64,
    /// The machine.
    pub machine_id: String,
    /// The revision of the attachment, from 1.
    pub revision: u64,
    /// The chat.
    pub session: SessionId,
}

/// Why a grant does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantFault {
    /// Not three parts, not `v1`, too long, or not base64.
    #[error("it is malformed")]
    Malformed,
    /// The signature is not ours.
    #[error("its signature is not from this computer")]
    Signature,
    /// The claims are not the expected object.
    #[error("its claims are malformed")]
    Claims,
    /// For another chat.
    #[error("it belongs to another chat")]
    OtherSession,
    /// For another machine.
    #[error("it belongs to another computer")]
    OtherMachine,
}

impl GrantKey {
    /// Derives the key from the 32 bytes of the audit key.
    #[must_use]
    pub fn derive(audit_key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(mac(audit_key, b"autogpt-root-grant-v1")))
    }

    /// Derives the key of an account with a name of its own: a grant of one account is no grant in another. `account` is what
    /// never names a second one.
    #[must_use]
    pub fn derive_for(audit_key: &[u8; 32], account: &str) -> Self {
        let of_all = Zeroizing::new(mac(audit_key, b"autogpt-root-grant-v1"));
        Self(Zeroizing::new(mac(&of_all[..], format!("account:{account}").as_bytes())))
    }

    /// Signs claims.
    #[must_use]
    pub fn sign(&self, claims: &GrantClaims) -> String {
        let body = format!(
            r#"{{"allowed_root":{},"fingerprint":{},"issued_at":{},"machine_id":{},"revision":{},"session_id":{}}}"#,
            ascii_json(&claims.allowed_root),
            ascii_json(&claims.fingerprint),
            claims.issued_at,
            ascii_json(&claims.machine_id),
            claims.revision,
            ascii_json(claims.session.as_str()),
        );
        let encoded = URL_SAFE_NO_PAD.encode(body);
        let tag = URL_SAFE_NO_PAD.encode(mac(&self.0[..], encoded.as_bytes()));
        format!("v1.{encoded}.{tag}")
    }

    /// Verifies a grant for this chat and machine, in the order of spec 6.1 up to the directory, which the caller checks.
    ///
    /// # Errors
    /// The first [`GrantFault`].
    pub fn verify(&self, grant: &str, session: &SessionId, machine_id: &str) -> Result<GrantClaims, GrantFault> {
        if grant.len() > GRANT_LIMIT_BYTES {
            return Err(GrantFault::Malformed);
        }
        let mut parts = grant.split('.');
        let (Some("v1"), Some(encoded), Some(tag), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(GrantFault::Malformed);
        };
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| GrantFault::Malformed)?;
        let mut check = keyed(&self.0[..]);
        check.update(encoded.as_bytes());
        check.verify_slice(&tag).map_err(|_| GrantFault::Signature)?;
        let body = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| GrantFault::Claims)?;
        let claims = parse_claims(&body).ok_or(GrantFault::Claims)?;
        if claims.session != *session {
            return Err(GrantFault::OtherSession);
        }
        if claims.machine_id != machine_id {
            return Err(GrantFault::OtherMachine);
        }
        Ok(claims)
    }
}

/// Identity of a directory, from its open handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Device number.
    pub device: u64,
    /// Inode number, or the low 64 bits of the file id.
    pub inode: u128,
}

/// Returns the 64 hex digits that identify a canonical directory (spec 6.2).
#[must_use]
pub fn directory_fingerprint(id: Fingerprint, canonical_path: &str) -> String {
    let source = format!(r#"{{"device":{},"inode":{},"path":{}}}"#, id.device, id.inode, ascii_json(canonical_path));
    drawbridge_core::hex::encode(Sha256::digest(source.as_bytes()))
}

fn parse_claims(body: &[u8]) -> Option<GrantClaims> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let object = value.as_object()?;
    let text = |key: &str| object.get(key)?.as_str().map(str::to_owned);
    let revision = object.get("revision")?.as_u64().filter(|revision| *revision >= 1)?;
    Some(GrantClaims {
        allowed_root: text("allowed_root")?,
        fingerprint: text("fingerprint")?,
        issued_at: whole_seconds(object.get("issued_at")?)?,
        machine_id: text("machine_id")?,
        revision,
        session: SessionId::parse(object.get("session_id")?.as_str()?).ok()?,
    })
}

/// Grants that another client signed may carry a fraction.
fn whole_seconds(value: &serde_json::Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float-to-integer cast saturates, and only the second counts"
    )]
    value.as_i64().or_else(|| value.as_f64().filter(|seconds| seconds.is_finite()).map(|seconds| seconds as i64))
}

/// Writes a JSON string with everything outside ASCII as `\uXXXX` in lower-case hex, surrogate pairs included.
fn ascii_json(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => {
                let mut units = [0_u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing into a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
    out
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(keyed) => keyed,
        // HMAC takes a key of any length.
        Err(_) => unreachable!("HMAC refused a key"),
    }
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut state = keyed(key);
    state.update(message);
    state.finalize().into_bytes().into()
}

#[cfg(test)]
#[path = "grant_tests.rs"]
mod tests;
