//! Acts on devices that run now, so that they can be ended: all of them, or those of one device.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drawbridge_core::hardware::DeviceId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The acts.
#[derive(Default)]
pub(super) struct Acts {
    running: Mutex<Inner>,
    ended: Notify,
}

#[derive(Default)]
struct Inner {
    last: u64,
    acts: BTreeMap<u64, (DeviceId, CancellationToken)>,
}

/// An act that runs, until this is dropped.
pub(crate) struct Running {
    acts: Arc<Acts>,
    number: u64,
    /// Ends it.
    pub(crate) cancel: CancellationToken,
}

impl Acts {
    /// Notes that an act on a device begins. Before it is decided upon: a raise that comes after must find it.
    pub(super) fn begin(acts: &Arc<Self>, device: &DeviceId) -> Running {
        let cancel = CancellationToken::new();
        let mut inner = acts.lock();
        inner.last += 1;
        let number = inner.last;
        inner.acts.insert(number, (device.clone(), cancel.clone()));
        drop(inner);
        Running { acts: acts.clone(), number, cancel }
    }

    /// Tells all acts to end.
    pub(super) fn end_all(&self) {
        self.lock().acts.values().for_each(|(_, cancel)| cancel.cancel());
    }

    /// Tells the acts of a device to end.
    pub(super) fn end_of(&self, device: &DeviceId) {
        self.lock().acts.values().filter(|(of, _)| of == device).for_each(|(_, cancel)| cancel.cancel());
    }

    /// Waits until none runs. False when one still does after all that time.
    pub(super) async fn none_left(&self, within: Duration) -> bool {
        let none = async {
            loop {
                let ended = self.ended.notified();
                if self.lock().acts.is_empty() {
                    return;
                }
                ended.await;
            }
        };
        tokio::time::timeout(within, none).await.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.acts.lock().acts.remove(&self.number);
        self.acts.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn acts_are_ended_by_their_device_and_waited_for() {
        let acts = Arc::new(Acts::default());
        let [one, other] = ["serial-1", "usb-2"].map(|id| Acts::begin(&acts, &DeviceId::parse(id).unwrap()));

        acts.end_of(&DeviceId::parse("serial-1").unwrap());
        assert_eq!((one.cancel.is_cancelled(), other.cancel.is_cancelled()), (true, false));
        assert!(!acts.none_left(Duration::ZERO).await);
        acts.end_all();
        assert!(other.cancel.is_cancelled());

        let waits = tokio::spawn({
            let acts = acts.clone();
            async move { acts.none_left(Duration::from_secs(60)).await }
        });
        drop((one, other));
        assert!(waits.await.unwrap());
    }
}
