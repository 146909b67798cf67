//! What a machine says of its models and devices, and the frames of the local model and of privacy mode (spec 11 to 13).

use super::{Checked, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Bytes of a file that a description may hold.
const PREVIEW_MAX: usize = 256;
const FINISHES: [&str; 3] = ["stop", "length", "content_filter"];
/// Characters of a model's name.
const MODEL_MAX: usize = 200;
/// Characters of what a device is called, in any field.
const DEVICE_MAX: usize = 256;
/// Characters of what a back end said.
const BACKEND_MAX: usize = 200;
/// Models an error may name.
const MODELS_MAX: usize = 64;
/// Each capability of hardware, the type of its devices, and their fields.
const DEVICES: [(&str, &str, &[&str]); 3] = [
    ("hardware_serial", "serial", &["type", "port", "desc"]),
    ("hardware_usb", "usb", &["type", "vid", "pid", "desc"]),
    ("hardware_gpio", "gpio", &["type", "chip", "desc"]),
];

pub(super) fn answer(kind: &str, p: &Value) -> Checked {
    match kind {
        "LOCAL_LLM_COMPLETION_CHUNK" => part(p),
        "LOCAL_LLM_TURN_CHUNK" => only(p, &["delta"]).and_then(|()| some_text(p)),
        "LOCAL_LLM_COMPLETION_RESPONSE" => completion(p),
        "LOCAL_LLM_TURN_RESPONSE" => turn(p),
        "FILE_CONTENTS" if !p["mode"].is_null() => stub(p),
        "ERROR" => error(p),
        _ => Ok(()),
    }
}

/// What HELLO says of models and devices. The server takes all of it, so these are faults that cost nothing.
pub(crate) fn offers(p: &Value) -> Vec<String> {
    let offered = |name: &str| p["capabilities"].as_array().is_some_and(|all| all.iter().any(|each| each == name));
    let models: &[Value] = p["local_llm_models"].as_array().map_or(&[], Vec::as_slice);
    let devices: &[Value] = p["hardware_devices"].as_array().map_or(&[], Vec::as_slice);
    let mut faults = Vec::new();
    if offered("local_llm") == models.is_empty() {
        faults.push("local_llm and local_llm_models do not fit together".to_owned());
    }
    let fine = |model: &Value| {
        model
            .as_str()
            .is_some_and(|name| (1..=MODEL_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control))
    };
    if !models.iter().all(fine) {
        faults.push("local_llm_models holds a name that no request could carry".to_owned());
    }
    let mut names: Vec<&str> = models.iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < models.len() {
        faults.push("local_llm_models names a model twice".to_owned());
    }
    if !p["hardware_devices"].is_null() && !p["hardware_devices"].is_array() {
        faults.push("hardware_devices is no list".to_owned());
    }
    for device in devices {
        if let Err(why) = check_device(device) {
            faults.push(format!("hardware_devices: {why}"));
        }
    }
    for (capability, kind, _) in DEVICES {
        if offered(capability) != devices.iter().any(|device| device["type"] == kind) {
            faults.push(format!("{capability} and hardware_devices do not fit together"));
        }
    }
    faults
}

fn check_device(device: &Value) -> Checked {
    let (_, kind, fields) =
        DEVICES.iter().find(|(_, kind, _)| device["type"] == *kind).ok_or("a device of no known type")?;
    only(device, fields)?;
    for field in *fields {
        text(device, field, DEVICE_MAX)?;
    }
    let hex = |id: &Value| id.as_str().is_some_and(|id| id.len() == 4 && id.bytes().all(|b| b.is_ascii_hexdigit()));
    fits("vid or pid", *kind != "usb" || (hex(&device["vid"]) && hex(&device["pid"])))?;
    fits("desc", device["desc"].as_str().is_some_and(super::plain))
}

fn fits(name: &str, ok: bool) -> Checked {
    if ok { Ok(()) } else { Err(format!("{name} is not as the protocol says")) }
}

/// No field beyond these.
fn only(p: &Value, known: &[&str]) -> Checked {
    match p.as_object().into_iter().flat_map(|fields| fields.keys()).find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("it carries {key}")),
        None => Ok(()),
    }
}

