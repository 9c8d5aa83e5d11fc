//! What the log holds of approval.

use dsh_approval::{ApprovalAsked, ApprovalDecided, ApprovalOutcome, ApprovalPolicySet, PolicySource};
use dsh_session::{NewEvent, Payload, Session, is_known, is_surface_type};
use serde_json::{Value, json};

// spec: approval-permissions/A1
#[test]
fn the_outcomes_are_these_four() {
    let outcomes = [
        ApprovalOutcome::AllowedOnce,
        ApprovalOutcome::Rejected,
        ApprovalOutcome::Cancelled,
        ApprovalOutcome::Unavailable,
    ];
    let names = ["allowed-once", "rejected", "cancelled", "unavailable"];
    assert_eq!(outcomes.map(ApprovalOutcome::as_str), names);
    assert_eq!(serde_json::to_value(outcomes).unwrap(), json!(names));
    assert!(serde_json::from_value::<ApprovalOutcome>(json!("allowed-always")).is_err());
}

// spec: approval-permissions/A81
#[test]
fn the_events_are_known_to_readers_and_no_part_of_the_conversation() {
    let kinds = [ApprovalAsked::TYPE, ApprovalDecided::TYPE, ApprovalPolicySet::TYPE];
    assert_eq!(kinds, ["approval/asked", "approval/decided", "approval/policy"]);
    assert!(kinds.iter().all(|kind| is_known(kind) && !is_surface_type(kind)));
}

// spec: approval-permissions/A6, A15
#[test]
fn what_was_logged_is_read_as_it_was() {
    let read = |kind: &str, data: &Value| {
        let session = Session::detached("s-1");
        session.append(NewEvent::raw(kind, &data.to_string()).unwrap()).unwrap()
    };
    let asked = json!({"id": "a", "toolName": "bash", "callId": "c", "reason": "r"});
    let event = read("approval/asked", &asked).payload::<ApprovalAsked>().unwrap().unwrap();
    assert_eq!(serde_json::to_value(event).unwrap(), asked);
    let policy = json!({"policy": "ask", "source": "elsewhere"});
    let event = read("approval/policy", &policy).payload::<ApprovalPolicySet>().unwrap().unwrap();
    assert_eq!(event.source, Some(PolicySource::Other("elsewhere".to_owned())));
    assert_eq!(serde_json::to_value(event).unwrap(), policy);
    let unknown = read("approval/decided", &json!({"id": "a", "outcome": "perhaps"}));
    assert!(unknown.payload::<ApprovalDecided>().is_err());
}
