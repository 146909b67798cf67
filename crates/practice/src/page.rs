//! The pages: the console, where a person plays the agent, and the sign-in page. All text is embedded.

use crate::state::Shared;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use std::sync::Arc;

pub(crate) async fn console(State(shared): State<Arc<Shared>>) -> Html<String> {
    // The token may be fixed by options, so it is not trusted to be free of markup.
    let token = shared.api_token.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    Html(include_str!("../assets/console.html").replace("{{token}}", &token))
}

/// The style sheet and the scripts.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    const STYLE: &str = "text/css; charset=utf-8";
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    let (kind, text) = match name.as_str() {
        "console.css" => (STYLE, include_str!("../assets/console.css")),
        "console.js" => (SCRIPT, include_str!("../assets/console.js")),
        "answers.js" => (SCRIPT, include_str!("../assets/answers.js")),
        "folders.js" => (SCRIPT, include_str!("../assets/folders.js")),
        "files.js" => (SCRIPT, include_str!("../assets/files.js")),
        "screen.js" => (SCRIPT, include_str!("../assets/screen.js")),
        "models.js" => (SCRIPT, include_str!("../assets/models.js")),
        "desk.js" => (SCRIPT, include_str!("../assets/desk.js")),
        "operations.js" => (SCRIPT, include_str!("../assets/operations.js")),
        _ => return (StatusCode::NOT_FOUND, "There is nothing here.").into_response(),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

pub(crate) fn sign_in(ticket: &str) -> String {
    include_str!("../assets/sign_in.html").replace("{{ticket}}", ticket)
}

/// A plain page; both texts are our own, never a visitor's.
pub(crate) fn notice(title: &str, text: &str) -> String {
    include_str!("../assets/notice.html").replace("{{title}}", title).replace("{{text}}", text)
}
