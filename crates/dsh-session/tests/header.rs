//! The header of a session: what it may hold, where it is checked, and the version of the format.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use dsh_session::{FORMAT_VERSION, Origin, Problem, SeedError, Session, SessionHeader, SessionLog};
use support::HEADER;

fn full() -> SessionHeader {
    SessionHeader {
        cwd: Some("/w".to_owned()),
        parent_session: Some("x".to_owned()),
        seed_length: Some(0),
        origin: Some(Origin::Subagent),
        delegation_depth: 2,
        agent_preset: Some("p".to_owned()),
        ..SessionHeader::new("full", 5)
    }
}

fn problem(first: &str) -> Problem {
    SessionLog::parse(format!("{first}\n").as_bytes()).unwrap_err().problem
}

#[test]
fn a_header_is_written_in_the_order_of_the_format_and_read_again() {
    let line = full().to_line().unwrap();
    assert_eq!(
        line,
        r#"{"type":"session","version":0,"id":"full","createdAt":5,"cwd":"/w","parentSession":"x","seedLength":0,"origin":"subagent","delegationDepth":2,"agentPreset":"p"}"#
    );
    assert_eq!(SessionHeader::parse(&line).unwrap(), full());
    let bare = SessionHeader::new("s", 1).to_line().unwrap();
    assert_eq!(bare, r#"{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}"#);
}

// spec: session/S6
#[test]
fn each_wrong_field_refuses_the_session_and_is_named() {
    let huge = 1 << 53;
    for (header, name) in [
        (SessionHeader { id: String::new(), ..full() }, "`id`"),
        (SessionHeader { created_at_ms: huge, ..full() }, "`createdAt`"),
        (SessionHeader { seed_length: Some(huge), ..full() }, "`seedLength`"),
        (SessionHeader { delegation_depth: huge, ..full() }, "`delegationDepth`"),
        (SessionHeader { cwd: Some("w".to_owned()), ..full() }, "`cwd`"),
        (SessionHeader { cwd: Some(String::new()), ..full() }, "`cwd`"),
    ] {
        let error = Session::new(header.clone(), None).unwrap_err();
        assert!(matches!(error, SeedError::Header(_)), "{error}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(header.to_line().unwrap_err().contains(name), "such a header is not written either");
    }
}

// spec: session/S6
#[test]
fn a_session_shares_one_header_that_its_maker_cannot_change() {
    let mut header = full();
    let session = Session::new(header.clone(), None).unwrap();
    header.cwd = None;
    assert_eq!(**session.header(), full());
    assert!(std::sync::Arc::ptr_eq(session.header(), session.header()));
}

// spec: session/S6
#[test]
fn each_wrong_field_of_a_header_line_refuses_the_log_and_is_named() {
    for (from, to, name) in [
        (r#""version":0"#, r#""version":"0""#, "version"),
        (r#""version":0"#, r#""version":null"#, "version"),
        (r#""version":0,"#, "", "version"),
        (r#""id":"s-1""#, r#""id":"""#, "id"),
        (r#""id":"s-1","#, "", "id"),
        (r#""createdAt":1"#, r#""createdAt":-0"#, "-0"),
        (r#""createdAt":1"#, r#""createdAt":-1"#, "-1"),
        (r#""createdAt":1"#, r#""createdAt":1.5"#, "1.5"),
        (r#""createdAt":1"#, r#""createdAt":9007199254740992"#, "createdAt"),
        (r#""cwd":"/w""#, r#""cwd":"w""#, "cwd"),
        (r#""cwd":"/w""#, r#""cwd":null"#, "null"),
        (r#""cwd":"/w""#, r#""seedLength":-1"#, "-1"),
        (r#""cwd":"/w""#, r#""parentSession":5"#, "5"),
        (r#","delegationDepth":0"#, "", "delegationDepth"),
        (r#""delegationDepth":0"#, r#""delegationDepth":-0"#, "-0"),
        (r#""cwd":"/w""#, r#""origin":"user""#, "origin"),
        (r#""cwd":"/w""#, r#""sandboxMode":"read-only""#, "sandboxMode"),
        (r#""cwd":"/w""#, r#""approvalPolicy":"never""#, "approvalPolicy"),
    ] {
        let header = HEADER.replace(from, to);
        assert_ne!(header, HEADER);
        let found = problem(&header);
        assert!(matches!(found, Problem::BadHeader { .. }), "{found}");
        assert!(found.to_string().contains(name), "{found}");
    }
}

#[test]
fn fields_may_stand_in_any_order_and_unknown_ones_are_left_out() {
    let line = r#"{"delegationDepth":0,"later":[1],"createdAt":1,"id":"s","version":0,"type":"session"}"#;
    assert_eq!(SessionHeader::parse(line).unwrap(), SessionHeader::new("s", 1));
}

#[test]
fn a_first_line_that_is_no_header_is_refused() {
    let turn = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;
    for first in [turn, r#"{"version":0}"#, r#"{"type":"Session","version":0}"#] {
        assert_eq!(problem(first), Problem::NotAHeader);
    }
}

// spec: session/S7
#[test]
fn a_detached_session_makes_a_header_of_its_id_and_the_current_time() {
    let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let before = now();
    let session = Session::detached("s-1");
    let header = session.header();
    assert!((before..=now()).contains(&header.created_at_ms), "{}", header.created_at_ms);
    assert_eq!(**header, SessionHeader::new("s-1", header.created_at_ms));
    assert!(header.to_line().unwrap().contains(r#""version":0"#));
}

// spec: session/S8
#[test]
fn a_foreign_version_is_unsupported_before_any_other_field_is_looked_at() {
    assert_eq!(FORMAT_VERSION, 0);
    for (version, advice) in [(1, "newer"), (-1, "older")] {
        let found = problem(&format!("{{\"type\":\"session\",\"version\":{version}}}"));
        assert_eq!(found, Problem::UnsupportedVersion { found: version, supported: 0 });
        assert!(found.is_unsupported());
        assert!(found.to_string().contains(advice), "{found}");
    }
}
