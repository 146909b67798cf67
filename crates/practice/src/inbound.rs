//! Frames of a machine: what is taken, what is matched to a request and what is a fault (spec 15.3 to 15.5).

use crate::Failure;
use crate::bounds;
use crate::state::{Reply, Shared};
use serde_json::Value;
use std::time::Instant;

/// The types a request may be answered with, ERROR aside.
fn answers(request: &str) -> &'static str {
    match request {
        "DIRECTORY_LIST_REQUEST" => "DIRECTORY_LIST_RESPONSE",
        "ATTACH_SESSION" => "SESSION_ATTACHED",
        "ACTIVATE_SESSION" => "SESSION_ACTIVATED",
        "RESTORE_SESSION" => "SESSION_RESTORED",
        "EXECUTE_COMMAND" => "COMMAND_RESULT",
        "FILE_READ" => "FILE_CONTENTS",
        "FILE_STAT" => "FILE_STAT_RESPONSE",
        "FILE_LIST" => "FILE_LIST_RESPONSE",
        "SCREENSHOT_REQUEST" => "SCREENSHOT_RESPONSE",
        "CURSOR_POSITION_REQUEST" => "CURSOR_POSITION_RESPONSE",
        "DISPLAY_INFO_REQUEST" => "DISPLAY_INFO_RESPONSE",
        "WINDOW_LIST_REQUEST" => "WINDOW_LIST_RESPONSE",
        "APP_LIST_REQUEST" => "APP_LIST_RESPONSE",
        "CLIPBOARD_READ" => "CLIPBOARD_READ_RESPONSE",
        "PERMISSIONS_CHECK_REQUEST" => "PERMISSIONS_CHECK_RESPONSE",
        "LOCAL_LLM_COMPLETION" => "LOCAL_LLM_COMPLETION_RESPONSE",
        "LOCAL_LLM_TURN" => "LOCAL_LLM_TURN_RESPONSE",
        "PING" => "PONG",
        "DETACH_SESSION" | "FILE_WRITE" | "FILE_DELETE" | "FILE_MOVE" | "INPUT_ACTION" | "WINDOW_FOCUS"
        | "APP_LAUNCH" | "CLIPBOARD_WRITE" => "ACK",
        _ => "",
    }
}

/// Takes one text frame; an error is a fault that costs the connection.
pub(crate) fn frame(shared: &Shared, n: u64, text: &str) -> Result<(), (&'static str, String)> {
    let bad = |why: &str| ("bad_frame", why.to_owned());
    let frame: Value = serde_json::from_str(text).map_err(|e| bad(&format!("not JSON: {e}")))?;
    let kind = frame["type"].as_str().ok_or_else(|| bad("no type"))?;
    let id = frame["id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| bad("no id"))?;
    if !frame["payload"].is_object() {
        return Err(bad("payload is no object"));
    }
    let capacity = frame["pending_capacity"].as_u64().or_else(|| frame["payload"]["pending_capacity"].as_u64());
    if kind == "STATUS" {
        shared.change(|s| {
            if let Some(link) = s.links.get_mut(&n) {
                link.status = frame["payload"].clone();
                link.capacity = capacity.or(link.capacity);
            }
        });
        return Ok(());
    }
    if ["HELLO", "PING", "SESSION_REVOKED"].contains(&kind) {
        return Err(("stray_response", format!("{kind} is not for a machine to send here")));
    }
    shared.change(|s| {
        let Some(link) = s.links.get_mut(&n) else { return Ok(()) };
        link.forget_old();
        let found = link.asked.iter().find(|(_, a)| a.id == id).map(|(order, a)| (*order, answers(&a.kind)));
        let Some((order, wanted)) = found else {
            return Err(("stray_response", format!("{kind} answers no open request ({id})")));
        };
        if kind == "CHUNK" || kind.ends_with("_CHUNK") {
            let Some(asked) = link.asked.get_mut(&order) else { return Ok(()) };
            asked.heard = Instant::now();
            let mut misfits = asked.progress.part(kind, &frame["payload"])?;
            if !frame["pending_capacity"].is_null() {
                misfits.push(("capacity", format!("{kind} reports a capacity, which only the end of an answer does")));
            }
            for (what, text) in misfits {
                s.fault(n, what, text);
            }
            return Ok(());
        }
        if kind != "ERROR" && kind != wanted && !wanted.is_empty() {
            return Err(("wrong_type", format!("{kind} came where {wanted} was due")));
        }
        let Some(asked) = link.asked.remove(&order) else { return Ok(()) };
        // Requests sent before this one were surely read; later ones perhaps.
        let surely = link.asked.iter().filter(|(o, a)| **o < order && a.kind != "PING").count() as u64;
        let perhaps = link.asked.values().filter(|a| a.kind != "PING").count() as u64;
        let most = link.max_concurrent.saturating_sub(surely);
        let least = link.max_concurrent.saturating_sub(perhaps);
        let wrong = (kind != "PONG" && !capacity.is_some_and(|c| (least..=most).contains(&c)))
            .then(|| format!("{kind} reports capacity {capacity:?}, between {least} and {most} was due"));
        if kind != "PONG" {
            link.capacity = capacity;
        }
        // Told before the answer is handed over, so that whoever awaited it sees the fault.
        if let Some(text) = wrong {
            s.fault(n, "capacity", text);
        }
        let payload = &frame["payload"];
        let extra = bounds::extra_keys(kind, payload);
        if !extra.is_empty() {
            s.fault(n, "extra_key", format!("{kind} carries {}", extra.join(", ")));
        }
        let mut checked = bounds::answer(kind, payload).map_err(|why| format!("{kind}: {why}"));
        if let Err(text) = &checked {
            s.fault(n, "bounds", text.as_str());
        }
        for (what, text) in asked.progress.end(kind, payload) {
            s.fault(n, what, text.as_str());
            checked = checked.and(Err(text));
        }
        let reply = Reply {
            kind: kind.to_owned(),
            payload: payload.clone(),
            pending_capacity: capacity,
            elapsed_ms: u64::try_from(asked.born.elapsed().as_millis()).unwrap_or(u64::MAX),
            retried: false,
        };
        if let Some(answer) = asked.answer {
            let _ = answer.send(checked.map(|()| reply).map_err(|text| Failure::Mismatch { text }));
        }
        Ok(())
    })
}