fn some_text(p: &Value) -> Checked {
    fits("delta", p["delta"].as_str().is_some_and(|delta| !delta.is_empty()))
}

/// Null in all but the last, and there in each of them.
fn part(p: &Value) -> Checked {
    only(p, &["delta", "finish_reason"])?;
    match p.get("finish_reason") {
        Some(Value::Null) => some_text(p),
        Some(reason) => {
            fits("delta", p["delta"].is_string())?;
            fits("finish_reason", reason.as_str().is_some_and(|reason| FINISHES.contains(&reason)))
        }
        None => Err("finish_reason is missing".to_owned()),
    }
}

fn end(p: &Value) -> Checked {
    fits("finish_reason", p["finish_reason"].as_str().is_some_and(|reason| FINISHES.contains(&reason)))?;
    fits("duration_seconds", p["duration_seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0))
}

fn count_or_null(p: &Value, name: &str) -> Checked {
    fits(name, p.get(name).is_some_and(|count| count.is_null() || count.is_u64()))
}

fn completion(p: &Value) -> Checked {
    only(p, &["content", "finish_reason", "tokens", "duration_seconds"])?;
    fits("content", p["content"].is_string())?;
    end(p)?;
    let tokens = &p["tokens"];
    ["prompt", "completion", "total"].iter().try_for_each(|name| count_or_null(tokens, name))?;
    let sum = tokens["prompt"].as_u64().zip(tokens["completion"].as_u64()).map(|(prompt, said)| prompt + said);
    fits("total", sum.is_none() || tokens["total"].as_u64() == sum)
}

fn turn(p: &Value) -> Checked {
    only(p, &["output", "finish_reason", "tokens_used", "duration_seconds", "model"])?;
    fits("output", p["output"].is_string())?;
    end(p)?;
    count_or_null(p, "tokens_used")?;
    text(p, "model", MODEL_MAX)
}

/// A stub names its file and shows nothing of it in a field of its own, and as a preview no more than the first bytes that a person can let
/// leave.
fn stub(p: &Value) -> Checked {
    only(p, &["mode", "path", "size_bytes", "mime_type", "sha256", "schema_preview", "stub_id"])?;
    fits("mode", p["mode"] == "stub")?;
    text(p, "path", super::PATH_MAX)?;
    fits("size_bytes", p["size_bytes"].is_u64())?;
    fits("mime_type", p["mime_type"].is_null() || p["mime_type"].is_string())?;
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    fits("sha256", p["sha256"].as_str().is_some_and(|hash| hash.len() == 64 && hash.bytes().all(hex)))?;
    fits("schema_preview", p["schema_preview"].as_str().is_some_and(is_preview))?;
    let id = p["stub_id"].as_str().and_then(|id| id.strip_prefix("stub_"));
    fits("stub_id", id.is_some_and(|id| uuid::Uuid::parse_str(id).is_ok()))
}

fn is_preview(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| bytes.len() <= PREVIEW_MAX)
}

/// The details that the protocol gives to the errors of the local model.
fn error(p: &Value) -> Checked {
    let details = &p["details"];
    match p["code"].as_str() {
        Some("MODEL_NOT_AVAILABLE") => {
            text(details, "requested_model", MODEL_MAX)?;
            let models = details["available_models"].as_array().ok_or("available_models is no list")?;
            fits("available_models", models.len() <= MODELS_MAX && models.iter().all(Value::is_string))
        }
        Some("LOCAL_LLM_FAILED") => text(details, "backend_error", BACKEND_MAX),
        Some("STUB_STALE") => text(details, "stub_id", 64),
        Some("PRIVACY_MODE_BLOCKED") => text(details, "path", super::PATH_MAX),
        Some(_) | None => Ok(()),
    }
}
