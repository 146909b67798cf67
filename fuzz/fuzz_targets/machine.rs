//! Whatever a platform sends and however time passes: one answer for each request, capacity never wrong, nothing after
//! the end.
#![no_main]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use drawbridge_core::model::{FinishReason, Piece};
use drawbridge_core::{Limits, Outcome, SessionId, WallMs};
use drawbridge_proto::executor::codec::{Reply, ReplyContext};
use drawbridge_proto::executor::machine::{Effect, HelloFacts, Machine, MachineConfig, Role};
use drawbridge_proto::executor::wire::{Capability, Envelope, FromClient};
use libfuzzer_sys::fuzz_target;

const ACK: &str = r#"{"type":"HELLO_ACK","id":"id-1","payload":{"session_id":"s","granted_capabilities":["files","shell","local_llm"]}}"#;
const ASK: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;

fuzz_target!(|steps: Vec<(u8, String)>| {
    let role = Role::Data { session: SessionId::parse("s").expect("a fine id"), allowed_root: "/w".into() };
    let capabilities = BTreeSet::from([Capability::Files, Capability::Shell, Capability::LocalLlm]);
    let hello = HelloFacts { capabilities, local_llm_models: vec!["m".to_owned()], ..HelloFacts::default() };
    let config = MachineConfig { role, hello, local: Limits::default() };
    let mut count = 0;
    let mut machine = Machine::new(
        config,
        Box::new(move || {
            count += 1;
            format!("id-{count}")
        }),
    );
    let (mut now, mut wall) = (Instant::now(), WallMs(1_712_345_678_000));
    let mut over = false;
    check(&machine.on_open(now, wall), &mut over);
    for (step, text) in steps {
        let effects = match step % 10 {
            0 => machine.on_text(ACK, now, wall),
            1 => {
                let frame = format!(r#"{{"type":"FILE_STAT","id":"r-{step}","payload":{{"path":"x"}}}}"#);
                machine.on_text(&frame, now, wall)
            }
            2 => {
                let Some(id) = machine.running().into_iter().next() else { continue };
                let context = ReplyContext::of_name("FILE_STAT");
                let reply = Reply::encode(&id, &context, &Limits::default(), Ok(&Outcome::Done));
                machine.on_reply(reply, now, wall)
            }
            3 => {
                let by = Duration::from_secs(u64::from(step));
                now += by;
                wall = wall.plus(by);
                machine.on_tick(now, wall)
            }
            4 => {
                machine.on_pong(now, wall);
                Vec::new()
            }
            5 => machine.on_binary(text.as_bytes(), now, wall),
            6 if step > 240 => machine.on_closed(Some(1000 + u16::from(step)), &text, now),
            7 => {
                let frame = format!(r#"{{"type":"LOCAL_LLM_COMPLETION","id":"r-{step}","payload":{ASK}}}"#);
                machine.on_text(&frame, now, wall)
            }
            8 => {
                let Some(id) = machine.running().into_iter().last() else { continue };
                let piece = if step > 128 { Piece::Finish(FinishReason::Stop) } else { Piece::Delta(text) };
                machine.on_piece(&id, &piece, wall)
            }
            _ => machine.on_text(&text, now, wall),
        };
        check(&effects, &mut over);
        assert!(machine.running().len() <= 4);
    }
});

fn check(effects: &[Effect], over: &mut bool) {
    assert!(!(*over && !effects.is_empty()), "something after the end");
    for (place, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Send(text) => {
                let frame = Envelope::<FromClient>::from_text(text).expect("our own frames are frames");
                assert!(frame.pending_capacity.is_none_or(|free| free <= 4));
            }
            Effect::Close { reason, .. } => assert!(reason.len() <= 123),
            Effect::Ended(_) => {
                assert_eq!(place, effects.len() - 1, "the end is the last effect");
                *over = true;
            }
            Effect::Refused { .. } => assert!(matches!(effects.get(place + 1), Some(Effect::Send(_)))),
            Effect::Start { .. } | Effect::Abort(_) | Effect::Ready(_) | Effect::WsPing | Effect::Note(_) => {}
        }
    }
}
