use drawbridge_core::{CommandLine, CommandOp, ManualClock, PowerMode, WallMs};
use drawbridge_policy::{PolicyState, Prompting, Verdict, authorize};

use super::*;

struct Rig {
    broker: Arc<Broker>,
    policy: Arc<PolicyCell>,
    clock: Arc<ManualClock>,
}

impl Rig {
    fn new() -> Self {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::Shell, PowerMode::AskEachTime);
        state.prompting = Prompting::Possible;
        let policy = Arc::new(PolicyCell::new(state.clone(), state, Box::new(|_| Ok(()))));
        let clock = Arc::new(ManualClock::starting_at(WallMs(1_000_000)));
        let broker = Broker::new(policy.clone(), clock.clone(), Arc::new(Board::new()));
        Self { broker, policy, clock }
    }

    fn question(&self, word: &str) -> Question {
        let line = CommandLine::Argv(vec![word.to_owned()]);
        let op = Operation::Command(CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() });
        let verdict = authorize(&self.policy.get(), op, Some(SessionId::parse("chat").unwrap()));
        let Verdict::Ask(question) = verdict else { panic!("{verdict:?}") };
        question
    }

    /// Asks in the background, as a request would.
    fn ask(&self, word: &str) -> tokio::task::JoinHandle<Result<Permit, OpError>> {
        self.ask_as(word, &asker(1))
    }

    fn ask_as(&self, word: &str, asker: &Asker) -> tokio::task::JoinHandle<Result<Permit, OpError>> {
        let (broker, question, asker) = (self.broker.clone(), self.question(word), asker.clone());
        tokio::spawn(async move { broker.ask(question, facts(), &asker).await })
    }

    /// Waits until so many questions are open, and returns their numbers.
    async fn open(&self, count: usize) -> Vec<PromptId> {
        loop {
            let views = self.broker.views();
            if views.len() == count {
                return views.iter().map(|view| PromptId::new(view.id)).collect();
            }
            tokio::task::yield_now().await;
        }
    }
}

fn asker(link: u64) -> Asker {
    Asker { link: LinkId::new(link), max_open: 3, patience: Duration::from_secs(25), cancel: CancellationToken::new() }
}

fn facts() -> PromptFacts {
    PromptFacts {
        platform: "https://platform.example".to_owned(),
        summary: "The agent wants to run a command".to_owned(),
        details: Vec::new(),
        can_allow_chat: false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_painted_question_is_answered_by_the_person() {
    let rig = Rig::new();
    let request = rig.ask("ls");
    let id = rig.open(1).await[0];

    assert_eq!(rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap_err(), AnswerFault::NotPainted);
    rig.broker.painted(id, 0).unwrap();
    rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap();

    assert!(request.await.unwrap().is_ok());
    assert_eq!(rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap_err(), AnswerFault::Unknown);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_after_the_early_reply_serves_the_next_same_request_once() {
    let rig = Rig::new();
    let first = rig.ask("ls").await.unwrap();
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();
    rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap();

    let other = rig.ask("rm");
    let second = rig.ask("ls").await.unwrap();
    let third = rig.ask("ls").await.unwrap();

    assert!(matches!(first, Err(OpError::WaitingForConsent { .. })), "{first:?}");
    assert!(second.is_ok());
    assert!(matches!(third, Err(OpError::WaitingForConsent { .. })), "{third:?}");
    assert!(matches!(other.await.unwrap(), Err(OpError::WaitingForConsent { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_kept_answer_dies_after_five_minutes() {
    let rig = Rig::new();
    rig.ask("ls").await.unwrap().unwrap_err();
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();
    rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap();
    rig.clock.advance(ANSWER_LIFE);

    let late = rig.ask("ls").await.unwrap();

    assert!(matches!(late, Err(OpError::WaitingForConsent { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_denied_by_itself() {
    let rig = Rig::new();
    let patient = Asker { patience: Duration::from_secs(120), ..asker(1) };
    let seen = rig.ask_as("seen", &patient);
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();
    let unseen = rig.ask_as("unseen", &patient);

    assert!(matches!(seen.await.unwrap(), Err(OpError::Declined { .. })));
    assert!(matches!(unseen.await.unwrap(), Err(OpError::NoUi { .. })));
    assert!(rig.broker.views().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_same_request_twice_shows_one_question_and_once_means_once() {
    let rig = Rig::new();
    let (first, second) = (rig.ask("ls"), rig.ask("ls"));
    let id = rig.open(1).await[0];
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    rig.broker.painted(id, 0).unwrap();
    rig.broker.answer(id, 0, PromptAnswer::AllowOnce).unwrap();

    let results = [first.await.unwrap(), second.await.unwrap()];

    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_stays_bounded() {
    let rig = Rig::new();
    let requests: Vec<_> = (0..200).map(|number| rig.ask_as(&format!("c{number}"), &asker(number % 20))).collect();

    let mut refused = 0;
    for request in requests {
        match request.await.unwrap() {
            Err(OpError::WaitingForConsent { .. }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }

    assert_eq!(refused, 200);
    assert!(rig.broker.views().len() <= MAX_OPEN);
}

#[tokio::test(start_paused = true)]
async fn one_connection_cannot_fill_the_screen() {
    let rig = Rig::new();
    for word in ["a", "b", "c", "d", "e"] {
        drop(rig.ask(word));
    }

    rig.open(3).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }

    assert_eq!(rig.broker.views().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn raising_denies_what_waits_and_forgets_what_was_answered() {
    let rig = Rig::new();
    rig.ask("kept").await.unwrap().unwrap_err();
    let kept = rig.open(1).await[0];
    rig.broker.painted(kept, 0).unwrap();
    rig.broker.answer(kept, 0, PromptAnswer::AllowOnce).unwrap();
    let waiting = rig.ask("waiting");
    rig.open(1).await;

    rig.broker.raise();

    assert!(matches!(waiting.await.unwrap(), Err(OpError::Raised { .. })));
    let again = rig.ask("kept").await.unwrap();
    assert!(matches!(again, Err(OpError::WaitingForConsent { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_detached_chat_takes_its_questions_along() {
    let rig = Rig::new();
    let waiting = rig.ask("ls");
    rig.open(1).await;

    rig.broker.forget_chat(&SessionId::parse("chat").unwrap());

    assert!(matches!(waiting.await.unwrap(), Err(OpError::Cancelled)));
    assert!(rig.broker.views().is_empty());
}
