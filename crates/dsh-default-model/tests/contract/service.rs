//! Which model is the default.

use dsh_default_model::{Config, DefaultModel, Selection};
use serde_json::json;

use crate::fixture::{flash, pro};

// spec: agent-loop/S32
#[test]
fn the_default_is_what_is_configured_until_another_one_is_saved() {
    let models = DefaultModel::new(&Config::default());
    assert_eq!(models.current_selection(), flash());
    models.save_selection(pro());
    assert_eq!(models.current_selection(), pro());
    models.save_selection(flash());
    assert_eq!(models.current_selection(), flash());
}

// spec: agent-loop/S32
#[test]
fn an_effort_that_is_not_saved_clears_the_one_that_was() {
    let models = DefaultModel::new(&Config::default());
    models.save_selection(pro());
    models.save_selection(Selection::new("deepseek-official", "deepseek-v4-pro"));
    assert_eq!(models.current_selection().reasoning_effort, None);
}

// spec: agent-loop/S32
#[test]
fn a_model_that_nobody_knows_can_be_the_default() {
    let models = DefaultModel::new(&Config { provider: "nobody".to_owned(), model: "nothing".to_owned() });
    assert_eq!(models.current_selection(), Selection::new("nobody", "nothing"));
    models.save_selection(Selection::new("somebody", "something").with_effort("immense"));
    assert_eq!(models.current_selection(), Selection::new("somebody", "something").with_effort("immense"));
}

#[test]
fn a_selection_is_written_without_an_effort_that_it_has_not() {
    assert_eq!(
        serde_json::to_value([flash(), pro()]).unwrap(),
        json!([
            { "provider": "deepseek-official", "model": "deepseek-v4-flash" },
            { "provider": "deepseek-official", "model": "deepseek-v4-pro", "reasoningEffort": "high" },
        ])
    );
    let read: Selection = serde_json::from_value(json!({ "provider": "p", "model": "m" })).unwrap();
    assert_eq!(read, Selection::new("p", "m"));
}
