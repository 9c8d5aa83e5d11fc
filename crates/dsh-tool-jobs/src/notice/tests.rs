#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_jobs::{JobId, JobStatus};
use dsh_llm::PluginForm;
use proptest::prelude::*;

use super::*;

fn job(label: &str, limit: Option<u64>) -> JobSnapshot {
    JobSnapshot {
        id: JobId::new("bash", 7),
        kind: "bash".to_owned(),
        label: label.to_owned(),
        status: JobStatus::Completed,
        started_at: 1,
        reported: false,
        output_limit_bytes: limit,
        owner_session: None,
        detail: Some("exit code: 0".to_owned()),
        finished_at: Some(2),
    }
}

// spec: timeout-jobs-hooks/J50, timeout-jobs-hooks/J51
#[test]
fn a_notice_names_the_job_what_it_did_how_it_ended_and_where_to_look() {
    let message = notice(&job("echo hi", None));
    assert_eq!(
        message.text(),
        "Background job bash-7 (bash: echo hi) has ended [status: completed, exit code: 0]. \
         Call job_output to read what it said."
    );
    assert_eq!(message.role, Role::User);
    let source = Source::Plugin {
        plugin: "tool-jobs".to_owned(),
        form: Some(PluginForm::Notice),
        sections: None,
        summary: Some("bash echo hi [status: completed, exit code: 0]".to_owned()),
    };
    assert_eq!(message.source, source);
}

// spec: timeout-jobs-hooks/J50
#[test]
fn a_summary_has_at_most_120_characters() {
    let message = notice(&job(&"x".repeat(200), None));
    let Source::Plugin { summary: Some(summary), .. } = message.source else {
        panic!("{:?}", message.source)
    };
    assert_eq!(summary, format!("bash {}…", "x".repeat(114)));
}

// spec: timeout-jobs-hooks/J50
#[test]
fn of_a_long_label_the_first_200_characters_are_told() {
    let told = |label: &str| {
        format!("Background job bash-7 (bash: {label}) has ended [status: completed, exit code: 0].{CLOSING}")
    };
    assert_eq!(notice(&job(&"é".repeat(200), None)).text(), told(&"é".repeat(200)));
    let label = format!("{}b{}", "é".repeat(199), "€".repeat(1_000_000));
    assert_eq!(notice(&job(&label, None)).text(), told(&format!("{}b…", "é".repeat(199))));
}

// spec: timeout-jobs-hooks/J51
#[test]
fn what_does_not_fit_is_left_out_from_the_detail_to_the_closing() {
    let identity = "Background job bash-7";
    let all = identity.len() + MARKER.len() + SHORT_CLOSING.len();
    for (limit, expected) in [
        (all + 10, "Background job bash-7 (bash: l\n[notice truncated]\nSee job_output."),
        (all + 11, "Background job bash-7 (bash: lä\n[notice truncated]\nSee job_output."),
        (all + 13, "Background job bash-7 (bash: lä\n[notice truncated]\nSee job_output."),
        (all, "Background job bash-7\n[notice truncated]\nSee job_output."),
        (all - 1, "Background job bash-7\nSee job_output."),
        (identity.len() + SHORT_CLOSING.len(), "Background job bash-7\nSee job_output."),
        (identity.len() + SHORT_CLOSING.len() - 1, "Background job bash-\nSee job_output."),
        (SHORT_CLOSING.len() + 1, "B\nSee job_output."),
        (SHORT_CLOSING.len(), "\nSee job_output."),
        (SHORT_CLOSING.len() - 1, "See job_output."),
        (8, "_output."),
        (1, "."),
    ] {
        let text = notice(&job("lä€", Some(limit as u64))).text();
        assert_eq!(text, expected, "{limit}");
        assert!(text.len() <= limit);
    }
}

// spec: timeout-jobs-hooks/J51
#[test]
fn a_text_that_fits_exactly_is_whole() {
    let whole = notice(&job("lä€", None)).text();
    let limit = whole.len() as u64;
    assert_eq!(notice(&job("lä€", Some(limit))).text(), whole);
    assert_eq!(notice(&job("lä€", Some(u64::MAX))).text(), whole);
    let cut = notice(&job("lä€", Some(limit - 1))).text();
    assert!(cut.ends_with("\n[notice truncated]\nSee job_output."), "{cut}");
}

proptest! {
    // spec: timeout-jobs-hooks/J51
    #[test]
    fn a_notice_is_never_longer_than_what_is_shown_of_the_job(label in "[aä€😀]{1,60}", limit in 1_u64..250) {
        let text = notice(&job(&label, Some(limit))).text();
        prop_assert!(text.len() as u64 <= limit);
        prop_assert!(text.ends_with(tail("job_output.", limit as usize)) || text.ends_with(CLOSING));
    }
}
