//! Updates over real TLS: a list and packages, signed by the bundler's own signer (`updates/make.sh`), and everything that can be
//! wrong with them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use drawbridge_engine::net::{NetConfig, NetSettings};
use drawbridge_engine::updates::{Channel, Release, Source, UpdateFault, look, take};
use drawbridge_os::installed::Kind;
use drawbridge_testkit::proxy::Proxy;
use drawbridge_testkit::tls::TlsFront;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const CURRENT: &str = "0.1.0";

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/updates").join(name)).unwrap()
}

fn text(name: &str) -> String {
    String::from_utf8(fixture(name)).unwrap()
}

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// What a server says: everything after the request, as it stands.
type Pages = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A release page behind TLS under the test root, and an installed image.
struct Place {
    pages: Pages,
    asked: Arc<Mutex<Vec<String>>>,
    front: Option<TlsFront>,
    server: JoinHandle<()>,
    base: String,
    folder: TempDir,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Place {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let plain = listener.local_addr().unwrap().port();
        let (pages, asked) = (Pages::default(), Arc::<Mutex<Vec<String>>>::default());
        let server = tokio::spawn(serve(listener, pages.clone(), asked.clone()));
        let front = TlsFront::bind().await.unwrap().lead_to(plain, &pem("platform.pem"), &pem("platform.key")).unwrap();
        let base = format!("https://127.0.0.1:{}", front.port());
        let folder = TempDir::new().unwrap();
        let place = Self { pages, asked, front: Some(front), server, base, folder };
        fs::write(place.image(), "#!/bin/sh\necho the old one\n").unwrap();
        fs::set_permissions(place.image(), fs::Permissions::from_mode(0o755)).unwrap();
        place.offer("9.1.0", "new.sig", "/Drawbridge_9.1.0_amd64.AppImage");
        place.page("/Drawbridge_9.1.0_amd64.AppImage", &answer("200 OK", "", &fixture("new.AppImage")));
        place
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("Draw bridge.AppImage")
    }

    fn kind(&self) -> Kind {
        Kind::AppImage(self.image())
    }

    fn page(&self, path: &str, answer: &[u8]) {
        self.pages.lock().unwrap().insert(path.to_owned(), answer.to_vec());
    }

    /// Writes the list.
    fn offer(&self, version: &str, signature: &str, package: &str) {
        let url = if package.starts_with('/') { format!("{}{package}", self.base) } else { package.to_owned() };
        let entry = json!({ "signature": text(signature), "url": url });
        let systems: BTreeMap<String, _> =
            ["x86_64", "aarch64"].map(|arch| (format!("linux-{arch}"), entry.clone())).into();
        let list = json!({ "version": version, "notes": "Faster.\nSafer.", "platforms": systems });
        self.page("/latest.json", &answer("200 OK", "", list.to_string().as_bytes()));
    }

    fn source(&self) -> Source {
        Source::new(&text("key.pub"), &format!("{}/latest.json", self.base), "https://x.example/releases")
    }

    fn net(&self) -> NetConfig {
        NetConfig::new(&NetSettings { extra_roots: Some(pem("root.pem")), ..NetSettings::default() }).unwrap()
    }

    async fn look(&self) -> Result<Option<Release>, UpdateFault> {
        look(&self.net(), &self.source(), Channel::Stable, &self.kind(), CURRENT).await
    }

    async fn take(&self) -> Result<Vec<u8>, UpdateFault> {
        let release = self.look().await.unwrap().unwrap();
        let told = Arc::<Mutex<Vec<u8>>>::default();
        let seen = told.clone();
        take(&self.net(), &self.source(), &self.kind(), &release, move |percent| seen.lock().unwrap().push(percent))
            .await?;
        let told = told.lock().unwrap().clone();
        Ok(told)
    }

    /// The old program is there as it was, and nothing beside it.
    fn assert_untouched(&self) {
        assert_eq!(fs::read_to_string(self.image()).unwrap(), "#!/bin/sh\necho the old one\n");
        assert_eq!(fs::metadata(self.image()).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 1);
    }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut whole = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    whole.extend_from_slice(body);
    whole
}

async fn serve(listener: TcpListener, pages: Pages, asked: Arc<Mutex<Vec<String>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut request = Vec::new();
        let mut buffer = [0_u8; 4096];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(read) => request.extend_from_slice(&buffer[..read]),
            }
        }
        let request = String::from_utf8(request).unwrap();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        asked.lock().unwrap().push(request);
        let said = pages.lock().unwrap().get(&path).cloned();
        let said = said.unwrap_or_else(|| answer("404 Not Found", "", b"no such page"));
        let _ = stream.write_all(&said).await;
    }
}

