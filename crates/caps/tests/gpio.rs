//! Agents and GPIO lines: a chip that the test moves by hand, through the capability as the dispatcher uses it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests fail by panicking")]

mod desk;

use std::time::Duration;

use desk::{Desk, fault};
use drawbridge_core::DeviceFault::{Absent, Busy, NotOpen, Unplugged, Unsupported};
use drawbridge_core::hardware::{Bias, DeviceId, Edge, GpioAct, HardwareAct, HardwareOutcome, LineEvent, LineEvents};
use drawbridge_core::{LinkId, OpError, Outcome};
use drawbridge_os::hardware::gpio::recorded::Recorded;
use drawbridge_os::hardware::gpio::{GpioChip, GpioChips as _};

const CHIP: &str = "gpiochip0";
const LONG: Duration = Duration::from_secs(60);

fn board() -> (Recorded, Desk, DeviceId) {
    let board = Recorded::default();
    board.add(GpioChip {
        name: CHIP.to_owned(),
        label: Some("pinctrl-bcm2711".to_owned()),
        parent: "fe200000.gpio".to_owned(),
        lines: 100,
        names: vec![(4, "RELAY".to_owned())],
        denied: None,
    });
    let name = board.list().remove(0).id;
    (board.clone(), Desk::with_gpio(board), name)
}

const fn read(line: u32) -> HardwareAct {
    HardwareAct::Gpio(GpioAct::Read { line, bias: Bias::AsIs })
}

const fn write(line: u32, high: bool) -> HardwareAct {
    HardwareAct::Gpio(GpioAct::Write { line, high })
}

const fn release(line: u32) -> HardwareAct {
    HardwareAct::Gpio(GpioAct::Release { line })
}

const fn watch(line: u32, max_events: u32, timeout: Duration) -> HardwareAct {
    HardwareAct::Gpio(GpioAct::Watch { line, bias: Bias::PullUp, edge: Edge::Both, max_events, timeout })
}

fn level(result: Result<Outcome, OpError>) -> bool {
    match result.unwrap() {
        Outcome::Hardware(HardwareOutcome::Level { high }) => high,
        _ => panic!("something else came"),
    }
}

fn changes(result: Result<Outcome, OpError>) -> LineEvents {
    match result.unwrap() {
        Outcome::Hardware(HardwareOutcome::Events(events)) => events,
        _ => panic!("something else came"),
    }
}

fn events(result: Result<Outcome, OpError>) -> Vec<LineEvent> {
    let LineEvents { events, lost } = changes(result);
    assert_eq!(lost, 0);
    events
}

async fn watched(board: &Recorded, line: u32) {
    let board = board.clone();
    tokio::task::spawn_blocking(move || board.wait_for_watch(CHIP, line)).await.unwrap();
}

#[tokio::test]
async fn a_line_is_read_as_it_is_and_pulled_as_asked_and_nothing_stays_held() {
    let (board, desk, chip) = board();
    board.set(CHIP, 4, true, Duration::ZERO);

    assert!(level(desk.run(&chip, read(4)).await));
    let pulled = HardwareAct::Gpio(GpioAct::Read { line: 5, bias: Bias::PullDown });
    assert!(!level(desk.run(&chip, pulled).await));

    assert_eq!((board.bias(CHIP, 4), board.bias(CHIP, 5)), (Bias::AsIs, Bias::PullDown));
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test]
async fn a_driven_line_is_held_until_it_is_let_go() {
    let (board, desk, chip) = board();

    desk.run(&chip, write(17, true)).await.unwrap();
    desk.run(&chip, write(4, false)).await.unwrap();
    let held = desk.hardware.held();
    assert_eq!((held.len(), held[0].holder, held[0].how.as_str()), (1, LinkId::new(1), "lines 4, 17"));
    assert!(level(desk.run(&chip, read(17)).await));
    desk.run(&chip, write(17, false)).await.unwrap();
    assert_eq!((board.driven(CHIP, 17), board.driven(CHIP, 4)), (Some(false), Some(false)));

    desk.run(&chip, release(17)).await.unwrap();
    assert_eq!((board.driven(CHIP, 17), desk.hardware.held()[0].how.as_str()), (None, "line 4"));
    desk.run(&chip, release(4)).await.unwrap();
    assert_eq!((board.driven(CHIP, 4), desk.hardware.held()), (None, Vec::new()));
    assert_eq!(fault(desk.run(&chip, release(4)).await), NotOpen);
}

