//! Reaching a host by one of several addresses.

use tokio::net::{TcpListener, TcpSocket};

use super::*;

/// An address of this machine that takes connections and never finishes another one: its queue is full.
async fn silent() -> (SocketAddr, impl Sized) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let in_queue = TcpStream::connect(address).await.unwrap();
    (address, (listener, in_queue))
}

fn closed() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn a_silent_address_does_not_block_the_next_one() {
    let (silent, _hold) = silent().await;
    let good = TcpListener::bind("127.0.0.1:0").await.unwrap();

    let stream = race(vec![silent, good.local_addr().unwrap()]).await.unwrap();

    assert_eq!(stream.peer_addr().unwrap(), good.local_addr().unwrap());
}

#[tokio::test]
async fn a_refusal_moves_on_at_once_and_the_last_one_is_told() {
    let good = TcpListener::bind("127.0.0.1:0").await.unwrap();

    assert!(race(vec![closed(), closed(), good.local_addr().unwrap()]).await.is_ok());
    assert_eq!(race(vec![closed(), closed()]).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(race(Vec::new()).await.unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_host_that_stays_silent_fails_at_the_tcp_step_in_time() {
    let (silent, _hold) = silent().await;

    let err = reach(vec![silent], "platform.test", 443, None, Duration::from_millis(300)).await.unwrap_err();

    assert_eq!(err.step, DialStep::Tcp);
    assert!(err.message.starts_with("platform.test:443 cannot be reached (TCP): no answer within 1 s"), "{err}");
}

#[test]
fn address_families_take_turns_and_the_systems_order_stays() {
    let [a, b, c, d] = ["[::1]:1", "[::2]:1", "1.1.1.1:1", "2.2.2.2:1"].map(|text| text.parse().unwrap());

    assert_eq!(alternating(vec![a, b, c, d]), [a, c, b, d]);
    assert_eq!(alternating(vec![c, a, b]), [c, a, b]);
    assert_eq!(alternating(vec![c, d]), [c, d]);
    assert_eq!(alternating(Vec::new()), []);
}

#[test]
fn addresses_are_taken_apart_in_every_form() {
    let parts = |url: &str| Target::parse(url).map(|target| (target.authority(), target.secure)).ok();

    assert_eq!(parts("wss://platform.test/ws"), Some(("platform.test:443".to_owned(), true)));
    assert_eq!(parts("https://platform.test:8443/x"), Some(("platform.test:8443".to_owned(), true)));
    assert_eq!(parts("wss://[fd00::1]/ws"), Some(("[fd00::1]:443".to_owned(), true)));
    assert_eq!(parts("ws://[::1]:8080/ws"), Some(("[::1]:8080".to_owned(), false)));
    assert_eq!(parts("ws://platform.test/ws"), None);
    assert_eq!(parts("ftp://localhost/"), None);
}
