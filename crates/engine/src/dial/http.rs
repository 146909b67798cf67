//! One HTTP request over the same steps as the WebSocket, so that its error names the same steps.
//!
//! A connection serves one request. No redirects: one could carry a token elsewhere. No cookies, no cache.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use oauth2::url::Url;
use tokio::time::timeout;

use super::stream::{self, Stream, Target};
use super::{AGENT, DialError, DialStep, words};
use crate::net::NetConfig;

/// The longest that a request and its answer may take, once the connection is there.
const HTTP_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest answer that is read.
const ANSWER_LIMIT_BYTES: usize = 256 * 1024;

/// What the other side answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Its clock at that moment, as it wrote it (`Date`).
    pub(crate) date: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Posts a body to an address.
///
/// # Errors
/// [`DialError`] with the failing step. The body reaches no error.
pub(crate) async fn post(
    net: &NetConfig,
    address: &str,
    headers: &[(&'static str, &str)],
    body: Vec<u8>,
) -> Result<Answer, DialError> {
    let target = Target::parse(address)?;
    let request = request(address, headers, body)?;
    let stream = stream::open(&target, net).await?;
    timeout(HTTP_TIMEOUT, exchange(request, stream))
        .await
        .unwrap_or_else(|_| Err(words::no_answer(DialStep::Http, HTTP_TIMEOUT)))
}

fn request(address: &str, headers: &[(&'static str, &str)], body: Vec<u8>) -> Result<Request<Full<Bytes>>, DialError> {
    let wrong = |why: String| DialError::new(DialStep::Address, format!("the address is not usable: {why}"));
    let url = Url::parse(address).map_err(|err| wrong(err.to_string()))?;
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let path = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let mut request = Request::post(path).header(HOST, host).header(USER_AGENT, AGENT).header(CONNECTION, "close");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body)).map_err(|err| wrong(err.to_string()))
}

async fn exchange(request: Request<Full<Bytes>>, stream: Stream) -> Result<Answer, DialError> {
    let broken = |err: hyper::Error| words::no_http(&in_words(&err));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let work = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        read(response).await
    };
    tokio::pin!(work);
    tokio::select! {
        answer = &mut work => answer,
        // The connection may end before its last bytes were read.
        _ = connection => work.await,
    }
}

async fn read(response: Response<hyper::body::Incoming>) -> Result<Answer, DialError> {
    let status = response.status().as_u16();
    let date = response.headers().get("Date").and_then(|date| date.to_str().ok()).map(str::to_owned);
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|err| words::no_http(&in_words(&err)))?;
        body.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| bytes));
        if body.len() > ANSWER_LIMIT_BYTES {
            return Err(words::no_http("the answer is too long"));
        }
    }
    Ok(Answer { status, date, body })
}

/// Says what failed with all its causes. They hold no values of the request: everything secret travels in bodies.
fn in_words(err: &hyper::Error) -> String {
    let mut words = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}
