use drawbridge_core::{CommandLine, CommandOp, ManualClock, Operation, PowerMode, SessionOp, WallMs};
use drawbridge_policy::{PolicyState, Prompting, Verdict, authorize};

use super::*;

/// A log in memory.
#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Ledger for Log {
    fn asked(&self, _: Option<&SessionId>, _: Power, operation: &str) -> bool {
        self.0.lock().unwrap().push(format!("asked {operation}"));
        true
    }

    fn answered(&self, _: Option<&SessionId>, _: Power, _: &str, answer: &str) -> bool {
        self.0.lock().unwrap().push(answer.to_owned());
        answer != "deny" || !self.0.lock().unwrap().contains(&"full".to_owned())
    }
}

struct Rig {
    broker: Arc<Broker>,
    clock: Arc<ManualClock>,
    log: Arc<Log>,
    state: PolicyState,
}

impl Rig {
    fn new() -> Self {
        let mut state = PolicyState::defaults();
        state.modes.insert(Power::Shell, PowerMode::AskEachTime);
        state.prompting = Prompting::Possible;
        let clock = Arc::new(ManualClock::starting_at(WallMs(1_000_000)));
        let log = Arc::new(Log::default());
        let broker = Broker::new(clock.clone(), Arc::new(Board::new()), log.clone());
        Self { broker, clock, log, state }
    }

    fn question(&self, operation: Operation) -> Question {
        let verdict = authorize(&self.state, operation, Some(SessionId::parse("chat").unwrap()));
        let Verdict::Ask(question) = verdict else { panic!("{verdict:?}") };
        question
    }

    fn command(&self, word: &str) -> Question {
        let line = CommandLine::Argv(vec![word.to_owned()]);
        self.question(Operation::Command(CommandOp { line, cwd: None, timeout: None, env: BTreeMap::new() }))
    }

    /// Asks in the background, as a request would.
    fn ask(&self, word: &str) -> tokio::task::JoinHandle<Result<Told, OpError>> {
        self.ask_as(word, &asker(1))
    }

    fn ask_as(&self, word: &str, asker: &Asker) -> tokio::task::JoinHandle<Result<Told, OpError>> {
        self.ask_seeing(self.command(word), asker, shown("/work"))
    }

