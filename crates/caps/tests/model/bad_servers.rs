//! Servers that are down, slow, broken or gone.

use drawbridge_core::OpError;
use drawbridge_core::model::FinishReason;
use drawbridge_policy::ModelApi;
use drawbridge_practice::model::{ModelServer as Server, Reply, ScriptModel, Step};

use crate::{BOTH, asked, model_of, script, server, streamed, why};

#[tokio::test]
async fn a_model_that_nobody_offered_is_refused_without_asking() {
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        let mut ask = asked("Hello");
        ask.model = "gpt-9".to_owned();

        let refused = model.ask(ask).await;

        let Err(OpError::ModelNotAvailable { requested, available }) = refused else { panic!("not refused") };
        assert_eq!((requested.as_str(), available.as_slice()), ("gpt-9", ["practice-model".to_owned()].as_slice()));
        assert_eq!(server.until(|seen| Some(seen.questions)).await, 0);
    }
}

#[tokio::test]
async fn a_model_that_was_removed_since_the_last_look_is_forgotten_until_it_is_back() {
    for api in BOTH {
        let server = Server::start(script(api).with_models(&["practice-model", "other"])).await.unwrap();
        let model = model_of(&[&server]).await;
        server.change(|script| script.models.retain(|model| model.name == "other"));

        let refused = model.ask(asked("Hello")).await;

        let Err(OpError::ModelNotAvailable { requested, available }) = refused else { panic!("not refused") };
        assert_eq!((requested.as_str(), available.as_slice()), ("practice-model", ["other".to_owned()].as_slice()));
        assert_eq!(model.offered(), ["other"]);
        server.change(|script| script.models.push(ScriptModel::named("practice-model")));
        model.look().await;
        assert!(model.ask(asked("Hello")).await.is_ok());
    }
}

