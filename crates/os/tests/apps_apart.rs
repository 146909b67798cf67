//! An app that was started belongs to the desktop: what it leaves behind comes to us as an orphan, and no command that ends takes
//! it along. In a process of its own: orphans come to the whole process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use drawbridge_os::process::{Start, adopt_orphans, spawn};
use drawbridge_os::seat::Seat;
use drawbridge_os::seat::app::{self, Target};

const APP: [&str; 3] = ["sleep 765442", "sleep 765443", "sleep 765444"];

fn pids(line: &str) -> Vec<String> {
    let runs = |folder: &Path| {
        let found = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&found).replace('\0', " ").trim() == line
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| runs(&entry.path()));
    all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Ends what the app left behind, also when the test fails.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        for pid in APP.iter().flat_map(|line| pids(line)) {
            let _ = std::process::Command::new("/bin/kill").args(["-9", &pid]).status();
        }
    }
}

#[tokio::test]
async fn a_command_that_ends_takes_nothing_of_an_app_along() {
    adopt_orphans().unwrap();
    let _cleared = Cleared;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("app");
    // In a session of its own with the app's environment, in the app's session, and there without any environment.
    let script = "#!/bin/sh\nsetsid sleep 765442 &\nsleep 765443 &\nenv -i sleep 765444 &\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = spawn(Start {
        program: "/bin/sh".into(),
        name: "sh".into(),
        args: vec!["-c".into(), "setsid sleep 765441 & exit 0".into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        folder: None,
        pass: None,
        wrapped: false,
    })
    .unwrap();
    let apps = app::open_in(&Seat::x11(":77"), vec![("PATH".into(), "/usr/bin:/bin".into())]).unwrap();

    let pid = apps.launch(&Target::Program(program), &[]).unwrap().unwrap();
    while Path::new(&format!("/proc/{pid}")).exists() || APP.iter().any(|line| pids(line).is_empty()) {
        tokio::task::yield_now().await;
    }
    command.wait().await.unwrap();
    let members = command.tree().members();
    command.end().await.unwrap();

    assert!(members.iter().all(|member| !APP.iter().flat_map(|line| pids(line)).any(|pid| pid == member.to_string())));
    assert_eq!(pids("sleep 765441"), Vec::<String>::new());
    for line in APP {
        assert_eq!(pids(line).len(), 1, "{line}");
    }
}
