//! Looking at one file.

use std::path::PathBuf;

use dsh_session::{Checkup, StorageError, Verdict as Found};

use super::checked::{Checked, Finding, Torn, Verdict};
use crate::session::input::{self, MAX_LOG_BYTES};

pub(super) fn look(path: PathBuf) -> Checked {
    let name = input::name(&path);
    let bytes = match input::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => return Checked::wrong(name, Verdict::Unreadable, error.to_string()),
    };
    let unpacked = match dsh_session_jsonl::unpack(&name, &bytes, MAX_LOG_BYTES) {
        Ok(unpacked) => unpacked,
        // It names a session that is not known yet.
        Err(StorageError::Corrupt { what, .. }) => return Checked::wrong(name, Verdict::Damaged, what),
        Err(other) => return Checked::wrong(name, Verdict::Damaged, other.to_string()),
    };
    let checkup = Checkup::of(&unpacked.text, unpacked.whole);
    let cut_frame = unpacked.cut_frame.map(|at| Torn::Frame { at, bytes: bytes.len() - at });
    let verdict = match (&checkup.verdict, cut_frame) {
        (Found::Sound | Found::Open { .. } | Found::Torn { .. }, Some(frame)) => Verdict::Torn(frame),
        (Found::Sound, None) => Verdict::Sound,
        (Found::Open { closers }, None) => Verdict::Open { closers: *closers },
        (Found::Torn { line, bytes, closers }, None) => {
            Verdict::Torn(Torn::Line { line: *line, bytes: *bytes, closers: *closers })
        }
        (Found::Unsupported, _) => Verdict::Unsupported,
        (_, _) => Verdict::Damaged,
    };
    let finding = |found: &dsh_session::ReadError| Finding {
        line: Some(found.line),
        problem: found.problem.to_string(),
    };
    Checked {
        path: name,
        id: checkup.header.as_ref().map(|header| header.id.clone()),
        verdict,
        lines: Some(checkup.lines),
        events: Some(checkup.events),
        findings: checkup.findings.iter().map(finding).collect(),
        more_findings: checkup.more_findings,
        header: checkup.header,
    }
}
