//! Both WebSocket end points with the checks and close codes of spec 15.1 to 15.3.

use crate::oauth::{http_refusal, revoked_frame};
use crate::state::{Fault, Link, Out, Refusal, Reply, Scope, Shared};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use tokio::sync::{mpsc, watch};

const FRAME_MAX: usize = 16 * 1024 * 1024;
const HELLO_MAX: usize = 64 * 1024;
const CAPABILITIES: [&str; 6] = ["shell", "files", "computer_use", "local_llm", "recording", "directory_browse"];

/// Unix seconds.
pub(crate) fn now() -> f64 {
    SystemTime::UNIX_EPOCH.elapsed().map(|d| d.as_secs_f64()).unwrap_or_default()
}

pub(crate) async fn control(State(shared): State<Arc<Shared>>, headers: HeaderMap, up: WebSocketUpgrade) -> Response {
    accept(shared, &headers, up, None)
}

pub(crate) async fn data(
    State(shared): State<Arc<Shared>>,
    Path(session): Path<String>,
    headers: HeaderMap,
    up: WebSocketUpgrade,
) -> Response {
    accept(shared, &headers, up, Some(session))
}

fn accept(shared: Arc<Shared>, headers: &HeaderMap, up: WebSocketUpgrade, session: Option<String>) -> Response {
    if let Some(refusal) = shared.change(|s| Refusal::take(&mut s.switches.refuse_upgrade)) {
        return http_refusal(&refusal);
    }
    let bearer =
        headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.strip_prefix("Bearer "));
    let token = {
        let s = shared.look();
        bearer
            .and_then(|b| s.oauth.access.get(b))
            .filter(|t| t.expires > Instant::now() && !s.oauth.revoked.contains(&t.family))
            .cloned()
    };
    let Some(token) = token else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    if session.as_ref().is_some_and(|id| !shared.look().chats.contains_key(id)) {
        return StatusCode::FORBIDDEN.into_response();
    }
    up.max_message_size(FRAME_MAX)
        .max_frame_size(FRAME_MAX)
        .on_upgrade(move |ws| run(shared, ws, session, token.family, token.expires))
}

async fn close(ws: &mut WebSocket, code: u16, reason: &str) {
    let _ = ws.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    // The peer's own close frame ends the stream; without one the time limit does.
    let drain = async { while let Some(Ok(_)) = ws.recv().await {} };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), drain).await;
}

async fn run(shared: Arc<Shared>, mut ws: WebSocket, session: Option<String>, family: String, expires: Instant) {
    let (out, mut outbox) = mpsc::unbounded_channel();
    let (stalled, mut stall) = watch::channel(false);
    let scope = session.clone().map_or(Scope::Control(String::new()), Scope::Data);
    let (n, on_accept) = shared.change(|s| {
        s.next_link += 1;
        let link = Link {
            scope,
            family,
            ready: false,
            out,
            stalled,
            hello: Value::Null,
            granted: vec![],
            connection_id: None,
            max_concurrent: 4,
            capacity: None,
            status: Value::Null,
            asked: BTreeMap::new(),
            next_ask: 0,
        };
        s.links.insert(s.next_link, link);
        (s.next_link, s.switches.close_on_accept)
    });
    let end = match on_accept {
        Some(code) => Some((code, "Closed by the script".to_owned())),
        None => match hello(&shared, &mut ws, n, session).await {
            Ok(()) => serve(&shared, &mut ws, n, expires, &mut outbox, &mut stall).await,
            Err(end) => end,
        },
    };
    shared.change(|s| s.links.remove(&n));
    if let Some((code, reason)) = end {
        close(&mut ws, code, &reason).await;
    }
}

type End = Option<(u16, String)>;

fn bad(code: u16, reason: &str) -> End {
    Some((code, reason.to_owned()))
}

