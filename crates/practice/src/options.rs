//! What a practice platform is started with: its port, its token and the server's clocks (spec 15.1, 15.4, 15.5).
//! The defaults are the real server's; tests shorten what they want to see run out.

use std::time::Duration;

/// How a practice platform is started.
#[derive(Debug, Clone, Default)]
pub struct PracticeOptions {
    /// Port on 127.0.0.1; the system chooses one when absent.
    pub port: Option<u16>,
    /// Token of the script API; made up at random when absent.
    pub api_token: Option<String>,
    /// How long the platform waits for what.
    pub clocks: Clocks,
    /// What happens at the sign-in page.
    pub consent: ConsentMode,
    /// Client ids accepted beside `autogpt-local-executor`.
    pub extra_clients: Vec<String>,
    /// `Host` values that are its own beside `127.0.0.1:PORT` and `localhost:PORT`: what it is called where something
    /// that encrypts stands before it.
    pub extra_hosts: Vec<String>,
    /// Whether the practice model server comes along.
    pub beside: crate::Beside,
}

/// The waits of the real server.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// For HELLO after the upgrade.
    pub hello: Duration,
    /// For the answer to a request on a data socket, those to the local model aside.
    pub data: Duration,
    /// For the next part of an answer of the local model, or for its end: the 30 s of other requests do not hold there.
    pub model: Duration,
    /// For the answer to a request on the control socket.
    pub control: Duration,
    /// For the answer to DETACH_SESSION.
    pub detach: Duration,
    /// For the data socket after ACTIVATE or RESTORE.
    pub data_socket: Duration,
    /// For a free slot while the last reported capacity was 0.
    pub capacity: Duration,
    /// For a socket to come back before an idempotent request is sent again.
    pub reconnect: Duration,
    /// For the answer to a PING of [`crate::Switches::ping_every_ms`].
    pub pong: Duration,
    /// For what is queued before a close, and then for the other side's close.
    pub closing: Duration,
    /// Life of an access token.
    pub access_token: Duration,
    /// Life of a refresh token.
    pub refresh_token: Duration,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(10),
            data: Duration::from_secs(30),
            model: Duration::from_secs(900),
            control: Duration::from_secs(10),
            detach: Duration::from_secs(5),
            data_socket: Duration::from_secs(8),
            capacity: Duration::from_secs(30),
            reconnect: Duration::from_secs(30),
            pong: Duration::from_secs(10),
            closing: Duration::from_secs(2),
            access_token: Duration::from_secs(3600),
            refresh_token: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Who answers the sign-in page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsentMode {
    /// A person, with a button.
    #[default]
    Ask,
    /// Every sign-in is allowed at once.
    Allow,
    /// Every sign-in is denied at once.
    Deny,
}
