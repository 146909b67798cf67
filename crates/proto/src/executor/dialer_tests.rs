use super::*;
use crate::executor::machine::{Revoked, RevokedSource};

struct World {
    dialer: Dialer,
    now: Instant,
}

impl World {
    fn with_jitter(fraction: f64) -> Self {
        let mut next = 0;
        let links = Box::new(move || {
            next += 1;
            LinkId::new(next)
        });
        let dialer = Dialer::new(Backoff::default(), Box::new(move || fraction), links);
        Self { dialer, now: Instant::now() }
    }

    fn new() -> Self {
        Self::with_jitter(0.0)
    }

    fn wanted(&mut self) -> LinkId {
        dialled(&self.dialer.on_wanted(Wish::Surroundings, self.now))
    }

    fn pass(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
    }

    fn live(&mut self, link: LinkId, seconds: f64) {
        self.dialer.on_connected(link, self.now);
        self.dialer.on_ready(link, self.now);
        self.pass(seconds);
    }

    fn end(&mut self, link: LinkId, end: &End) -> Vec<DialEffect> {
        self.dialer.on_ended(link, end, self.now)
    }

    fn refuse(&mut self, link: LinkId, status: u16, token: TokenAge) -> Vec<DialEffect> {
        self.dialer.on_dial_failed(link, DialFailure::Status { status, retry_after: None }, token, self.now)
    }

    fn unreachable(&mut self, link: LinkId) -> Vec<DialEffect> {
        self.dialer.on_dial_failed(link, DialFailure::Network("no route".into()), FRESH, self.now)
    }

