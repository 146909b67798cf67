use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use super::*;

/// Long enough for any machine; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

fn watch(dev: &Path, paths: &[PathBuf]) -> (Watch, Receiver<()>) {
    let (say, told) = channel();
    (
        Watch::run(
            watcher(dev, paths),
            Box::new(move || {
                let _ = say.send(());
            }),
        )
        .unwrap(),
        told,
    )
}

#[test]
fn ports_that_come_and_go_are_told_and_many_at_once_are_one() {
    let dev = tempfile::tempdir().unwrap();
    let (watch, told) = watch(dev.path(), &[]);
    for number in 0..50 {
        fs::write(dev.path().join(format!("ttyUSB{number}")), "").unwrap();
    }
    told.recv_timeout(PATIENCE).unwrap();
    fs::remove_file(dev.path().join("ttyUSB0")).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    drop(watch);
    assert!(told.try_iter().count() < 40, "fifty at once are not told one by one");
    assert_eq!(told.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Disconnected), "its thread is gone");
}

#[test]
fn a_usb_bus_that_comes_later_is_followed() {
    let dev = tempfile::tempdir().unwrap();
    let (_watch, told) = watch(dev.path(), &[]);
    for folder in ["bus", "bus/usb", "bus/usb/001"] {
        fs::create_dir(dev.path().join(folder)).unwrap();
        told.recv_timeout(PATIENCE).unwrap();
    }
    fs::write(dev.path().join("bus/usb/001/007"), "").unwrap();
    told.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_port_that_the_person_named_is_watched_wherever_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let dev = place.path().join("dev");
    fs::create_dir(&dev).unwrap();
    let port = place.path().join("far/away/port");
    let (_watch, told) = watch(&dev, std::slice::from_ref(&port));
    fs::create_dir(place.path().join("far")).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::create_dir(place.path().join("far/away")).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::write(&port, "").unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::remove_file(&port).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn what_a_link_leads_to_is_watched_as_the_link_stays_behind() {
    let place = tempfile::tempdir().unwrap();
    let dev = place.path().join("dev");
    fs::create_dir_all(dev.join("pts")).unwrap();
    let (near, named) = (dev.join("pts/4"), place.path().join("port"));
    fs::write(&near, "").unwrap();
    std::os::unix::fs::symlink(&near, place.path().join("between")).unwrap();
    std::os::unix::fs::symlink("between", &named).unwrap();
    let (_watch, told) = watch(&dev, std::slice::from_ref(&named));
    fs::remove_file(&near).unwrap();
    told.recv_timeout(PATIENCE).unwrap();
    fs::write(&near, "").unwrap();
    told.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn whoever_looks_ends_at_once_too() {
    let (say, told) = channel::<()>();
    drop(
        Watch::run(
            looker(Vec::new()),
            Box::new(move || {
                let _ = say.send(());
            }),
        )
        .unwrap(),
    );
    assert_eq!(told.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
}
