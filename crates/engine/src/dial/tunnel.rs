//! Asks a proxy for a tunnel (RFC 9110, 9.3.6). It sees our request for one host and its own password, nothing else.

use std::io;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::stream::Target;
use super::{AGENT, DialError, words};
use crate::net::Proxy;

/// Bytes of a proxy's answer that are looked at.
const ANSWER_LIMIT_BYTES: usize = 16 * 1024;

/// What a proxy answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The kinds of sign-in that it offers with a 407, in lower case.
    pub(crate) offers: Vec<String>,
}

/// Turns a connection to the proxy into one to the target.
pub(crate) async fn open(
    mut stream: TcpStream,
    proxy: &Proxy,
    target: &Target,
    limit: Duration,
) -> Result<TcpStream, DialError> {
    let request = request(proxy, &target.authority());
    let asked = timeout(limit, async {
        stream.write_all(request.as_bytes()).await?;
        read_answer(&mut stream).await
    });
    match asked.await {
        Ok(Ok(Answer { status: 200..=299, .. })) => Ok(stream),
        Ok(Ok(answer)) => Err(words::proxy_refused(proxy, target, &answer)),
        Ok(Err(err)) => Err(words::proxy_broken(proxy, &err.to_string())),
        Err(_) => {
            Err(words::proxy_broken(proxy, &format!("it did not answer within {} s", limit.as_secs_f32().ceil())))
        }
    }
}

fn request(proxy: &Proxy, authority: &str) -> Zeroizing<String> {
    let mut request = Zeroizing::new(String::with_capacity(1024));
    request.push_str(&format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {AGENT}\r\n"));
    if let Some(authorization) = &proxy.authorization {
        request.push_str("Proxy-Authorization: ");
        request.push_str(authorization.expose_secret());
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    request
}

/// Reads exactly the head of the answer: every byte after it belongs to the platform.
async fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == ANSWER_LIMIT_BYTES {
            return Err(broken("its answer is too long"));
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) if head.is_empty() => return Err(broken("it closed the connection without an answer")),
            Err(_) => return Err(broken("it closed the connection in the middle of its answer")),
        }
        // What speaks another protocol may wait for us for ever after its greeting.
        if head.len() == PROTOCOL.len() && head != PROTOCOL {
            return Err(broken("its answer is not HTTP, so it is no HTTP proxy"));
        }
    }
    parse(&head).ok_or_else(|| broken("its answer is not HTTP, so it is no HTTP proxy"))
}

const PROTOCOL: &[u8] = b"HTTP/1.";

fn parse(head: &[u8]) -> Option<Answer> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok().filter(|status| (100..=599).contains(status))?;
    let offered = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let kind = value.split_whitespace().next().filter(|_| name.eq_ignore_ascii_case("proxy-authenticate"))?;
        Some(kind.trim_end_matches(',').to_ascii_lowercase())
    });
    Some(Answer { status, offers: offered.collect() })
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
