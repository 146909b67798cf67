//! What is known of a prompt without the model: about how many tokens it takes, and whether a text repeats a part of it.

use std::collections::HashSet;

use drawbridge_core::model::ChatMessage;

/// Tokens that a message takes beyond its text: its role and its ends.
const PER_MESSAGE: u64 = 8;
/// Letters of one word that make a token at worst, in usual languages.
const LETTERS_PER_TOKEN: u64 = 4;
/// A text repeats another if it holds this many bytes of it, counted from a multiple of this number: so one that repeats twice as
/// many is always found.
const WINDOW: usize = 10;
/// A short prompt counts as repeated when it stands in the text as it is, from this length.
const SHORT: usize = 4;

/// About how many tokens a conversation takes, and rather too many than too few: digits and signs count one each, as the
/// tokenisers of some models have it, words by their letters, and other scripts two bytes a token.
pub(crate) fn tokens_at_most(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|message| PER_MESSAGE + text_tokens(&message.content)).sum()
}

fn text_tokens(text: &str) -> u64 {
    let (mut tokens, mut letters, mut others) = (0_u64, 0_u64, 0_u64);
    for byte in text.bytes() {
        if byte.is_ascii_alphabetic() {
            letters += 1;
            continue;
        }
        tokens += letters.div_ceil(LETTERS_PER_TOKEN);
        letters = 0;
        match byte {
            // A single blank belongs to the word after it.
            b' ' => {}
            0x80.. => others += 1,
            _ => tokens += 1,
        }
    }
    tokens + letters.div_ceil(LETTERS_PER_TOKEN) + others.div_ceil(2)
}

/// The fewest tokens that a conversation of so many at most can have, with any usual tokeniser.
pub(crate) const fn tokens_at_least(at_most: u64) -> u64 {
    at_most / 3
}

/// Tells whether `text`, the words of a server, repeats a part of the conversation. Blanks do not count.
pub(crate) fn repeats(text: &str, messages: &[ChatMessage]) -> bool {
    let text = squeezed(text.bytes());
    let windows: HashSet<&[u8]> = text.windows(WINDOW).collect();
    messages.iter().any(|message| {
        // Taken in steps of a window, each stretch in common of twice its length holds a whole one.
        let content = squeezed(message.content.bytes());
        let short = (SHORT..2 * WINDOW).contains(&content.len());
        if short && text.windows(content.len()).any(|part| part == content) {
            return true;
        }
        content.chunks_exact(WINDOW).any(|part| windows.contains(part))
            || message.content.split_whitespace().any(|word| word.len() >= 8 && long_word_in(word, &text))
    })
}

/// Tells whether a word that is hardly an everyday one, since it holds a digit, stands in the text.
fn long_word_in(word: &str, text: &[u8]) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit()) && text.windows(word.len()).any(|part| part == word.as_bytes())
}

fn squeezed(bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    bytes.filter(|byte| !byte.is_ascii_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use drawbridge_core::model::{ChatMessage, ChatRole};

    use super::{repeats, text_tokens, tokens_at_least, tokens_at_most};

    #[test]
    fn tokens_are_estimated_by_what_the_text_is_made_of() {
        assert_eq!(text_tokens(""), 0);
        assert_eq!(text_tokens("The quick brown fox"), 1 + 2 + 2 + 1);
        assert_eq!(text_tokens("3.14159,2.71828\n"), 16);
        assert_eq!(text_tokens("日本語"), 5);
        let messages = [said("The quick brown fox")];
        assert_eq!(tokens_at_most(&messages), 14);
        assert_eq!(tokens_at_least(14), 4);
    }

    #[test]
    fn what_a_server_repeats_of_a_prompt_is_seen() {
        let messages =
            [said("You are a helpful assistant."), said("Please sum up:\nThe code of the safe is 4711 and 0815.")];

        for text in [
            "template failed at \"The code of the safe is 4711\"",
            "bad input: the code of the safeis4711",
            "cannot parse: code of the safe is 4711 and",
        ] {
            assert!(repeats(text, &messages), "{text}");
        }
        for text in ["out of memory", "model requires more system memory (5.6 GiB) than is available (2.1 GiB)"] {
            assert!(!repeats(text, &messages), "{text}");
        }
    }

    #[test]
    fn a_short_prompt_and_a_number_in_a_long_one_are_seen_too() {
        assert!(repeats("unexpected token 'pin 4711' here", &[said("pin 4711")]));
        assert!(repeats(
            "bad value DE89370400440532013000",
            &[said("My account is DE89370400440532013000 at the bank")]
        ));
        assert!(!repeats("invalid request", &[said("hi")]));
    }

    fn said(content: &str) -> ChatMessage {
        ChatMessage { role: ChatRole::User, content: content.to_owned() }
    }
}
