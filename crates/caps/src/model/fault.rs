//! What can go wrong with a model server, in words that a person and a model can use. Never holds a prompt or an answer.

use std::fmt;
use std::time::Duration;

use super::address::ServerFault;

/// The longest text about a fault, in characters (spec 11).
pub(crate) const MAX_WHY_CHARS: usize = 200;

/// Why a model is not told what must stay here.
pub(crate) const PASSED_ON: &str = "the model runs on another computer, to which its server passes questions on, and contents of private files stay on this one; name a model that runs here";

/// Why a server cannot be asked or did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The address is none that can be asked.
    Address(ServerFault),
    /// The name of the server leads nowhere.
    NoSuchHost,
    /// It leads to another computer, and the person has not said that this is meant.
    Far,
    /// An `https` address, and nothing here speaks TLS.
    NoTls,
    /// TLS failed, with the reason.
    Tls(String),
    /// Nothing listens there.
    Refused,
    /// The connection could not be made or broke.
    Broken,
    /// Nothing came for this long.
    Slow(Duration),
    /// The whole took longer than this.
    TooLong(Duration),
    /// The stream ended before the end of the answer.
    EndedEarly,
    /// It wants us to ask elsewhere.
    Redirect,
    /// It refuses what it is asked, and no key is set for it.
    KeyWanted,
    /// It refuses the key that is set.
    KeyRefused,
    /// It refuses what it is asked, and the key that may be set cannot be read now.
    KeyUnreadable,
    /// The key would go to another computer in the clear, so nothing was sent.
    KeyInClear,
    /// It does not take the question now (429, 503), with the seconds after which it may and words of its own where it says so.
    Busy(Option<u64>, Option<String>),
    /// It does not have the model (404).
    Missing,
    /// It answered with this status, perhaps with words of its own.
    Status(u16, Option<String>),
    /// It told a fault in the middle of its answer.
    Told(Option<String>),
    /// It does not speak HTTP as it must be, or with a head that is far too long.
    NoHttp,
    /// It sent more than is taken, of what.
    TooMuch(&'static str),
    /// Its answer makes no sense.
    Nonsense,
    /// It is a web server, but none for models.
    NoModelServer,
    /// The prompt does not fit.
    PromptTooLong {
        /// About how many tokens it has.
        tokens: u64,
        /// Tokens that the model reads.
        context: u64,
    },
    /// The prompt is longer than the person lets a server make room for.
    OverLimit {
        /// About how many tokens it has.
        tokens: u64,
        /// Tokens that are allowed.
        limit: u64,
    },
    /// There is no message.
    NoMessage,
    /// The person took the server out of the settings.
    Removed,
    /// The server asks another computer for the model, and this must stay here.
    PassedOn,
}

impl Fault {
    /// Returns what happened as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let text = self.why();
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
    }

    /// Returns what happened, in at most 200 characters.
    pub(crate) fn why(&self) -> String {
        let text = self.to_string();
        match text.char_indices().nth(MAX_WHY_CHARS - 1) {
            Some((at, _)) if text.chars().nth(MAX_WHY_CHARS).is_some() => {
                format!("{}…", text.get(..at).unwrap_or_default())
            }
            _ => text,
        }
    }

    /// Takes away what the server said itself: it may have repeated what it was asked.
    pub(crate) fn without_words(mut self) -> Self {
        if let Self::Status(_, words) | Self::Busy(_, words) | Self::Told(words) = &mut self {
            *words = None;
        }
        self
    }

    /// Returns what the server said itself.
    pub(crate) fn words(&self) -> Option<&str> {
        if let Self::Status(_, words) | Self::Busy(_, words) | Self::Told(words) = self {
            words.as_deref()
        } else {
            None
        }
    }
}

