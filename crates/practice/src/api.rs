//! `/api/practice/…`: the script over HTTP, for tests of a binary in another process and for the console page.
//!
//! Every call needs the header `x-practice-token`. Bodies are JSON. A `scope` is `{"control": MACHINE}` or `{"data": CHAT}`.
//! A failed call answers 409 with `{"failure": …}`, an unreadable one 422.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET state?since=N&max=M` | | version, links, chats, the newest M frames after N, faults, consent, switches |
//! | `GET events?since=N&max=M&version=V` | | the same, held back while the version is V, at most 25 s |
//! | `POST consent` | `{mode: ask\|allow\|deny}` | `{}` |
//! | `POST switches` | [`crate::Switches`] | `{}` |
//! | `POST expire`, `revoke_all`, `clear_faults` | `{}` | `{}` |
//! | `POST chat` | `{session_id?}` | `{session_id}` |
//! | `POST browse` | `{machine_id, browse_id?, directory_ref?, cursor?}` | the page |
//! | `POST attach` | `{machine_id, session_id, browse_id, directory_ref}` | the record |
//! | `POST activate`, `restore`, `detach` | `{session_id}` | the answer |
//! | `POST request` | `{scope, type, payload, limit_ms?, retry?}` | [`crate::Reply`]; `retry: false` never sends twice |
//! | `POST operate` | `{session_id, type, payload, limit_ms?}` | [`crate::Worked`]; restores the chat's folder first when needed |
//! | `POST ask` | `{session_id, type, payload, limit_ms?}` | as `operate`, line by line: `{"part": …}` for each part as it comes, then `{"end": `[`crate::Worked`]`}` or `{"failure": …}` |
//! | `POST ping`, `cut` | `{scope}` | Reply / `{}` |
//! | `POST send` | `{scope, text}` or `{scope, base64}` | `{}`; the second is sent as a binary frame |
//! | `POST frame` | `{after?, scope?, from_machine?, type?, id?, limit_ms?}` | the first [`crate::FrameRecord`] after `after` that fits, once it is there |
//! | `POST close` | `{scope, code, reason?}` | `{}` |
//! | `POST stall` | `{scope, on}` | `{}` |
//! | `POST connected` | `{scope, up, limit_ms?}` | `{}`, once it is so |

use crate::state::Shared;
use crate::{Failure, FrameRecord, Heard, Scope, Script};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a waiting call waits when nothing else is said.
const WAIT: Duration = Duration::from_secs(30);

fn number(query: &HashMap<String, String>, name: &str) -> Option<u64> {
    query.get(name).and_then(|n| n.parse().ok())
}

fn glance(shared: Arc<Shared>, query: &HashMap<String, String>) -> Json<Value> {
    let most = number(query, "max").and_then(|m| usize::try_from(m).ok()).unwrap_or(usize::MAX);
    Json(Script(shared).state(number(query, "since").unwrap_or(0), most))
}

pub(crate) async fn state(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    glance(shared, &query)
}

pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    let mut changes = shared.changes();
    let seen = match (number(&query, "version"), number(&query, "since")) {
        (Some(version), _) => shared.version() == version,
        (None, since) => shared.look().next_frame <= since.unwrap_or(0),
    };
    if seen {
        let _ = tokio::time::timeout(Duration::from_secs(25), changes.changed()).await;
    }
    glance(shared, &query)
}

pub(crate) async fn call(State(shared): State<Arc<Shared>>, Path(name): Path<String>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::UNPROCESSABLE_ENTITY, "not JSON").into_response();
    };
    if name == "ask" {
        return ask(&Script(shared), &body).await;
    }
    match act(&Script(shared), &name, body).await {
        Ok(answer) => Json(answer).into_response(),
        Err(failure) => (StatusCode::CONFLICT, Json(failure)).into_response(),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|e| Failure::Unknown { text: e.to_string() })
}