#[tokio::test]
async fn a_signed_newer_version_takes_the_place_of_the_old_one() {
    let place = Place::new().await;
    let release = place.look().await.unwrap().unwrap();
    assert_eq!((release.version.as_str(), release.notes.as_deref()), ("9.1.0", Some("Faster.\nSafer.")));
    assert!(release.can_be_taken());

    let told = place.take().await.unwrap();

    assert_eq!(fs::read(place.image()).unwrap(), fixture("new.AppImage"));
    assert_eq!(fs::metadata(place.image()).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
    assert_eq!(told.last(), Some(&100));
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
    let run = std::process::Command::new(place.image()).output().unwrap();
    assert_eq!(run.stdout, b"drawbridge-desktop 9.1.0\n");
    // What is told about this computer: the program and its version, and nothing that names anybody.
    for request in place.asked.lock().unwrap().iter() {
        let mut names: Vec<&str> =
            request.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "connection", "host", "user-agent"], "{request}");
        assert!(request.contains(&format!("user-agent: drawbridge/{}\r\n", env!("CARGO_PKG_VERSION"))), "{request}");
    }
}

#[tokio::test]
async fn a_release_page_may_move_its_files_but_never_to_a_plain_address() {
    let place = Place::new().await;
    let moved = |to: &str| answer("302 Found", &format!("Location: {to}\r\n"), b"");
    place.page("/old", &moved("/Drawbridge_9.1.0_amd64.AppImage?x=1"));
    place.page("/Drawbridge_9.1.0_amd64.AppImage?x=1", &answer("200 OK", "", &fixture("new.AppImage")));
    place.offer("9.1.0", "new.sig", "/old");
    place.take().await.unwrap();
    assert_eq!(fs::read(place.image()).unwrap(), fixture("new.AppImage"));

    for (to, why) in [
        ("http://127.0.0.1:9/x", "not encrypted"),
        ("file:///etc/passwd", "not encrypted"),
        ("/old", "from one address to the next"),
    ] {
        let place = Place::new().await;
        place.page("/old", &moved(to));
        place.offer("9.1.0", "new.sig", "/old");

        let fault = place.take().await.unwrap_err();

        assert!(matches!(&fault, UpdateFault::Download(said) if said.contains(why)), "{to}: {fault}");
        place.assert_untouched();
    }
}

#[tokio::test]
async fn what_is_not_signed_by_us_as_what_it_says_is_thrown_away() {
    let mut changed = fixture("new.AppImage");
    changed[40] ^= 1;
    for (version, signature, package, why) in [
        // Another key, another file under our signature, and an old version under a new number.
        ("9.1.0", "other.sig", fixture("new.AppImage"), "signed by somebody else"),
        ("9.1.0", "new.sig", changed, "does not fit"),
        ("9.1.0", "new.sig", fixture("old.AppImage"), "does not fit"),
        ("9.1.0", "old.sig", fixture("old.AppImage"), "another version"),
        ("9.2.0", "new.sig", fixture("new.AppImage"), "another version"),
    ] {
        let place = Place::new().await;
        place.offer(version, signature, "/package");
        place.page("/package", &answer("200 OK", "", &package));

        let fault = place.take().await.unwrap_err();

        assert!(matches!(fault, UpdateFault::BadSignature(said) if said.contains(why)), "{fault}");
        assert!(fault.to_string().contains("thrown away"), "{fault}");
        place.assert_untouched();
    }
}

#[tokio::test]
async fn a_download_that_does_not_come_whole_changes_nothing() {
    let body = fixture("new.AppImage");
    let mut short = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    short.extend_from_slice(&body[..1000]);
    let mut chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n".to_vec();
    chunks.extend_from_slice(&body[..1000]);
    chunks.extend_from_slice(b"\r\n");
    let huge = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx".to_vec();
    for (said, why) in [
        (short, "ended before it was whole"),
        (chunks, "ended before it was whole"),
        (huge, "larger than it may be"),
        (answer("404 Not Found", "", b"gone"), "the server answered 404"),
        (answer("500 Oops", "", b""), "the server answered 500"),
        (b"SSH-2.0-OpenSSH\r\n".to_vec(), ""),
    ] {
        let place = Place::new().await;
        place.page("/Drawbridge_9.1.0_amd64.AppImage", &said);

        let fault = place.take().await.unwrap_err();

        assert!(matches!(&fault, UpdateFault::Download(told) if told.contains(why)), "{fault}");
        place.assert_untouched();
    }
}

