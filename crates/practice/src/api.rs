//! `/api/practice/…`: the script over HTTP, for tests of a binary in another process and for the console page.
//!
//! Every call needs the header `x-practice-token`. Bodies are JSON. A `scope` is `{"control": MACHINE}` or `{"data": CHAT}`.
//! A failed call answers 409 with `{"failure": …}`, an unreadable one 422.
//!
//! | call | body | answer |
//! |---|---|---|
//! | `GET state?since=N` | | links, chats, frames after N, faults, consent |
//! | `GET events?since=N` | | the same, held back until a frame after N or another change, at most 25 s |
//! | `POST consent` | `{mode: ask\|allow\|deny}` | `{}` |
//! | `POST switches` | [`crate::Switches`] | `{}` |
//! | `POST expire`, `revoke_all`, `clear_faults` | `{}` | `{}` |
//! | `POST chat` | `{session_id?}` | `{session_id}` |
//! | `POST browse` | `{machine_id, browse_id?, directory_ref?, cursor?}` | the page |
//! | `POST attach` | `{machine_id, session_id, browse_id, directory_ref}` | the record |
//! | `POST activate`, `restore`, `detach` | `{session_id}` | the answer |
//! | `POST request` | `{scope, type, payload, limit_ms?}` | [`crate::Reply`] |
//! | `POST ping`, `cut` | `{scope}` | Reply / `{}` |
//! | `POST send` | `{scope, text}` | `{}` |
//! | `POST close` | `{scope, code, reason?}` | `{}` |
//! | `POST stall` | `{scope, on}` | `{}` |
//! | `POST connected` | `{scope, up, limit_ms?}` | `{}`, once it is so |

use crate::state::Shared;
use crate::{Failure, Script};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

fn since(query: &HashMap<String, String>) -> u64 {
    query.get("since").and_then(|n| n.parse().ok()).unwrap_or(0)
}

pub(crate) async fn state(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    Json(Script(shared).state(since(&query)))
}

pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<HashMap<String, String>>,
) -> Json<Value> {
    let since = since(&query);
    let mut changes = shared.changes();
    if shared.look().next_frame <= since {
        let _ = tokio::time::timeout(Duration::from_secs(25), changes.changed()).await;
    }
    Json(Script(shared).state(since))
}

pub(crate) async fn call(State(shared): State<Arc<Shared>>, Path(name): Path<String>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return (StatusCode::UNPROCESSABLE_ENTITY, "not JSON").into_response();
    };
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
            return script.request(&scope, text("type"), body["payload"].clone(), limit).await.map(reply);
        }
        "ping" => return script.ping(&read(body["scope"].clone())?).await.map(reply),
        "cut" => script.cut(&read(body["scope"].clone())?)?,
        "send" => script.send_text(&read(body["scope"].clone())?, text("text"))?,
        "close" => script.close(&read(body["scope"].clone())?, read(body["code"].clone())?, text("reason"))?,
        "stall" => script.stall(&read(body["scope"].clone())?, body["on"] == true)?,
        "connected" => {
            let scope = read(body["scope"].clone())?;
            let wait = script.connected(&scope, body["up"] != false);
            tokio::time::timeout(limit.unwrap_or(Duration::from_secs(30)), wait)
                .await
                .map_err(|_| Failure::TimedOut)?;
        }
        _ => return Err(Failure::Unknown { text: format!("no call named {name}") }),
    }
    Ok(done)
}
