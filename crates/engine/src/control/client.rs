//! The command line's side.

use std::path::Path;
use std::time::Duration;

use drawbridge_os::local_socket::{self, LocalSocketError, LocalStream};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::{LINE_LIMIT_BYTES, read_line};
use crate::handle::{Command, CommandError, Reply};
use crate::view::Snapshot;

/// The longest wait for an answer: raising waits for everything to end, and revoking for the platform.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a running engine could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No engine runs on this state folder.
    #[error("Drawbridge is not running")]
    NotRunning,
    /// The engine said no.
    #[error(transparent)]
    Refused(#[from] CommandError),
    /// The engine is there and does not answer as it should.
    #[error("the running Drawbridge does not answer properly: {why}")]
    Broken {
        /// In words.
        why: String,
    },
}

/// A connection to a running engine.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<ReadHalf<LocalStream>>,
    writer: WriteHalf<LocalStream>,
    last_id: u64,
}

impl Client {
    /// Connects to the engine that serves this socket.
    ///
    /// # Errors
    /// [`ControlError::NotRunning`] when nobody listens, [`ControlError::Broken`] when it cannot be reached.
    pub async fn connect(path: &Path) -> Result<Self, ControlError> {
        let connected = timeout(CONNECT_TIMEOUT, local_socket::connect(path)).await;
        match connected.map_err(|_| broken("no connection within 5 s"))? {
            Ok(stream) => {
                let (reader, writer) = tokio::io::split(stream);
                Ok(Self { reader: BufReader::new(reader), writer, last_id: 0 })
            }
            Err(LocalSocketError::NobodyThere { .. }) => Err(ControlError::NotRunning),
            Err(err) => Err(broken(err)),
        }
    }

    /// Sends a command and waits for what comes of it.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn send(&mut self, command: &Command) -> Result<Reply, ControlError> {
        self.send_with_secret(command, None).await
    }

    /// Sends a command that may take as long as `within`. Dropping this hangs up, which ends what waits for a device.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn send_within(&mut self, command: &Command, within: Duration) -> Result<Reply, ControlError> {
        let request = serde_json::to_value(command).map_err(broken)?;
        let reply = self.ask_within(request, "reply", within.max(ANSWER_TIMEOUT)).await?;
        serde_json::from_value(reply).map_err(broken)
    }

    /// As [`Client::send_within`], for what is to stay open no longer than this connection, and for closing what was opened so and
    /// nothing else.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn hold_within(&mut self, command: &Command, within: Duration) -> Result<Reply, ControlError> {
        let mut request = serde_json::to_value(command).map_err(broken)?;
        if let Some(fields) = request.as_object_mut() {
            fields.insert("hold".to_owned(), Value::Bool(true));
        }
        let reply = self.ask_within(request, "reply", within.max(ANSWER_TIMEOUT)).await?;
        serde_json::from_value(reply).map_err(broken)
    }

    /// Waits until the engine has ended the connection. Whatever it says before that is lost.
    pub async fn gone(&mut self) {
        while let Ok(Some(_)) = read_line(&mut self.reader, LINE_LIMIT_BYTES).await {}
    }

    /// Sends a command together with the one-time secret that answering a question needs.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn send_with_secret(
        &mut self,
        command: &Command,
        secret: Option<&SecretString>,
    ) -> Result<Reply, ControlError> {
        let mut request = serde_json::to_value(command).map_err(broken)?;
        if let (Some(secret), Some(fields)) = (secret, request.as_object_mut()) {
            fields.insert("secret".to_owned(), Value::from(secret.expose_secret()));
        }
        let reply = self.ask(request, "reply").await?;
        serde_json::from_value(reply).map_err(broken)
    }

    /// Asks for the present picture.
    ///
    /// # Errors
    /// [`ControlError`].
    pub async fn snapshot(&mut self) -> Result<Snapshot, ControlError> {
        let snapshot = self.ask(json!({ "command": "snapshot" }), "snapshot").await?;
        serde_json::from_value(snapshot).map_err(broken)
    }

    async fn ask(&mut self, request: Value, wanted: &str) -> Result<Value, ControlError> {
        self.ask_within(request, wanted, ANSWER_TIMEOUT).await
    }

    async fn ask_within(&mut self, mut request: Value, wanted: &str, within: Duration) -> Result<Value, ControlError> {
        self.last_id += 1;
        if let Some(fields) = request.as_object_mut() {
            fields.insert("request".to_owned(), Value::from(self.last_id));
        }
        let mut line = request.to_string();
        line.push('\n');
        let exchange = async {
            // The answer says more than a failed write: a server that is full answers and closes.
            let written = self.writer.write_all(line.as_bytes()).await;
            match read_line(&mut self.reader, LINE_LIMIT_BYTES).await {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => Err(written.err().map_or_else(|| broken("it closed the connection"), broken)),
                Err(err) => Err(broken(err)),
            }
        };
        let late = |_| broken(format!("no answer within {} s", within.as_secs()));
        let answer = timeout(within, exchange).await.map_err(late)??;
        let mut answer: Value = serde_json::from_slice(&answer).map_err(broken)?;
        if let Some(error) = answer.get_mut("error") {
            return Err(ControlError::Refused(serde_json::from_value(error.take()).map_err(broken)?));
        }
        if answer.get("request").and_then(Value::as_u64) != Some(self.last_id) {
            return Err(broken("it answered something else"));
        }
        answer.get_mut(wanted).map(Value::take).ok_or_else(|| broken("its answer is empty"))
    }
}

fn broken(why: impl std::fmt::Display) -> ControlError {
    ControlError::Broken { why: why.to_string() }
}
