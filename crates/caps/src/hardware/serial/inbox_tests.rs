use std::sync::Arc;
use std::time::Duration;

use drawbridge_core::DeviceFault;

use super::*;

fn until(pattern: &[u8], max_bytes: u32) -> SerialRead {
    SerialRead { until: Some(pattern.to_vec()), max_bytes, timeout: Duration::ZERO }
}

fn up_to(max_bytes: u32) -> SerialRead {
    SerialRead { until: None, max_bytes, timeout: Duration::ZERO }
}

async fn read(inbox: &Inbox, read: &SerialRead) -> (Vec<u8>, ReadEnd, u64, u64) {
    let got = inbox.read(read, Instant::now()).await.unwrap();
    (got.bytes, got.ended, got.lost, got.waiting)
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_pattern_stays() {
    let inbox = Inbox::new(false);
    inbox.push(b"OK\r\nOK\r\nrest");
    assert_eq!(read(&inbox, &until(b"\r\n", 100)).await, (b"OK\r\n".to_vec(), ReadEnd::Pattern, 0, 8));
    assert_eq!(read(&inbox, &until(b"\r\n", 100)).await, (b"OK\r\n".to_vec(), ReadEnd::Pattern, 0, 4));
    assert_eq!(read(&inbox, &until(b"\r\n", 100)).await, (b"rest".to_vec(), ReadEnd::Timeout, 0, 0));
    assert_eq!(read(&inbox, &up_to(1)).await, (Vec::new(), ReadEnd::Timeout, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pattern_counts_within_the_length_only() {
    let inbox = Inbox::new(false);
    inbox.push(b"abcdef");
    assert_eq!(read(&inbox, &until(b"cd", 3)).await, (b"abc".to_vec(), ReadEnd::Length, 0, 3));
    assert_eq!(read(&inbox, &until(b"de", 2)).await, (b"de".to_vec(), ReadEnd::Pattern, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_pattern_that_comes_in_pieces_or_begins_anew_within_itself_is_found() {
    for (pattern, text, length) in [
        ("aab", "aaaab!", 5),
        ("abab", "abacababx", 8),
        ("aaa", "aabaaax", 6),
        ("x", "x", 1),
        ("abcabd", "abcabcabd", 9),
    ] {
        let inbox = Arc::new(Inbox::new(false));
        let reader = inbox.clone();
        let read = until(pattern.as_bytes(), 1000);
        let reading = tokio::spawn(async move { reader.read(&read, Instant::now() + Duration::from_secs(60)).await });
        for byte in text.as_bytes() {
            tokio::task::yield_now().await;
            inbox.push(&[*byte]);
        }
        let got = reading.await.unwrap().unwrap();
        assert_eq!(got.bytes, text.as_bytes()[..length], "{pattern} in {text}");
        assert_eq!(got.ended, ReadEnd::Pattern);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_too_much_pushes_out_the_oldest_and_is_told_once() {
    let inbox = Inbox::new(false);
    inbox.push(b"oldest");
    inbox.push(&vec![b'x'; CAPACITY - 3]);
    inbox.push(b"new");
    let (bytes, ended, lost, waiting) = read(&inbox, &up_to(4)).await;
    assert_eq!((bytes.as_slice(), ended, lost, waiting), (&b"xxxx"[..], ReadEnd::Length, 6, CAPACITY as u64 - 4));
    assert_eq!(read(&inbox, &up_to(2)).await.2, 0);
}

#[tokio::test(start_paused = true)]
async fn a_pattern_whose_beginning_was_lost_is_not_found() {
    let inbox = Arc::new(Inbox::new(false));
    inbox.push(b"STA");
    let reader = inbox.clone();
    let wanted = until(b"START", CAPACITY as u32);
    let reading = tokio::spawn(async move { reader.read(&wanted, Instant::now() + Duration::from_secs(1)).await });
    tokio::task::yield_now().await;
    let mut much = vec![b'.'; CAPACITY];
    much[..2].copy_from_slice(b"RT");
    inbox.push(&much);
    let got = reading.await.unwrap().unwrap();
    assert_eq!((got.ended, got.bytes.len(), got.lost), (ReadEnd::Length, CAPACITY, 3));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_takes_nothing() {
    let inbox = Inbox::new(false);
    inbox.push(b"half");
    let forever = Instant::now() + Duration::from_secs(60);
    let wanted = until(b"!", 100);
    tokio::select! {
        biased;
        _ = inbox.read(&wanted, forever) => panic!("not enough came"),
        () = std::future::ready(()) => {}
    }
    inbox.push(b" whole!");
    assert_eq!(read(&inbox, &wanted).await, (b"half whole!".to_vec(), ReadEnd::Pattern, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_waits_hears_that_it_ended_and_what_was_enough_is_still_read() {
    let inbox = Inbox::new(false);
    inbox.push(b"last words.");
    inbox.end(HardwareFault::new(DeviceFault::Unplugged, "gone"));
    inbox.end(HardwareFault::new(DeviceFault::NotOpen, "closed"));
    assert_eq!(read(&inbox, &until(b".", 100)).await, (b"last words.".to_vec(), ReadEnd::Pattern, 0, 0));
    let Err(fault) = inbox.read(&up_to(5), Instant::now()).await else { panic!("it ended") };
    assert_eq!(fault.fault, DeviceFault::Unplugged, "the first reason counts");
}

#[tokio::test]
async fn a_reader_gets_all_that_there_is_room_for_from_a_side_that_is_held_back() {
    let inbox = Arc::new(Inbox::new(true));
    inbox.push(&vec![1; CAPACITY - 4]);
    let filling = {
        let inbox = inbox.clone();
        std::thread::spawn(move || inbox.push(&[2; 10]))
    };
    let all = up_to(CAPACITY as u32);
    let got = inbox.read(&all, Instant::now() + Duration::from_secs(60)).await.unwrap();
    assert_eq!((got.bytes.len(), got.ended, got.lost), (CAPACITY, ReadEnd::Length, 0));
    filling.join().unwrap();
    assert_eq!(read(&inbox, &up_to(6)).await.0, [2; 6]);
}

#[test]
fn a_side_that_can_be_held_back_loses_nothing() {
    let inbox = Arc::new(Inbox::new(true));
    inbox.push(&vec![1; CAPACITY]);
    let filling = {
        let inbox = inbox.clone();
        std::thread::spawn(move || inbox.push(&[2]))
    };
    let got = inbox.take_late(CAPACITY);
    filling.join().unwrap();
    assert_eq!((got.bytes.len(), got.lost, inbox.take_late(9).bytes), (CAPACITY, 0, vec![2]));
    // Closing ends the wait as well.
    inbox.push(&vec![1; CAPACITY]);
    let filling = {
        let inbox = inbox.clone();
        std::thread::spawn(move || inbox.push(&[2]))
    };
    inbox.end(HardwareFault::new(DeviceFault::NotOpen, "closed"));
    filling.join().unwrap();
}