async fn hello(shared: &Shared, ws: &mut WebSocket, n: u64, session: Option<String>) -> Result<(), End> {
    let first = async {
        loop {
            match ws.recv().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => return Err(bad(4400, "HELLO must be text")),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(None),
            }
        }
    };
    let Ok(text) = tokio::time::timeout(shared.clocks.hello, first).await else {
        return Err(bad(4408, "HELLO timeout"));
    };
    let text = text?;
    let mut scope = session.clone().map_or(Scope::Control(String::new()), Scope::Data);
    shared.record(n, &scope, true, &text);
    if text.len() > HELLO_MAX {
        return Err(bad(4400, "HELLO too large"));
    }
    let frame: Value = serde_json::from_str(&text).map_err(|_| bad(4400, "Malformed HELLO"))?;
    if frame["type"] != "HELLO" {
        return Err(bad(4400, "Expected HELLO"));
    }
    let id = frame["id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| bad(4400, "Malformed HELLO"))?;
    let payload = &frame["payload"];
    if !payload_fits(payload, session.is_none()) || !frame["pending_capacity"].is_null() {
        return Err(bad(4400, "Invalid HELLO payload"));
    }
    let version = payload["protocol_version"].as_str().unwrap_or("1.0");
    let minor = version.strip_prefix("1.").and_then(|m| m.parse::<u32>().ok());
    let offered: Vec<&str> =
        payload["capabilities"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let browses = offered.contains(&"directory_browse");
    let Some(minor) = minor.filter(|m| session.is_some() || (*m >= 1 && browses)) else {
        let reason = json!({ "error": "PROTOCOL_VERSION_MISMATCH", "shim_max": version, "platform_max": "1.1", "hint": "update" });
        return Err(Some((4426, reason.to_string())));
    };
    let machine = payload["machine_id"].as_str().unwrap_or_default().to_owned();
    if let Some(id) = &session {
        let stored = shared
            .look()
            .chats
            .get(id)
            .and_then(|c| c.grant.as_ref().map(|g| (g["allowed_root"].clone(), c.machine_id.clone())));
        if let Some((root, owner)) = stored
            && (root != payload["allowed_root"] || owner.as_deref() != Some(&machine))
        {
            shared.fault(n, "root_mismatch", format!("HELLO of {id} names another folder or machine than its grant"));
            return Err(bad(4403, "Root mismatch"));
        }
    } else {
        scope = Scope::Control(machine.clone());
    }
    let switches = shared.look().switches.clone();
    if let Some(code) = switches.close_on_hello {
        return Err(bad(code, "Closed by the script"));
    }
    if switches.ignore_hello {
        while let Some(Ok(message)) = ws.recv().await {
            if matches!(message, Message::Close(_)) {
                break;
            }
        }
        return Err(None);
    }
    let granted: Vec<&str> = offered.into_iter().filter(|c| CAPABILITIES.contains(c)).collect();
    let connection = session.is_none().then(|| uuid::Uuid::new_v4().to_string());
    let mut ack = json!({ "type": "HELLO_ACK", "id": id, "ts": now(), "payload": {
        "session_id": session, "protocol_version": format!("1.{}", minor.min(1)), "granted_capabilities": granted,
        "max_file_size_bytes": 10_485_760, "command_timeout_seconds": 30, "max_concurrent": 4 } });
    if let Some(connection) = &connection {
        ack["payload"]["connection_id"] = json!(connection);
    }
    overlay(&mut ack["payload"], &switches.ack_payload);
    overlay(&mut ack, &switches.ack_envelope);
    let text = switches.ack_raw.unwrap_or_else(|| ack.to_string());
    shared.record(n, &scope, false, &text);
    ws.send(Message::Text(text.into())).await.map_err(|_| None)?;
    shared.change(|s| {
        for link in s.links.values().filter(|l| l.ready && l.scope == scope) {
            let _ = link.out.send(Out::Text(revoked_frame("another_shim_connected")));
            let _ = link.out.send(Out::Close(4427, "Session taken over".to_owned()));
        }
        if let Some(link) = s.links.get_mut(&n) {
            link.granted = granted.iter().map(|c| (*c).to_owned()).collect();
            link.max_concurrent = ack["payload"]["max_concurrent"].as_u64().unwrap_or(4);
            link.connection_id = connection;
            link.hello = payload.clone();
            link.scope = scope;
            link.ready = true;
        }
    });
    Ok(())
}

fn overlay(under: &mut Value, over: &Value) {
    if let (Some(under), Some(over)) = (under.as_object_mut(), over.as_object()) {
        for (key, value) in over {
            under.insert(key.clone(), value.clone());
        }
    }
}

fn payload_fits(p: &Value, control: bool) -> bool {
    let text = |name: &str| p[name].as_str().is_some_and(|v| !v.is_empty());
    let list = |name: &str| p[name].is_null() || p[name].as_array().is_some_and(|a| a.iter().all(Value::is_string));
    let root_fits = if control {
        p["allowed_root"].is_null()
    } else {
        p["allowed_root"].as_str().is_some_and(|r| {
            (1..=4096).contains(&r.chars().count())
                && !r.chars().any(|c| c.is_control() || "<>\u{2028}\u{2029}".contains(c))
        })
    };
    let version = p["protocol_version"].as_str();
    let version_fits = p["protocol_version"].is_null()
        || version.is_some_and(|v| {
            let digits = |d: &str| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit());
            v.len() <= 16 && v.split_once('.').is_some_and(|(a, b)| digits(a) && digits(b))
        });
    let subset = |name: &str, known: &[&str]| {
        p[name].is_null()
            || p[name].as_array().is_some_and(|a| a.iter().all(|v| v.as_str().is_some_and(|v| known.contains(&v))))
    };
    text("machine_id")
        && ["darwin", "linux", "windows", "wsl2"].contains(&p["platform"].as_str().unwrap_or_default())
        && ["x86_64", "arm64"].contains(&p["arch"].as_str().unwrap_or_default())
        && list("capabilities")
        && list("local_llm_models")
        && list("computer_use_features")
        && subset("recording_channels", &["floor", "browser", "desktop_ax"])
        && subset("recording_routes", &["extract_then_cloud", "local_vlm", "screenshots_to_cloud"])
        && root_fits
        && version_fits
}

