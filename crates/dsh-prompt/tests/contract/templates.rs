//! The grammar of templates.

use std::collections::BTreeMap;

use dsh_prompt::{PromptAssembly, PromptTemplate, RenderFailure};
use proptest::prelude::*;

fn render(template: &str, variables: &[(&str, Option<&str>)]) -> Result<String, RenderFailure> {
    let value = |(name, value): &(&str, Option<&str>)| ((*name).to_owned(), value.map(str::to_owned));
    let assembly = PromptAssembly {
        sections: vec![PromptTemplate::new("s", template)],
        variables: variables.iter().map(value).collect::<BTreeMap<_, _>>(),
        ..PromptAssembly::default()
    };
    assembly.render_prompt().map_err(|error| error.source)
}

const KNOWN: [(&str, Option<&str>); 3] = [("a", Some("A")), ("b_2", Some("{{a}}")), ("none", None)];

// spec: system-prompt/S33
#[test]
fn a_name_in_double_braces_stands_for_its_value_which_is_not_looked_at_again() {
    for (template, expected) in [
        ("{{a}}", "A"),
        ("-{{a}}{{a}}-", "-AA-"),
        ("é{{a}}é", "éAé"),
        ("{{b_2}}", "{{a}}"),
        ("{{b_2}}{{a}}", "{{a}}A"),
        // Single braces, and double ones that nothing closes, are text.
        ("{a} }} {", "{a} }} {"),
        ("a }} b", "a }} b"),
        ("{{a}} {{", "A {{"),
        ("{{a}} {{ {a} {{{", "A {{ {a} {{{"),
        ("{{a}}}", "A}"),
        ("{{{{", "{{{{"),
        ("}}{{", "}}{{"),
        ("", ""),
    ] {
        assert_eq!(render(template, &KNOWN), Ok(expected.to_owned()), "{template}");
    }
}

// spec: system-prompt/S33
#[test]
fn double_braces_that_are_closed_and_hold_no_name_are_malformed() {
    for (template, at) in [
        ("{{}}", 0),
        ("{{ a }}", 0),
        ("é {{a }}", 3),
        ("{{A}}", 0),
        ("{{1}}", 0),
        ("{{_a}}", 0),
        ("{{a-b}}", 0),
        ("{{a\n}}", 0),
        ("{{ä}}", 0),
        ("{{{a}}}", 0),
        ("{{a {{a}}", 0),
        ("{{a}} {{{a}} x", 6),
        ("{{a} }}", 0),
        ("{{ and much later }}", 0),
        ("{{a}b}}", 0),
    ] {
        assert_eq!(render(template, &KNOWN), Err(RenderFailure::Malformed { at }), "{template}");
    }
}

// spec: system-prompt/S33
#[test]
fn an_unknown_variable_is_an_error_that_lists_those_that_are_registered() {
    let unknown = |variable: &str, registered: &[&str]| RenderFailure::Unknown {
        variable: variable.to_owned(),
        registered: registered.iter().map(|name| (*name).to_owned()).collect(),
    };
    for name in ["b", "constructor", "to_string", "__proto__"] {
        let expected = match name {
            "__proto__" => RenderFailure::Malformed { at: 0 },
            _ => unknown(name, &["a", "b_2", "none"]),
        };
        assert_eq!(render(&format!("{{{{{name}}}}}"), &KNOWN), Err(expected));
    }
    assert_eq!(render("{{constructor}}", &[("constructor", Some("fine"))]), Ok("fine".to_owned()));
    let none = render("{{a}}", &[]).unwrap_err();
    assert_eq!(none, unknown("a", &[]));
    assert!(none.to_string().contains("(none)"), "{none}");
    let some = render("{{x}}", &KNOWN).unwrap_err().to_string();
    assert!(some.contains(r#""a", "b_2", "none""#), "{some}");
}

// spec: system-prompt/S33
#[test]
fn a_variable_without_a_value_is_an_error_only_where_it_is_named() {
    let no_value = RenderFailure::NoValue { variable: "none".to_owned() };
    assert_eq!(render("{{a}} {{none}}", &KNOWN), Err(no_value));
    assert_eq!(render("{{a}}", &KNOWN), Ok("A".to_owned()));
    assert_eq!(render("x{{a}}", &[("a", Some(""))]), Ok("x".to_owned()));
}

/// The grammar said once more, character by character.
fn model(template: &[char]) -> Result<String, usize> {
    let (mut text, mut at) = (String::new(), 0);
    let closes = |at: usize| template[at..].starts_with(&['}', '}']);
    while at < template.len() {
        if !template[at..].starts_with(&['{', '{']) {
            text.push(template[at]);
            at += 1;
            continue;
        }
        let brace = (at + 2..template.len()).find(|at| matches!(template[*at], '{' | '}'));
        match brace.filter(|at| closes(*at)) {
            Some(end) if template[at + 2..end] == ['a'] => {
                text.push_str("<{{a}}>");
                at = end + 2;
            }
            Some(_) => return Err(at),
            None if (at + 2..template.len()).any(closes) => return Err(at),
            None => {
                text.push_str("{{");
                at += 2;
            }
        }
    }
    Ok(text)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // spec: system-prompt/S33
    #[test]
    fn templates_are_read_as_a_plain_model_reads_them(template in "([{]{2}a[}]{2}|[{}a ]){0,12}") {
        let expected = model(&template.chars().collect::<Vec<_>>());
        let rendered = render(&template, &[("a", Some("<{{a}}>"))]);
        let rendered = rendered.map_err(|failure| match failure {
            RenderFailure::Malformed { at } => at,
            other => panic!("{other}"),
        });
        prop_assert_eq!(rendered, expected);
    }
}