#[tokio::test]
async fn a_bad_list_is_told_and_the_next_look_finds_it_mended() {
    let place = Place::new().await;
    for (said, list) in [
        (answer("200 OK", "", b"<html>maintenance</html>"), true),
        (answer("200 OK", "", b"{\"version\": \"9.1.0\""), true),
        (answer("200 OK", "", &vec![b' '; 300 * 1024]), false),
        (answer("503 Busy", "", b""), false),
    ] {
        place.page("/latest.json", &said);
        let fault = place.look().await.unwrap_err();
        assert_eq!(matches!(fault, UpdateFault::BadList(_)), list, "{fault}");
        assert_eq!(matches!(fault, UpdateFault::Unreachable(_)), !list, "{fault}");
    }
    place.offer("9.1.0", "new.sig", "/Drawbridge_9.1.0_amd64.AppImage");
    assert!(place.look().await.unwrap().is_some());
    place.offer("0.0.1", "old.sig", "/old");
    assert_eq!(place.look().await.unwrap(), None);
    place.assert_untouched();
}

#[tokio::test]
async fn a_server_that_is_gone_or_unknown_is_told_and_nothing_changes() {
    let mut place = Place::new().await;
    let release = place.look().await.unwrap().unwrap();
    let unknown =
        look(&NetConfig::direct(), &place.source(), Channel::Stable, &place.kind(), CURRENT).await.unwrap_err();
    assert!(unknown.to_string().contains("certificate"), "{unknown}");

    place.front = None;
    assert!(matches!(place.look().await, Err(UpdateFault::Unreachable(_))));
    let gone = take(&place.net(), &place.source(), &place.kind(), &release, |_| {}).await;
    assert!(matches!(gone, Err(UpdateFault::Download(_))), "{gone:?}");
    place.assert_untouched();
}

#[tokio::test]
async fn the_companys_proxy_and_its_root_serve_updates_too() {
    let place = Place::new().await;
    let port = place.front.as_ref().unwrap().port();
    let proxy = Proxy::start(Some(("user", "hunter2")), &[("platform.test", port)]).await.unwrap();
    let net = NetConfig::new(&NetSettings {
        proxy: Some(format!("http://user:hunter2@127.0.0.1:{}", proxy.port())),
        no_proxy: Some(String::new()),
        extra_roots: Some(pem("root.pem")),
    })
    .unwrap();
    let source = Source::new(&text("key.pub"), "https://platform.test/latest.json", "");

    let found = look(&net, &source, Channel::Stable, &place.kind(), CURRENT).await.unwrap();

    assert_eq!(found.unwrap().version, "9.1.0");
    assert_eq!(proxy.count(), 1);
}

#[tokio::test]
async fn without_a_key_or_an_encrypted_list_nothing_is_looked_for_or_taken() {
    let place = Place::new().await;
    let release = place.look().await.unwrap().unwrap();
    assert!(place.source().can_take());
    let list = format!("{}/latest.json", place.base);
    for key in ["", "RWTr9c7beUG66xHc5JkGGJiy0eYL4f3pcb5X9qI6Ida7x6ACHGTJ5h/4", "bm8ga2V5"] {
        let keyless = Source::new(key, &list, "");
        assert!(!keyless.can_take(), "{key}");
        let taken = take(&place.net(), &keyless, &place.kind(), &release, |_| {}).await;
        assert!(matches!(taken, Err(UpdateFault::NotOffered)), "{key}: {taken:?}");
    }
    for list in ["", "http://127.0.0.1/latest.json", "https://"] {
        let source = Source::new(&text("key.pub"), list, list);
        assert!(!source.can_take() && source.page().is_none());
        let looked = look(&place.net(), &source, Channel::Beta, &place.kind(), CURRENT).await;
        assert!(matches!(looked, Err(UpdateFault::NotOffered)), "{list}: {looked:?}");
    }
    // A package manager's copy hears of it and takes nothing.
    let deb = look(&place.net(), &place.source(), Channel::Stable, &Kind::Deb, CURRENT).await.unwrap().unwrap();
    assert!(!deb.can_be_taken());
    assert!(matches!(
        take(&place.net(), &place.source(), &Kind::Deb, &release, |_| {}).await,
        Err(UpdateFault::Place(_))
    ));
    // What is committed offers nothing until whoever makes releases fills it in.
    assert!(!Source::built_in().can_take() || Source::built_in().page().is_some());
    place.assert_untouched();
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_told_before_anything_is_downloaded() {
    let place = Place::new().await;
    let release = place.look().await.unwrap().unwrap();
    let asked = place.asked.lock().unwrap().len();
    let nowhere = Kind::AppImage(PathBuf::from("/proc/self/x.AppImage"));

    let fault = take(&place.net(), &place.source(), &nowhere, &release, |_| {}).await.unwrap_err();

    assert!(matches!(fault, UpdateFault::Place(_)), "{fault}");
    assert!(fault.to_string().contains("release page"), "{fault}");
    assert_eq!(place.asked.lock().unwrap().len(), asked);
}
