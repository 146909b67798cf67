//! Autostart entries of Linux desktops (Desktop Entry and Desktop Application Autostart specifications).

use std::path::PathBuf;

use super::Parsed;

/// The name that the package uses in the system's folder, so that the person's entry overrides that one.
pub(super) const NAME: &str = "drawbridge.desktop";
/// Marks what Drawbridge wrote. Desktops keep keys that they do not know.
const MARK: &str = "X-Drawbridge-Autostart";
const GROUP: &str = "[Desktop Entry]";

/// Starts the word after it.
const ENV: &str = "/usr/bin/env";

/// Makes an entry that starts this program hidden. The path has no control character and no `=`.
pub(super) fn render(program: &str) -> String {
    // GLib looks for the program before it reads `%%` as one sign, so such a path must not come first.
    let by = if program.contains('%') { ENV } else { "" };
    let command = format!("{by} {} --hidden", quoted(program));
    format!(
        "{GROUP}\nType=Application\nName=Drawbridge\nName[de]=Drawbridge\n\
         Comment=Lets an AI agent work on this computer, on your terms\n\
         Comment[de]=Lässt einen KI-Agenten an diesem Computer arbeiten, zu Ihren Bedingungen\n\
         Exec={}\nTryExec={}\nIcon=drawbridge-desktop\nTerminal=false\nStartupNotify=false\n\
         X-GNOME-Autostart-enabled=true\n{MARK}=true\n",
        escaped(command.trim_start()),
        escaped(program),
    )
}

/// Makes an entry that says no to one of the same name in the system's folder.
pub(super) fn switched_off() -> String {
    format!("{GROUP}\nType=Application\nName=Drawbridge\nExec=drawbridge-desktop --hidden\nHidden=true\n{MARK}=true\n")
}

/// One argument in quotes, with `"`, `` ` ``, `$` and `\` escaped, and `%`, which begins a field code, doubled.
fn quoted(argument: &str) -> String {
    let mut out = String::from("\"");
    for c in argument.chars() {
        match c {
            '"' | '`' | '$' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value of the type string: the backslash is its escape sign.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\")
}

/// Reads what matters of an entry.
pub(super) fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == GROUP;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else { continue };
        let value = value.trim();
        match key.trim() {
            "Exec" => parsed.program = program(&unescaped(value)),
            "Hidden" => parsed.disabled |= value == "true",
            "X-GNOME-Autostart-enabled" => parsed.disabled |= value == "false",
            MARK => parsed.ours = true,
            _ => {}
        }
    }
    // A desktop's own settings write such a copy of the application's entry; switching it here is what is meant by it.
    let name = parsed.program.as_ref().and_then(|program| program.file_name()?.to_str());
    parsed.ours |= name == Some("drawbridge-desktop");
    parsed
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('s') => out.push(' '),
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('\\') => out.push('\\'),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

/// The program that a command line starts.
fn program(line: &str) -> Option<PathBuf> {
    let mut chars = line.chars();
    let first = next_word(&mut chars)?;
    let word = if first == ENV { next_word(&mut chars)? } else { first };
    Some(PathBuf::from(word))
}

/// The next word of a command line, quotes and doubled `%` taken off.
fn next_word(chars: &mut std::str::Chars<'_>) -> Option<String> {
    let mut out = String::new();
    let mut within = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => within = !within,
            '\\' if within => out.push(chars.next()?),
            '%' => {
                // Two stand for one; a field code is no part of a name.
                if chars.next()? == '%' {
                    out.push('%');
                }
            }
            c if c.is_whitespace() && !within && out.is_empty() => {}
            c if c.is_whitespace() && !within => break,
            c => out.push(c),
        }
    }
    (!within && !out.is_empty()).then_some(out)
}
