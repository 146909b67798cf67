//! JSON with its number tokens kept, and the two ways of writing it for a MAC (spec 3.8).
//!
//! Verifying must not go through a parser that rounds numbers: the token of the line decides.

use std::collections::BTreeMap;

const DEEPEST: u32 = 64;

/// A JSON value whose numbers are still text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Token>),
    Map(BTreeMap<String, Token>),
}

/// How numbers and key order are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// RFC 8785.
    Strict,
    /// As an older client writes them: `1.0`, `1e-07`, integers digit by digit, keys by code point.
    Older,
}

impl Token {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut reader = Reader { rest: line };
        let value = reader.value(0)?;
        reader.blanks();
        reader.rest.is_empty().then_some(value)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Self::Number(token) => token.parse().ok(),
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>, rule: Rule) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(token) => number(out, token, rule),
            Self::Text(text) => string(out, text),
            Self::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    item.write(out, rule);
                }
                out.push(b']');
            }
            Self::Map(map) => {
                let mut pairs: Vec<(&String, &Self)> = map.iter().collect();
                if rule == Rule::Strict {
                    pairs.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
                }
                out.push(b'{');
                for (at, (key, value)) in pairs.into_iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    string(out, key);
                    out.push(b':');
                    value.write(out, rule);
                }
                out.push(b'}');
            }
        }
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Its escapes are those of RFC 8785. Writing a text into a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

fn number(out: &mut Vec<u8>, token: &str, rule: Rule) {
    let is_float = token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if rule == Rule::Older && !is_float {
        out.extend_from_slice(if token == "-0" { b"0" } else { token.as_bytes() });
        return;
    }
    let value: f64 = token.parse().unwrap_or(0.0);
    if rule == Rule::Older {
        out.extend_from_slice(older_float(value).as_bytes());
    } else {
        let start = out.len();
        if serde_json_canonicalizer::to_writer(&value, out).is_err() {
            // Too large for a double: not valid JSON for this purpose, and no MAC will fit.
            out.truncate(start);
            out.extend_from_slice(b"null");
        }
    }
}

/// Shortest digits; exponent form when the decimal exponent is below −4 or at least 16.
fn older_float(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (digits, exponent) = shortest(value.abs());
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{direction}{:02}", exponent.abs());
    }
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", zeros(-1 - exponent));
    }
    let padded = format!("{digits}{}", zeros(exponent + 2 - i32::try_from(digits.len()).unwrap_or(0)));
    let (whole, part) = padded.split_at(usize::try_from(exponent + 1).unwrap_or(0));
    format!("{sign}{whole}.{part}")
}

/// The digits of a number and the power of ten of the first one. Taken from how RFC 8785 writes it: of two shortest forms
/// that are equally near, that rule and the older one take the even one, and Rust's own does not.
fn shortest(value: f64) -> (String, i32) {
    let mut text = Vec::new();
    if serde_json_canonicalizer::to_writer(&value, &mut text).is_err() {
        // Not finite: no JSON, and no MAC will fit.
        return ("0".to_owned(), 0);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{part}");
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return ("0".to_owned(), 0);
    }
    let places = i32::try_from(whole.len()).unwrap_or(0) - 1 - i32::try_from(leading).unwrap_or(0);
    (digits.to_owned(), exponent.parse::<i32>().unwrap_or(0) + places)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn value(&mut self, depth: u32) -> Option<Token> {
        if depth > DEEPEST {
            return None;
        }
        self.blanks();
        match self.rest.as_bytes().first()? {
            b'n' => self.take("null").map(|()| Token::Null),
            b't' => self.take("true").map(|()| Token::Bool(true)),
            b'f' => self.take("false").map(|()| Token::Bool(false)),
            b'"' => self.text().map(Token::Text),
            b'[' => self.list(depth),
            b'{' => self.map(depth),
            _ => self.number(),
        }
    }

    fn list(&mut self, depth: u32) -> Option<Token> {
        self.take("[")?;
        let mut items = Vec::new();
        self.blanks();
        if self.take("]").is_some() {
            return Some(Token::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(",").is_none() {
                self.take("]")?;
                return Some(Token::List(items));
            }
        }
    }

    fn map(&mut self, depth: u32) -> Option<Token> {
        self.take("{")?;
        let mut map = BTreeMap::new();
        self.blanks();
        if self.take("}").is_some() {
            return Some(Token::Map(map));
        }
        loop {
            self.blanks();
            let key = self.text()?;
            self.blanks();
            self.take(":")?;
            // A key that is there twice would let two readers see two records in one.
            if map.insert(key, self.value(depth + 1)?).is_some() {
                return None;
            }
            self.blanks();
            if self.take(",").is_none() {
                self.take("}")?;
                return Some(Token::Map(map));
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let bytes = self.rest.as_bytes();
        if bytes.first() != Some(&b'"') {
            return None;
        }
        let mut at = 1;
        loop {
            match bytes.get(at)? {
                b'\\' => at += 2,
                b'"' => break,
                _ => at += 1,
            }
        }
        let text = serde_json::from_str(self.rest.get(..=at)?).ok()?;
        self.rest = self.rest.get(at + 1..)?;
        Some(text)
    }

    fn number(&mut self) -> Option<Token> {
        let end =
            self.rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(self.rest.len());
        let (token, rest): (&'a str, &'a str) = self.rest.split_at(end);
        // The grammar of JSON is narrower than what Rust takes for a number.
        serde_json::from_str::<serde_json::Number>(token).ok()?;
        self.rest = rest;
        Some(Token::Number(token.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_rule_writes_floats_its_own_way() {
        for (token, written) in [
            ("1712345678.0", "1712345678.0"),
            ("1712345678e0", "1712345678.0"),
            ("1e-7", "1e-07"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e16", "1e+16"),
            ("1e15", "1000000000000000.0"),
            ("1.5E+200", "1.5e+200"),
            ("-0.0", "-0.0"),
            ("0.0", "0.0"),
            ("-12.50", "-12.5"),
            ("100", "100"),
            ("100.0", "100.0"),
            ("0.001", "0.001"),
            ("1712345678.1230001", "1712345678.1230001"),
            ("123456789.0e-12", "0.000123456789"),
            ("-1e22", "-1e+22"),
            ("1424953923781206.25", "1424953923781206.2"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            let mut out = Vec::new();
            number(&mut out, token, Rule::Older);
            assert_eq!(String::from_utf8(out).unwrap(), written, "{token}");
        }
    }

    #[test]
    fn strange_json_is_refused() {
        for bad in
            ["{\"a\":1,\"a\":2}", "{\"a\":01}", "[1,]", "{\"a\":+1}", "\"\\x\"", "{} x", &"[".repeat(1000), "\"a"]
        {
            assert_eq!(Token::parse(bad), None, "{bad}");
        }
    }
}
