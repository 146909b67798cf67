//! Holds the structure of ARCHITECTURE.md: which crate may use which, and where system calls may live.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which of our own crates each crate may depend on, tests apart.
const ARROWS: [(&str, &[&str]); 12] = [
    ("drawbridge-core", &[]),
    ("drawbridge-proto", &["core"]),
    ("drawbridge-policy", &["core"]),
    ("drawbridge-os", &["core"]),
    ("drawbridge-caps", &["core", "os", "policy"]),
    ("drawbridge-store", &["core", "os", "policy"]),
    ("drawbridge-engine", &["core", "os", "policy", "proto", "caps", "store"]),
    ("drawbridge-practice", &["proto"]),
    ("drawbridge-testkit", &["core", "os", "policy", "proto", "caps", "store", "engine", "practice"]),
    ("drawbridge-cli", &["core", "os", "policy", "proto", "caps", "store", "engine", "practice"]),
    ("drawbridge-bench", &["core", "os", "policy", "proto", "caps", "store", "engine", "practice", "testkit"]),
    ("drawbridge-desktop", &["core", "os", "policy", "proto", "caps", "store", "engine", "practice"]),
];

/// Crates that no crate of this column may ever depend on, however far down.
const NEVER: [(&str, &[&str]); 12] = [
    ("drawbridge-core", &["tokio", "serde", "tauri"]),
    ("drawbridge-proto", &["tokio", "tauri"]),
    ("drawbridge-policy", &["tokio", "tauri"]),
    ("drawbridge-os", &["tauri", "wry", "gtk"]),
    ("drawbridge-caps", &["tauri", "wry", "gtk"]),
    ("drawbridge-store", &["tauri", "wry", "gtk"]),
    ("drawbridge-engine", &["tauri", "wry", "gtk"]),
    ("drawbridge-practice", &["tauri", "wry", "gtk"]),
    ("drawbridge-testkit", &["tauri", "wry", "gtk"]),
    ("drawbridge-cli", &["tauri", "wry", "gtk"]),
    ("drawbridge-bench", &["tauri", "wry", "gtk"]),
    ("drawbridge-desktop", &["openssl-sys", "native-tls"]),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Normal (not test, not build) dependencies of every package, by name.
fn graph(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let name_of: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let from = name_of[node["id"].as_str().unwrap()].to_owned();
        let entry = graph.entry(from).or_default();
        for dependency in node["deps"].as_array().unwrap() {
            let normal = dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
            if normal {
                entry.insert(name_of[dependency["pkg"].as_str().unwrap()].to_owned());
            }
        }
    }
    graph
}

#[test]
fn arrows_never_turn_back() {
    let graph = graph(&metadata());
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let ours: BTreeSet<&str> =
        graph.keys().map(String::as_str).filter(|name| name.starts_with("drawbridge-")).collect();
    assert_eq!(ours, known, "a crate was added or removed: give it its arrows here and in ARCHITECTURE.md");

    for (name, allowed) in ARROWS {
        for used in graph[name].iter().filter(|used| used.starts_with("drawbridge-")) {
            let short = used.trim_start_matches("drawbridge-");
            assert!(allowed.contains(&short), "{name} may not use {used}");
        }
    }
}

#[test]
fn inner_crates_stay_free_of_the_outside() {
    let graph = graph(&metadata());
    for (name, never) in NEVER {
        let mut seen = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(next) = open.pop() {
            for used in graph.get(&next).into_iter().flatten() {
                if seen.insert(used.clone()) {
                    open.push(used.clone());
                }
            }
        }
        for bad in never {
            assert!(!seen.contains(*bad), "{name} must never depend on {bad}");
        }
    }
}

#[test]
fn system_calls_live_in_one_crate() {
    let root = workspace();
    let mut files = Vec::new();
    for folder in ["crates", "src-tauri"] {
        rust_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 30, "only {} files found", files.len());
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        // Tests may say on which system they run; what is shipped may not.
        let of_tests = relative.iter().any(|part| part == "tests" || part == "examples");
        if relative.starts_with("crates/os") || of_tests {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let bad = code.contains("target_os") || code.contains("unsafe {") || code.contains("unsafe fn");
            assert!(!bad, "{}:{}: belongs into crates/os: {line}", relative.display(), number + 1);
        }
    }
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}
