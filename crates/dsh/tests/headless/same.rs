//! Each script, run by us and recorded of the reference.

use nix::sys::signal::Signal;

use crate::difference::unknown;
use crate::program::{Program, script};
use crate::recording::Recording;

/// Two runs are the same but for what is known.
#[track_caller]
pub(crate) fn assert_same(name: &str, ours: &Recording) {
    let wrong = unknown(name, &Recording::read(name), ours);
    let told = wrong.join("\n");
    assert!(
        wrong.is_empty(),
        "{name}: `-` is the reference's, `+` is ours, and known.rs does not say so:\n{told}"
    );
}

#[track_caller]
fn assert_runs_alike(name: &str) {
    assert_same(name, &Program::new().run(&script(name), &["go"]).recording);
}

// spec: agent-loop/S42, agent-loop/S59, profile-cli/P47, profile-cli/P48
#[test]
fn an_answer_in_pieces_is_one_step_and_is_printed() {
    assert_runs_alike("plain_answer");
}

// spec: agent-loop/S44, agent-loop/S59, agent-loop/S67, agent-loop/S70, agent-loop/S79, agent-loop/S80
#[test]
fn three_commands_one_after_the_other_are_three_steps_and_an_answer() {
    assert_runs_alike("three_bash");
}

// spec: agent-loop/S77, agent-loop/S78, agent-loop/S80, agent-loop/S84
#[test]
fn reads_overlap_and_bad_arguments_and_unknown_tools_are_results() {
    assert_runs_alike("parallel_and_bad_args");
}

// spec: agent-loop/S70, agent-loop/S79, cases/S4
#[test]
fn reasoning_goes_back_with_the_calls_that_followed_it() {
    assert_runs_alike("reasoning_and_calls");
}

// spec: agent-loop/S77, agent-loop/S80, agent-loop/S84
#[test]
fn every_call_that_fails_has_its_result_in_its_place() {
    assert_runs_alike("failing_calls");
}

// spec: agent-loop/S78, agent-loop/S80
#[test]
fn more_reads_than_may_run_at_once_are_answered_in_order_around_a_command() {
    assert_runs_alike("many_reads");
}

// spec: agent-loop/S80
#[test]
fn two_calls_with_one_id_both_run() {
    assert_runs_alike("same_ids");
}

// spec: agent-loop/S53, agent-loop/S54, agent-loop/S59
#[test]
fn an_answer_without_content_is_a_message_and_ends_the_turn() {
    assert_runs_alike("nothing_but_finish");
}

// spec: agent-loop/S53, profile-cli/P48
#[test]
fn reasoning_alone_is_an_answer_and_prints_an_empty_line() {
    assert_runs_alike("reasoning_only");
}

// spec: agent-loop/S42, agent-loop/S53, profile-cli/P48
#[test]
fn calls_of_an_answer_that_was_cut_off_by_its_length_are_dropped() {
    assert_runs_alike("cut_call");
}

// spec: agent-loop/S42, agent-loop/S56, profile-cli/P48
#[test]
fn a_refused_request_ends_the_turn_and_prints_the_text_before_it() {
    assert_runs_alike("bad_request_after_call");
}

// spec: agent-loop/S53, agent-loop/S56, profile-cli/P48
#[test]
fn an_answer_that_was_filtered_is_no_message_and_its_calls_do_not_run() {
    assert_runs_alike("content_filter");
}

// spec: agent-loop/S56, llm/S63
#[test]
fn a_stream_that_ends_without_its_mark_is_a_failure() {
    assert_runs_alike("ended_without_done");
}

// spec: agent-loop/S56, agent-loop/S58, agent-loop/S88, agent-loop/S91
#[test]
fn a_server_that_fails_is_asked_again_within_the_step() {
    assert_runs_alike("server_error_then_fine");
}

// spec: agent-loop/S53, agent-loop/S56, agent-loop/S88
#[test]
fn what_came_of_a_stream_that_broke_is_in_no_message() {
    assert_runs_alike("cut_then_fine");
}

// spec: agent-loop/S56, agent-loop/S88
#[test]
fn an_empty_answer_is_asked_for_again() {
    assert_runs_alike("empty_then_fine");
}

// spec: agent-loop/S14, agent-loop/S15, agent-loop/S42, timeout-jobs-hooks/J50
#[test]
fn the_end_of_a_job_is_told_in_one_more_step_of_the_turn() {
    assert_runs_alike("background_job");
}

// spec: agent-loop/S42
#[test]
fn a_turn_that_was_cut_off_stays_so_though_a_notice_makes_it_go_on() {
    assert_runs_alike("cut_before_notice");
}

// spec: agent-loop/S42, agent-loop/S43
#[test]
fn a_turn_that_failed_leaves_waiting_what_came_meanwhile() {
    assert_runs_alike("refused_before_notice");
}

// spec: profile-cli/P48
#[test]
fn a_job_that_still_runs_at_the_end_of_the_turn_is_not_waited_for_and_not_told() {
    assert_runs_alike("job_left_running");
}

// spec: agent-loop/S80, agent-loop/S81
#[test]
fn what_a_policy_adds_to_a_result_is_a_message_of_the_next_step() {
    assert_runs_alike("repeated_calls");
}

#[track_caller]
fn assert_ends_alike(name: &str, signal: Signal) {
    assert_same(name, &Program::new().run_until(&script("beside/hangs"), signal).recording);
}

// spec: agent-loop/S79, cases/G3
#[test]
fn a_run_that_is_killed_leaves_the_call_that_had_begun_in_the_log() {
    assert_ends_alike("killed", Signal::SIGKILL);
}

// spec: agent-loop/S82
#[test]
fn a_run_that_is_interrupted_has_a_result_for_each_call_and_an_end_of_the_turn() {
    assert_ends_alike("interrupted", Signal::SIGINT);
}

// spec: agent-loop/S75, agent-loop/S82
#[test]
fn a_run_that_is_terminated_has_a_result_for_each_call_and_an_end_of_the_turn() {
    assert_ends_alike("terminated", Signal::SIGTERM);
}
