//! Clears a line of what looks like a secret, by its name or by its form.
//!
//! It guesses, and rather takes too much than too little. It cannot know contents: those must not come here at all.

use std::iter::Peekable;
use std::str::CharIndices;

const CLEARED: &str = "<redacted>";
/// Names that end so hold secrets.
const SECRET_ENDS: [&str; 20] = [
    "token",
    "tokens",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "verifier",
    "challenge",
    "authorization",
    "cookie",
    "grant",
    "credential",
    "credentials",
    "apikey",
    "api_key",
    "api-key",
    "audit_key",
    "private_key",
    "hmac",
];
/// These hold contents.
const CONTENTS: [&str; 9] = ["content", "contents", "stdin", "stdout", "stderr", "env", "argv", "payload", "body"];
/// Part of a sign-in in an address; in our own words a short name, which stays.
const SIGN_IN: [&str; 2] = ["code", "state"];
/// What follows these words is a credential.
const SCHEMES: [&str; 2] = ["bearer", "basic"];
/// A run of letters and digits of this length is a key or a token, never a word. Ids of chats and machines are shorter.
const OPAQUE: usize = 40;

/// Knows the home folder of this process.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    home: Option<String>,
}

impl Redactor {
    pub(super) fn of_process() -> Self {
        let home = std::env::home_dir().map(|home| home.to_string_lossy().trim_end_matches('/').to_owned());
        Self { home: home.filter(|home| home.len() > 1) }
    }

    pub(super) fn clear(&self, text: &str) -> String {
        let text = without_logins(text);
        let text = without_credentials(&text);
        let text = without_values(&text);
        let text = without_opaque_runs(&text);
        match &self.home {
            Some(home) => with_short_home(&text, home),
            None => text,
        }
    }
}

/// Takes user and password out of addresses.
fn without_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| ends_value(c) || matches!(c, '/' | '?' | '#')).unwrap_or(after.len());
        let (authority, later) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => out.extend([CLEARED, "@", host]),
            None => out.push_str(authority),
        }
        rest = later;
    }
    out.push_str(rest);
    out
}

/// Takes out the values of names that tell of a secret, and every value in the query of an address.
fn without_values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let name_end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        if name_end == 0 || is_name(before) {
            out.push(c);
            (before, rest) = (c, &rest[c.len_utf8()..]);
            continue;
        }
        let (name, after) = rest.split_at(name_end);
        out.push_str(name);
        rest = after;
        if let Some((sign, value, later)) = value_of(after)
            && (matches!(before, '?' | '&') && sign.contains('=') || is_secret(name, value) && !is_prose(name, sign))
        {
            out.push_str(sign);
            out.push_str(CLEARED);
            rest = if is_header(name) { after_header(later) } else { later };
        }
        before = out.chars().next_back().unwrap_or(' ');
    }
    out
}

/// "secrets: in the keychain" tells of secrets and is none.
fn is_prose(name: &str, sign: &str) -> bool {
    name.ends_with('s') && sign == ": "
}

fn is_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// A header's value has several words.
fn after_header(text: &str) -> &str {
    text.find(['"', '\'']).map_or("", |end| &text[end..])
}

/// Splits what follows a name into the sign between, the value, and the rest.
fn value_of(after: &str) -> Option<(&str, &str, &str)> {
    let sign = after.trim_start_matches(['"', '\\', '\'']).trim_start_matches(' ');
    let value = sign.strip_prefix(['=', ':'])?.trim_start_matches(' ');
    let value = value.strip_prefix("Some(").unwrap_or(value);
    let open = value.trim_start_matches('\\');
    let quote = open.chars().next().filter(|c| matches!(c, '"' | '\''));
    let start = if quote.is_some() { &open[1..] } else { value };
    let end = match quote {
        Some(quote) => closing(start, quote, value.starts_with('\\')),
        None if value.starts_with(['{', '[', '(']) => value.len(),
        None => start.find(|c: char| ends_value(c) || matches!(c, '&' | '#' | '}' | ']')).unwrap_or(start.len()),
    };
    let (found, later) = start.split_at(end);
    let sign = &after[..after.len() - start.len()];
    (!found.is_empty()).then_some((sign, found, later))
}

/// Where a quoted text ends: one that is quoted twice over at its own `\"`.
fn closing(text: &str, quote: char, twice: bool) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' if twice && text[at + 1..].starts_with(quote) => return at,
            c if c == quote && !escaped => return at,
            c => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if SIGN_IN.contains(&name.as_str()) {
        let word = value.chars().all(|c| c.is_ascii_lowercase() || c == '_') && value.len() < OPAQUE;
        let number = value.len() < 6 && value.chars().all(|c| c.is_ascii_digit());
        // Of an enumeration's variant only the first letter is large.
        let variant = value.chars().all(|c| c.is_ascii_alphabetic()) && value.len() < 16;
        return !(word || number || variant);
    }
    CONTENTS.contains(&name.as_str()) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Takes out what follows the name of a way to sign in.
fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, length)) = next_scheme(rest) {
        let (before, after) = rest.split_at(at + length);
        out.push_str(before);
        let value = after.trim_start_matches(' ');
        let end = value.find(|c: char| !(is_opaque(c) || matches!(c, '.' | '~' | '/'))).unwrap_or(value.len());
        if end >= 6 {
            out.extend([" ", CLEARED]);
            rest = &value[end..];
        } else {
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn next_scheme(text: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    let found = SCHEMES.iter().filter_map(|scheme| Some((lower.find(&format!("{scheme} "))?, scheme.len())));
    found.min()
}

/// Takes out long runs of letters and digits, whatever they are called.
fn without_opaque_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !is_opaque(c) {
            out.push(c);
            continue;
        }
        let run = run_from(text, at, &mut chars);
        let mixed = run.contains(|c: char| c.is_ascii_digit()) && run.contains(|c: char| c.is_ascii_alphabetic());
        let signed = run.starts_with("eyJ") && run.len() >= 16;
        out.push_str(if mixed && run.len() >= OPAQUE || signed { CLEARED } else { run });
    }
    out
}

fn run_from<'a>(text: &'a str, at: usize, chars: &mut Peekable<CharIndices<'_>>) -> &'a str {
    while chars.next_if(|(_, c)| is_opaque(*c)).is_some() {}
    let end = chars.peek().map_or(text.len(), |(end, _)| *end);
    &text[at..end]
}

/// Writes the home folder as `~`, where it is one and not the beginning of another name.
fn with_short_home(text: &str, home: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let (before, after) = (&rest[..at], &rest[at + home.len()..]);
        out.push_str(before);
        let whole = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        out.push_str(if whole { "~" } else { home });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn is_opaque(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '=')
}

fn ends_value(c: char) -> bool {
    // The last ones stand for line ends and tabs.
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | ',' | ';' | ')' | '\u{2400}'..='\u{2421}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clear(text: &str) -> String {
        Redactor { home: Some("/home/anna".to_owned()) }.clear(text)
    }

    #[test]
    fn what_is_a_secret_by_its_name_or_its_form_goes() {
        for line in [
            "GET /callback?code=MARK&state=MARK HTTP/1.1",
            "url=http://localhost:41899/callback?error=MARK&x=MARK#end",
            "http://anna:MARK@proxy.example:8080/path refused",
            "socks://MARK@host and http://a@b:MARK@c",
            "Authorization: Bearer MARK",
            "cookie: a=MARK; b=MARK",
            "header \"Proxy-Authorization\": \"Basic MARK==\"",
            "sent bearer MARKMARK.x-y~z to it",
            "{\"access_token\":\"MARK\",\"refresh_token\": \"MARK \\\" MARK\",\"n\":1}",
            "body: \"{\\\"access_token\\\":\\\"MARK\\\",\\\"expires\\\":1}\"",
            "DRAWBRIDGE_KEYCHAIN_PASSPHRASE=MARK next",
            "Tokens { access_token: Some(\"MARK\"), refreshToken: MARK }",
            "code_verifier=MARK&grant_type=authorization_code",
            "password = \"two MARK words\"",
            "argv=[\"curl\", \"MARK\"]",
            "content=MARK",
            "state=MARK-1-MARK",
            "code=4/0AfMARKx_9",
            "key 85e9080af817312f50ebdffe75d7ddce1b00271b95af13b852f6dbe5ceMARK6",
            "jwt eyJhbGciOiJIUzI1NiMARK.eyJzdWIiOiIxMjM0NMARK.x",
            "grant v1.eyJhbGxvd2VkX3Jvb3QMARK.pLkWYGnY31WzB2rMupKbVO78rUQyso92dpgPnjoMARK",
        ] {
            let cleared = clear(line);
            assert!(!cleared.contains("MARK") && cleared.contains(CLEARED), "{line} became {cleared}");
        }
    }

    #[test]
    fn what_helps_to_find_a_fault_stays() {
        for line in [
            "2026-11-30T11:45:02.123456Z  INFO drawbridge_engine::link: could not connect failure=Refused { status: 503 }",
            "a command from the tray was refused code=\"not_painted\"",
            "link state=Halted code=4429",
            "chat 5b0c2f6e-1111-4222-8333-444455556666 on wss://platform.example:8443/ws/local-executor",
            "ok  secrets: they are in the keychain",
            "ok  hot_key: Ctrl+Alt+Shift+B raises the bridge",
            "took ms=12, left=3: nothing was lost",
            "process exited with 76",
            "a_very_long_name_of_a_function_that_has_no_digits_in_it_at_all",
        ] {
            assert_eq!(clear(line), line);
        }
    }

    #[test]
    fn the_home_folder_is_written_short() {
        assert_eq!(clear("/home/anna/x and '/home/anna' and /home/annabel/y"), "~/x and '~' and /home/annabel/y");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_and_a_second_look_changes_nothing(text in "[ -~ü␊\"\\\\=:&?@/]{0,80}") {
            let once = clear(&text);
            proptest::prop_assert_eq!(clear(&once), once);
        }
    }
}
