//! One HTTP request over one connection. Follows nothing, keeps nothing open, and takes answers within bounds.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, RETRY_AFTER, SERVER, USER_AGENT,
};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::dial::Io;
use super::fault::Fault;

/// The most that the head of an answer, or a piece of it, may take in memory.
const MAX_BUFFER_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 64;
/// What is read of the body that comes with a refusal.
const MAX_REFUSAL_BYTES: usize = 16 * 1024;
/// How long the body of a refusal may take.
const REFUSAL_LIMIT: Duration = Duration::from_secs(2);
/// The longest wait that a busy server may ask for, in seconds; one that asks for more has not understood the question.
const MAX_RETRY_SECONDS: u64 = 24 * 60 * 60;
const AGENT: &str = concat!("drawbridge/", env!("CARGO_PKG_VERSION"));

/// A request: a path, and a body if something is posted.
pub(crate) struct Call {
    pub(crate) path: &'static str,
    pub(crate) body: Option<Vec<u8>>,
}

/// An answer with status 200. Its connection ends when it is dropped.
pub(crate) struct Answer {
    /// What the server calls itself in its head.
    pub(crate) server: Option<String>,
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

/// Sends a request, with a key if one is given, and waits for the head of its answer. Anything but 200 is a fault; `read` finds the server's own words in
/// the body of a refusal.
pub(crate) async fn send(
    io: Box<dyn Io>,
    authority: &str,
    key: Option<HeaderValue>,
    call: Call,
    read: fn(&[u8]) -> Option<String>,
) -> Result<Answer, Fault> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_BUFFER_BYTES).max_headers(MAX_HEADERS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(io)).await.map_err(|err| fault(&err))?;
    let connection = AbortOnDropHandle::new(tokio::spawn(async move {
        // What breaks shows in the answer.
        let _ = connection.await;
    }));
    let request = request(authority, key, call).map_err(|_| Fault::Broken)?;
    let answer = sender.send_request(request).await.map_err(|err| fault(&err))?;
    accept(answer, connection, read).await
}

fn request(authority: &str, key: Option<HeaderValue>, call: Call) -> hyper::http::Result<Request<Full<Bytes>>> {
    let method = if call.body.is_some() { Method::POST } else { Method::GET };
    let mut request = Request::builder()
        .method(method)
        .uri(call.path)
        .header(HOST, authority)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "*/*")
        .header(CONTENT_TYPE, "application/json")
        .header(CONNECTION, "close")
        .body(Full::new(Bytes::from(call.body.unwrap_or_default())))?;
    if let Some(key) = key {
        request.headers_mut().insert(AUTHORIZATION, key);
    }
    Ok(request)
}

async fn accept(
    answer: Response<Incoming>,
    connection: AbortOnDropHandle<()>,
    read: fn(&[u8]) -> Option<String>,
) -> Result<Answer, Fault> {
    let status = answer.status();
    let server = answer.headers().get(SERVER).and_then(|name| name.to_str().ok()).map(str::to_owned);
    let retry = retry_after(answer.headers());
    let answer = Answer { server, body: answer.into_body(), _connection: connection };
    match status.as_u16() {
        200 => Ok(answer),
        300..=399 => Err(Fault::Redirect),
        401 | 403 => Err(Fault::KeyWanted),
        404 => Err(Fault::Missing),
        status => {
            let body = timeout(REFUSAL_LIMIT, answer.whole(MAX_REFUSAL_BYTES)).await;
            let words = body.ok().and_then(Result::ok).and_then(|body| read(&body));
            // It is there and well, and takes nothing now. The code stays that of a failure (spec 11: any other status than 200):
            // LOCAL_LLM_BUSY says that a request of ours runs here, and a platform repeats it by itself, which is the last thing
            // that a server needs which asks to be left alone.
            Err(if matches!(status, 429 | 503) { Fault::Busy(retry, words) } else { Fault::Status(status, words) })
        }
    }
}

/// Reads how many seconds a server asks to wait. A date instead of a number is not read: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    (1..=MAX_RETRY_SECONDS).contains(&seconds).then_some(seconds)
}

impl Answer {
    /// Returns the next bytes of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(err)) => return Err(fault(&err)),
                // Trailers say nothing here.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Returns the whole body.
    pub(crate) async fn whole(mut self, max_bytes: usize) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            if body.len() + bytes.len() > max_bytes {
                return Err(Fault::TooMuch("the answer is too long"));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }
}

fn fault(err: &hyper::Error) -> Fault {
    if err.is_parse() { Fault::NoHttp } else { Fault::Broken }
}
