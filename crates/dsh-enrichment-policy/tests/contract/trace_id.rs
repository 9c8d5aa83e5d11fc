//! Trace ids as text.

use dsh_enrichment_policy::{InvalidTraceId, TraceId};

#[test]
fn a_trace_id_is_32_lower_case_digits_that_are_read_back() {
    for text in ["4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000001"] {
        assert_eq!(text.parse::<TraceId>().unwrap().to_string(), text);
    }
    let random = TraceId::random();
    assert_eq!(random.to_string().parse(), Ok(random));
    assert_eq!(random.to_string().len(), 32);
    assert_eq!(serde_json::to_string(&random).unwrap(), format!("\"{random}\""));
}

#[test]
fn any_other_text_is_refused() {
    let others = [
        "",
        "00000000000000000000000000000000",
        "4bf92f3577b34da6a3ce929d0e0e473",
        "4bf92f3577b34da6a3ce929d0e0e47360",
        "4BF92F3577B34DA6A3CE929D0E0E4736",
        "+bf92f3577b34da6a3ce929d0e0e4736",
        "4bf92f35-77b3-4da6-a3ce-929d0e0e4",
        "gbf92f3577b34da6a3ce929d0e0e4736",
        "ébf92f3577b34da6a3ce929d0e0e473",
    ];
    for text in others {
        assert_eq!(text.parse::<TraceId>(), Err(InvalidTraceId), "{text}");
    }
}
