//! The bounds the server puts on what a machine says of itself and of its folders (spec 4.2, 5.2, 6), and those of the
//! protocol on answers of computer use and of the local model. Texts say which field is wrong, never its value.

mod computer;
mod model;

pub(crate) use model::offers;

use serde_json::Value;
use unicode_general_category::{GeneralCategory, get_general_category};

const PLATFORMS: [&str; 4] = ["darwin", "linux", "windows", "wsl2"];
const CHANNELS: [&str; 3] = ["floor", "browser", "desktop_ax"];
const ROUTES: [&str; 3] = ["extract_then_cloud", "local_vlm", "screenshots_to_cloud"];
/// Features of computer use: entries, and characters of each.
const FEATURES_MAX: usize = 128;
/// Entries of one page of folders.
const PAGE_MAX: usize = 200;
const REFERENCE_MAX: usize = 256;
const NAME_MAX: usize = 1024;
const PATH_MAX: usize = 32_767;
const GRANT_MAX: usize = 131_072;

type Checked = Result<(), String>;

/// Checks the payload of HELLO.
pub(crate) fn hello(p: &Value, control: bool) -> Checked {
    let fits = |name: &str, ok: bool| if ok { Ok(()) } else { Err(format!("{name} is out of bounds")) };
    fits("payload", p.is_object())?;
    fits("machine_id", p["machine_id"].as_str().is_some_and(|m| named(m, 128, "._:-")))?;
    fits("platform", p["platform"].as_str().is_some_and(|v| PLATFORMS.contains(&v)))?;
    fits("arch", p["arch"].as_str().is_some_and(|v| ["x86_64", "arm64"].contains(&v)))?;
    for name in ["capabilities", "local_llm_models"] {
        fits(name, list(&p[name], |_| true))?;
    }
    for name in ["computer_use_features", "computer_use_features_coarse"] {
        let short = p[name].as_array().is_none_or(|a| a.len() <= FEATURES_MAX);
        fits(name, short && list(&p[name], |f| f.chars().count() <= FEATURES_MAX && f.trim() == f && plain(f)))?;
    }
    fits("recording_channels", list(&p["recording_channels"], |v| CHANNELS.contains(&v)))?;
    fits("recording_routes", list(&p["recording_routes"], |v| ROUTES.contains(&v)))?;
    let name_fits = |v: &Value| v.is_null() || v.as_str().is_some_and(|n| n.chars().count() <= 128 && plain(n));
    fits("display_name", name_fits(&p["display_name"]))?;
    let version_fits = |v: &Value| v.is_null() || v.as_str().is_some_and(|n| n.is_empty() || named(n, 64, "._+-"));
    fits("shim_version", version_fits(&p["shim_version"]))?;
    let root = &p["allowed_root"];
    let root_fits = if control {
        root.is_null()
    } else {
        root.as_str().is_some_and(|r| (1..=4096).contains(&r.chars().count()) && plain(r))
    };
    fits("allowed_root", root_fits)?;
    let version = &p["protocol_version"];
    fits("protocol_version", version.is_null() || version.as_str().is_some_and(major_minor))
}

/// Checks the payload of DIRECTORY_LIST_RESPONSE, SESSION_* and of what computer use and the local model
/// answer; any other type passes.
pub(crate) fn answer(kind: &str, p: &Value) -> Checked {
    match kind {
        "DIRECTORY_LIST_RESPONSE" => page(p),
        "SESSION_ATTACHED" | "SESSION_RESTORED" => record(p).and_then(|()| text(p, "root_grant", GRANT_MAX)),
        "SESSION_ACTIVATED" => record(p),
        _ => model::answer(kind, p).and_then(|()| computer::answer(kind, p)),
    }
}

/// Keys beyond those the protocol names, which the server ignores on the control path.
pub(crate) fn extra_keys(kind: &str, p: &Value) -> Vec<String> {
    let known: &[&str] = match kind {
        "DIRECTORY_LIST_RESPONSE" => {
            &["browse_id", "current", "parent_ref", "entries", "next_cursor", "truncated", "expires_at"]
        }
        "SESSION_ATTACHED" | "SESSION_RESTORED" => {
            &["session_id", "allowed_root", "fingerprint", "revision", "root_grant"]
        }
        "SESSION_ACTIVATED" => &["session_id", "allowed_root", "fingerprint", "revision"],
        _ => return Vec::new(),
    };
    // The server also reads the capacity from the payload.
    let extra = |k: &&String| !known.contains(&k.as_str()) && *k != "pending_capacity";
    p.as_object().into_iter().flat_map(|o| o.keys()).filter(extra).cloned().collect()
}

fn page(p: &Value) -> Checked {
    text(p, "browse_id", REFERENCE_MAX)?;
    for name in ["parent_ref", "next_cursor"] {
        if !p[name].is_null() {
            text(p, name, REFERENCE_MAX)?;
        }
    }
    if !p["current"].is_null() {
        folder(&p["current"])?;
    }
    let entries = p["entries"].as_array().ok_or("entries is no list")?;
    if entries.len() > PAGE_MAX {
        return Err(format!("entries holds {} folders, at most {PAGE_MAX} are allowed", entries.len()));
    }
    entries.iter().try_for_each(folder)?;
    if !p["truncated"].is_boolean() {
        return Err("truncated is neither true nor false".to_owned());
    }
    if p["expires_at"].as_f64().is_some_and(|t| t > 0.0) { Ok(()) } else { Err("expires_at is no time".to_owned()) }
}

fn folder(p: &Value) -> Checked {
    text(p, "directory_ref", REFERENCE_MAX)?;
    text(p, "name", NAME_MAX)?;
    text(p, "path", PATH_MAX)
}

fn record(p: &Value) -> Checked {
    text(p, "session_id", REFERENCE_MAX)?;
    text(p, "allowed_root", PATH_MAX)?;
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if !p["fingerprint"].as_str().is_some_and(|f| f.len() == 64 && f.bytes().all(hex)) {
        return Err("fingerprint is not 64 lower-case hexadecimal digits".to_owned());
    }
    if p["revision"].as_u64().is_some_and(|r| r >= 1) { Ok(()) } else { Err("revision is not 1 or above".to_owned()) }
}

fn text(p: &Value, name: &str, most: usize) -> Checked {
    let length = p[name].as_str().map(|v| v.chars().count());
    if length.is_some_and(|n| (1..=most).contains(&n)) {
        Ok(())
    } else {
        Err(format!("{name} is not a text of 1 to {most} characters"))
    }
}

fn list(value: &Value, fits: impl Fn(&str) -> bool) -> bool {
    value.is_null() || value.as_array().is_some_and(|a| a.iter().all(|v| v.as_str().is_some_and(&fits)))
}

/// Starts with a letter or digit and goes on with those or `marks`.
fn named(value: &str, most: usize, marks: &str) -> bool {
    value.len() <= most
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

/// No angle brackets, no control or format characters, no line or paragraph separator.
fn plain(value: &str) -> bool {
    value.chars().all(|c| {
        !matches!(c, '<' | '>' | '\u{2028}' | '\u{2029}')
            && !c.is_control()
            && get_general_category(c) != GeneralCategory::Format
    })
}

fn major_minor(version: &str) -> bool {
    let digits = |d: &str| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit());
    version.len() <= 16 && version.split_once('.').is_some_and(|(major, minor)| digits(major) && digits(minor))
}
