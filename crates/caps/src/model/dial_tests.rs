use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio::net::TcpListener;

use super::{Dial as _, Network, Resolve, System};
use crate::model::address::Address;
use crate::model::fault::Fault;

/// Says that every name leads to these addresses.
struct Leads(Vec<SocketAddr>);

impl Resolve for Leads {
    fn resolve<'a>(&'a self, _name: &'a str, _port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

#[tokio::test]
async fn a_name_that_also_leads_elsewhere_is_dialled_nowhere() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let network = Network::new(Leads(vec![here, "192.0.2.7:80".parse().unwrap()]));
    let address = Address::parse("http://models.example", false).unwrap();

    let refused = network.dial(&address, false).await.err();

    assert_eq!(refused, Some(Fault::Far));
    // Once another computer is allowed, the same name is dialled: the first connection that the listener sees is this one.
    let allowed = network.dial(&address, true).await;
    assert!(allowed.is_ok());
    listener.accept().await.unwrap();
    assert!(futures_util::FutureExt::now_or_never(listener.accept()).is_none(), "nobody dialled before");
}

#[tokio::test]
async fn a_name_that_leads_to_this_computer_alone_is_dialled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let network = Network::new(Leads(vec![listener.local_addr().unwrap()]));
    let address = Address::parse("http://my-computer", false).unwrap();

    assert!(network.dial(&address, false).await.is_ok());
}

#[tokio::test]
async fn localhost_is_this_computer_whatever_a_resolver_says() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let network = Network::new(Leads(vec!["192.0.2.7:80".parse().unwrap()]));

    for name in ["localhost", "ollama.localhost"] {
        let address = Address::parse(&format!("http://{name}:{port}"), false).unwrap();
        assert!(network.dial(&address, false).await.is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_closed_port_an_unknown_name_and_https_without_tls_are_told_apart() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let network = Network::new(System);
    let dial = async |url: &str| network.dial(&Address::parse(url, false).unwrap(), false).await.err();

    assert_eq!(dial(&format!("http://localhost:{closed}")).await, Some(Fault::Refused));
    assert_eq!(dial(&format!("https://localhost:{closed}")).await, Some(Fault::NoTls));
    let nowhere = Network::new(Leads(Vec::new()));
    let address = Address::parse("http://gone.example", false).unwrap();
    assert_eq!(nowhere.dial(&address, false).await.err(), Some(Fault::NoSuchHost));
}
