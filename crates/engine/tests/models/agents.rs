//! What agents ask, what the person sees of it, and what ends it.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_recorded_counted_and_shown_without_a_word_of_it() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::pieces(&["The answer ", "is sealed."]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let answer = answered(&rig, &chat, ask_for("a:1b", true)).await.unwrap();

    assert_eq!((&answer["content"], &answer["finish_reason"]), (&json!("The answer is sealed."), &json!("stop")));
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    let details = &record["details"];
    assert_eq!(details["model"], "a:1b");
    assert_eq!(details["prompt_chars"], QUESTION.chars().count());
    assert_eq!(details["response_chars"], "The answer is sealed.".len());
    assert_eq!((&details["finish_reason"], &details["stream"]), (&json!("stop"), &json!(true)));
    for (counted, wired) in
        [("tokens_prompt", "prompt"), ("tokens_completion", "completion"), ("tokens_total", "total")]
    {
        assert_eq!(details[counted], answer["tokens"][wired], "{counted}");
        assert!(details.as_object().unwrap().contains_key(counted));
    }
    assert_eq!(record["result"]["ok"], true);

    let used = rig.until(|picture| !picture.models.uses.is_empty()).await;
    let one = &used.models.uses[0];
    assert_eq!((one.model.as_str(), one.session_id.as_deref()), ("a:1b", Some(chat.as_str())));
    assert_eq!((one.completions, one.turns), (1, 0));
    assert_eq!(one.tokens, details["tokens_total"].as_u64().unwrap_or_default());
    let row = used.activity.iter().find(|row| row.operation == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!((row.subject.as_str(), row.ok), ("a:1b", true));
    let log = std::fs::read_to_string(rig.state_dir().join("audit.log")).unwrap();
    assert!(!log.contains("harbour") && !log.contains("sealed"));
    let picture = serde_json::to_string(&used).unwrap();
    assert!(!picture.contains("harbour") && !picture.contains("sealed"));
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_nobody_told_are_null_in_the_record() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("x"), Step::FinishUncounted("length".to_owned())]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let answer = answered(&rig, &chat, ask_for("a:1b", false)).await.unwrap();

    assert_eq!(answer["finish_reason"], "length");
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    let details = record["details"].as_object().unwrap();
    for name in ["tokens_prompt", "tokens_completion", "tokens_total"] {
        assert_eq!(details.get(name), Some(&Value::Null), "{name}");
    }
    assert_eq!((&details["finish_reason"], &details["stream"]), (&json!("length"), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_went_since_hello_is_refused_with_those_that_are_there() {
    let server = ollama(&["a:1b", "b:2b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let unknown = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("zebra", false)).await;
    assert_eq!(unknown["code"], "MODEL_NOT_AVAILABLE");
    assert_eq!(unknown["details"]["requested_model"], "zebra");
    assert_eq!(unknown["details"]["available_models"], json!(["a:1b", "b:2b"]));

    server.change(|script| *script = Script::ollama().with_models(&["b:2b"]));
    let gone = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", true)).await;

    assert_eq!((&gone["code"], &gone["details"]["requested_model"]), (&json!("MODEL_NOT_AVAILABLE"), &json!("a:1b")));
    assert!(gone["details"]["available_models"].as_array().unwrap().contains(&json!("b:2b")), "{gone}");
    let failed: Vec<_> = rig
        .audit()
        .into_iter()
        .filter(|record| record["op"] == "LOCAL_LLM_COMPLETION")
        .map(|record| record["result"]["error_code"].clone())
        .collect();
    assert_eq!(failed, [json!("MODEL_NOT_AVAILABLE"), json!("MODEL_NOT_AVAILABLE")]);
    assert!(rig.handle.snapshot().models.uses.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_power_is_off_or_the_bridge_is_raised_nobody_is_asked() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Off).await;
    let (chat, _) = rig.chat_in("project").await;
    assert!(!offers_models(&hello_of(&rig, &Scope::Data(chat.clone()))));
    assert_eq!(
        rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await["code"],
        "CAPABILITY_NOT_GRANTED"
    );
    for command in [Command::LookAtModels, Command::FindModelServers] {
        assert_eq!(rig.handle.send(command).await.unwrap_err().code, "power_off");
    }
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "power_off");
    assert_eq!(server.requests(), []);
    let off = rig.handle.snapshot();
    assert_eq!(server_views(&off).len(), 1);
    assert!(!server_views(&off)[0].answers && server_views(&off)[0].models.is_empty());

    // Switched on, servers are looked at and HELLO says so by itself.
    set_power(&rig, "allowed").await.unwrap();
    assert!(answered_in_time(&rig, &chat).await);
    let on = rig.until(|picture| server_views(picture)[0].answers).await;
    assert!(server_views(&on)[0].models[0].offered, "{on:?}");

    rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
    let asked = server.requests().len();
    assert_eq!(rig.handle.send(Command::LookAtModels).await.unwrap_err().code, "raised");
    assert_eq!(try_model(&rig, "a:1b", "hello").await.unwrap_err().code, "raised");
    assert!(!server_views(&rig.handle.snapshot())[0].answers);
    assert_eq!(server.requests().len(), asked);
    rig.handle.send(Command::SetRaised { raised: false }).await.unwrap();
    rig.until(|picture| server_views(picture)[0].answers).await;
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raise_in_the_middle_of_an_answer_ends_it_at_the_server() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::text("one "), Step::Hold, Step::text("two"), Step::finish("stop")]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let asked = rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", true));
    let raised = async {
        server.until_holding(1).await;
        rig.until(|picture| server_views(picture)[0].running == 1).await;
        rig.handle.send(Command::SetRaised { raised: true }).await.unwrap();
        server.until_hung_up(1).await;
    };
    let (answer, ()) = tokio::join!(asked, raised);

    assert!(answer.is_err());
    let record = rig.audit().into_iter().find(|record| record["op"] == "LOCAL_LLM_COMPLETION").unwrap();
    assert_eq!((&record["result"]["ok"], record["details"].get("response_chars")), (&json!(false), None));
    assert!(rig.handle.snapshot().models.uses.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_request_is_told_that_the_server_is_busy() {
    let server = ollama(&["a:1b"]).await;
    server.next(Answers::Steps(vec![Step::Hold, Step::text("done"), Step::finish("stop")]));
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;

    let first = rig.ask(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false));
    let second = async {
        server.until_holding(1).await;
        let busy = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("a:1b", false)).await;
        server.release();
        busy
    };
    let (first, busy) = tokio::join!(first, second);

    assert_eq!(busy["code"], "LOCAL_LLM_BUSY", "{busy}");
    assert_eq!(first.unwrap()["content"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_who_would_read_what_and_the_last_message_whole() {
    let server = ollama(&["a:1b"]).await;
    let wish = Wish::headless().with(Power::LocalModel, PowerMode::AskEachTime).with_window();
    let rig = rig_of(wish.at_models(&server.url())).await;
    let (chat, _) = rig.chat_in("project").await;
    let conversation = json!({
        "model": "a:1b", "max_tokens": 77,
        "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "Say\u{202e} it." }],
    });
    let answer = async |answer: PromptAnswer| {
        let picture = rig.until(|picture| !picture.prompts.is_empty()).await;
        let prompt = picture.prompts[0].clone();
        let (id, revision) = (prompt.id, prompt.revision);
        rig.handle.send(Command::PromptPainted { id, revision }).await.unwrap();
        rig.handle.send(Command::AnswerPrompt { id, revision, answer }).await.unwrap();
        prompt
    };

    let (answered, prompt) =
        tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", conversation.clone()), answer(PromptAnswer::AllowOnce));
    answered.unwrap();
    assert_eq!(prompt.operation, "LOCAL_LLM_COMPLETION");
    assert!(prompt.summary.contains("a:1b"), "{}", prompt.summary);
    let facts: Vec<_> = prompt.details.iter().map(|fact| (fact.label.as_str(), fact.value.as_str())).collect();
    assert_eq!(
        facts,
        [
            ("model", "a:1b"),
            ("model_server", server.url().as_str()),
            ("messages", "2"),
            ("messages_length", "17"),
            ("last_message", "Say\\u{202E} it."),
            ("max_tokens", "77"),
        ]
    );
    assert!(!prompt.cut);

    let (refused, _) =
        tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", conversation.clone()), answer(PromptAnswer::Deny));
    let Err(Failure::Refused { reply }) = refused else { panic!("{refused:?}") };
    assert_eq!(reply.payload["details"]["reason"], "declined");

    // What nobody could read whole can only be denied.
    let long = json!({ "model": "a:1b", "messages": [{ "role": "user", "content": "x".repeat(50_000) }] });
    let (_, prompt) = tokio::join!(rig.ask(&chat, "LOCAL_LLM_COMPLETION", long), answer(PromptAnswer::Deny));
    assert!(prompt.cut);
    // A model that is not there is refused without a question.
    let unknown = rig.refused(&chat, "LOCAL_LLM_COMPLETION", ask_for("zebra", false)).await;
    assert_eq!(unknown["code"], "MODEL_NOT_AVAILABLE");
    assert_eq!(rig.handle.snapshot().prompts, []);
    rig.assert_no_faults();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_whose_mode_is_off_hears_of_no_model() {
    let server = ollama(&["a:1b"]).await;
    let rig = rig_with(&server, PowerMode::Allowed).await;
    let (chat, _) = rig.chat_in("project").await;
    let scope = Scope::Data(chat.clone());
    assert!(offers_models(&hello_of(&rig, &scope)));
    let after = rig.script.frames(0).last().unwrap().n;

    let off = Command::SetChatPower {
        session_id: chat.clone(),
        power: "local_model".to_owned(),
        mode: Some("off".to_owned()),
    };
    rig.handle.send(off).await.unwrap();
    let hello = rig.script.frame(after, |frame| frame.kind == "HELLO" && frame.scope == scope).await;

    let payload = serde_json::from_str::<Value>(&hello.text).unwrap()["payload"].clone();
    assert!(!offers_models(&payload) && payload["local_llm_models"] == json!([]), "{payload}");
    assert_eq!(text(&payload["display_name"]), "desk");
}
