//! Reads from a certificate what a person may want to know: who issued it and until when it holds.
//!
//! It judges nothing: trust is the verifier's matter. A certificate comes from outside and may be malformed; then there are
//! no facts (X.509, RFC 5280, 4.1).

use drawbridge_core::{escape_outside_text, shorten_middle};

/// The longest name that is shown, in characters.
const NAME_LIMIT_CHARS: usize = 60;

/// What a certificate says about itself, safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateFacts {
    /// Who issued it: the common name, else the organisation.
    pub(crate) issuer: String,
    /// It is signed by itself.
    pub(crate) own_issuer: bool,
    /// The last day, as `2027-01-31`.
    pub(crate) until: Option<String>,
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// id-at-commonName and id-at-organizationName.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANISATION: &[u8] = &[0x55, 0x04, 0x0a];
/// UTF8String, PrintableString, T61String, IA5String: read as UTF-8, with the rest replaced.
const TEXT_TAGS: [u8; 4] = [0x0c, 0x13, 0x14, 0x16];
const BMP_STRING: u8 = 0x1e;

impl CertificateFacts {
    /// Reads a certificate in DER form.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let mut certificate = Reader(Reader(der).take(SEQUENCE)?);
        let mut body = Reader(certificate.take(SEQUENCE)?);
        if body.0.first() == Some(&VERSION) {
            body.take(VERSION)?;
        }
        body.take(INTEGER)?;
        body.take(SEQUENCE)?;
        let issuer = body.take(SEQUENCE)?;
        let mut validity = Reader(body.take(SEQUENCE)?);
        let subject = body.take(SEQUENCE)?;
        validity.any()?;
        Some(Self {
            issuer: shown(&name(issuer)?),
            own_issuer: issuer == subject,
            until: validity.any().and_then(|(tag, time)| day(tag, time)),
        })
    }
}

/// Makes a name from a certificate safe to show.
pub(crate) fn shown(name: &str) -> String {
    shorten_middle(&escape_outside_text(name), NAME_LIMIT_CHARS)
}

fn name(dn: &[u8]) -> Option<String> {
    attribute(dn, COMMON_NAME).or_else(|| attribute(dn, ORGANISATION))
}

/// The first value of this kind in a distinguished name.
fn attribute(dn: &[u8], wanted: &[u8]) -> Option<String> {
    let mut sets = Reader(dn);
    while let Some(set) = sets.take(SET) {
        let mut pairs = Reader(set);
        while let Some(pair) = pairs.take(SEQUENCE) {
            let mut pair = Reader(pair);
            if pair.take(OBJECT_ID)? == wanted {
                let (tag, value) = pair.any()?;
                return text(tag, value);
            }
        }
    }
    None
}

fn text(tag: u8, value: &[u8]) -> Option<String> {
    if TEXT_TAGS.contains(&tag) {
        return Some(String::from_utf8_lossy(value).into_owned());
    }
    let units = value.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    (tag == BMP_STRING).then(|| char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// `YYMMDD…` means 1950 to 2049 (RFC 5280, 4.1.2.5.1).
fn day(tag: u8, time: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(time).ok().filter(|text| text.is_ascii())?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let year: u16 = digits.get(..2)?.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, digits.get(2..6)?)
        }
        GENERALIZED_TIME => (digits.get(..4)?.parse().ok()?, digits.get(4..8)?),
        _ => return None,
    };
    rest.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{year:04}-{}-{}", &rest[..2], &rest[2..]))
}

/// Reads elements one after the other. None at the end and for what is not DER.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.any().filter(|(tag, _)| *tag == wanted).map(|(_, content)| content)
    }

    fn any(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let count = usize::from(first & 0x7f);
            // Four bytes of length are more than any certificate has.
            if count == 0 || count > 4 {
                return None;
            }
            let (bytes, rest) = rest.split_at_checked(count)?;
            (bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