fn reply(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

async fn act(script: &Script, name: &str, body: Value) -> Result<Value, Failure> {
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let limit = body["limit_ms"].as_u64().map(Duration::from_millis);
    let done = json!({});
    match name {
        "consent" => script.consent(read(body["mode"].clone())?),
        "switches" => script.switches(read(body)?),
        "expire" => script.expire_access_tokens(),
        "revoke_all" => script.revoke_all(),
        "clear_faults" => script.clear_faults(),
        "chat" => return Ok(json!({ "session_id": script.new_chat(body["session_id"].as_str()) })),
        "browse" => {
            let at = body["browse_id"].as_str().zip(body["directory_ref"].as_str());
            return script.browse(text("machine_id"), at, body["cursor"].as_str()).await;
        }
        "attach" => {
            return script
                .attach(text("machine_id"), text("session_id"), text("browse_id"), text("directory_ref"))
                .await;
        }
        "activate" => return script.activate(text("session_id")).await,
        "restore" => return script.restore(text("session_id")).await,
        "detach" => return script.detach(text("session_id")).await.map(reply),
        "request" => {
            let scope = read(body["scope"].clone())?;
            let payload = body["payload"].clone();
            if body["retry"] == false {
                return script.request_once(&scope, text("type"), payload, limit).await.map(reply);
            }
            return script.request(&scope, text("type"), payload, limit).await.map(reply);
        }
        "operate" => {
            let (chat, payload) = (text("session_id"), body["payload"].clone());
            return script.operate(chat, text("type"), payload, limit).await.map(reply);
        }
        "frame" => return frame(script, &body, limit.unwrap_or(WAIT)).await,
        "ping" => return script.ping(&read(body["scope"].clone())?).await.map(reply),
        "cut" => script.cut(&read(body["scope"].clone())?)?,
        "send" => {
            let scope = read(body["scope"].clone())?;
            match body["base64"].as_str() {
                Some(encoded) => {
                    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded);
                    script.send_binary(&scope, bytes.map_err(|e| Failure::Unknown { text: e.to_string() })?)?;
                }
                None => script.send_text(&scope, text("text"))?,
            }
        }
        "close" => script.close(&read(body["scope"].clone())?, read(body["code"].clone())?, text("reason"))?,
        "stall" => script.stall(&read(body["scope"].clone())?, body["on"] == true)?,
        "connected" => {
            let scope = read(body["scope"].clone())?;
            let wait = script.connected(&scope, body["up"] != false);
            tokio::time::timeout(limit.unwrap_or(WAIT), wait).await.map_err(|_| Failure::TimedOut)?;
        }
        _ => return Err(Failure::Unknown { text: format!("no call named {name}") }),
    }
    Ok(done)
}

/// Lines of JSON, each sent as soon as there is something to say. Who hangs up asks nobody to stop: the protocol has no word for it.
async fn ask(script: &Script, body: &Value) -> Response {
    let limit = body["limit_ms"].as_u64().map(Duration::from_millis);
    let text = |key: &str| body[key].as_str().unwrap_or_default();
    let asked = script.ask_in_chat(text("session_id"), text("type"), body["payload"].clone(), limit).await;
    let answer = match asked {
        Ok(answer) => answer,
        Err(failure) => return (StatusCode::CONFLICT, Json(failure)).into_response(),
    };
    let lines = futures_util::stream::unfold(answer, async |mut answer| {
        let line = match answer.next().await? {
            Heard::Part(part) => json!({ "part": part }),
            Heard::End(Ok(worked)) => json!({ "end": worked }),
            Heard::End(Err(failure)) => reply(failure),
        };
        Some((Ok::<_, std::convert::Infallible>(format!("{line}\n")), answer))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

async fn frame(script: &Script, body: &Value, limit: Duration) -> Result<Value, Failure> {
    let scope: Option<Scope> = read(body["scope"].clone())?;
    let from: Option<bool> = read(body["from_machine"].clone())?;
    let fits = |f: &FrameRecord| {
        scope.as_ref().is_none_or(|s| *s == f.scope)
            && from.is_none_or(|machine| machine == f.from_machine)
            && body["type"].as_str().is_none_or(|t| t == f.kind)
            && body["id"].as_str().is_none_or(|i| i == f.id)
    };
    let wait = script.frame(body["after"].as_u64().unwrap_or(0), fits);
    tokio::time::timeout(limit, wait).await.map(reply).map_err(|_| Failure::TimedOut)
}
