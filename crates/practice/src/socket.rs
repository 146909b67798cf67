//! Both WebSocket end points with the checks and close codes of spec 15.1 to 15.3.

use crate::bounds;
use crate::oauth::{http_refusal, revoked_frame};
use crate::outbox::{Out, Outbox};
use crate::relay::{self, End};
use crate::state::{Link, Refusal, Scope, Shared};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use futures_util::stream::SplitStream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use tokio::sync::watch;

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

async fn run(shared: Arc<Shared>, ws: WebSocket, session: Option<String>, family: String, expires: Instant) {
    let (out, queue, mut ends) = Outbox::new();
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
        if s.stopped {
            let _ = link.out.close(4429, "Platform shutdown");
        }
        s.links.insert(s.next_link, link);
        (s.next_link, s.switches.close_on_accept)
    });
    let (sink, mut stream) = ws.split();
    let writing = tokio::spawn(relay::write(Arc::clone(&shared), n, queue, sink));
    let work = async {
        if let Some(code) = on_accept {
            return End::close(code, "Closed by the script");
        }
        match hello(&shared, &mut stream, n, session).await {
            Ok(()) => relay::read(&shared, &mut stream, n, expires, &mut stall).await,
            Err(end) => end,
        }
    };
    let end = tokio::select! {
        biased;
        end = relay::ending(&mut ends) => end,
        end = work => end,
    };
    relay::finish(&shared, n, end, stream, writing, ends).await;
}

fn bad(reason: &str) -> End {
    End::close(4400, reason)
}

async fn hello(
    shared: &Shared,
    stream: &mut SplitStream<WebSocket>,
    n: u64,
    session: Option<String>,
) -> Result<(), End> {
    let first = async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(bytes))) => {
                    shared.record_binary(n, true, &bytes);
                    return Err(bad("HELLO must be text"));
                }
                Some(Ok(Message::Close(_))) => return Err(End::Closed),
                Some(Err(_)) | None => return Err(End::Broken),
            }
        }
    };
    let Ok(text) = tokio::time::timeout(shared.clocks.hello, first).await else {
        return Err(End::close(4408, "HELLO timeout"));
    };
    let text = text?;
    let parsed = if text.len() > HELLO_MAX { None } else { serde_json::from_str::<Value>(&text).ok() };
    let machine = parsed.as_ref().and_then(|f| f["payload"]["machine_id"].as_str()).unwrap_or_default().to_owned();
    let scope = session.clone().map_or_else(|| Scope::Control(machine.clone()), Scope::Data);
    shared.change(|s| {
        if let Some(link) = s.links.get_mut(&n) {
            link.scope = scope.clone();
        }
    });
    shared.record(n, true, &text);
    if text.len() > HELLO_MAX {
        return Err(bad("HELLO too large"));
    }
    let frame = parsed.ok_or_else(|| bad("Malformed HELLO"))?;
    if frame["type"] != "HELLO" {
        return Err(bad("Expected HELLO"));
    }
    let id = frame["id"].as_str().filter(|id| !id.is_empty()).ok_or_else(|| bad("Malformed HELLO"))?;
    let payload = &frame["payload"];
    if let Err(why) = bounds::hello(payload, session.is_none()) {
        // The real server does not say which field it was; the record does.
        shared.fault(n, "bad_hello", why);
        return Err(bad("Invalid HELLO payload"));
    }
    for why in bounds::offers(payload) {
        shared.fault(n, "offers", why);
    }
    if !frame["pending_capacity"].is_null() {
        shared.fault(n, "bad_hello", "HELLO carries a pending_capacity");
        return Err(bad("Invalid HELLO payload"));
    }
    let version = payload["protocol_version"].as_str().unwrap_or("1.0");
    let minor = version.strip_prefix("1.").and_then(|m| m.parse::<u32>().ok());
    let offered: Vec<&str> =
        payload["capabilities"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let browses = offered.contains(&"directory_browse");
    let Some(minor) = minor.filter(|m| session.is_some() || (*m >= 1 && browses)) else {
        let reason = json!({ "error": "PROTOCOL_VERSION_MISMATCH", "shim_max": version, "platform_max": "1.1", "hint": "update" });
        return Err(End::Close(4426, reason.to_string()));
    };
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
            return Err(End::close(4403, "Root mismatch"));
        }
    }
    let switches = shared.look().switches.clone();
    if let Some(code) = switches.close_on_hello {
        return Err(End::close(code, "Closed by the script"));
    }
    if switches.ignore_hello {
        while let Some(Ok(message)) = stream.next().await {
            if matches!(message, Message::Close(_)) {
                return Err(End::Closed);
            }
        }
        return Err(End::Broken);
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
    shared.change(|s| {
        for link in s.links.values().filter(|l| l.ready && l.scope == scope) {
            let _ = link.out.send(Out::Text(revoked_frame("another_shim_connected")));
            let _ = link.out.close(4427, "Session taken over");
        }
        if let Some(link) = s.links.get_mut(&n) {
            // Queued before anything else can be: requests need a ready link.
            let _ = link.out.send(Out::Text(text));
            link.granted = granted.iter().map(|c| (*c).to_owned()).collect();
            link.max_concurrent = ack["payload"]["max_concurrent"].as_u64().unwrap_or(4);
            link.connection_id = connection;
            link.hello = payload.clone();
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
