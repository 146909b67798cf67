use base64::Engine as _;
use drawbridge_core::computer::{PictureFormat, Point, Rect};
use drawbridge_core::{FRAME_LIMIT_BYTES, Limits, Outcome, WallMs};

use super::*;
use crate::executor::codec::{Reply, ReplyContext};
use crate::executor::wire::{Envelope, FromClient};

fn answer(outcome: &Outcome) -> Reply {
    let id = RequestId::parse("r-1").unwrap();
    Reply::encode(&id, &ReplyContext::of_name("SCREENSHOT_REQUEST"), &Limits::default(), Ok(outcome))
}

fn frame(reply: Reply) -> String {
    reply.into_frame(WallMs(1_712_345_678_250), "1.1", 3)
}

fn message(reply: Reply) -> FromClient {
    Envelope::from_text(&frame(reply)).unwrap().message
}

fn shown(bytes: Vec<u8>) -> Picture {
    Picture {
        bytes,
        format: PictureFormat::Png,
        width: 640,
        height: 480,
        monitor: 1,
        region: Some(Rect::new(-640, 0, 0, 480)),
        display_scale: 1.0,
        logical_size: (1280, 720),
        origin: Point::new(-640, 0),
        one_colour: false,
    }
}

#[test]
fn a_picture_of_any_length_arrives_as_it_was() {
    for len in [0_u8, 1, 2, 3, 4, 255] {
        let bytes: Vec<u8> = (0..len).collect();
        let FromClient::ScreenshotResponse(got) = message(answer(&Outcome::Picture(shown(bytes.clone())))) else {
            panic!()
        };
        assert_eq!(STANDARD.decode(&got.image_base64).unwrap(), bytes, "{len}");
        assert_eq!((got.mime_type.as_str(), got.width, got.height, got.monitor), ("image/png", 640, 480, 1));
        assert_eq!((got.region, got.logical_size), (Some([-640, 0, 0, 480]), [1280, 720]));
        assert_eq!((got.meta.origin, got.meta.display_id, got.meta.one_colour), ([-640, 0], 1, None));
    }
}

#[test]
fn a_scale_is_a_number_with_a_point_whatever_it_is() {
    for (scale, text) in [(1.0, "1.0"), (1.25, "1.25"), (2.0, "2.0"), (f64::NAN, "1.0"), (f64::INFINITY, "1.0")] {
        let picture = Picture { display_scale: scale, region: None, ..shown(vec![1]) };
        let text = format!("\"region\":null,\"display_scale\":{text},\"logical_size\":[1280,720]");
        assert!(frame(answer(&Outcome::Picture(picture))).contains(&text), "{text}");
    }
}

#[test]
fn a_picture_of_one_colour_says_so() {
    let picture = Picture { one_colour: true, ..shown(vec![1]) };
    let FromClient::ScreenshotResponse(got) = message(answer(&Outcome::Picture(picture))) else { panic!() };
    assert_eq!(got.meta.one_colour, Some(true));
}

#[test]
fn a_picture_that_fills_a_frame_goes_out_and_one_byte_more_does_not() {
    let around = frame(answer(&Outcome::Picture(shown(Vec::new())))).len();
    let room = (FRAME_LIMIT_BYTES - around) / 4 * 3;
    let exact = answer(&Outcome::Picture(shown(vec![7; room])));
    assert_eq!(exact.error_code(), None);
    assert!(frame(exact).len() <= FRAME_LIMIT_BYTES);

    let over = answer(&Outcome::Picture(shown(vec![7; room + 1])));
    assert_eq!(over.error_code(), Some("FILE_TOO_LARGE"));
    let FromClient::Error(error) = message(over) else { panic!() };
    let details = error.details.unwrap();
    assert!(details["attempted_bytes"].as_u64().unwrap() > FRAME_LIMIT_BYTES as u64);
    assert_eq!(details["op"], "SCREENSHOT_REQUEST");
}

#[test]
fn clipboard_text_keeps_every_character_and_its_size_in_bytes() {
    for text in ["", "naïve ✓ 😀", "a\"b\\c\n\u{1}\t", "\u{202e}rtl"] {
        let FromClient::ClipboardReadResponse(got) = message(answer(&Outcome::Clipboard(text.to_owned()))) else {
            panic!()
        };
        assert_eq!((got.format.as_str(), got.content.as_str()), ("text", text));
        assert_eq!(got.size_bytes, text.len() as u64);
    }
}

#[test]
fn clipboard_text_that_grows_past_the_frame_by_escaping_is_refused() {
    let reply = answer(&Outcome::Clipboard("\u{1}".repeat(3 * 1024 * 1024)));
    assert_eq!(reply.error_code(), Some("FILE_TOO_LARGE"));
}

#[test]
fn nothing_of_a_picture_or_a_clipboard_shows_in_a_log() {
    assert!(!format!("{:?}", answer(&Outcome::Clipboard("hunter2".into()))).contains("hunter2"));
    assert!(!format!("{:?}", Outcome::Clipboard("hunter2".into())).contains("hunter2"));
}
