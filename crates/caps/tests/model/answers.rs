//! Answers of servers that behave, and the end of answers that nobody wants any more.

use drawbridge_caps::model::Ask;
use drawbridge_core::OpError;
use drawbridge_core::model::{FinishReason, Piece, TokenCounts};
use drawbridge_policy::ModelApi;
use drawbridge_practice::model::{ModelServer as Server, Reply, Script, Step};
use serde_json::json;

use crate::{BOTH, asked, at, model_of, script, server, streamed};

#[tokio::test]
async fn an_answer_comes_whole_with_counts_and_reason() {
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;

        let answer = model.ask(asked("Hello there")).await.unwrap();

        assert!(answer.content.starts_with("I read 1 line and 2 words"), "{}", answer.content);
        assert_eq!((answer.model.as_str(), answer.finish), ("practice-model", FinishReason::Stop));
        let words = answer.content.split(' ').count() as u64;
        assert_eq!(answer.tokens, TokenCounts { prompt: Some(6), completion: Some(words) });
        assert_eq!(model.servers()[0].running, 0);
    }
}

#[tokio::test]
async fn the_first_piece_is_there_while_the_model_still_speaks_and_all_pieces_make_the_answer() {
    for api in BOTH {
        let steps =
            vec![Step::text("One"), Step::Hold, Step::text(" two"), Step::text(" thrée 🦀"), Step::finish("length")];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
        let model = model_of(&[&server]).await;
        let (ask, mut pieces) = streamed("Count");
        let answer = tokio::spawn(async move { model.ask(ask).await });

        let first = pieces.recv().await.unwrap().1;
        assert_eq!(first, Piece::Delta("One".to_owned()));
        server.release();

        let mut rest = Vec::new();
        while let Some((request, piece)) = pieces.recv().await {
            assert_eq!(request.as_str(), "r1");
            rest.push(piece);
        }
        assert_eq!(rest.pop(), Some(Piece::Finish(FinishReason::Length)));
        let rest: String = rest.into_iter().map(text).collect();
        assert_eq!(rest, " two thrée 🦀");
        let answer = answer.await.unwrap().unwrap();
        assert_eq!(answer.content, "One two thrée 🦀");
        assert_eq!(answer.finish, FinishReason::Length);
    }
}

#[tokio::test]
async fn without_the_end_told_only_text_comes() {
    let server = Server::start(Script::ollama().with_reply(Reply::pieces(&["One"]))).await.unwrap();
    let model = model_of(&[&server]).await;
    let (ask, mut pieces) = streamed("Count");

    model.ask(Ask { tell_end: false, ..ask }).await.unwrap();

    assert_eq!(pieces.recv().await.unwrap().1, Piece::Delta("One".to_owned()));
    assert!(pieces.recv().await.is_none());
}

#[tokio::test]
async fn what_the_model_thinks_is_no_part_of_the_answer_and_nothing_is_told_for_it() {
    for api in BOTH {
        let steps = vec![Step::Thinking("hm, hm".to_owned()), Step::text("Yes."), Step::finish("stop")];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
        let model = model_of(&[&server]).await;
        let (ask, mut pieces) = streamed("Is it?");

        let answer = model.ask(ask).await.unwrap();

        assert_eq!(answer.content, "Yes.");
        assert_eq!(pieces.recv().await.unwrap().1, Piece::Delta("Yes.".to_owned()));
        assert_eq!(pieces.recv().await.unwrap().1, Piece::Finish(FinishReason::Stop));
    }
}

#[tokio::test]
async fn a_letter_that_is_cut_between_two_packets_arrives_whole() {
    for api in BOTH {
        let line = match api {
            ModelApi::OpenAi => format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "Grüße 🦀"}}]})),
            ModelApi::Auto | ModelApi::Ollama => {
                json!({"message": {"content": "Grüße 🦀"}, "done": false}).to_string() + "\n"
            }
        };
        let at = line.find('🦀').unwrap() + 2;
        let (head, tail) = line.as_bytes().split_at(at);
        let steps = vec![Step::raw(head), Step::Hold, Step::raw(tail), Step::finish("stop")];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();
        let model = model_of(&[&server]).await;
        let answer = tokio::spawn(async move { model.ask(asked("Hello")).await });
        server.until_holding(1).await;
        server.release();

        assert_eq!(answer.await.unwrap().unwrap().content, "Grüße 🦀");
    }
}

#[tokio::test]
async fn counts_are_none_where_the_server_does_not_tell() {
    for api in BOTH {
        let steps = vec![Step::text("Yes."), Step::FinishUncounted("stop".to_owned())];
        let server = Server::start(script(api).with_reply(Reply::Steps(steps))).await.unwrap();

        let answer = model_of(&[&server]).await.ask(asked("Is it?")).await.unwrap();

        assert_eq!(answer.tokens, TokenCounts::default());
    }
}

