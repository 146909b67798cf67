//! An open serial port: a thread takes in what comes, calls read it out and write.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use drawbridge_core::DeviceFault;
use drawbridge_core::hardware::{Flow, HardwareOutcome, LineChange, Parity, SerialRead, SerialSettings};
use drawbridge_os::hardware::serial::SerialLink;
use drawbridge_os::hardware::{HardwareFault, Stop};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::inbox::Inbox;
use crate::hardware::holding::Open;

/// Bytes taken in at once.
const TAKEN: usize = 16 * 1024;
/// Bits a byte takes on the wire at most.
const BITS: u64 = 12;
/// How long the other side may hold back a write beyond the time that its bytes need.
const PATIENCE: Duration = Duration::from_secs(10);
/// No write takes longer: no operation does.
const LONGEST_WRITE: Duration = Duration::from_secs(10 * 60);

/// Why an act came to nothing.
#[derive(Debug)]
pub(super) enum Failed {
    /// It was ended from here.
    Cancelled,
    /// Because of the device.
    Device(HardwareFault),
}

impl From<HardwareFault> for Failed {
    fn from(fault: HardwareFault) -> Self {
        Self::Device(fault)
    }
}

/// An open port. Its thread ends with it.
pub(super) struct Port {
    link: Arc<dyn SerialLink>,
    inbox: Arc<Inbox>,
    reader: Mutex<Option<JoinHandle<()>>>,
    settings: SerialSettings,
    /// One read and one write at a time, in the order in which they came.
    reading: tokio::sync::Mutex<()>,
    writing: tokio::sync::Mutex<()>,
}

