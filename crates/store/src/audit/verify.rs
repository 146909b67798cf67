//! Checks the log (spec 3.8). Reads only, also while another process writes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use hmac::Mac as _;
use serde_json::{Map, Value};

use super::canonical::{self, Keyed};
use super::compat::{Rule, Token};
use super::files::{self, Ends, LINE_LIMIT};
use super::head::{self, Head, Kept};
use super::report::{FileReport, FindingKind, Report};
use super::writer::copied_head;
use super::{AuditKey, AuditPaths};
use crate::secrets::SecretStore;

/// So many findings of one file are told; a file that is all wrong needs no million lines.
const MOST_FINDINGS: usize = 200;

/// The copy of the head in the secret store, if that can be reached.
#[derive(Debug, Clone, Copy)]
pub enum HeadCopy<'a> {
    /// Look there, too.
    In(&'a dyn SecretStore),
    /// The head file alone.
    Nowhere,
}

/// Checks the current file, its chain and the head kept elsewhere. `compat` accepts the older way of writing numbers.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn verify(paths: &AuditPaths, key: &AuditKey, copy: HeadCopy<'_>, compat: bool) -> io::Result<Report> {
    let mac = canonical::keyed(key);
    let mut report = Report::default();
    // The head first: what is written meanwhile only adds to the log.
    let (kept, copied) = heads(paths, &mac, copy)?;
    check_file(&paths.log, &Check { mac: &mac, compat, stopped: &|| false }, &mut report)?;
    check_heads(paths, &kept, copied.as_ref(), &mut report)?;
    Ok(report)
}

/// Checks all files, how they follow each other, and the head.
///
/// # Errors
/// When a file that is there cannot be read.
pub fn verify_all(paths: &AuditPaths, key: &AuditKey, copy: HeadCopy<'_>, compat: bool) -> io::Result<Report> {
    let mac = canonical::keyed(key);
    all(paths, copy, &Check { mac: &mac, compat, stopped: &|| false })
}

/// How to check.
pub(super) struct Check<'a> {
    pub(super) mac: &'a Keyed,
    /// Accepts the older way of writing numbers.
    pub(super) compat: bool,
    /// Asked between records; true ends the check with an error.
    pub(super) stopped: &'a dyn Fn() -> bool,
}

pub(super) fn all(paths: &AuditPaths, copy: HeadCopy<'_>, check: &Check<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    let (kept, copied) = heads(paths, check.mac, copy)?;
    let mut all = files::older(&paths.log)?;
    all.push(paths.log.clone());
    let mut links = Vec::new();
    let mut pruned = BTreeSet::new();
    for path in &all {
        let checked = check_file(path, check, &mut report)?;
        pruned.extend(checked.pruned);
        links.push((path.clone(), checked.first, checked.last));
    }
    check_order(&links, &pruned, &mut report);
    check_heads(paths, &kept, copied.as_ref(), &mut report)?;
    Ok(report)
}

fn heads(paths: &AuditPaths, mac: &Keyed, copy: HeadCopy<'_>) -> io::Result<(Kept, Option<Head>)> {
    let kept = head::read(&paths.state_dir, mac)?;
    let chain = match &kept {
        Kept::Sound(head) => Some(head.chain.clone()),
        Kept::Missing | Kept::Damaged => chain_in(&paths.log),
    };
    let copied = match (copy, chain) {
        (HeadCopy::In(secrets), Some(chain)) => copied_head(secrets, &chain, mac),
        (HeadCopy::In(_), None) | (HeadCopy::Nowhere, _) => None,
    };
    Ok((kept, copied))
}

pub(super) fn chain_in(log: &Path) -> Option<String> {
    let ends = Ends::read(log).ok()?;
    Some(files::opened(ends.first.as_ref()?)?.get("chain")?.as_str()?.to_owned())
}

fn check_heads(paths: &AuditPaths, kept: &Kept, copied: Option<&Head>, report: &mut Report) -> io::Result<()> {
    let head_path = head::path(&paths.state_dir);
    match kept {
        Kept::Missing => {
            // A log that another client wrote has no head; ours always has one.
            if chain_in(&paths.log).is_some() {
                report.note(FindingKind::HeadMismatch, &head_path, None, "the head file is missing");
            }
        }
        Kept::Damaged => report.note(FindingKind::HeadMismatch, &head_path, None, "the head file is damaged"),
        Kept::Sound(head) => {
            if let Some(why) = head_fault(&paths.log, head)? {
                report.note(FindingKind::HeadMismatch, &paths.log, None, why);
            }
            if copied.is_some_and(|copied| copied.total > head.total) {
                let why = "the head file is older than its copy in the secret store";
                report.note(FindingKind::HeadMismatch, &head_path, None, why);
            }
        }
    }
    if let Some(copied) = copied
        && let Some(why) = head_fault(&paths.log, copied)?
    {
        report.note(FindingKind::HeadMismatch, &paths.log, None, format!("by the copy in the secret store, {why}"));
    }
    Ok(())
}

