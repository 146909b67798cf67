use std::sync::atomic::{AtomicBool, Ordering};

use drawbridge_core::SystemClock;

use super::*;

const CHAT: LinkId = LinkId::new(7);
const OTHER: LinkId = LinkId::new(8);

#[derive(Default)]
struct Thing {
    closed: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    stays: bool,
}

impl Open for Thing {
    fn how(&self) -> String {
        "a thing".to_owned()
    }
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
    fn may_close_unused(&self) -> bool {
        !self.stays
    }
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}

struct Other;

impl Open for Other {
    fn how(&self) -> String {
        String::new()
    }
    fn close(&self) {}
}

fn holding() -> Holding {
    Holding::new(Arc::new(SystemClock))
}

fn device(name: &str) -> DeviceId {
    DeviceId::parse(name).unwrap()
}

async fn open(holding: &Holding, name: &str, holder: LinkId) -> Result<Arc<Thing>, OpError> {
    holding.open(&device(name), holder, || Ok(Thing::default())).await
}

#[track_caller]
fn fault<T>(result: Result<T, OpError>) -> (DeviceFault, String) {
    match result.map(|_| ()) {
        Err(OpError::Device { fault, message, .. }) => (fault, message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn under_a_hold_nothing_is_closed_that_was_not_opened_under_it() {
    let (holding, name) = (holding(), device("serial-a"));
    let (never, ended) = (CancellationToken::new(), CancellationToken::new());
    ended.cancel();
    let open = async |cancel: &CancellationToken, hold| {
        holding.open_until(cancel, &name, COMMAND_LINE, hold, || Ok(Thing::default())).await
    };

    open(&never, Some(1)).await.unwrap();
    for hold in [Some(1), None] {
        // One that is given up closes what it opened itself, and this it did not.
        assert_eq!(fault(open(&ended, Some(2)).await).0, DeviceFault::AlreadyOpen);
        assert!(!holding.close_by(&name, COMMAND_LINE, Some(2)).unwrap());
        assert!(holding.close_by(&name, COMMAND_LINE, hold).unwrap());
        open(&never, None).await.unwrap();
    }
    assert!(!holding.close_by(&name, COMMAND_LINE, Some(1)).unwrap());
    assert!(holding.holds(COMMAND_LINE));
}

#[tokio::test]
async fn a_device_has_one_holder_and_others_hear_who() {
    let holding = holding();
    open(&holding, "serial-a", CHAT).await.unwrap();
    assert_eq!(fault(open(&holding, "serial-a", CHAT).await).0, DeviceFault::AlreadyOpen);
    let (busy, message) = fault(open(&holding, "serial-a", OTHER).await);
    assert!(busy == DeviceFault::Busy && message.contains("held by another chat"), "{message}");
    assert_eq!(fault(holding.of::<Thing>(&device("serial-a"), OTHER)).0, DeviceFault::Busy);
    assert_eq!(fault(holding.close_by(&device("serial-a"), OTHER, None)).0, DeviceFault::Busy);

    open(&holding, "serial-b", COMMAND_LINE).await.unwrap();
    assert!(fault(open(&holding, "serial-b", CHAT).await).1.contains("the command line"));

    let held = holding.held();
    let told: Vec<_> = held.iter().map(|one| (one.device.as_str(), one.holder, one.how.as_str())).collect();
    assert_eq!(told, [("serial-a", CHAT, "a thing"), ("serial-b", COMMAND_LINE, "a thing")]);
}

#[tokio::test]
async fn closing_closes_what_is_meant_and_nothing_else() {
    let holding = holding();
    let a = open(&holding, "serial-a", CHAT).await.unwrap();
    let b = open(&holding, "serial-b", CHAT).await.unwrap();
    let c = open(&holding, "serial-c", OTHER).await.unwrap();
    let closed = || [&a, &b, &c].map(|thing| thing.closed.load(Ordering::SeqCst));

    assert!(holding.close_by(&device("serial-a"), CHAT, None).unwrap());
    assert!(!holding.close_by(&device("serial-a"), CHAT, None).unwrap(), "it is closed already");
    assert_eq!(closed(), [true, false, false]);
    holding.close_of(CHAT);
    assert_eq!(closed(), [true, true, false]);
    holding.close(&device("serial-z"));
    holding.close(&device("serial-c"));
    assert_eq!(closed(), [true, true, true]);
    assert_eq!(holding.held(), []);
    assert_eq!(fault(holding.of::<Thing>(&device("serial-c"), OTHER)).0, DeviceFault::NotOpen);
}

#[tokio::test]
async fn what_is_opened_too_late_is_closed_again() {
    let holding = holding();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (begins, begun) = tokio::sync::oneshot::channel();
    let thing = Thing::default();
    let closed = thing.closed.clone();
    let late = {
        let holding = holding.clone();
        tokio::spawn(async move {
            let open = move || {
                begins.send(()).unwrap();
                wait.recv().unwrap();
                Ok(thing)
            };
            holding.open(&device("serial-a"), CHAT, open).await
        })
    };
    begun.await.unwrap();
    assert_eq!(fault(open(&holding, "serial-a", OTHER).await).0, DeviceFault::Busy, "it has its place already");
    assert_eq!(holding.held(), [], "not open yet");
    holding.close_all();
    let second = open(&holding, "serial-a", OTHER).await.unwrap();
    go.send(()).unwrap();
    assert!(matches!(late.await.unwrap(), Err(OpError::Cancelled)));
    assert!(closed.load(Ordering::SeqCst));
    assert!(!second.closed.load(Ordering::SeqCst), "the place is another one's by now");
}

#[tokio::test]
async fn what_cannot_be_opened_leaves_its_place_free() {
    let holding = holding();
    let absent = || Err::<Thing, _>(HardwareFault::new(DeviceFault::Absent, "gone\u{202e}"));
    let (kind, message) = fault(holding.open(&device("serial-a"), CHAT, absent).await);
    assert_eq!((kind, message.as_str()), (DeviceFault::Absent, "gone\\u{202E}"));
    open(&holding, "serial-a", OTHER).await.unwrap();
    assert!(matches!(fault(holding.of::<Other>(&device("serial-a"), OTHER)), (DeviceFault::NotOpen, _)));
}

#[tokio::test]
async fn sixteen_are_open_at_once_and_no_more() {
    let holding = holding();
    for number in 0..MOST {
        open(&holding, &format!("serial-{number}"), CHAT).await.unwrap();
    }
    assert!(matches!(open(&holding, "serial-x", CHAT).await, Err(OpError::Overloaded { max: 16, .. })));
    holding.close(&device("serial-3"));
    open(&holding, "serial-x", CHAT).await.unwrap();
}

#[tokio::test]
async fn what_ended_by_itself_is_held_no_more() {
    let holding = holding();
    let thing = open(&holding, "serial-a", CHAT).await.unwrap();
    thing.ended.store(true, Ordering::SeqCst);
    assert_eq!(holding.held(), []);
    assert!(thing.closed.load(Ordering::SeqCst));
    open(&holding, "serial-a", OTHER).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_nobody_uses_is_closed_and_what_is_used_or_must_stay_is_not() {
    let holding = holding();
    open(&holding, "serial-a", CHAT).await.unwrap();
    open(&holding, "serial-b", CHAT).await.unwrap();
    let stays = || Ok(Thing { stays: true, ..Thing::default() });
    holding.open(&device("gpio-c"), CHAT, stays).await.unwrap();
    let (never, thing) = (CancellationToken::new(), || Ok(Thing::default()));
    holding.open_until(&never, &device("serial-d"), COMMAND_LINE, Some(1), thing).await.unwrap();
    tokio::time::sleep(UNUSED - Duration::from_secs(1)).await;
    holding.of::<Thing>(&device("serial-b"), CHAT).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    // The closing itself runs on another thread.
    while holding.held().len() > 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let names: Vec<_> = holding.held().into_iter().map(|held| held.device.to_string()).collect();
    assert_eq!(names, ["gpio-c", "serial-b", "serial-d"]);
    tokio::time::sleep(2 * UNUSED).await;
    while holding.held().len() > 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let names: Vec<_> = holding.held().into_iter().map(|held| held.device.to_string()).collect();
    assert_eq!(names, ["gpio-c", "serial-d"], "what is held stays");
}