#[tokio::test]
async fn a_second_question_is_refused_at_once_and_the_next_is_taken() {
    for api in BOTH {
        let server = server(api).await;
        let model = model_of(&[&server]).await;
        server.next(Reply::Steps(vec![Step::Hold, Step::text("first"), Step::finish("stop")]));
        let first = tokio::spawn({
            let model = model.clone();
            async move { model.ask(asked("one")).await }
        });
        server.until_holding(1).await;

        let second = model.ask(asked("two")).await;

        assert!(matches!(second, Err(OpError::ModelBusy { model }) if model == "practice-model"));
        assert_eq!(model.servers()[0].running, 1);
        server.release();
        assert_eq!(first.await.unwrap().unwrap().content, "first");
        assert!(model.ask(asked("three")).await.is_ok());
        assert_eq!(server.until(|seen| Some(seen.questions)).await, 2, "the refused one never reached the server");
    }
}

#[tokio::test]
async fn a_server_that_takes_several_gets_several() {
    let steps = vec![Step::Hold, Step::text("done"), Step::finish("stop")];
    let server = Server::start(Script::ollama().with_reply(Reply::Steps(steps))).await.unwrap();
    let model = model_of(&[]).await;
    let mut settings = at(&server.url());
    settings.parallel = 2;
    model.set_servers(vec![settings]);
    model.look().await;
    let ask = || {
        let model = model.clone();
        tokio::spawn(async move { model.ask(asked("one")).await })
    };

    let (one, two) = (ask(), ask());
    server.until_holding(2).await;

    assert!(matches!(model.ask(asked("three")).await, Err(OpError::ModelBusy { .. })));
    server.release();
    server.release();
    assert!(one.await.unwrap().is_ok() && two.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_cancelled_question_hangs_up_whatever_state_it_is_in() {
    for api in BOTH {
        let silent = Reply::Silent;
        let speaking = Reply::Steps(vec![Step::text("One"), Step::Hold]);
        for (number, reply) in [silent, speaking].into_iter().enumerate() {
            let server = server(api).await;
            let model = model_of(&[&server]).await;
            server.next(reply);
            let (ask, mut pieces) = streamed("Count");
            let cancel = ask.cancel.clone();
            let asking = tokio::spawn({
                let model = model.clone();
                async move { model.ask(ask).await }
            });
            server.until(|seen| (seen.questions == 1).then_some(())).await;
            if number == 1 {
                pieces.recv().await.unwrap();
            }

            cancel.cancel();

            assert!(matches!(asking.await.unwrap(), Err(OpError::Cancelled)));
            server.until_hung_up(1).await;
            assert!(model.ask(asked("next")).await.is_ok(), "the seat is free");
        }
    }
}

#[tokio::test]
async fn a_question_that_is_dropped_or_whose_pieces_nobody_takes_hangs_up() {
    let server = server(ModelApi::Ollama).await;
    let model = model_of(&[&server]).await;
    server.next(Reply::Steps(vec![Step::text("One"), Step::Hold]));
    let (ask, mut pieces) = streamed("Count");
    let asking = tokio::spawn({
        let model = model.clone();
        async move { model.ask(ask).await }
    });
    pieces.recv().await.unwrap();

    asking.abort();

    server.until_hung_up(1).await;
    server.next(Reply::Steps(vec![Step::text("One"), Step::Hold, Step::text("Two"), Step::Hold]));
    let (ask, pieces) = streamed("Count");
    drop(pieces);
    assert!(matches!(model.ask(ask).await, Err(OpError::Cancelled)));
    server.until_hung_up(2).await;
}

#[tokio::test]
async fn a_server_that_is_taken_out_of_the_settings_ends_its_answers_and_one_that_stays_does_not() {
    let server = server(ModelApi::Ollama).await;
    let model = model_of(&[&server]).await;
    server.next(Reply::Steps(vec![Step::Hold, Step::text("kept"), Step::finish("stop")]));
    server.next(Reply::Steps(vec![Step::Hold]));
    let ask = || {
        let model = model.clone();
        tokio::spawn(async move { model.ask(asked("one")).await })
    };
    let stays = ask();
    server.until_holding(1).await;

    model.set_servers(vec![at("http://127.0.0.1:1"), at(&server.url())]);

    assert_eq!(model.offered(), ["practice-model"], "what was found is kept");
    server.release();
    assert_eq!(stays.await.unwrap().unwrap().content, "kept");
    let ends = ask();
    server.until_holding(1).await;
    model.set_servers(Vec::new());
    assert_eq!(crate::why(ends.await.unwrap()), "the model server was taken out of the settings");
    server.until_hung_up(1).await;
}

fn text(piece: Piece) -> String {
    match piece {
        Piece::Delta(text) => {
            assert!(!text.is_empty());
            text
        }
        Piece::Finish(_) => panic!("two ends"),
    }
}