    fn ask_seeing(
        &self,
        question: Question,
        asker: &Asker,
        shown: Shown,
    ) -> tokio::task::JoinHandle<Result<Told, OpError>> {
        let (broker, asker) = (self.broker.clone(), asker.clone());
        tokio::spawn(async move {
            let deadline = tokio::time::Instant::now() + asker.patience;
            broker.ask(&question, shown, &asker, deadline).await
        })
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

    /// Paints and answers.
    fn answer(&self, id: PromptId, answer: PromptAnswer) {
        let revision = self.broker.views().iter().find(|view| view.id == id.get()).unwrap().revision;
        self.broker.painted(id, revision).unwrap();
        self.broker.finish(self.broker.take(id, revision, answer).unwrap());
    }

    /// The answer kept for a command.
    fn kept(&self, word: &str) -> Option<Heard> {
        self.broker.take_kept(&self.command(word)).map(|told| told.heard)
    }

    fn log(&self) -> Vec<String> {
        self.log.0.lock().unwrap().clone()
    }
}

fn asker(link: u64) -> Asker {
    Asker { link: LinkId::new(link), max_open: 3, patience: Duration::from_secs(25), cancel: CancellationToken::new() }
}

fn patient() -> Asker {
    Asker { patience: Duration::from_secs(120), ..asker(1) }
}

/// What a question shows; the text stands for the state of the world.
fn shown(world: &str) -> Shown {
    let facts = PromptFacts { platform: "https://platform.example".to_owned(), ..PromptFacts::default() };
    Shown { facts, seal: Seal::of_folder(world.to_owned(), identity(1)), rule: None }
}

fn identity(inode: u128) -> DirectoryIdentity {
    DirectoryIdentity { device: 1, inode }
}

fn heard(result: Result<Told, OpError>) -> Heard {
    result.unwrap().heard
}

fn waits(result: &Result<Told, OpError>) -> bool {
    matches!(result, Err(OpError::WaitingForConsent { .. }))
}

async fn let_all_run() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_painted_question_is_answered_by_the_person_and_only_once() {
    let rig = Rig::new();
    let request = rig.ask("ls");
    let id = rig.open(1).await[0];

    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowOnce).err(), Some(AnswerFault::NotPainted));
    rig.broker.painted(id, 0).unwrap();
    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowChat).err(), Some(AnswerFault::NotOffered));
    let taken = rig.broker.take(id, 0, PromptAnswer::AllowOnce).unwrap();
    // A second click, while the first answer is being carried out.
    assert_eq!(rig.broker.take(id, 0, PromptAnswer::Deny).err(), Some(AnswerFault::Unknown));
    rig.broker.finish(taken);

    assert_eq!(heard(request.await.unwrap()), Heard::Once);
    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowOnce).err(), Some(AnswerFault::Unknown));
    assert_eq!(rig.log(), ["asked EXECUTE_COMMAND", "allow_once"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_carried_out_leaves_the_question_open() {
    let rig = Rig::new();
    let request = rig.ask_as("ls", &patient());
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();

    rig.broker.put_back(rig.broker.take(id, 0, PromptAnswer::AllowOnce).unwrap());

    assert_eq!(rig.open(1).await, [id]);
    assert_eq!(heard(request.await.unwrap()), Heard::Expired);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_written_down_allows_nothing() {
    let rig = Rig::new();
    let request = rig.ask("ls");
    let id = rig.open(1).await[0];
    rig.log.0.lock().unwrap().push("full".to_owned());

    rig.answer(id, PromptAnswer::Deny);

    assert_eq!(heard(request.await.unwrap()), Heard::Unrecorded);
    assert_eq!(rig.kept("ls"), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_after_the_early_reply_serves_the_next_same_request_once() {
    let rig = Rig::new();
    let first = rig.ask("ls").await.unwrap();
    let id = rig.open(1).await[0];

    rig.answer(id, PromptAnswer::AllowOnce);

    assert!(waits(&first), "{first:?}");
    assert_eq!((rig.kept("rm"), rig.kept("ls"), rig.kept("ls")), (None, Some(Heard::Once), None));
}

#[tokio::test(start_paused = true)]
async fn a_kept_answer_dies_after_five_minutes_and_with_its_chat() {
    let rig = Rig::new();
    for after in [Duration::ZERO, ANSWER_LIFE] {
        rig.ask("ls").await.unwrap().unwrap_err();
        let id = rig.open(1).await[0];
        rig.answer(id, PromptAnswer::AllowOnce);
        rig.clock.advance(after);
        if after.is_zero() {
            rig.broker.forget_chat(&SessionId::parse("chat").unwrap());
        }

        assert_eq!(rig.kept("ls"), None, "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_denied_by_itself_and_a_late_answer_is_for_nothing() {
    let rig = Rig::new();
    let seen = rig.ask_as("seen", &patient());
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();
    let unseen = rig.ask_as("unseen", &patient());

    assert_eq!(heard(seen.await.unwrap()), Heard::Expired);
    assert_eq!(heard(unseen.await.unwrap()), Heard::Unseen);
    assert!(rig.broker.views().is_empty());
    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowOnce).err(), Some(AnswerFault::Unknown));
    assert_eq!(rig.log(), ["asked EXECUTE_COMMAND", "asked EXECUTE_COMMAND", "expired", "unseen"]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_paints_within_three_seconds_is_marked_until_it_is_painted() {
    let rig = Rig::new();
    let _request = rig.ask_as("ls", &patient());
    let id = rig.open(1).await[0];
    assert!(!rig.broker.views()[0].unseen);

    tokio::time::sleep(PAINT_WITHIN + Duration::from_millis(1)).await;
    let_all_run().await;

    assert!(rig.broker.views()[0].unseen);
    rig.broker.painted(id, 0).unwrap();
    assert!(!rig.broker.views()[0].unseen);
}

#[tokio::test(start_paused = true)]
async fn the_same_request_twice_shows_one_question_and_once_means_once() {
    let rig = Rig::new();
    let (first, second) = (rig.ask("ls"), rig.ask("ls"));
    let id = rig.open(1).await[0];
    let_all_run().await;
    assert_eq!(rig.broker.views()[0].waiting, 2);

    rig.answer(id, PromptAnswer::AllowOnce);

    let mut results = [heard(first.await.unwrap()), heard(second.await.unwrap())];
    results.sort_by_key(|heard| *heard == Heard::Again);
    assert_eq!(results, [Heard::Once, Heard::Again]);
}

#[tokio::test(start_paused = true)]
async fn a_world_that_changed_meanwhile_is_shown_anew_before_an_answer_counts() {
    let rig = Rig::new();
    let first = rig.ask_as("ls", &patient());
    let id = rig.open(1).await[0];
    rig.broker.painted(id, 0).unwrap();
    let second = rig.ask_seeing(rig.command("ls"), &patient(), shown("/elsewhere"));
    let_all_run().await;

    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowOnce).err(), Some(AnswerFault::NotPainted));
    rig.broker.painted(id, 0).unwrap();
    assert_eq!(rig.broker.take(id, 1, PromptAnswer::AllowOnce).err(), Some(AnswerFault::NotPainted));
    rig.answer(id, PromptAnswer::Deny);

    for request in [first, second] {
        let told = request.await.unwrap().unwrap();
        assert_eq!(told.seal.folder().unwrap().0, "/elsewhere");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chosen_folder_must_be_painted_and_goes_along_with_the_answer() {
    let rig = Rig::new();
    let place = |name: &str| BrowsePlace { browse_id: "b".to_owned(), directory_ref: name.to_owned() };
    let session = SessionId::parse("chat").unwrap();
    let attach = Operation::Session(SessionOp::Attach { session, place: place("asked") });
    let request = rig.ask_seeing(rig.question(attach), &patient(), shown("/asked"));
    let id = rig.open(1).await[0];
    assert!(rig.broker.views()[0].can_choose_folder);
    assert_eq!(rig.broker.attach_place(id), Ok(place("asked")));
    rig.broker.painted(id, 0).unwrap();

    rig.broker.choose(id, place("chosen"), "/cho\u{202e}sen", identity(2)).unwrap();

    assert_eq!(rig.broker.take(id, 0, PromptAnswer::AllowOnce).err(), Some(AnswerFault::NotPainted));
    let view = rig.broker.views().remove(0);
    assert_eq!((view.revision, view.folder.as_deref()), (1, Some("/cho\\u{202E}sen")));
    rig.answer(id, PromptAnswer::AllowOnce);
    let told = request.await.unwrap().unwrap();
    assert_eq!((told.heard, told.chosen), (Heard::Once, Some(place("chosen"))));
    assert_eq!(*told.seal, Seal::of_folder("/cho\u{202e}sen".to_owned(), identity(2)));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_ten_thousand_requests_stays_bounded() {
    let rig = Rig::new();
    let mut refused = 0;
    for number in 0..10_000_u64 {
        let asker = Asker { patience: Duration::from_millis(1), ..asker(number % 20) };
        // Half of them are all the same.
        let word = if number % 2 == 0 { "same".to_owned() } else { format!("c{number}") };
        if waits(&rig.ask_as(&word, &asker).await.unwrap()) {
            refused += 1;
        }
    }

    assert_eq!(refused, 10_000);
    let inner = rig.broker.lock();
    assert!(inner.open.len() <= MAX_OPEN);
    let waiters: usize = inner.open.values().map(|open| open.waiters.len()).sum();
    assert!(waiters <= 2 * MAX_OPEN, "{waiters}");
    assert!(inner.kept.len() <= MAX_KEPT);
}

#[tokio::test(start_paused = true)]
async fn one_chat_cannot_fill_the_screen_however_often_it_connects() {
    let rig = Rig::new();
    for word in ["a", "b", "c", "d", "e"] {
        drop(rig.ask(word));
    }

    rig.open(3).await;
    let_all_run().await;

    assert_eq!(rig.broker.views().len(), 3);
    assert!(!rig.broker.has_room(&rig.command("f"), &asker(1)));
    // It may join a question that is there, and a new link is no new chat.
    assert!(rig.broker.has_room(&rig.command("a"), &asker(1)));
    assert!(!rig.broker.has_room(&rig.command("f"), &asker(2)));
    let other = SessionId::parse("another").unwrap();
    assert!(rig.broker.lock().has_room(&asker(2), Some(&other)));
}

#[tokio::test(start_paused = true)]
async fn raising_denies_what_waits_and_forgets_what_was_answered() {
    let rig = Rig::new();
    rig.ask("kept").await.unwrap().unwrap_err();
    let kept = rig.open(1).await[0];
    rig.answer(kept, PromptAnswer::AllowOnce);
    let waiting = rig.ask("waiting");
    rig.open(1).await;

    rig.broker.raise();

    assert_eq!(heard(waiting.await.unwrap()), Heard::Raised);
    assert_eq!(rig.kept("kept"), None);
}

#[tokio::test(start_paused = true)]
async fn all_questions_are_denied_at_once() {
    let rig = Rig::new();
    let requests = [rig.ask("a"), rig.ask("b"), rig.ask("c")];
    rig.open(3).await;

    assert_eq!(rig.broker.deny_all(), 3);

    for request in requests {
        assert_eq!(heard(request.await.unwrap()), Heard::Deny);
    }
    assert_eq!(rig.log().iter().filter(|line| *line == "deny").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_detached_chat_takes_its_questions_along() {
    let rig = Rig::new();
    let waiting = rig.ask("ls");
    rig.open(1).await;

    rig.broker.forget_chat(&SessionId::parse("chat").unwrap());

    assert_eq!(heard(waiting.await.unwrap()), Heard::Withdrawn);
    assert!(rig.broker.views().is_empty());
}
