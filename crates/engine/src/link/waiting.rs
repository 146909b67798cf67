//! Frames that wait for the socket, which of them may leave when their turn comes, and which still leave when a link ends.

use std::collections::VecDeque;

use drawbridge_caps::Hold;
use drawbridge_core::RequestId;
use tokio_tungstenite::tungstenite::Message;

use crate::dispatcher::{Kept, Stayed};

/// A frame that waits for the socket.
struct Waiting {
    message: Message,
    what: What,
}

/// What a frame is, as far as that decides whether it leaves.
enum What {
    /// Nothing keeps it here.
    Plain,
    /// A part of the answer to a request.
    Part { of: RequestId, hold: Option<Hold> },
    /// An answer that may have to stay here, and what is said in its place then.
    Answer { to: RequestId, instead: Message, kept: Kept },
}

impl Waiting {
    fn is_part_of(&self, id: &RequestId) -> bool {
        matches!(&self.what, What::Part { of, .. } if of == id)
    }

    /// It has to wait for somebody's word.
    fn is_held(&self) -> bool {
        matches!(&self.what, What::Part { hold: Some(hold), .. } if hold.is_shut())
    }
}

/// A frame whose turn has come.
pub(super) struct Due {
    pub(super) message: Message,
    /// Who knows whether it may leave, for as long as not all of it has.
    pub(super) kept: Option<Kept>,
}

/// All of them, the oldest first.
#[derive(Default)]
pub(super) struct Outbox(VecDeque<Waiting>);

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether a frame can be sent now.
    pub(super) fn has_due(&self) -> bool {
        self.0.iter().any(|waiting| !waiting.is_held())
    }

    pub(super) fn push(&mut self, message: Message) {
        self.0.push_back(Waiting { message, what: What::Plain });
    }

    pub(super) fn push_part(&mut self, message: Message, of: RequestId, hold: Option<Hold>) {
        self.0.push_back(Waiting { message, what: What::Part { of, hold } });
    }

    pub(super) fn push_answer(&mut self, message: Message, to: RequestId, instead: Message, kept: Kept) {
        self.0.push_back(Waiting { message, what: What::Answer { to, instead, kept } });
    }

    /// Drops the parts of an answer that are held, when its end comes: nobody lets them go any more.
    pub(super) fn drop_held(&mut self, id: &RequestId) {
        self.0.retain(|waiting| !(waiting.is_part_of(id) && waiting.is_held()));
    }

    /// Takes the next frame that may leave at this moment. Parts that are held stay where they are; an answer that may not leave any
    /// more gives way to what is said in its place, which is written down first.
    pub(super) fn next(&mut self) -> Option<Due> {
        let index = self.0.iter().position(|waiting| !waiting.is_held())?;
        let Waiting { message, what } = self.0.remove(index)?;
        let What::Answer { to, instead, kept } = what else { return Some(Due { message, kept: None }) };
        // An answer has no holes: without all of its parts it does not leave either.
        let is_whole = !self.0.iter().any(|waiting| waiting.is_part_of(&to));
        if is_whole && kept.may_leave() {
            return Some(Due { message, kept: Some(kept) });
        }
        self.0.retain(|waiting| !waiting.is_part_of(&to));
        kept.stays(Stayed::All);
        Some(Due { message: instead, kept: None })
    }

    /// Drops everything when a connection is cut, and writes down which answers have to stay.
    pub(super) fn cut(&mut self) {
        for waiting in self.0.drain(..) {
            if let What::Answer { kept, .. } = waiting.what
                && !kept.may_leave()
            {
                kept.stays(Stayed::All);
            }
        }
    }

    /// Takes out what is still said when a link ends. Parts of an answer that will never be whole stay here: whoever ends a link, or
    /// raises the bridge, wants no more of it to leave. Parts whose end waits behind them go with it.
    pub(super) fn left_to_say(&mut self, unfinished: impl Fn(&RequestId) -> bool) -> Left {
        self.0.retain(|waiting| !matches!(&waiting.what, What::Part { of, .. } if unfinished(of)));
        let mut left = Left { messages: VecDeque::new(), kept: Vec::new() };
        while let Some(Due { message, kept }) = self.next() {
            left.messages.push_back(message);
            left.kept.extend(kept);
        }
        self.0.clear();
        left
    }
}

/// What is still said when a link ends.
pub(super) struct Left {
    pub(super) messages: VecDeque<Message>,
    /// Who knows whether it may leave.
    pub(super) kept: Vec<Kept>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(frames: &[(&str, Option<&str>)]) -> Outbox {
        let mut out = Outbox::default();
        for (text, part_of) in frames {
            match part_of {
                Some(id) => out.push_part(Message::text(*text), RequestId::parse(id).unwrap(), None),
                None => out.push(Message::text(*text)),
            }
        }
        out
    }

    #[test]
    fn a_link_that_ends_says_no_more_of_an_answer_that_will_never_be_whole() {
        let mut out = filled(&[
            ("part of a", Some("a")),
            ("pong", None),
            ("part of b", Some("b")),
            ("more of a", Some("a")),
            ("end of b", None),
        ]);

        let left = out.left_to_say(|id| id.as_str() == "a");

        assert_eq!(left.messages, ["pong", "part of b", "end of b"].map(Message::text));
        assert!(out.is_empty() && left.kept.is_empty());
    }
}