#[tokio::test]
async fn a_line_that_is_driven_is_neither_pulled_nor_watched() {
    let (_, desk, chip) = board();
    desk.run(&chip, write(17, true)).await.unwrap();

    let pulled = HardwareAct::Gpio(GpioAct::Read { line: 17, bias: Bias::PullDown });
    assert_eq!(fault(desk.run(&chip, pulled).await), Busy);
    assert_eq!(fault(desk.run(&chip, watch(17, 1, LONG)).await), Busy);
}

#[tokio::test]
async fn a_chip_has_one_holder() {
    let (board, desk, chip) = board();
    let other = desk.of_another_holder();
    desk.run(&chip, write(17, true)).await.unwrap();

    for act in [read(4), write(17, false), release(17), watch(4, 1, LONG)] {
        assert_eq!(fault(other.run(&chip, act).await), Busy);
    }
    assert_eq!(board.driven(CHIP, 17), Some(true));

    desk.run(&chip, release(17)).await.unwrap();
    assert!(level(other.run(&chip, read(17)).await));
}

#[tokio::test]
async fn everything_is_let_go_with_its_holder_on_a_stop_and_when_it_is_no_longer_shared() {
    for which in 0..3 {
        let (board, desk, chip) = board();
        for line in 0..10 {
            desk.run(&chip, write(line, true)).await.unwrap();
        }

        let (hardware, its_chip) = (desk.hardware.clone(), chip.clone());
        let close = move || match which {
            0 => hardware.close_of(LinkId::new(1)),
            1 => hardware.close_all(),
            _ => hardware.close(&its_chip),
        };
        tokio::task::spawn_blocking(close).await.unwrap();

        assert!((0..10).all(|line| board.driven(CHIP, line).is_none()));
        assert_eq!(desk.hardware.held(), []);
        // And it can be used again.
        desk.run(&chip, write(0, true)).await.unwrap();
    }
}

#[tokio::test]
async fn what_the_chip_cannot_do_and_who_has_a_line_is_told() {
    let (board, desk, chip) = board();
    board.use_elsewhere(CHIP, 7, "spi0 CS1");

    let missing = desk.run(&chip, read(100)).await.map(drop).unwrap_err();
    assert!(missing.to_string().contains("0 to 99"), "{missing}");
    assert_eq!(fault(Err(missing)), Unsupported);
    for act in [read(7), write(7, true), watch(7, 1, LONG)] {
        let busy = desk.run(&chip, act).await.map(drop).unwrap_err();
        assert!(busy.to_string().contains("spi0 CS1"), "{busy}");
        assert_eq!(fault(Err(busy)), Busy);
    }
    assert_eq!(desk.hardware.held(), []);

    board.remove(CHIP);
    assert_eq!(fault(desk.run(&chip, read(1)).await), Absent);
}

#[tokio::test]
async fn sixty_four_lines_are_driven_at_once_and_no_more() {
    let (board, desk, chip) = board();
    for line in 0..64 {
        desk.run(&chip, write(line, true)).await.unwrap();
    }

    assert_eq!(fault(desk.run(&chip, write(64, true)).await), Busy);
    desk.run(&chip, write(3, false)).await.unwrap();
    desk.run(&chip, release(3)).await.unwrap();
    desk.run(&chip, write(64, true)).await.unwrap();
    assert_eq!(board.driven(CHIP, 64), Some(true));
}