/// Says what is wrong when the log does not hold the record that a head points at.
pub(super) fn head_fault(log: &Path, head: &Head) -> io::Result<Option<String>> {
    if head.seq == 0 {
        return Ok(None);
    }
    let mut all = files::older(log)?;
    all.push(log.to_owned());
    for path in all.iter().rev() {
        let Ok(ends) = Ends::read(path) else { continue };
        let own_id = ends.first.as_ref().and_then(|first| first.get("hmac")).and_then(Value::as_str);
        if ends.file_id().or(own_id) != Some(head.file_id.as_str()) {
            continue;
        }
        return Ok(match files::hmac_at(path, head.seq)? {
            Some(found) if found == head.hmac => None,
            Some(_) => Some(format!("record {} is not the one that the head names", head.seq)),
            None => {
                let end = ends.last_seq().unwrap_or(0);
                Some(format!("the log ends at record {end}, the head says {}", head.seq))
            }
        });
    }
    Ok(Some(format!("the file that the head names ({} records) is gone", head.seq)))
}

/// Tells whether one line verifies by either rule.
pub(super) fn line_is_sound(line: &[u8], mac: &Keyed) -> bool {
    let token = std::str::from_utf8(line).ok().and_then(Token::parse);
    token.is_some_and(|token| matches!(rule_of(token, mac), Some((_, Some(_)))))
}

/// Returns the MAC that a record carries and the rule that reproduces it.
fn rule_of(mut record: Token, mac: &Keyed) -> Option<(String, Option<Rule>)> {
    let Token::Map(map) = &mut record else { return None };
    let Some(Token::Text(carried)) = map.remove("hmac") else { return None };
    for rule in [Rule::Strict, Rule::Older] {
        let mut bytes = Vec::new();
        record.write(&mut bytes, rule);
        let mut mac = mac.clone();
        mac.update(&bytes);
        let expected = drawbridge_core::hex::encode(mac.finalize().into_bytes());
        if subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), carried.as_bytes()).into() {
            return Some((carried, Some(rule)));
        }
    }
    Some((carried, None))
}

#[derive(Default)]
struct Checked {
    first: Option<Map<String, Value>>,
    last: Option<(u64, String)>,
    pruned: BTreeSet<String>,
}

fn check_file(path: &Path, check: &Check<'_>, report: &mut Report) -> io::Result<Checked> {
    let Check { mac, compat, stopped } = *check;
    let mut checked = Checked::default();
    let mut facts = FileReport { file: files::name(path), records: 0, older_rule: 0 };
    let file = match files::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            report.note(FindingKind::Truncated, path, None, "the file is missing");
            return Ok(checked);
        }
        Err(err) => return Err(err),
    };
    let limit = report.findings.len() + MOST_FINDINGS;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    let mut number = 0_u64;
    let mut before: Option<(u64, String)> = None;
    loop {
        line.clear();
        (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        number += 1;
        if stopped() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the check was stopped"));
        }
        if line.last() != Some(&b'\n') {
            // A writer may be at this very line: then its end is there by now.
            reader.read_until(b'\n', &mut line)?;
        }
        if line.last() != Some(&b'\n') {
            report.note(FindingKind::Truncated, path, Some(number), "the file ends inside a record");
            break;
        }
        line.pop();
        let Some(token @ Token::Map(_)) = std::str::from_utf8(&line).ok().and_then(Token::parse) else {
            report.note(
                FindingKind::ParseError,
                path,
                Some(number),
                "the line is no record; what follows was not checked",
            );
            break;
        };
        facts.records += 1;
        let seq = token.get("seq").and_then(Token::whole);
        let hmac = token.get("hmac").and_then(Token::text).map(str::to_owned);
        let (Some(seq), Some(hmac)) = (seq, hmac) else {
            let words = "the record has no number or no MAC; what follows was not checked";
            report.note(FindingKind::MissingField, path, Some(number), words);
            break;
        };
        for field in
            ["ts", "session_id", "machine_id", "shim_version", "request_id", "op", "details", "result", "prev_hmac"]
        {
            if token.get(field).is_none() {
                report.note(FindingKind::MissingField, path, Some(number), format!("the record has no {field}"));
            }
        }
        let expected = before.as_ref().map_or(1, |(seq, _)| seq.saturating_add(1));
        if seq != expected {
            let words = format!("the record has number {seq}, expected was {expected}");
            report.note(FindingKind::SequenceGap, path, Some(number), words);
        }
        let prev = token.get("prev_hmac").and_then(Token::text);
        if prev != before.as_ref().map(|(_, hmac)| hmac.as_str()) {
            report.note(FindingKind::ChainBreak, path, Some(number), "the record does not follow the one before it");
        }
        notice_own_words(&line, number, path, &mut checked, report);
        match rule_of(token, mac) {
            Some((_, Some(Rule::Strict))) => {}
            Some((_, Some(Rule::Older))) if compat => facts.older_rule += 1,
            Some((_, Some(Rule::Older))) => {
                let words = "the record verifies only with --compat: another client wrote it";
                report.note(FindingKind::HmacMismatch, path, Some(number), words);
            }
            Some((_, None)) | None => {
                report.note(
                    FindingKind::HmacMismatch,
                    path,
                    Some(number),
                    "the record was changed, or the key is another one",
                );
            }
        }
        before = Some((seq, hmac));
        if report.findings.len() >= limit {
            report.note(
                FindingKind::HmacMismatch,
                path,
                Some(number),
                "too many findings; the rest of the file was not checked",
            );
            break;
        }
    }
    checked.last = before;
    report.files.push(facts);
    Ok(checked)
}