impl From<ServerFault> for Fault {
    fn from(fault: ServerFault) -> Self {
        Self::Address(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Address(fault) => return fault.fmt(f),
            Self::NoSuchHost => "the name of the model server is not known here; check its address",
            Self::Far => {
                "the address leads to another computer; only servers on this one are asked until that is allowed"
            }
            Self::NoTls => "the model server has an https address, and it can only be asked over http",
            Self::Tls(why) => return write!(f, "the model server could not be trusted: {why}"),
            Self::Refused => "nothing listens at the model server's address; start the server, or check the address",
            Self::Broken => "the connection to the model server broke",
            Self::Slow(limit) => return write!(f, "the model server sent nothing for {} seconds", limit.as_secs_f32()),
            Self::TooLong(limit) => return write!(f, "the answer took longer than {} minutes", limit.as_secs() / 60),
            Self::EndedEarly => "stream ended early",
            Self::Redirect => "the model server sends to another address, which is not followed; check its address",
            Self::KeyWanted => {
                "the model server wants a key and none is set for it; set its API key on the Models page or with drawbridge models key"
            }
            Self::KeyRefused => {
                "the model server refused the key that is set for it; set the right API key on the Models page or with drawbridge models key"
            }
            Self::KeyUnreadable => {
                "the model server wants a key, and the place that keeps keys cannot be read now; unlock the keychain, then ask again on the Models page"
            }
            Self::KeyInClear => {
                "its key is not sent to another computer unencrypted, where others could read it on the way; use an https address, or forget the key"
            }
            Self::Busy(after, words) => {
                f.write_str("the model server is busy")?;
                match after {
                    Some(1) => f.write_str("; ask again in a second")?,
                    Some(seconds) => write!(f, "; ask again in {seconds} seconds")?,
                    None => f.write_str("; ask again in a moment")?,
                }
                return words.as_ref().map_or(Ok(()), |words| write!(f, ": {words}"));
            }
            Self::Missing => "the model server does not have the model",
            Self::Status(status, words) => {
                write!(f, "the model server answered with status {status}{}", meaning(*status))?;
                return words.as_ref().map_or(Ok(()), |words| write!(f, ": {words}"));
            }
            Self::Told(None) => "the model server told of a fault in the middle of its answer",
            Self::Told(Some(words)) => return write!(f, "the model server says: {words}"),
            Self::NoHttp => "what listens at the model server's address breaks the rules of HTTP; check the address",
            Self::TooMuch(what) => return write!(f, "the model server sent too much: {what}"),
            Self::Nonsense => "the model server sent lines that make no sense",
            Self::NoModelServer => "what answers there is no model server: it offers no list of models",
            Self::PromptTooLong { tokens, context } => {
                return write!(
                    f,
                    "the prompt is too long: about {tokens} tokens, and the model reads at most {context}"
                );
            }
            Self::OverLimit { tokens, limit } => {
                return write!(
                    f,
                    "the prompt is too long: about {tokens} tokens, and {limit} are allowed here (max_context under [models] in config.toml)"
                );
            }
            Self::NoMessage => "there is no message to answer",
            Self::Removed => "the model server was taken out of the settings",
            Self::PassedOn => PASSED_ON,
        };
        f.write_str(text)
    }
}

const fn meaning(status: u16) -> &'static str {
    match status {
        400 | 413 | 422 => " (it refused the request)",
        500 => " (it failed)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn words_of_a_server_are_cut_and_can_be_taken_away() {
        let fault = Fault::Status(500, Some("x".repeat(5000)));

        assert_eq!(fault.why().chars().count(), 200);
        assert_eq!(fault.without_words().why(), "the model server answered with status 500 (it failed)");
        let busy = Fault::Busy(Some(7), Some("echo".to_owned()));
        assert_eq!(busy.words(), Some("echo"));
        assert_eq!(busy.without_words().why(), "the model server is busy; ask again in 7 seconds");
    }

    #[test]
    fn a_fault_can_be_read_as_a_sentence() {
        assert_eq!(Fault::Broken.sentence(), "The connection to the model server broke.");
    }
}
