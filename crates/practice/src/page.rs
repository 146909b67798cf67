//! The pages: the console, where a person plays the agent, and the sign-in page. All text is embedded.

use crate::state::Shared;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use std::sync::Arc;

pub(crate) async fn console(State(shared): State<Arc<Shared>>) -> Html<String> {
    // The token may be fixed by options, so it is not trusted to be free of markup.
    let token = shared.api_token.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    Html(include_str!("../assets/console.html").replace("{{token}}", &token))
}

pub(crate) async fn css() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("../assets/console.css"))
}

pub(crate) async fn js() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../assets/console.js"))
}

pub(crate) fn sign_in(ticket: &str) -> String {
    include_str!("../assets/sign_in.html").replace("{{ticket}}", ticket)
}

/// A plain page; both texts are our own, never a visitor's.
pub(crate) fn notice(title: &str, text: &str) -> String {
    include_str!("../assets/notice.html").replace("{{title}}", title).replace("{{text}}", text)
}
