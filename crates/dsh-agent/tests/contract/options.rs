//! What an agent may ask of its model.

use dsh_agent::{AgentOptions, BadMaxTokens, MaxTokens};
use serde_json::json;

#[test]
fn a_limit_of_tokens_is_a_positive_whole_number_that_every_reader_keeps_exact() {
    let greatest = (1u64 << 53) - 1;
    assert_eq!([1, greatest].map(|n| MaxTokens::try_from(n).unwrap().get()), [1, greatest]);
    for given in [0, greatest + 1, u64::MAX] {
        assert_eq!(MaxTokens::try_from(given), Err(BadMaxTokens { given }));
    }
    for wrong in [json!(0), json!(-1), json!(1.5), json!("8"), json!(9_007_199_254_740_992_u64)] {
        assert!(serde_json::from_value::<AgentOptions>(json!({ "maxTokens": wrong })).is_err(), "{wrong}");
    }
    let options: AgentOptions = serde_json::from_value(json!({ "maxTokens": 1 })).unwrap();
    assert_eq!(serde_json::to_value(options).unwrap(), json!({ "maxTokens": 1 }));
}
