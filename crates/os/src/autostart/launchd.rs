//! The launch agent of macOS.

use std::path::PathBuf;

use super::{Kind, Parsed};

/// Its label, and the name of its file before `.plist`.
pub(super) const LABEL: &str = "net.drawbridge.agent";

/// Makes the property list for this program: the executable inside the bundle, never the bundle itself, which launchd cannot
/// start. The path has no control character.
///
/// An orderly end stays an end; a crash is mended, at most once a minute.
pub(super) fn render(program: &str, kind: Kind) -> String {
    let (words, process): (&[&str], _) = match kind {
        Kind::App => (&["--hidden"], "Interactive"),
        Kind::Headless => (&["start", "--headless", "--service"], "Background"),
    };
    let words: String = std::iter::once(program)
        .chain(words.iter().copied())
        .map(|word| format!("\t\t<string>{}</string>\n", escaped(word)))
        .collect();
    let session = match kind {
        // Only where there is a screen to show a tray icon on.
        Kind::App => "\t<key>LimitLoadToSessionType</key>\n\t<string>Aqua</string>\n",
        Kind::Headless => "",
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n\t<key>Label</key>\n\t<string>{LABEL}</string>\n\
         \t<key>ProgramArguments</key>\n\t<array>\n{words}\t</array>\n\
         \t<key>RunAtLoad</key>\n\t<true/>\n\
         \t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n\
         \t<key>ThrottleInterval</key>\n\t<integer>60</integer>\n\
         \t<key>ProcessType</key>\n\t<string>{process}</string>\n{session}</dict>\n</plist>\n"
    )
}

/// What switches it on or off before the next login.
pub(super) fn commands(place: &str, on: bool) -> Vec<String> {
    if on {
        let quoted = place.replace('\'', "'\\''");
        vec![format!("launchctl bootstrap gui/$(id -u) '{quoted}'")]
    } else {
        vec![format!("launchctl bootout gui/$(id -u)/{LABEL}")]
    }
}

/// Writes text for XML, inside an element.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The reverse of [`escaped`].
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

/// Reads what matters of a property list that is written as ours is.
pub(super) fn parse(text: &str) -> Parsed {
    let after = |key: &str| text.split_once(key).map(|(_, rest)| rest);
    let string = |rest: &str| {
        let (_, rest) = rest.split_once("<string>")?;
        rest.split_once("</string>").map(|(value, _)| unescaped(value))
    };
    Parsed {
        program: after("<key>ProgramArguments</key>").and_then(string).map(PathBuf::from),
        ours: after("<key>Label</key>").and_then(string).as_deref() == Some(LABEL),
        disabled: after("<key>Disabled</key>").is_some_and(|rest| rest.trim_start().starts_with("<true/>")),
    }
}