#[tokio::test]
async fn a_server_that_went_down_is_told_apart() {
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        let port = server.port();
        drop(server);
        // Its port is free once another can take it.
        until_free(port).await;

        let failed = why(model.ask(asked("Hello")).await);

        assert!(failed.starts_with("nothing listens at the model server's address"), "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_fails_the_answer_after_its_pieces() {
    for api in BOTH {
        for (end, expected) in
            [(Some(Step::Cut), "the connection to the model server broke"), (None, "stream ended early")]
        {
            let steps = [Some(Step::text("One")), Some(Step::Hold), end].into_iter().flatten().collect();
            let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
            let model = model_of(&[&server]).await;
            let (ask, mut pieces) = streamed("Count");
            let asking = tokio::spawn(async move { model.ask(ask).await });
            pieces.recv().await.unwrap();

            server.release();

            assert_eq!(why(asking.await.unwrap()), expected);
            assert!(pieces.recv().await.is_none(), "no end is told for what did not end");
        }
    }
}

#[tokio::test]
async fn lines_that_make_no_sense_are_skipped_and_too_many_are_not() {
    let junk = || Step::raw("nonsense\n\n{\"half\": \n[1,2\n\u{0}\u{1}\n");
    for api in BOTH {
        let steps = vec![junk(), Step::text("One"), junk(), Step::text(" two"), Step::finish("stop")];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
        let model = model_of(&[&server]).await;

        assert_eq!(model.ask(asked("Count")).await.unwrap().content, "One two");

        server.next(Reply::Steps((0..100).map(|_| junk()).chain([Step::Hold]).collect()));
        assert_eq!(why(model.ask(asked("Count")).await), "the model server sent lines that make no sense");
        server.until_hung_up(1).await;
    }
}

#[tokio::test]
async fn a_line_without_end_is_given_up() {
    for api in BOTH {
        let endless = (0..64).map(|_| Step::raw("x".repeat(64 * 1024))).chain([Step::Hold]);
        let server = Server::start(script(api).with_reply(Reply::Steps(endless.collect()))).await.unwrap();

        let failed = why(model_of(&[&server]).await.ask(asked("Count")).await);

        assert_eq!(failed, "the model server sent too much: one line of its answer is too long");
        server.until_hung_up(1).await;
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut_where_a_frame_is_full_and_the_server_is_left() {
    let part = "\u{1}".repeat(100_000);
    let steps = (0..60).map(|_| Step::text(&part)).chain([Step::Hold]).collect();
    let server = Server::start(script(ModelApi::Ollama).with_reply(Reply::Steps(steps))).await.unwrap();

    let answer = model_of(&[&server]).await.ask(asked("Count")).await.unwrap();

    assert_eq!(answer.finish, FinishReason::Length);
    // Each of these characters takes six bytes in a frame.
    let room = 16 * 1024 * 1024 - 64 * 1024;
    assert_eq!(answer.content.len(), room / 6);
    server.until_hung_up(1).await;
}

#[tokio::test]
async fn unknown_reasons_are_a_plain_end() {
    for api in BOTH {
        let reasons =
            [("stop", FinishReason::Stop), ("length", FinishReason::Length), ("tool_calls", FinishReason::Stop)];
        for (told, expected) in reasons {
            let steps = vec![Step::text("One"), Step::finish(told)];
            let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();

            assert_eq!(model_of(&[&server]).await.ask(asked("Count")).await.unwrap().finish, expected, "{told}");
        }
    }
}

#[tokio::test]
async fn a_fault_that_the_server_tells_fails_the_answer_with_its_words() {
    for api in BOTH {
        let steps = vec![Step::text("One"), Step::Error("the runner was killed".to_owned())];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
        let model = model_of(&[&server]).await;

        assert_eq!(why(model.ask(asked("Count")).await), "the model server says: the runner was killed");

        server.next(Reply::status(500, r#"{"error":"out of\nmemory"}"#));
        let failed = why(model.ask(asked("Count")).await);
        assert_eq!(failed, "the model server answered with status 500 (it failed): out of memory");
    }
}

#[tokio::test]
async fn words_of_a_server_that_repeat_the_prompt_are_left_out() {
    let secret = "The code of the safe is 4711 and the key is under the stone.";
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        let echo = serde_json::json!({ "error": format!("cannot parse: {secret}") }).to_string();
        server.next(Reply::status(400, &echo));
        server.next(Reply::Steps(vec![Step::Error(format!("bad input {secret}"))]));
        server.next(Reply::status(400, r#"{"error":"out of memory"}"#));

        let refused = why(model.ask(asked(&format!("Please remember: {secret}"))).await);
        let told = why(model.ask(asked(secret)).await);
        let mut private = asked(secret);
        private.whole = true;
        let withheld = why(model.ask(private).await);

        assert_eq!(refused, "the model server answered with status 400 (it refused the request)");
        assert_eq!(told, "the model server told of a fault in the middle of its answer");
        assert_eq!(withheld, "the model server answered with status 400 (it refused the request)");
    }
}

#[tokio::test]
async fn a_redirect_of_a_question_is_not_followed_and_a_key_is_not_given() {
    for api in BOTH {
        let target = server(api).await;
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        server.next(Reply::redirect(&format!("{}/api/chat", target.url())));

        let failed = why(model.ask(asked("Hello")).await);

        assert!(failed.contains("sends to another address, which is not followed"), "{failed}");
        assert_eq!(target.requests(), []);
        server.change(|script| script.key = Some("secret".to_owned()));
        assert!(why(model.ask(asked("Hello")).await).contains("wants a key"));
    }
}

#[tokio::test]
async fn what_is_no_http_is_told() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
        }
    });
    let model = model_of(&[]).await;
    model.set_servers(vec![crate::at(&url)]);

    model.look().await;

    let trouble = model.servers()[0].trouble.clone().unwrap();
    assert_eq!(trouble, "What listens at the model server's address breaks the rules of HTTP; check the address.");
    answering.abort();
}

async fn until_free(port: u16) {
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
