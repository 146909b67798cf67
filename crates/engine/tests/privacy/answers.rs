//! Questions before the local model reads, and answers that the person reads before they leave.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_reads_first_leaves_only_when_they_say_so_and_then_whole() {
    let desk = Desk::new(wish().with_window()).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_review(true).await;
    let stub = desk.stub_id().await;

    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    let fact = |label: &str| {
        let details = prompt.details.iter().filter(|detail| detail.label == label);
        details.map(|detail| detail.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!((prompt.operation.as_str(), prompt.can_allow_chat, prompt.cut), ("LOCAL_LLM_RELEASE", false, false));
    assert_eq!((fact("answer"), fact("model")), (vec![ANSWER.to_owned()], vec!["small:1b".to_owned()]));
    assert_eq!(fact("private_file"), ["konto.txt"]);
    assert_eq!(fact("task"), ["Count the accounts"]);
    let leaks = |desk: &Desk| desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine"));
    assert!(!leaks(&desk), "it waits");
    desk.answer(&prompt, PromptAnswer::Deny).await;
    let error = refused(asked).await;
    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CAPABILITY_NOT_GRANTED"), &json!("declined")));
    assert!(!leaks(&desk) && desk.chunks() == 0);

    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;
    assert_eq!(asked.await.unwrap().unwrap()["output"], ANSWER);
    assert_eq!(desk.chunks(), 0);

    let answers: Vec<String> = desk
        .rig
        .audit()
        .iter()
        .filter(|record| record["op"] == "CONSENT_ANSWERED")
        .map(|record| format!("{}: {}", text(&record["details"]["operation"]), text(&record["details"]["answer"])))
        .collect();
    assert_eq!(answers, ["LOCAL_LLM_RELEASE: deny", "LOCAL_LLM_RELEASE: allow_once"]);
    let log = fs::read_to_string(desk.rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("it is fine"));

    desk.set_review(false).await;
    desk.rig.ask(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await.unwrap();
    assert!(desk.chunks() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_wants_to_read_answers_while_one_comes_reads_it_before_the_rest_of_it_leaves() {
    let desk = Desk::new(wish().with_window()).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let steps = || vec![Step::text("There is "), Step::Hold, Step::text("one, and it is fine."), Step::finish("stop")];
    let leaks = |desk: &Desk| desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine"));

    for (answer, chunks) in [(PromptAnswer::Deny, 1), (PromptAnswer::AllowOnce, 3)] {
        desk.server.next(Answers::Steps(steps()));
        let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
        desk.server.until_holding(1).await;
        let scope = Scope::Data(desk.chat.clone());
        let before = chunks.min(2);
        while desk.chunks() < before {
            desk.rig.script.frame(0, |frame| frame.scope == scope && frame.kind == "LOCAL_LLM_TURN_CHUNK").await;
            tokio::task::yield_now().await;
        }
        desk.set_review(true).await;
        desk.server.release();
        let prompt = desk.question().await;
        let said = prompt.details.iter().find(|detail| detail.label == "answer").unwrap();
        assert_eq!(said.value, "There is one, and it is fine.");
        assert!(!leaks(&desk), "the rest waits");
        desk.answer(&prompt, answer).await;
        let end = asked.await.unwrap();
        assert_eq!(desk.chunks(), chunks);
        assert_eq!(end.is_ok(), answer == PromptAnswer::AllowOnce, "{end:?}");
        assert_eq!(leaks(&desk), end.is_ok());
        desk.set_review(false).await;
    }
    desk.rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_no_question_can_show_is_lost_and_says_so() {
    let mut wish = wish().with(Power::Shell, PowerMode::AskEachTime).with_window();
    wish.limits.max_concurrent = 2;
    let desk = Desk::new(wish).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_review(true).await;
    let stub = desk.stub_id().await;
    let _waits = desk.asked("EXECUTE_COMMAND", json!({ "argv": ["true"] }));
    desk.question().await;

    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;

    assert_eq!(
        (&error["code"], &error["details"]["reason"]),
        (&json!("SHIM_OVERLOADED"), &json!("open_questions")),
        "{error}"
    );
    assert!(text(&error["message"]).contains("is lost"), "{error}");
    assert!(!desk.rig.script.frames(0).iter().any(|frame| frame.text.contains("it is fine")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_one_server_reading_files_is_none_to_another_one() {
    let second = ModelServer::start(Script::ollama().with_models(&["small:1b"])).await.unwrap();
    let mut wish = wish().with_window().with(Power::LocalModel, PowerMode::AskEachTime);
    wish.models.servers = vec![second.url()];
    let desk = Desk::new(wish).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
    let prompt = desk.question().await;
    let server = |prompt: &PromptView| {
        prompt.details.iter().find(|detail| detail.label == "model_server").unwrap().value.clone()
    };
    assert_eq!(server(&prompt), desk.server.url());

    desk.server.change(|script| script.models.clear());
    desk.rig.handle.send(Command::LookAtModels).await.unwrap();
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;

    let shows_second = |picture: &Snapshot| picture.prompts.first().is_some_and(|one| server(one) == second.url());
    let picture = desk.rig.until(shows_second).await;
    assert_eq!(second.requests().iter().filter(|asked| asked.path.ends_with("/chat")).count(), 0);
    desk.answer(&picture.prompts[0], PromptAnswer::AllowOnce).await;
    asked.await.unwrap().unwrap();
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_waits_to_be_read_stays_when_the_bridge_goes_up_or_the_chat_ends() {
    for end in ["raise", "detach"] {
        let desk = Desk::new(wish().with_window()).await;
        desk.set_privacy(Some(true)).await.unwrap();
        desk.set_review(true).await;
        let stub = desk.stub_id().await;
        let asked = desk.asked("LOCAL_LLM_TURN", Desk::turn(&stub));
        desk.question().await;

        let command = match end {
            "raise" => Command::SetRaised { raised: true },
            _ => Command::Detach { session_id: desk.chat.clone() },
        };
        desk.rig.handle.send(command).await.unwrap();

        assert!(asked.await.unwrap().is_err(), "{end}");
        desk.rig.until(|picture| picture.prompts.is_empty()).await;
        let frames = desk.rig.script.frames(0);
        assert!(!frames.iter().any(|frame| frame.text.contains("it is fine")), "{end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_read_an_answer_first_the_model_is_not_asked() {
    let desk = Desk::private().await;
    desk.set_review(true).await;
    let stub = desk.stub_id().await;

    let error = desk.rig.refused(&desk.chat, "LOCAL_LLM_TURN", Desk::turn(&stub)).await;

    assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CAPABILITY_NOT_GRANTED"), &json!("no_ui")));
    assert_eq!(desk.told(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_turn_shows_files_by_path_and_all_that_the_model_is_told() {
    let desk = Desk::new(wish().with_window().with(Power::LocalModel, PowerMode::AskEachTime)).await;
    desk.set_privacy(Some(true)).await.unwrap();
    let stub = desk.stub_id().await;
    let mut turn = Desk::turn(&stub);
    turn["stub_refs"] = json!([stub, "stub_no"]);
    turn["context"] = json!("Accounts begin with IBAN");

    let asked = desk.asked("LOCAL_LLM_TURN", turn);
    let prompt = desk.question().await;

    let facts: Vec<(&str, &str)> =
        prompt.details.iter().map(|detail| (detail.label.as_str(), detail.value.as_str())).collect();
    let server = desk.server.url();
    assert_eq!(
        facts,
        [
            ("model", "small:1b"),
            ("model_server", server.as_str()),
            ("private_file", "konto.txt"),
            ("unknown_stub", "stub_no"),
            ("task", "Count the accounts"),
            ("context", "Accounts begin with IBAN"),
        ]
    );
    assert_eq!(desk.told(), "");
    desk.answer(&prompt, PromptAnswer::AllowOnce).await;
    assert_eq!(refused(asked).await["code"], "STUB_STALE");
}

/// Nothing in a text paints or turns what stands around it.
fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_means_harm_is_shown_plainly_and_one_that_nobody_can_read_can_only_be_denied() {
    let desk = Desk::new(wish().with_window()).await;
    desk.set_privacy(Some(true)).await.unwrap();
    desk.set_review(true).await;
    let odd = "\u{202e}<img src=x onerror=alert(1)>\u{200b}\n\u{1b}[2J";
    let name = desk.folder.join(format!("{odd}.txt").replace('/', ""));
    fs::write(&name, "few").unwrap();
    let deep = (0..2).fold(desk.folder.clone(), |folder, _| folder.join("\u{200b}".repeat(85)));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x"), "few").unwrap();
    let one = text(&desk.stub(&name).await["stub_id"]);
    let other = text(&desk.stub(&deep.join("x")).await["stub_id"]);
    let stubs: Vec<&str> = std::iter::once(&*one).chain(std::iter::repeat_n(&*other, 63)).collect();
    let turn = json!({ "model": "small:1b", "task": format!("{odd} do"), "context": odd, "stub_refs": stubs });

    desk.server.next(Answers::pieces(&[odd, "that is all"]));
    let asked = desk.asked("LOCAL_LLM_TURN", turn.clone());
    let prompt = desk.question().await;
    assert!(prompt.details.iter().all(|detail| is_plain(&detail.value)), "{prompt:?}");
    assert!(is_plain(&prompt.summary) && !prompt.cut, "{prompt:?}");
    desk.answer(&prompt, PromptAnswer::Deny).await;
    refused(asked).await;

    desk.server.next(Answers::pieces(&["row 8817\n".repeat(60_000).as_str()]));
    let asked = desk.asked("LOCAL_LLM_TURN", turn);
    let prompt = desk.question().await;
    let (id, revision) = (prompt.id, prompt.revision);
    assert!(prompt.cut && prompt.details.iter().any(|detail| detail.label == "left_out"), "{}", prompt.cut);
    desk.rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
    desk.rig.handle.send(Command::AnswerPrompt { id, revision, answer: PromptAnswer::AllowOnce }).await.unwrap_err();
    desk.answer(&prompt, PromptAnswer::Deny).await;
    refused(asked).await;
    assert!(
        !desk
            .rig
            .script
            .frames(0)
            .iter()
            .any(|frame| frame.text.contains("that is all") || frame.text.contains("row 8817"))
    );
}
