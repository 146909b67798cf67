use drawbridge_engine::view::{AccountView, AuditView, LinkView, PromptView};

use super::*;

fn question(id: u64, summary: &str) -> PromptView {
    PromptView { id, summary: summary.to_owned(), ..PromptView::default() }
}

fn asks(prompts: Vec<PromptView>) -> Snapshot {
    Snapshot { prompts, ..Snapshot::default() }
}

fn told(id: Topic, summary: &str) -> Vec<Step> {
    vec![Step::Tell(id, What::Question(summary.to_owned()))]
}

#[test]
fn a_question_is_told_once_and_taken_away_when_it_is_answered() {
    let mut news = News::default();
    let one = asks(vec![question(7, "The agent wants to run a command")]);

    assert_eq!(news.follow(&one, false), told(Topic::Question, "The agent wants to run a command"));
    assert_eq!(news.follow(&one, false), []);
    assert_eq!(news.follow(&asks(Vec::new()), false), [Step::Close(Topic::Question)]);
    assert_eq!(news.follow(&asks(Vec::new()), false), []);
}

#[test]
fn a_flood_of_questions_is_one_notification_at_a_time() {
    let mut news = News::default();
    let many: Vec<PromptView> = (1..=16).map(|id| question(id, &format!("Question {id}"))).collect();

    assert_eq!(news.follow(&asks(many.clone()), false), told(Topic::Question, "Question 1"));
    assert_eq!(news.follow(&asks(many[1..].to_vec()), false), told(Topic::Question, "Question 2"));
}

#[test]
fn only_a_stop_from_elsewhere_is_news() {
    let raised = Snapshot { raised: true, ..Snapshot::default() };
    let lowered = Snapshot::default();
    let news_of = |pictures: &[(&Snapshot, bool)]| {
        let mut news = News::default();
        pictures.iter().flat_map(|(picture, here)| news.follow(picture, *here)).collect::<Vec<_>>()
    };
    let tell = Step::Tell(Topic::Raised, What::Said(Word::TellRaised, Word::TellRaisedBody));

    assert_eq!(news_of(&[(&lowered, false), (&raised, false)]), std::slice::from_ref(&tell));
    assert_eq!(news_of(&[(&lowered, false), (&raised, true)]), []);
    assert_eq!(news_of(&[(&raised, false)]), [], "the program starts as it was left");
    assert_eq!(news_of(&[(&lowered, false), (&raised, false), (&lowered, false)]), [tell, Step::Close(Topic::Raised)]);
}

#[test]
fn a_refused_sign_in_is_one_notification_though_the_link_ends_with_it() {
    let account = AccountView { state: AccountState::Refused, ..AccountView::default() };
    let link = LinkView { state: LinkState::Halted, reason: None };
    let mut news = News::default();

    let steps = news.follow(&Snapshot { account, link: link.clone(), ..Snapshot::default() }, false);
    assert_eq!(steps, [Step::Tell(Topic::SignIn, What::Said(Word::TellRefused, Word::TellRefusedBody))]);

    let steps = news.follow(&Snapshot { link, ..Snapshot::default() }, false);
    assert_eq!(
        steps,
        [Step::Tell(Topic::Link, What::Said(Word::TellHalted, Word::TellHaltedBody)), Step::Close(Topic::SignIn)]
    );
}

#[test]
fn a_log_that_cannot_be_written_is_told_until_it_can() {
    let audit = AuditView { unavailable: true, ..AuditView::default() };
    let mut news = News::default();

    let steps = news.follow(&Snapshot { audit, ..Snapshot::default() }, false);

    assert_eq!(steps, [Step::Tell(Topic::Log, What::Said(Word::TellLog, Word::TellLogBody))]);
    assert_eq!(news.follow(&Snapshot::default(), false), [Step::Close(Topic::Log)]);
}

#[test]
fn a_name_from_outside_is_neither_markup_nor_reversed_nor_endless() {
    let sentence = format!("The agent wants to read <b>\u{202e}x</b>&{}", "é".repeat(100_000));

    let text = What::Question(sentence).text(Language::English);

    assert!(text.body.contains("&lt;b&gt;\\u{202E}x&lt;/b&gt;&amp;"), "{}", text.body);
    assert!(text.body.chars().count() < 300);
    assert_eq!((text.heading.as_str(), text.show), ("An agent asks", "Show"));
}