    /// Seconds from now until the next attempt.
    fn wait_of(&self, effects: &[DialEffect]) -> f64 {
        match effects {
            [DialEffect::Wait { until, .. }] => until.saturating_duration_since(self.now).as_secs_f64(),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the next attempt.
    fn next(&mut self) -> LinkId {
        self.now = self.dialer.deadline().unwrap();
        dialled(&self.dialer.on_tick(self.now))
    }
}

const FRESH: TokenAge = TokenAge::Left(Duration::from_secs(3000));

fn dialled(effects: &[DialEffect]) -> LinkId {
    match effects {
        [DialEffect::Dial(link)] => *link,
        other => panic!("{other:?}"),
    }
}

fn renewed(effects: &[DialEffect]) -> LinkId {
    match effects {
        [DialEffect::RefreshThenDial(link)] => *link,
        other => panic!("{other:?}"),
    }
}

fn halt(effects: &[DialEffect]) -> HaltKind {
    match effects {
        [DialEffect::Halt(halt)] => halt.kind,
        other => panic!("{other:?}"),
    }
}

fn retry(pace: Pace) -> Retry {
    Retry { pace, refresh_first: false, bad_handshake: false, close_code: None, code: "x", reason: "x".into() }
}

fn broke() -> End {
    End::Retry(retry(Pace::Grow))
}

fn orderly() -> End {
    End::Retry(retry(Pace::Base))
}

fn expired() -> End {
    End::Retry(Retry { refresh_first: true, ..retry(Pace::Grow) })
}

fn nonsense() -> End {
    End::Retry(Retry { bad_handshake: true, ..retry(Pace::Grow) })
}

fn taken_over() -> End {
    End::Revoked(Revoked {
        reason: "session_taken_over".into(),
        source: RevokedSource::WsCloseCode,
        close_code: Some(4427),
        new_shim_machine_id: None,
    })
}

#[test]
fn waits_double_up_to_a_minute() {
    let mut world = World::new();
    let mut link = world.wanted();
    for wanted in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0] {
        let effects = world.unreachable(link);
        assert!((world.wait_of(&effects) - wanted).abs() < 1e-6);
        link = world.next();
    }
}

#[test]
fn the_random_part_is_added_on_top() {
    let mut world = World::with_jitter(0.5);
    let link = world.wanted();
    let effects = world.unreachable(link);
    assert!((world.wait_of(&effects) - 3.5).abs() < 1e-6);
    for strange in [f64::NAN, -1.0, f64::INFINITY] {
        assert_eq!(Backoff::default().wait(0, strange), Duration::from_secs(1));
    }
    assert_eq!(Backoff::default().wait(u32::MAX, 1.0), Duration::from_secs(65));
}

#[test]
fn nothing_is_dialled_before_its_time() {
    let mut world = World::new();
    let link = world.wanted();
    let _ = world.unreachable(link);
    world.pass(0.9);
    assert!(world.dialer.on_tick(world.now).is_empty());
    world.pass(0.1);
    let _ = dialled(&world.dialer.on_tick(world.now));
}

/// A server that accepts, acknowledges and closes at once, for 1000 seconds.
fn dials_in_a_thousand_seconds(end: &End, jitter: f64) -> u32 {
    let mut world = World::with_jitter(jitter);
    let stop = world.now + Duration::from_secs(1000);
    let mut link = world.wanted();
    let mut dials = 1;
    loop {
        world.live(link, 0.01);
        let effects = world.end(link, end);
        assert!(world.wait_of(&effects) >= 1.0);
        if world.dialer.deadline().unwrap() > stop {
            return dials;
        }
        link = world.next();
        dials += 1;
    }
}

#[test]
fn a_server_that_accepts_and_closes_sees_few_dials() {
    for jitter in [0.0, 0.5, 1.0] {
        assert!(dials_in_a_thousand_seconds(&broke(), jitter) <= 30);
        assert!(dials_in_a_thousand_seconds(&orderly(), jitter) <= 30);
    }
}

#[test]
fn a_server_that_expires_every_token_at_once_sees_few_dials() {
    let mut world = World::new();
    let stop = world.now + Duration::from_secs(1000);
    let mut link = world.wanted();
    let mut dials = 1;
    while world.now < stop {
        world.live(link, 0.01);
        let effects = world.end(link, &expired());
        let _ = world.wait_of(&effects);
        world.now = world.dialer.deadline().unwrap();
        link = renewed(&world.dialer.on_tick(world.now));
        dials += 1;
    }
    assert!(dials <= 30, "{dials}");
}

#[test]
fn a_minute_of_health_makes_waits_small_again() {
    let mut world = World::new();
    let mut link = world.wanted();
    for _ in 0..6 {
        let _ = world.unreachable(link);
        link = world.next();
    }
    world.live(link, 59.0);
    let effects = world.end(link, &broke());
    assert!((world.wait_of(&effects) - 60.0).abs() < 1e-6, "59 seconds are not enough");
    link = world.next();
    world.live(link, 60.0);
    let effects = world.end(link, &broke());
    assert!((world.wait_of(&effects) - 1.0).abs() < 1e-6);
}

#[test]
fn an_open_socket_without_handshake_is_not_health() {
    let mut world = World::new();
    let link = world.wanted();
    let _ = world.unreachable(link);
    let link = world.next();
    world.dialer.on_connected(link, world.now);
    world.pass(300.0);
    let effects = world.end(link, &broke());
    assert!((world.wait_of(&effects) - 2.0).abs() < 1e-6);
}

#[test]
fn an_orderly_close_waits_the_base_and_forgets_earlier_failures() {
    let mut world = World::new();
    let mut link = world.wanted();
    for _ in 0..5 {
        let _ = world.unreachable(link);
        link = world.next();
    }
    world.live(link, 3.0);
    let effects = world.end(link, &orderly());
    assert!((world.wait_of(&effects) - 1.0).abs() < 1e-6);
    link = world.next();
    let effects = world.unreachable(link);
    assert!((world.wait_of(&effects) - 1.0).abs() < 1e-6);
}

#[test]
fn a_wait_and_an_end_have_a_stable_name() {
    let mut world = World::new();
    let link = world.wanted();
    assert!(matches!(world.unreachable(link)[..], [DialEffect::Wait { code: "unreachable", .. }]));
    let link = world.next();
    assert!(matches!(world.end(link, &taken_over())[..], [DialEffect::Halt(Halt { code: "taken_over", .. })]));
}

#[test]
fn after_a_takeover_there_is_no_dial_until_the_person_acts() {
    let mut world = World::new();
    let link = world.wanted();
    world.live(link, 500.0);
    assert_eq!(halt(&world.end(link, &taken_over())), HaltKind::Protocol);
    assert_eq!(world.dialer.deadline(), None);
    world.pass(100_000.0);
    assert!(world.dialer.on_tick(world.now).is_empty());
    assert!(world.dialer.on_wanted(Wish::Surroundings, world.now).is_empty());
    assert!(world.dialer.is_halted());
    let _ = dialled(&world.dialer.on_wanted(Wish::Person, world.now));
}

#[test]
fn three_triggers_at_once_are_one_dial() {
    let mut world = World::new();
    let link = world.wanted();
    let _ = world.unreachable(link);
    let mut effects = world.dialer.on_wanted(Wish::Surroundings, world.now);
    effects.extend(world.dialer.on_wanted(Wish::Surroundings, world.now));
    effects.extend(world.dialer.on_wanted(Wish::Person, world.now));
    world.pass(10.0);
    effects.extend(world.dialer.on_tick(world.now));
    let _ = dialled(&effects);
}

#[test]
fn a_verdict_for_an_older_connection_does_not_touch_the_newer_one() {
    let mut world = World::new();
    let old = world.wanted();
    world.live(old, 100.0);
    let _ = world.end(old, &broke());
    let new = world.next();
    assert!(world.end(old, &taken_over()).is_empty());
    assert!(world.refuse(old, 401, FRESH).is_empty());
    world.dialer.on_ready(old, world.now);
    assert!(!world.dialer.is_halted());
    world.live(new, 100.0);
    let effects = world.end(new, &broke());
    let _ = world.wait_of(&effects);
}

#[test]
fn five_wrong_answers_to_hello_in_a_row_are_the_end() {
    let mut world = World::new();
    let mut link = world.wanted();
    for _ in 0..4 {
        let effects = world.end(link, &nonsense());
        let _ = world.wait_of(&effects);
        link = world.next();
    }
    assert_eq!(halt(&world.end(link, &nonsense())), HaltKind::Protocol);
}

#[test]
fn a_good_handshake_starts_the_count_of_wrong_answers_again() {
    let mut world = World::new();
    let mut link = world.wanted();
    for round in 0..12 {
        if round % 4 == 3 {
            world.live(link, 1.0);
            let _ = world.end(link, &broke());
        } else {
            let _ = world.end(link, &nonsense());
        }
        link = world.next();
    }
}

#[test]
fn a_refused_token_is_renewed_once() {
    let mut world = World::new();
    let link = world.wanted();
    let link = renewed(&world.refuse(link, 401, FRESH));
    assert_eq!(halt(&world.refuse(link, 401, FRESH)), HaltKind::Auth);
}

#[test]
fn a_token_that_opened_a_link_may_be_renewed_again_later() {
    let mut world = World::new();
    let link = world.wanted();
    let link = renewed(&world.refuse(link, 401, FRESH));
    world.live(link, 3600.0);
    let _ = world.end(link, &broke());
    let link = world.next();
    let _ = renewed(&world.refuse(link, 401, FRESH));
}

#[test]
fn a_renewal_before_a_long_outage_does_not_count_against_the_next() {
    let mut world = World::new();
    let link = world.wanted();
    let link = renewed(&world.refuse(link, 401, FRESH));
    let _ = world.refuse(link, 503, FRESH);
    let link = world.next();
    assert_eq!(halt(&world.refuse(link, 401, FRESH)), HaltKind::Auth);
    let mut world = World::new();
    let link = world.wanted();
    let link = renewed(&world.refuse(link, 401, FRESH));
    world.pass(3600.0);
    let _ = world.refuse(link, 503, FRESH);
    let link = world.next();
    let _ = renewed(&world.refuse(link, 401, FRESH));
}

#[test]
fn a_renewal_that_fails_for_now_is_tried_again_and_counts_for_nothing() {
    let mut world = World::new();
    let link = world.wanted();
    let mut effects = world.refuse(link, 401, FRESH);
    for _ in 0..5 {
        let link = match effects.as_slice() {
            [DialEffect::RefreshThenDial(link)] => *link,
            other => panic!("{other:?}"),
        };
        let failure = DialFailure::NotRenewed("it answered with 503".into());
        let waits = world.dialer.on_dial_failed(link, failure, FRESH, world.now);
        assert!(matches!(waits.as_slice(), [DialEffect::Wait { .. }]), "{waits:?}");
        world.now = world.dialer.deadline().unwrap();
        effects = world.dialer.on_tick(world.now);
    }
    let [DialEffect::RefreshThenDial(link)] = effects.as_slice() else { panic!("{effects:?}") };
    // Renewed at last. A refusal of the new token is looked at once more, and then believed.
    let effects = world.refuse(*link, 401, FRESH);
    let [DialEffect::RefreshThenDial(link)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(matches!(world.refuse(*link, 401, FRESH).as_slice(), [DialEffect::Halt(_)]));
}

#[test]
fn a_403_may_stand_for_401_only_when_the_token_is_old() {
    for token in [TokenAge::Unknown, TokenAge::Left(Duration::ZERO), TokenAge::Left(Duration::from_secs(60))] {
        let mut world = World::new();
        let link = world.wanted();
        let link = renewed(&world.refuse(link, 403, token));
        assert_eq!(halt(&world.refuse(link, 403, FRESH)), HaltKind::Auth);
    }
    let mut world = World::new();
    let link = world.wanted();
    assert_eq!(halt(&world.refuse(link, 403, TokenAge::Left(Duration::from_secs(61)))), HaltKind::Auth);
    let mut world = World::new();
    let link = world.wanted();
    let link = renewed(&world.refuse(link, 403, TokenAge::Unknown));
    assert_eq!(halt(&world.refuse(link, 403, TokenAge::Unknown)), HaltKind::Auth, "only once");
}

#[test]
fn a_busy_platform_decides_the_wait_up_to_five_minutes() {
    for (status, asked, wanted) in [(429, 120, 120.0), (503, 9000, 300.0), (502, 0, 1.0), (404, 0, 1.0)] {
        let mut world = World::new();
        let link = world.wanted();
        let failure = DialFailure::Status { status, retry_after: Some(Duration::from_secs(asked)) };
        let effects = world.dialer.on_dial_failed(link, failure, FRESH, world.now);
        assert!((world.wait_of(&effects) - wanted).abs() < 1e-6, "{status}");
    }
}

#[test]
fn a_lost_sign_in_is_the_end() {
    let mut world = World::new();
    let link = world.wanted();
    let failure = DialFailure::SignInNeeded("The sign-in has expired.".into());
    assert_eq!(halt(&world.dialer.on_dial_failed(link, failure, TokenAge::Unknown, world.now)), HaltKind::Auth);
}

#[test]
fn an_expired_token_of_a_healthy_link_is_renewed_at_once() {
    let mut world = World::new();
    let link = world.wanted();
    world.live(link, 3600.0);
    let _ = renewed(&world.end(link, &expired()));
}

#[test]
fn an_unwanted_link_is_dropped_and_stays_down() {
    let mut world = World::new();
    let link = world.wanted();
    assert_eq!(world.dialer.on_unwanted(), [DialEffect::Drop(link)]);
    assert!(world.end(link, &broke()).is_empty());
    assert_eq!(world.dialer.deadline(), None);
    let link = world.wanted();
    let _ = world.unreachable(link);
    assert!(world.dialer.on_unwanted().is_empty());
    assert_eq!(world.dialer.deadline(), None);
}

#[test]
fn our_own_stop_rests_until_wanted_again() {
    let mut world = World::new();
    let link = world.wanted();
    world.live(link, 5.0);
    assert!(world.end(link, &End::Stopped).is_empty());
    let _ = world.wanted();
}
