//! Frames that wait for the socket, and which of them still leave when a link ends.

use std::collections::VecDeque;

use drawbridge_core::RequestId;
use tokio_tungstenite::tungstenite::Message;

/// A frame that waits for the socket.
pub(super) struct Waiting {
    pub(super) message: Message,
    /// Names the request of which it is a part of the answer; none for everything else.
    pub(super) part_of: Option<RequestId>,
}

/// Takes out what is still said when a link ends. Parts of an answer that will never be whole stay here: whoever ends a link, or raises the
/// bridge, wants no more of it to leave. Parts whose end waits behind them go with it.
pub(super) fn left_to_say(out: &mut VecDeque<Waiting>, unfinished: impl Fn(&RequestId) -> bool) -> VecDeque<Message> {
    out.drain(..)
        .filter(|waiting| !waiting.part_of.as_ref().is_some_and(&unfinished))
        .map(|waiting| waiting.message)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(text: &str, part_of: Option<&str>) -> Waiting {
        Waiting { message: Message::text(text), part_of: part_of.map(|id| RequestId::parse(id).unwrap()) }
    }

    #[test]
    fn a_link_that_ends_says_no_more_of_an_answer_that_will_never_be_whole() {
        let mut out = VecDeque::from([
            waiting("part of a", Some("a")),
            waiting("pong", None),
            waiting("part of b", Some("b")),
            waiting("more of a", Some("a")),
            waiting("end of b", None),
        ]);

        let left = left_to_say(&mut out, |id| id.as_str() == "a");

        assert_eq!(left, ["pong", "part of b", "end of b"].map(Message::text));
        assert!(out.is_empty());
    }
}