async fn serve(
    shared: &Shared,
    ws: &mut WebSocket,
    n: u64,
    expires: Instant,
    outbox: &mut mpsc::UnboundedReceiver<Out>,
    stall: &mut watch::Receiver<bool>,
) -> End {
    let scope = shared.look().links.get(&n).map(|l| l.scope.clone())?;
    loop {
        let reading = !*stall.borrow_and_update();
        tokio::select! {
            biased;
            out = outbox.recv() => match out? {
                Out::Text(text) => {
                    shared.record(n, &scope, false, &text);
                    ws.send(Message::Text(text.into())).await.ok()?;
                }
                Out::Binary(bytes) => ws.send(Message::Binary(bytes.into())).await.ok()?,
                Out::Close(code, reason) => return Some((code, reason)),
                Out::Drop => return None,
            },
            _ = stall.changed() => {}
            () = tokio::time::sleep_until(expires.into()) => return bad(4401, "Access token expired"),
            message = ws.recv(), if reading => match message?.ok() {
                Some(Message::Text(text)) => {
                    shared.record(n, &scope, true, &text);
                    if let Err((kind, why)) = frame(shared, n, &text) {
                        shared.fault(n, kind, why);
                        return bad(1008, "Protocol fault");
                    }
                }
                Some(Message::Binary(_)) => {
                    shared.fault(n, "bad_frame", "binary frame");
                    return bad(1008, "Protocol fault");
                }
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                Some(Message::Close(_)) => return None,
                None => {
                    shared.fault(n, "broken", "the connection broke, or a frame was above 16 MiB");
                    return None;
                }
            },
        }
    }
}

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
        "PING" => "PONG",
        "DETACH_SESSION" | "FILE_WRITE" | "FILE_DELETE" | "FILE_MOVE" => "ACK",
        _ => "",
    }
}

fn frame(shared: &Shared, n: u64, text: &str) -> Result<(), (&'static str, String)> {
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
        link.asked.retain(|_, a| a.born.elapsed().as_secs() < 900);
        let found = link.asked.iter().find(|(_, a)| a.id == id).map(|(order, a)| (*order, answers(&a.kind)));
        let Some((order, wanted)) = found else {
            return Err(("stray_response", format!("{kind} answers no open request ({id})")));
        };
        if kind == "CHUNK" {
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
            s.faults.push(Fault { link: n, kind: "capacity".to_owned(), text });
        }
        let reply = Reply {
            kind: kind.to_owned(),
            payload: frame["payload"].clone(),
            pending_capacity: capacity,
            elapsed_ms: u64::try_from(asked.born.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        if let Some(answer) = asked.answer {
            let _ = answer.send(reply);
        }
        Ok(())
    })
}
