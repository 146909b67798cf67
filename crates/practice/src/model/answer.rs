//! The practice model. It counts, repeats a few words and says what it is; the same question gets the same answer.
//!
//! A message of several lines may be somebody's file, so nothing of it is repeated.

use serde_json::Value;

/// The longest message of which words are repeated, in characters.
const SHORT: usize = 200;
/// Words that are repeated at most.
const WORDS: usize = 12;

/// A conversation as it was asked.
pub(crate) struct Question {
    /// Role and content, oldest first.
    messages: Vec<(String, String)>,
}

impl Question {
    /// Reads `messages`; none when there is no such list.
    pub(crate) fn read(body: &Value) -> Option<Self> {
        let text = |message: &Value, key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let messages = body.get("messages")?.as_array()?;
        Some(Self { messages: messages.iter().map(|m| (text(m, "role"), text(m, "content"))).collect() })
    }

    /// About how many tokens it takes: four bytes each.
    pub(crate) fn tokens(&self) -> u64 {
        self.messages.iter().map(|(_, content)| content.len() as u64 / 4 + 4).sum()
    }

    /// What the practice model answers.
    pub(crate) fn answer(&self) -> String {
        let asked: Vec<&str> =
            self.messages.iter().filter(|(role, _)| role == "user").map(|(_, content)| content.as_str()).collect();
        let lines: usize = asked.iter().map(|text| text.lines().count()).sum();
        let words: usize = asked.iter().map(|text| text.split_whitespace().count()).sum();
        let read = format!("I read {} and {}", count(lines, "line"), count(words, "word"));
        let said = match asked.last().map(|text| text.trim()) {
            Some(text) if is_short(text) => {
                let head: Vec<&str> = text.split_whitespace().take(WORDS).collect();
                format!("; the last message begins with “{}”", head.join(" "))
            }
            _ => String::new(),
        };
        format!(
            "{read}{said}. I am the practice model and can only count: a real model would answer the question here."
        )
    }
}

fn is_short(text: &str) -> bool {
    !text.is_empty() && text.lines().count() == 1 && text.chars().count() <= SHORT
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Cuts an answer into its words, each with the blank that follows: what stands for tokens here.
pub(crate) fn words(answer: &str) -> Vec<String> {
    answer.split_inclusive(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Question, words};

    #[test]
    fn a_question_is_counted_and_its_first_words_are_repeated() {
        let body = json!({"messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the capital of France?"},
        ]});

        let question = Question::read(&body).unwrap();

        let expected = "I read 1 line and 6 words; the last message begins with “What is the capital of France?”. I am the \
                        practice model and can only count: a real model would answer the question here.";
        assert_eq!(question.answer(), expected);
        assert_eq!(words(&question.answer()).concat(), expected);
    }

    #[test]
    fn of_a_file_nothing_is_repeated() {
        let body = json!({"messages": [{"role": "user", "content": "Sum this up\nthe safe's code is 4711\n"}]});

        let answer = Question::read(&body).unwrap().answer();

        assert!(answer.starts_with("I read 2 lines and 8 words. "), "{answer}");
        assert!(!answer.contains("4711") && !answer.contains("Sum"), "{answer}");
    }

    #[test]
    fn a_body_without_messages_is_no_question() {
        assert!(Question::read(&json!({"messages": "hello"})).is_none());
        assert!(Question::read(&json!({})).is_none());
    }
}