#[tokio::test]
async fn a_watch_ends_with_enough_changes() {
    let (board, desk, chip) = board();

    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 3, LONG)), async {
        watched(&board, 2).await;
        for (high, at) in [(true, 5), (false, 6), (true, 9), (false, 12)] {
            board.set(CHIP, 2, high, Duration::from_millis(at));
        }
    });

    let event = |rising, at| LineEvent { rising, at: Duration::from_millis(at) };
    assert_eq!(events(told), [event(true, 5), event(false, 6), event(true, 9)]);
    assert_eq!(board.bias(CHIP, 2), Bias::PullUp);
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test]
async fn changes_that_come_faster_than_they_are_kept_are_told_as_lost() {
    let (board, desk, chip) = board();

    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1024, LONG)), async {
        watched(&board, 2).await;
        board.burst(CHIP, 2, 3000, Duration::from_millis(5));
    });

    let LineEvents { events, lost } = changes(told);
    assert_eq!((events.len(), lost), (1024, 1976), "what is kept are the newest");
    assert!(!events.last().unwrap().rising, "an even number of changes ends low");
    // The next watch counts anew.
    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1, LONG)), async {
        watched(&board, 2).await;
        board.set(CHIP, 2, true, Duration::from_millis(1));
    });
    assert_eq!(changes(told).lost, 0);
}

#[tokio::test]
async fn a_watch_ends_with_its_time_and_tells_what_came_and_nothing_is_a_good_answer() {
    let (_, desk, chip) = board();

    assert_eq!(events(desk.run(&chip, watch(2, 10_000, Duration::from_millis(20))).await), []);
}

#[tokio::test]
async fn a_watch_ends_with_its_request_with_a_stop_and_with_the_chip() {
    let (first_board, desk, chip) = board();
    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1, LONG)), async {
        watched(&first_board, 2).await;
        desk.cancel.cancel();
    });
    assert!(matches!(told.map(drop), Err(OpError::Cancelled)));
    assert_eq!(first_board.read(&first_board.found()[0], 2, Bias::AsIs), Ok(false), "the line is free again");

    let (second_board, desk, chip) = board();
    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1, LONG)), async {
        watched(&second_board, 2).await;
        let hardware = desk.hardware.clone();
        tokio::task::spawn_blocking(move || hardware.close_all()).await.unwrap();
        assert_eq!(second_board.read(&second_board.found()[0], 2, Bias::AsIs), Ok(false), "closing has closed");
    });
    assert!(matches!(told.map(drop), Err(OpError::Cancelled)));

    let (third_board, desk, chip) = board();
    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1, LONG)), async {
        watched(&third_board, 2).await;
        third_board.remove(CHIP);
    });
    assert_eq!(fault(told), Unplugged);
}

#[tokio::test]
async fn lines_of_one_chip_are_watched_and_driven_side_by_side() {
    let (board, desk, chip) = board();

    let (told, ()) = tokio::join!(desk.run(&chip, watch(2, 1, LONG)), async {
        watched(&board, 2).await;
        desk.run(&chip, write(3, true)).await.unwrap();
        desk.run(&chip, release(3)).await.unwrap();
        assert_eq!(desk.hardware.held()[0].how, "reading");
        board.set(CHIP, 2, true, Duration::from_millis(1));
    });

    assert_eq!(events(told).len(), 1);
    assert_eq!(desk.hardware.held(), []);
}

#[tokio::test]
async fn a_watch_without_bounds_is_refused() {
    let (_, desk, chip) = board();
    for act in [
        watch(2, 0, LONG),
        watch(2, 10_001, LONG),
        watch(2, 1, Duration::ZERO),
        watch(2, 1, Duration::from_millis(60_001)),
    ] {
        let told = desk.run(&chip, act).await.map(drop);
        assert!(matches!(told, Err(OpError::InvalidPayload(_))), "{told:?}");
    }
}
