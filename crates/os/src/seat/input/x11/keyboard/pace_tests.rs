//! Tests of pace.

use super::*;

#[test]
fn an_answer_proves_everything_before_its_question() {
    let (mut pace, now) = (Pace::default(), Instant::now());
    for _ in 0..3 {
        pace.press(now, true);
    }
    pace.asked(70);
    pace.press(now, true);
    pace.asked(71);
    assert_eq!((pace.handled(now + GAP * 9), pace.has_answered()), (0, false));

    pace.answered(70);
    assert_eq!((pace.handled(now), pace.has_answered()), (3, true));
    pace.answered(70);
    pace.answered(999);
    assert_eq!(pace.handled(now), 3);
    pace.answered(71);
    assert_eq!(pace.handled(now), 4);
}

#[test]
fn a_program_that_cannot_be_asked_is_given_time_or_comes_to_rest() {
    let (mut pace, begun) = (Pace::default(), Instant::now());
    pace.press(begun, false);
    let later = begun + Duration::from_millis(50);
    pace.press(later, false);

    assert_eq!(pace.handled(later), 0);
    pace.rested(later);
    assert_eq!(pace.handled(later), 1);
    assert_eq!(pace.handled(later + GAP), 2);
}

#[test]
fn presses_for_another_program_wait_for_the_answer_of_the_first() {
    let (mut pace, begun) = (Pace::default(), Instant::now());
    pace.press(begun, true);
    pace.asked(5);
    pace.press(begun, false);

    assert_eq!(pace.handled(begun + GAP), 0);
    pace.answered(5);
    assert_eq!(pace.handled(begun + GAP), 2);
}

#[test]
fn giving_up_leaves_the_time_alone() {
    let (mut pace, begun) = (Pace::default(), Instant::now());
    pace.press(begun, true);
    assert!(pace.is_unasked());
    pace.asked(5);
    assert!(!pace.is_unasked());

    pace.give_up(begun);

    assert_eq!(pace.handled(begun), 0);
    assert_eq!(pace.handled(begun + GAP), 1);
    // Nothing is open any more, so nothing is put off.
    pace.give_up(begun + GAP);
    assert_eq!(pace.handled(begun + GAP), 1);
}

#[test]
fn a_program_that_is_far_behind_is_waited_for() {
    let (mut pace, now) = (Pace::default(), Instant::now());
    let mut asked = 0;
    let due = loop {
        pace.press(now, true);
        if pace.should_look() {
            asked += 1;
            pace.asked(asked);
        }
        if let Some(due) = pace.due() {
            break due;
        }
    };

    assert_eq!((pace.last(), due), (AHEAD, STRIDE));
    pace.answered(1);
    assert_eq!(pace.due(), None);
}

#[test]
fn a_program_is_asked_after_the_first_press_of_each_text() {
    let (mut pace, now) = (Pace::default(), Instant::now());
    for _ in 0..2 {
        pace.begin();
        pace.press(now, true);
        assert!(pace.should_look());
        pace.press(now, true);
        assert!(!pace.should_look());
    }
}

#[test]
fn beats_are_made_up_for_but_not_without_end() {
    let (mut pace, now) = (Pace::default(), Instant::now());
    assert_eq!(pace.next(now), BEAT);
    assert_eq!(pace.next(now), BEAT * 2);
    // Three beats late: the next ones come at once until they are made up for.
    assert_eq!([0; 3].map(|_| pace.next(now + BEAT * 5)), [Duration::ZERO, Duration::ZERO, Duration::ZERO]);
    assert_eq!(pace.next(now + BEAT * 5), BEAT);

    let late = now + BEAT * 1000;
    let at_once = std::iter::repeat_with(|| pace.next(late)).take_while(Duration::is_zero).count();
    assert_eq!(at_once, 8);
}
