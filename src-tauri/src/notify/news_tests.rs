use drawbridge_engine::view::{AccountView, AuditView, GateView, LinkView, PromptView, ScreenUseView, ScreenView};

use super::*;

fn question(id: u64, summary: &str) -> PromptView {
    PromptView { id, summary: summary.to_owned(), ..PromptView::default() }
}

fn asks(prompts: Vec<PromptView>) -> Snapshot {
    Snapshot { prompts, ..Snapshot::default() }
}

const ASKS: Step = Step::Tell(Topic::Question, What(Word::TellQuestion, Word::TellQuestionBody));

#[test]
fn a_question_is_told_once_and_taken_away_when_it_is_answered() {
    let mut news = News::default();
    let one = asks(vec![question(7, "The agent wants to run a command")]);

    assert_eq!(news.follow(&one, Raiser::Elsewhere), [ASKS]);
    assert_eq!(news.follow(&one, Raiser::Elsewhere), []);
    assert_eq!(news.follow(&asks(Vec::new()), Raiser::Elsewhere), [Step::Close(Topic::Question)]);
    assert_eq!(news.follow(&asks(Vec::new()), Raiser::Elsewhere), []);
}

#[test]
fn a_flood_of_questions_is_one_notification_at_a_time() {
    let mut news = News::default();
    let many: Vec<PromptView> = (1..=16).map(|id| question(id, &format!("Question {id}"))).collect();

    assert_eq!(news.follow(&asks(many.clone()), Raiser::Elsewhere), [ASKS]);
    assert_eq!(news.follow(&asks(many[..4].to_vec()), Raiser::Elsewhere), []);
    assert_eq!(news.follow(&asks(many[1..].to_vec()), Raiser::Elsewhere), [ASKS]);
}

#[test]
fn a_stop_is_told_by_who_raised_unless_the_person_saw_it() {
    use Raiser::{Elsewhere, Here, Key};
    let raised = Snapshot { raised: true, ..Snapshot::default() };
    let lowered = Snapshot::default();
    let news_of = |pictures: &[(&Snapshot, Raiser)]| {
        let mut news = News::default();
        pictures.iter().flat_map(|(picture, raiser)| news.follow(picture, *raiser)).collect::<Vec<_>>()
    };
    let tell = Step::Tell(Topic::Raised, What(Word::TellRaised, Word::TellRaisedBody));
    let by_key = Step::Tell(Topic::Raised, What(Word::TellRaised, Word::TellRaisedKeyBody));

    assert_eq!(news_of(&[(&lowered, Elsewhere), (&raised, Elsewhere)]), [tell]);
    assert_eq!(news_of(&[(&lowered, Elsewhere), (&raised, Key)]), [by_key]);
    assert_eq!(news_of(&[(&lowered, Elsewhere), (&raised, Here)]), []);
    assert_eq!(news_of(&[(&raised, Elsewhere)]), [], "the program starts as it was left");
    let pictures = [(&lowered, Elsewhere), (&raised, Elsewhere), (&lowered, Elsewhere)];
    assert_eq!(news_of(&pictures), [tell, Step::Close(Topic::Raised)]);
}

#[test]
fn a_refused_sign_in_is_one_notification_though_the_link_ends_with_it() {
    let account = AccountView { state: AccountState::Refused, ..AccountView::default() };
    let link = LinkView { state: LinkState::Halted, ..LinkView::default() };
    let mut news = News::default();

    let steps = news.follow(&Snapshot { account, link: link.clone(), ..Snapshot::default() }, Raiser::Elsewhere);
    assert_eq!(steps, [Step::Tell(Topic::SignIn, What(Word::TellRefused, Word::TellRefusedBody))]);

    let steps = news.follow(&Snapshot { link, ..Snapshot::default() }, Raiser::Elsewhere);
    assert_eq!(
        steps,
        [Step::Tell(Topic::Link, What(Word::TellHalted, Word::TellHaltedBody)), Step::Close(Topic::SignIn)]
    );
}

#[test]
fn a_log_that_cannot_be_written_is_told_until_it_can() {
    let audit = AuditView { unavailable: true, ..AuditView::default() };
    let mut news = News::default();

    let steps = news.follow(&Snapshot { audit, ..Snapshot::default() }, Raiser::Elsewhere);

    assert_eq!(steps, [Step::Tell(Topic::Log, What(Word::TellLog, Word::TellLogBody))]);
    assert_eq!(news.follow(&Snapshot::default(), Raiser::Elsewhere), [Step::Close(Topic::Log)]);
}

#[test]
fn a_question_is_told_in_one_language() {
    let what = What(Word::TellQuestion, Word::TellQuestionBody);

    let english = what.text(Language::English);
    assert_eq!((english.heading, english.body), ("An agent asks", "Nothing happens until you answer."));
    let german = what.text(Language::German);
    assert_eq!((german.heading, german.body), ("Ein Agent fragt", "Bis zu Ihrer Antwort geschieht nichts."));
}

#[test]
fn a_start_that_something_is_in_the_way_of_is_told_until_it_is_cleared() {
    let mut news = News::default();
    let stuck = Snapshot { gate: Some(GateView::default()), ..Snapshot::default() };
    let told = Step::Tell(Topic::Gate, What(Word::TellGate, Word::TellGateBody));

    assert_eq!(news.follow(&stuck, Raiser::Elsewhere), [told]);
    assert_eq!(news.follow(&stuck, Raiser::Elsewhere), []);
    assert_eq!(news.follow(&Snapshot::default(), Raiser::Elsewhere), [Step::Close(Topic::Gate)]);
}

#[test]
fn the_first_use_of_the_screen_in_a_chat_is_told_once() {
    let used = |chat: &str, acts| {
        let session_id = Some(chat.to_owned());
        let in_use = Some(ScreenUseView { session_id, acts, ..ScreenUseView::default() });
        Snapshot { screen: ScreenView { in_use, ..ScreenView::default() }, ..Snapshot::default() }
    };
    let told = Step::Tell(Topic::Screen, What(Word::TellScreen, Word::TellScreenBody));
    let mut news = News::default();

    assert_eq!(news.follow(&used("a", 1), Raiser::Elsewhere), [told]);
    assert_eq!(news.follow(&used("a", 2), Raiser::Elsewhere), []);
    assert_eq!(news.follow(&used("b", 1), Raiser::Elsewhere), [told]);
    assert_eq!(news.follow(&Snapshot::default(), Raiser::Elsewhere), [Step::Close(Topic::Screen)]);
    assert_eq!(news.follow(&used("a", 1), Raiser::Elsewhere), [], "the chat was told of already");
    let stopped = Snapshot { raised: true, ..used("a", 1) };
    assert_eq!(news.follow(&stopped, Raiser::Here), [Step::Close(Topic::Screen)]);
}
