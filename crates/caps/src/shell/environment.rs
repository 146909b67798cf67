//! The environment of a command: a fixed list of what is kept, then what the request sent (spec 9.4).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What is kept of the engine's own environment, beside `LC_*`.
const KEPT: [&str; 7] = ["HOME", "PATH", "LANG", "TZ", "TMPDIR", "USER", "SHELL"];

/// What makes programs fail at once where they would wait for a keyboard. The request may set them otherwise.
const NEVER_WAIT: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "false"), ("EDITOR", "false"), ("VISUAL", "false")];

/// Where programs are looked up when the engine itself has no PATH.
const PATH_OF_SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// Builds the whole environment.
pub(super) fn whole(inherited: &[(OsString, OsString)], sent: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
    let mut all: BTreeMap<OsString, OsString> = NEVER_WAIT.map(|(name, value)| (name.into(), value.into())).into();
    for (name, value) in inherited {
        if name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with("LC_")) {
            all.insert(name.clone(), value.clone());
        }
    }
    all.entry("PATH".into()).or_insert_with(|| PATH_OF_SYSTEM.into());
    all.extend(sent.iter().map(|(name, value)| (name.into(), value.into())));
    all.insert("PYTHONIOENCODING".into(), "utf-8".into());
    all.into_iter().collect()
}

/// Sets one variable.
pub(super) fn set(all: &mut Vec<(OsString, OsString)>, name: &str, value: &str) {
    all.retain(|(known, _)| known != name);
    all.push((name.into(), value.into()));
}

/// Returns a variable of the engine's own environment.
pub(super) fn inherited(inherited: &[(OsString, OsString)], name: &str) -> Option<OsString> {
    inherited.iter().find(|(known, _)| known == OsStr::new(name)).map(|(_, value)| value.clone())
}

/// Returns the PATH that programs are looked up on, whatever the request sent.
pub(super) fn baseline_path(all: &[(OsString, OsString)]) -> OsString {
    inherited(all, "PATH").unwrap_or_else(|| PATH_OF_SYSTEM.into())
}
