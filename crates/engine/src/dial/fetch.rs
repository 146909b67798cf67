//! Gets something over encrypted connections alone, piece by piece, over the same steps as everything else.
//!
//! Follows redirects, since a release page moves its files, but never to an unencrypted address. Sends the program's name and
//! version and nothing else: no cookies, no tokens, no name of this computer.

use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::{Body, Bytes};
use hyper::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, HOST, LOCATION, USER_AGENT};
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use oauth2::url::Url;
use tokio::time::{Instant, timeout};

use super::stream::{self, Target};
use super::{AGENT, DialError, DialStep, words};
use crate::net::NetConfig;

/// No piece of an answer takes longer.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);
/// So long may an answer be slow, whatever comes of it.
const SLOW_START: Duration = Duration::from_secs(60);
/// Afterwards this much has to come in a second on the whole, so that no server can keep us for ever.
const LEAST_BYTES_A_SECOND: u64 = 4 * 1024;
/// So often is a place given up for another one.
const MOST_REDIRECTS: usize = 5;

/// Why nothing was got.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchFault {
    /// A step of the way.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The address, or one that it led to, is not encrypted.
    #[error("it leads to an address that is not encrypted")]
    Plain,
    /// It led from place to place.
    #[error("it leads from one address to the next without an end")]
    Circle,
    /// The server has something else to say.
    #[error("the server answered {0}")]
    Status(u16),
    /// More than there may be.
    #[error("it is larger than it may be")]
    TooLarge,
    /// It would take for ever.
    #[error("it comes so slowly that it was given up")]
    Slow,
    /// It ended before its end.
    #[error("it ended before it was whole")]
    Cut,
    /// Whoever takes the pieces could not.
    #[error("it could not be kept: {0}")]
    Kept(String),
}

/// Gets an address and hands its body on, with what has come of how much. At most `most` bytes.
///
/// # Errors
/// [`FetchFault`]; pieces may have been handed on before.
pub(crate) async fn get(
    net: &NetConfig,
    address: &str,
    most: u64,
    mut piece: impl FnMut(&[u8], u64, Option<u64>) -> Result<(), String> + Send,
) -> Result<(), FetchFault> {
    let wrong = |why: String| DialError::new(DialStep::Address, format!("the address is not usable: {why}"));
    let mut at = Url::parse(address).map_err(|fault| wrong(fault.to_string()))?;
    for _ in 0..=MOST_REDIRECTS {
        if at.scheme() != "https" {
            return Err(FetchFault::Plain);
        }
        let target = Target::parse(at.as_str())?;
        let stream = stream::open(&target, net).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // Ends with the answer, or when we are dropped.
        let connection = Connection(tokio::spawn(async move { drop(connection.await) }));
        let asked = timeout(PIECE_TIMEOUT, sender.send_request(request(&at, &target)?)).await;
        let response = asked.map_err(|_| words::no_answer(DialStep::Http, PIECE_TIMEOUT))?.map_err(broken)?;
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
            at = at.join(to).map_err(|fault| wrong(fault.to_string()))?;
            continue;
        }
        if status != StatusCode::OK {
            return Err(FetchFault::Status(status.as_u16()));
        }
        let read = read(response, most, &mut piece).await;
        drop(connection);
        return read;
    }
    Err(FetchFault::Circle)
}

/// The task of a connection. Dropping it ends it.
struct Connection(tokio::task::JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn broken(fault: hyper::Error) -> FetchFault {
    FetchFault::Dial(words::no_http(&fault.to_string()))
}

fn request(at: &Url, target: &Target) -> Result<Request<Empty<Bytes>>, DialError> {
    let path = at.query().map_or_else(|| at.path().to_owned(), |query| format!("{}?{query}", at.path()));
    let host = match at.port() {
        Some(_) => target.authority(),
        None => at.host_str().unwrap_or_default().to_owned(),
    };
    let request = Request::get(path).header(HOST, host).header(USER_AGENT, AGENT).header(CONNECTION, "close");
    let wrong =
        |fault: hyper::http::Error| DialError::new(DialStep::Address, format!("the address is not usable: {fault}"));
    request.header(ACCEPT, "*/*").body(Empty::new()).map_err(wrong)
}

async fn read<B: Body<Data = Bytes> + Unpin>(
    response: Response<B>,
    most: u64,
    piece: &mut (impl FnMut(&[u8], u64, Option<u64>) -> Result<(), String> + Send),
) -> Result<(), FetchFault> {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(FetchFault::TooLarge);
    }
    let mut body = response.into_body();
    let (mut came, began) = (0_u64, Instant::now());
    loop {
        let frame = timeout(PIECE_TIMEOUT, body.frame()).await;
        let frame = match frame.map_err(|_| words::no_answer(DialStep::Http, PIECE_TIMEOUT))? {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(_)) => return Err(FetchFault::Cut),
        };
        let Ok(bytes) = frame.into_data() else { continue };
        came += bytes.len() as u64;
        if came > most {
            return Err(FetchFault::TooLarge);
        }
        if began.elapsed() > SLOW_START + Duration::from_secs(came / LEAST_BYTES_A_SECOND) {
            return Err(FetchFault::Slow);
        }
        piece(&bytes, came, length).map_err(FetchFault::Kept)?;
    }
    if length.is_some_and(|length| length != came) { Err(FetchFault::Cut) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::StreamExt as _;
    use hyper::body::Frame;

    use super::*;

    /// Reads a body whose pieces of this size come so often.
    async fn drip(size: usize, every: Duration) -> (Result<(), FetchFault>, u64, Duration) {
        let pieces = futures_util::stream::repeat(()).then(move |()| async move {
            tokio::time::sleep(every).await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; size])))
        });
        let body = http_body_util::StreamBody::new(Box::pin(pieces));
        let (began, mut all) = (Instant::now(), 0);
        let mut piece = |_: &[u8], came, _| {
            all = came;
            Ok(())
        };
        let got = read(Response::new(body), 8 * 1024 * 1024, &mut piece).await;
        (got, all, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_drips_is_given_up() {
        let (got, _, took) = drip(1, Duration::from_secs(20)).await;
        assert!(matches!(got, Err(FetchFault::Slow)), "{got:?}");
        assert!(took <= Duration::from_secs(90), "{took:?}");

        let (got, _, took) = drip(1, Duration::from_millis(10)).await;
        assert!(matches!(got, Err(FetchFault::Slow)), "{got:?}");
        assert!(took <= Duration::from_secs(90), "{took:?}");

        let (got, _, took) = drip(1, Duration::from_secs(3600)).await;
        assert!(matches!(got, Err(FetchFault::Dial(_))) && took <= PIECE_TIMEOUT, "{got:?} {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_has_its_time() {
        // 64 kbit/s: what is too large is told, and not that it is slow.
        let (got, came, _) = drip(8 * 1024, Duration::from_secs(1)).await;

        assert!(matches!(got, Err(FetchFault::TooLarge)), "{got:?}");
        assert_eq!(came, 8 * 1024 * 1024);
    }
}