/// Takes from a record what later checks need: the link to the file before, pruned files, and earlier suspicions.
fn notice_own_words(line: &[u8], number: u64, path: &Path, checked: &mut Checked, report: &mut Report) {
    const MARKS: [&[u8]; 2] = [b"\"op\":\"LOG_SUSPECT\"", b"\"op\":\"LOG_PRUNED\""];
    let marked = |mark: &[u8]| line.windows(mark.len()).any(|part| part == mark);
    if number != 1 && !MARKS.iter().any(|mark| marked(mark)) {
        return;
    }
    let Some(record) = files::record(line) else { return };
    let op = record.get("op").and_then(Value::as_str).unwrap_or_default();
    let details = record.get("details");
    let text = |key| details.and_then(|details| details.get(key)).and_then(Value::as_str);
    if op == "LOG_SUSPECT" {
        let why = text("why").unwrap_or("the log looked changed");
        report.note(FindingKind::Suspect, path, Some(number), format!("noticed when the log was opened: {why}"));
    } else if op == "LOG_PRUNED" {
        let files = details.and_then(|details| details.get("files")).and_then(Value::as_array);
        for file in files.into_iter().flatten() {
            let id = file.get("file_id").or_else(|| file.get("last_hmac")).and_then(Value::as_str);
            checked.pruned.extend(id.map(str::to_owned));
        }
    }
    if number == 1 {
        checked.first = Some(record);
    }
}

type Link = (PathBuf, Option<Map<String, Value>>, Option<(u64, String)>);

fn check_order(links: &[Link], pruned: &BTreeSet<String>, report: &mut Report) {
    let opened = |link: &Link| link.1.as_ref().and_then(files::opened).cloned();
    let mut by_id = BTreeMap::new();
    for (at, link) in links.iter().enumerate() {
        let id = opened(link).and_then(|facts| facts.get("file_id").and_then(Value::as_str).map(str::to_owned));
        if let Some(id) = id
            && by_id.insert(id, at).is_some()
        {
            report.note(FindingKind::FileOrder, &link.0, None, "the same file is there twice");
        }
    }
    let mut followed = BTreeSet::new();
    for (at, link) in links.iter().enumerate() {
        let Some(facts) = opened(link) else { continue };
        let text = |key: &str| facts.get(key).and_then(Value::as_str);
        let Some(prev_file) = text("prev_file") else { continue };
        let Some(prev_id) = text("prev_file_id") else { continue };
        let Some(prev_at) = by_id.get(prev_id).copied() else {
            if !pruned.contains(prev_id) {
                let words = format!("{prev_file}, which came before it, is missing");
                report.note(FindingKind::MissingFile, &link.0, None, words);
            }
            continue;
        };
        let prev = &links[prev_at];
        followed.insert(prev_at);
        if files::name(&prev.0) != prev_file || prev_at >= at {
            let words = format!("it holds what {prev_file} held before");
            report.note(FindingKind::FileOrder, &prev.0, None, words);
        }
        let end = (facts.get("prev_last_seq").and_then(Value::as_u64), text("prev_last_hmac"));
        let found = prev.2.as_ref().map(|(seq, hmac)| (*seq, hmac.as_str()));
        if found.map_or((None, None), |(seq, hmac)| (Some(seq), Some(hmac))) != end {
            let words = "it does not end where the next file says";
            report.note(FindingKind::Truncated, &prev.0, None, words);
        }
    }
    let last = links.len().saturating_sub(1);
    for (at, link) in links.iter().enumerate() {
        if at != last && opened(link).is_some() && !followed.contains(&at) {
            report.note(FindingKind::FileOrder, &link.0, None, "no other file follows it");
        }
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
