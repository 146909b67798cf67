//! Every usual way in which a text can be written into something else, to look for what must not be there.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Returns a text in its forms, each with its name: raw, hexadecimal, base64 wherever it begins in what was encoded, JSON, percent signs.
#[must_use]
pub fn forms(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = text.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
    let json = serde_json::Value::String(text.to_owned()).to_string();
    let ascii: String = json.chars().flat_map(|c| if c.is_ascii() { vec![c] } else { escaped(c) }).collect();
    let trimmed = |text: &str| text.trim_matches('"').as_bytes().to_vec();
    let mut forms = vec![
        ("raw", bytes.to_vec()),
        ("hex", hex.clone().into_bytes()),
        ("HEX", hex.to_uppercase().into_bytes()),
        ("percent", percent.into_bytes()),
        ("json", trimmed(&json)),
        ("json in ascii", trimmed(&ascii)),
        ("json in json", trimmed(&serde_json::Value::String(json.trim_matches('"').to_owned()).to_string())),
        ("utf-16", text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ];
    for shift in 0..3 {
        forms.push(("base64", base64_after(&STANDARD_NO_PAD, shift, bytes)));
        forms.push(("base64url", base64_after(&URL_SAFE_NO_PAD, shift, bytes)));
    }
    forms
}

/// Returns the forms in which a text stands in some bytes.
#[must_use]
pub fn found(text: &str, within: &[u8]) -> Vec<&'static str> {
    let stands = |form: &[u8]| within.windows(form.len()).any(|part| part == form);
    forms(text).into_iter().filter(|(_, form)| stands(form)).map(|(name, _)| name).collect()
}

/// The letters that do not depend on what stands before and after.
fn base64_after(engine: &impl base64::Engine, shift: usize, bytes: &[u8]) -> Vec<u8> {
    let all = engine.encode([vec![0; shift], bytes.to_vec()].concat());
    let whole = (shift + bytes.len()) * 8 / 6;
    all.as_bytes().get((shift * 8).div_ceil(6)..whole).unwrap_or_default().to_vec()
}

fn escaped(letter: char) -> Vec<char> {
    let mut units = [0; 2];
    letter
        .encode_utf16(&mut units)
        .iter()
        .flat_map(|unit| format!("\\u{unit:04x}").chars().collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const TEXT: &str = "Kontostand \"Ü\" 8817-4711";

    #[test]
    fn a_text_is_found_wherever_it_begins_in_what_was_encoded() {
        for before in ["", "x", "xy", "xyz", "xyz1"] {
            let encoded = STANDARD.encode(format!("{before}{TEXT} and more"));
            assert_eq!(found(TEXT, encoded.as_bytes()).first(), Some(&"base64"), "{before}");
        }
        assert_eq!(found(TEXT, format!("a{TEXT}b").as_bytes()), ["raw"]);
        let json = serde_json::json!({ "a": TEXT }).to_string();
        assert_eq!(found(TEXT, json.as_bytes()), ["json"]);
        assert_eq!(found(TEXT, serde_json::json!(json).to_string().as_bytes()), ["json in json"]);
        assert_eq!(found(TEXT, "Kontostand 8817-4711".as_bytes()), [""; 0]);
    }
}
