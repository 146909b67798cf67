//! Servers that mean harm: what they send without end, or in odd shapes, costs bounded memory and ends with a word.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use drawbridge_caps::model::Model;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::{asked, at, model_of, streamed, why};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

/// A server by hand: it lists one model, and answers questions with a head and then the same bytes again and again.
struct Raw {
    url: String,
    serving: AbortHandle,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What is sent first, and what after it, so often.
#[derive(Clone)]
struct Sends(Vec<u8>, Vec<u8>, usize);

impl Raw {
    async fn start(sends: Sends) -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST.into(), sends).await
    }

    async fn start_on(ip: IpAddr, sends: Sends) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, sends.clone()));
            }
        });
        Self { url, serving: serving.abort_handle() }
    }

    async fn model(&self) -> Model {
        let model = model_of(&[]).await;
        model.set_servers(vec![at(&self.url)]);
        model.look().await;
        assert_eq!(model.offered(), ["practice-model"], "{:?}", model.servers());
        model
    }
}

async fn serve(mut stream: TcpStream, Sends(head, part, times): Sends) {
    let mut request = vec![0; 64 * 1024];
    let count = stream.read(&mut request).await.unwrap_or_default();
    let path = String::from_utf8_lossy(&request[..count]).split(' ').nth(1).unwrap_or_default().to_owned();
    let whole = |body: &str| [OK, format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()].concat();
    let sent = match path.as_str() {
        "/api/version" => stream.write_all(&whole(r#"{"version":"0.5.0"}"#)).await,
        "/api/tags" => stream.write_all(&whole(r#"{"models":[{"name":"practice-model"}]}"#)).await,
        "/api/show" => stream.write_all(&whole("{}")).await,
        _ => {
            let mut sent = stream.write_all(&head).await;
            for _ in 0..times {
                if sent.is_err() {
                    break;
                }
                sent = stream.write_all(&part).await;
            }
            sent
        }
    };
    if sent.is_ok() {
        // Whoever asked decides when it is over.
        let _ = stream.shutdown().await;
        let _ = stream.read(&mut request).await;
    }
}

const ENDLESS: usize = usize::MAX;

#[tokio::test(flavor = "multi_thread")]
async fn heads_and_chunks_without_end_are_given_up() {
    let chunked = [OK, b"Transfer-Encoding: chunked\r\n\r\n"].concat();
    let heads: [(&str, Sends); 7] = [
        ("headers", Sends(OK.to_vec(), b"X-More: and more\r\n".to_vec(), ENDLESS)),
        ("one header", Sends([OK, b"X-Long: "].concat(), vec![b'x'; 4096], ENDLESS)),
        ("a status line", Sends(b"HTTP/1.1 200 ".to_vec(), vec![b'x'; 4096], ENDLESS)),
        ("a chunk's extension", Sends([&chunked[..], b"5;x="].concat(), vec![b'x'; 4096], ENDLESS)),
        ("a chunk's size", Sends(chunked.clone(), vec![b'1'; 64], ENDLESS)),
        ("trailers", Sends([&chunked[..], b"0\r\n"].concat(), b"X-More: and more\r\n".to_vec(), ENDLESS)),
        ("two lengths", Sends([OK, b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n"].concat(), b"x".to_vec(), 10)),
    ];
    for (what, sends) in heads {
        let server = Raw::start(sends).await;
        let model = server.model().await;

        let failed = tokio::time::timeout(Duration::from_secs(20), model.ask(asked("Count"))).await;

        let failed = why(failed.unwrap_or_else(|_| panic!("{what} without end held it up")));
        let known = ["breaks the rules of HTTP", "broke", "ended early"].iter().any(|words| failed.contains(words));
        assert!(known, "{what}: {failed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_packed_is_not_unpacked() {
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3].into_iter().chain([0; 1000]).collect();
    let head = [OK, b"Content-Encoding: gzip\r\n\r\n"].concat();
    let server = Raw::start(Sends(head, bomb, 64)).await;

    let failed = why(server.model().await.ask(asked("Count")).await);

    assert!(failed.contains("ended early") || failed.contains("no sense"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_a_chunk_at_full_speed_becomes_few_parts_and_is_heard_in_time() {
    let line = "{\"message\":{\"content\":\"x\"}}\n";
    let chunk: String = line.chars().map(|letter| format!("1\r\n{letter}\r\n")).collect();
    let head = [OK, b"Transfer-Encoding: chunked\r\n\r\n"].concat();
    let times = 20_000;
    let server = Raw::start(Sends(head, chunk.into_bytes(), times)).await;
    let model = server.model().await;
    let (ask, mut pieces) = streamed("Count");
    let start = Instant::now();

    let asking = tokio::spawn(async move { model.ask(ask).await });
    let (mut parts, mut letters) = (0, 0);
    while let Some((_, piece)) = pieces.recv().await {
        parts += 1;
        let drawbridge_core::model::Piece::Delta(text) = piece else { continue };
        letters += text.len();
    }

    assert_eq!(why(asking.await.unwrap()), "the connection to the model server broke", "the last chunk is missing");
    // What came in the last moment before it broke may be left out.
    assert!(letters > times * 9 / 10 && letters <= times, "{letters}");
    let most = start.elapsed().as_millis() / 30 + 3;
    assert!(u128::try_from(parts).unwrap() <= most, "{parts} parts, at most {most}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_answers_is_left_the_moment_nobody_wants_to_know() {
    for head in [Vec::new(), [OK, b"\r\n"].concat(), [OK, b"\r\n{\"message\""].concat()] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (gone, hung_up) = tokio::sync::oneshot::channel();
        let (silent, asked_for) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(async move {
            let (mut gone, mut silent) = (Some(gone), Some(silent));
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 64 * 1024];
                let count = stream.read(&mut request).await.unwrap();
                if !request[..count].starts_with(b"POST /api/chat") {
                    let body = if request[..count].starts_with(b"GET /api/version") {
                        r#"{"version":"0.5.0"}"#
                    } else {
                        r#"{"models":[{"name":"practice-model"}]}"#
                    };
                    let whole = [OK, format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()].concat();
                    stream.write_all(&whole).await.unwrap();
                    continue;
                }
                stream.write_all(&head).await.unwrap();
                let _ = silent.take().unwrap().send(());
                while stream.read(&mut request).await.is_ok_and(|count| count > 0) {}
                let _ = gone.take().unwrap().send(());
                return;
            }
        });
        let model = model_of(&[]).await;
        model.set_servers(vec![at(&url)]);
        model.look().await;
        let ask = asked("Count");
        let cancel = ask.cancel.clone();
        let asking = tokio::spawn(async move { model.ask(ask).await });
        asked_for.await.unwrap();

        cancel.cancel();

        let ended = tokio::time::timeout(Duration::from_secs(2), asking).await.unwrap().unwrap();
        assert!(matches!(ended, Err(drawbridge_core::OpError::Cancelled)), "{ended:?}");
        tokio::time::timeout(Duration::from_secs(2), hung_up).await.unwrap().unwrap();
        server.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_models_with_names_of_every_kind_are_few_and_plain() {
    let odd = [
        "a\u{202e}b",
        "esc\u{1b}[31m",
        "nul\u{0}",
        "two\nlines",
        "zero\u{200b}width",
        " ",
        "",
        "\u{feff}",
        "tab\there",
    ];
    let mut names: Vec<String> = odd.iter().map(|name| (*name).to_owned()).collect();
    names.extend(["<img src=x onerror=alert(1)>".to_owned(), "é".repeat(200), "x".repeat(201)]);
    names.extend((0..5000).map(|number| format!("model-{number}")));
    let server = drawbridge_practice::model::ModelServer::start(
        drawbridge_practice::model::Script::ollama().with_models(&names.iter().map(String::as_str).collect::<Vec<_>>()),
    );
    let server = server.await.unwrap();
    let start = Instant::now();

    let offered = model_of(&[&server]).await.offered();

    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(offered.len(), 500);
    assert!(offered.iter().all(|name| !odd.contains(&name.as_str()) && name.chars().count() <= 200));
    assert!(offered.contains(&names[9]) && offered.contains(&names[10]) && !offered.contains(&names[11]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_the_other_loopback_is_asked_by_its_address_and_by_name() {
    let line = b"{\"message\":{\"content\":\"Hi\"},\"done\":true}\n".to_vec();
    let sends = Sends([OK, b"\r\n"].concat(), line, 1);
    let Ok(probe) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else { return };
    drop(probe);
    let server = Raw::start_on(Ipv6Addr::LOCALHOST.into(), sends).await;
    assert_eq!(server.model().await.ask(asked("Hi")).await.unwrap().content, "Hi");

    let by_name = model_of(&[]).await;
    by_name.set_servers(vec![at(&server.url.replace("[::1]", "localhost"))]);
    by_name.look().await;
    assert_eq!(by_name.ask(asked("Hi")).await.unwrap().content, "Hi");
}