impl Port {
    /// Begins to take in what comes.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn start(link: Arc<dyn SerialLink>, settings: SerialSettings) -> Result<Self, HardwareFault> {
        let inbox = Arc::new(Inbox::new(settings.flow != Flow::None));
        let (from, into) = (link.clone(), inbox.clone());
        let thread = std::thread::Builder::new().name("serial-port".to_owned());
        let reader = thread.spawn(move || take_in(&*from, &into));
        let reader = reader.map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        let reader = Mutex::new(Some(reader));
        Ok(Self {
            link,
            inbox,
            reader,
            settings,
            reading: tokio::sync::Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// Reads until the first of what is asked for is met. Cancelled, it takes no byte.
    ///
    /// # Errors
    /// Cancelled; `Unplugged`, `NotOpen` when it was closed meanwhile, `Io`.
    pub(super) async fn read(&self, read: &SerialRead, cancel: &CancellationToken) -> Result<HardwareOutcome, Failed> {
        let deadline = Instant::now() + read.timeout;
        let reading = async {
            let Ok(_turn) = tokio::time::timeout_at(deadline, self.reading.lock()).await else {
                return Ok(self.inbox.nothing());
            };
            self.inbox.read(read, deadline).await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failed::Cancelled),
            bytes = reading => Ok(HardwareOutcome::Read(bytes?)),
        }
    }

    /// Writes and waits until all has left.
    ///
    /// # Errors
    /// Cancelled: what had not left by then never does. `Timeout`, `Unplugged`, `NotOpen` when it was closed meanwhile, `Io`.
    pub(super) async fn write(&self, bytes: Vec<u8>, cancel: &CancellationToken) -> Result<HardwareOutcome, Failed> {
        let _turn = tokio::select! {
            turn = self.writing.lock() => turn,
            () = cancel.cancelled() => return Err(Failed::Cancelled),
        };
        let count = bytes.len() as u64;
        let deadline = std::time::Instant::now() + longest(count, self.settings.baud);
        let stop = Stop::new().map_err(|fault| HardwareFault::new(DeviceFault::Io, fault.to_string()))?;
        let stopped = SaidAtEnd(stop.clone());
        let link = self.link.clone();
        let mut writing = tokio::task::spawn_blocking(move || link.write(&bytes, deadline, &stop));
        let written = tokio::select! {
            written = &mut writing => written,
            () = cancel.cancelled() => {
                stopped.0.say();
                // Nothing is on its way any more when the answer goes out.
                let _ = writing.await;
                return Err(Failed::Cancelled);
            }
        };
        self.settle(written)?;
        Ok(HardwareOutcome::Written { bytes: count })
    }

    /// Sets lines, sends a break, and reads the other side's lines.
    ///
    /// # Errors
    /// Cancelled, with the break ended. `Unsupported` where there are no lines, and then nothing was set; `Unplugged`, `NotOpen`, `Io`.
    pub(super) async fn lines(
        &self,
        change: LineChange,
        cancel: &CancellationToken,
    ) -> Result<HardwareOutcome, Failed> {
        let link = self.link.clone();
        let set = tokio::task::spawn_blocking(move || {
            link.lines()?;
            link.set_lines(change.dtr, change.rts)?;
            change.send_break.map(|_| link.set_break(true)).transpose()
        });
        self.settle(set.await)?;
        if let Some(long) = change.send_break {
            let breaking = Break(&*self.link);
            tokio::select! {
                () = tokio::time::sleep(long) => {}
                () = cancel.cancelled() => return Err(Failed::Cancelled),
            }
            drop(breaking);
        }
        let link = self.link.clone();
        let states = self.settle(tokio::task::spawn_blocking(move || link.lines()).await)?;
        Ok(HardwareOutcome::Lines(states))
    }

    /// Says why a call failed. One that found the port closed says why it was.
    fn settle<T>(&self, result: Result<Result<T, HardwareFault>, tokio::task::JoinError>) -> Result<T, HardwareFault> {
        let result =
            result.unwrap_or_else(|fault| Err(HardwareFault::new(DeviceFault::Io, format!("broke off: {fault}"))));
        result.map_err(|fault| match self.inbox.ended() {
            Some(why) if fault.fault == DeviceFault::NotOpen => why,
            Some(_) | None => {
                if fault.fault == DeviceFault::Unplugged {
                    // Whoever finds out first closes it; the thread may not have noticed yet.
                    self.inbox.end(fault.clone());
                }
                fault
            }
        })
    }
}

impl Open for Port {
    fn how(&self) -> String {
        let SerialSettings { baud, data_bits, parity, stop_bits, flow } = self.settings;
        let parity = match parity {
            Parity::None => 'N',
            Parity::Even => 'E',
            Parity::Odd => 'O',
        };
        let flow = match flow {
            Flow::None => "",
            Flow::Software => " XON/XOFF",
            Flow::Hardware => " RTS/CTS",
        };
        format!("{baud} {data_bits}{parity}{stop_bits}{flow}")
    }

    fn has_ended(&self) -> bool {
        self.inbox.ended().is_some()
    }

    fn close(&self) {
        self.inbox.end(HardwareFault::new(DeviceFault::NotOpen, "it was closed meanwhile"));
        self.link.close();
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A thread that broke off is gone as well.
        let _ = reader.map(JoinHandle::join);
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.close();
    }
}

fn take_in(link: &dyn SerialLink, inbox: &Inbox) {
    let mut buffer = vec![0; TAKEN];
    loop {
        match link.read(&mut buffer) {
            Ok(Some(count)) => inbox.push(buffer.get(..count).unwrap_or_default()),
            Ok(None) => return,
            Err(fault) => {
                // The place is free for what is plugged in next, before anybody hears of it.
                link.close();
                return inbox.end(fault);
            }
        }
    }
}

/// The time that bytes need on the wire, and some for the other side.
fn longest(bytes: u64, baud: u32) -> Duration {
    let needed = Duration::from_millis(bytes * BITS * 1000 / u64::from(baud.max(1)));
    (needed + PATIENCE).min(LONGEST_WRITE)
}

/// Ends a write that nobody waits for any more.
struct SaidAtEnd(Stop);

impl Drop for SaidAtEnd {
    fn drop(&mut self) {
        self.0.say();
    }
}

/// A break on the line. Over with this.
struct Break<'a>(&'a dyn SerialLink);

impl Drop for Break<'_> {
    fn drop(&mut self) {
        // A port that is gone sends no break.
        let _ = self.0.set_break(false);
    }
}
