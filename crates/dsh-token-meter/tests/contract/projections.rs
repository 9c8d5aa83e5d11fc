//! What clients are shown.

use dsh_session::{NewEvent, RequestContext};
use dsh_session_projection::Unit;
use dsh_token_meter::{Breakdown, BreakdownUnit, Pressure, PressureUnit, UsageTotals, UsageUnit};

use crate::fixture::{Written, counted, header, said, text, tool, usage};

fn shown<U: Unit>(unit: U, written: &Written) -> Option<U::View> {
    let events = written.0.events();
    let state = events.iter().fold(unit.init(), |state, event| unit.apply(&state, &event).unwrap_or(state));
    unit.view(&state)
}

fn context(written: &Written, context_window: Option<u64>) {
    written.log(&RequestContext { provider: "p".to_owned(), model: "m".to_owned(), context_window });
}

// spec: llm/S80
#[test]
fn counts_add_up_and_a_later_one_of_the_same_step_takes_the_place_of_the_first() {
    let written = Written::new();
    let totals = |written: &Written| shown(UsageUnit, written).unwrap();
    let sum =
        |input_tokens, output_tokens| UsageTotals { input_tokens, output_tokens, ..UsageTotals::default() };
    assert_eq!(totals(&written), sum(0, 0));
    written.step(1);
    written.piece(1, counted(usage(100, 10)));
    assert_eq!(totals(&written), sum(100, 10));
    written.piece(1, text("another attempt, \"usage\""));
    let pieces = vec![written.piece(1, counted(usage(110, 20)))];
    assert_eq!(totals(&written), sum(110, 20));
    written.answers(1, "a", Some(usage(110, 20)), Some(pieces));
    assert_eq!(totals(&written), sum(110, 20));
    written.ends(1);
    written.step(2);
    let cached = dsh_llm::TokenUsage {
        cache_read_tokens: Some(3),
        cache_write_tokens: Some(4),
        reasoning_tokens: Some(5),
        ..usage(1, 2)
    };
    written.piece(2, counted(cached));
    let expected =
        UsageTotals { input_tokens: 111, output_tokens: 22, cache_read_tokens: 3, cache_write_tokens: 4 };
    assert_eq!(totals(&written), expected);
}

// spec: llm/S80
#[test]
fn the_pressure_is_the_last_request_and_what_came_after_it() {
    let written = Written::new();
    let pressure = |written: &Written| shown(PressureUnit, written).unwrap();
    let nothing = Pressure { pressure_tokens: None, projected_tokens: None, context_window: None };
    assert_eq!(pressure(&written), nothing);
    context(&written, Some(1_000));
    assert_eq!(pressure(&written), Pressure { context_window: Some(1_000), ..nothing });
    written.step(1);
    let first = written.user(&"x".repeat(400));
    let usage = dsh_llm::TokenUsage { cache_read_tokens: Some(30), ..usage(100, 20) };
    let pieces = vec![written.piece(1, counted(usage))];
    let at = |pressure_tokens, projected_tokens| Pressure {
        pressure_tokens: Some(pressure_tokens),
        projected_tokens: Some(projected_tokens),
        context_window: Some(1_000),
    };
    assert_eq!(pressure(&written), at(130, 130));
    written.answers(1, "0123", Some(usage), Some(pieces));
    assert_eq!(pressure(&written), at(130, 130 + 9));
    written.user("0123");
    assert_eq!(pressure(&written), at(130, 130 + 18));
    let claim = format!(r#"{{"shadowedRange":{{"start":{first},"end":{first}}},"shadowedTokenCount":108}}"#);
    written.raw("compaction/prune", &claim);
    written.add(NewEvent::user(said("0123")).unwrap().replacing(first, first).made_from(vec![first]));
    assert_eq!(pressure(&written), at(130, 130 + 18 - 108 + 9));
    context(&written, None);
    assert_eq!(pressure(&written).context_window, None);
}

// spec: llm/S80
#[test]
fn what_the_request_is_made_of_is_told_apart() {
    let written = Written::new();
    assert_eq!(shown(BreakdownUnit, &written), Some(Breakdown::default()));
    written.user("0123");
    let tools = Some(vec![tool("one")]);
    written.header(dsh_session::EpochHeader { tools, ..header("01234567") });
    let length = r#"[{"name":"one","description":"d","parameters":{}}]"#.len() as u64;
    let expected = Breakdown { system_tokens: 6, tools_tokens: length.div_ceil(4) + 4, messages_tokens: 9 };
    assert_eq!(shown(BreakdownUnit, &written), Some(expected));
    written.header(dsh_session::EpochHeader { system: None, ..header("") });
    assert_eq!(
        shown(BreakdownUnit, &written),
        Some(Breakdown { messages_tokens: 9, ..Breakdown::default() })
    );
}

// spec: llm/S81
#[test]
fn what_does_not_fit_together_is_not_shown_any_more() {
    let written = Written::new();
    let first = written.user("0123");
    let claim = format!(r#"{{"shadowedRange":{{"start":{first},"end":9}},"shadowedTokenCount":108}}"#);
    written.raw("compaction/prune", &claim);
    written.add(NewEvent::user(said("0")).unwrap().replacing(first, first).made_from(vec![first]));
    written.user("more");
    assert_eq!(shown(PressureUnit, &written), None);
    assert_eq!(shown(BreakdownUnit, &written), None);
}
