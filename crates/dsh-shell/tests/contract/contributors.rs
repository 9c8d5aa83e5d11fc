//! What plugins may contribute, and what becomes of it.

use dsh_shell::{Contributor, ContributorError, EnvError};

use crate::fixture::{Fixture, declaring, giving, pairs, values};

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn commands_find_what_a_contributor_gives_until_it_is_gone() {
    let fixture = Fixture::new().await;
    let contributor = giving("proxy", &[("HTTP_PROXY", "http://one"), ("NO_PROXY", "")]);
    let effect = fixture.env().register(&fixture.app, contributor).unwrap();
    let expected = pairs(&[("HTTP_PROXY", "http://one"), ("NO_PROXY", "")]);
    assert_eq!(fixture.contributed(None), expected);
    assert_eq!(fixture.contributed(Some(&fixture.agent("s-1"))), expected);
    effect.dispose().await;
    assert_eq!(fixture.contributed(None), []);
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn a_contributor_is_asked_for_each_agent_and_may_leave_variables_out() {
    let fixture = Fixture::new().await;
    let contributor = Contributor::new("who", |agent| {
        let value = agent.map(|agent| ("WHO".to_owned(), agent.id().to_string()));
        Ok(value.into_iter().collect())
    });
    fixture.env().register(&fixture.app, declaring(contributor, &["WHO"])).unwrap();
    assert_eq!(fixture.contributed(None), []);
    for id in ["s-1", "s-2"] {
        assert_eq!(fixture.contributed(Some(&fixture.agent(id))), pairs(&[("WHO", id)]));
    }
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn what_is_not_in_order_is_refused_with_the_contributors_name() {
    let fixture = Fixture::new().await;
    let plugin = fixture.app.fiber().label();
    let cases: [(Contributor, String); 7] = [
        (giving(" ", &[]), format!("bash env contributor \"\" of `{plugin}` needs a name")),
        (
            giving("x", &[("1A", "")]),
            "bash env contributor \"x\" declares \"1A\": a variable's name is made of letters, digits and underscores, \
             and does not begin with a digit"
                .to_owned(),
        ),
        (
            giving("x", &[("A", ""), ("DSH_HOME", "/elsewhere")]),
            "bash env contributor \"x\" declares DSH_HOME, which is reserved for the harness".to_owned(),
        ),
        (
            giving("x", &[("DSH_SESSION_JSONL", "")]),
            "bash env contributor \"x\" declares DSH_SESSION_JSONL, which is reserved for the harness".to_owned(),
        ),
        (
            Contributor::new("x", |_| Ok(values(&[]))).variable("A", " "),
            "bash env contributor \"x\" declares A without a description".to_owned(),
        ),
        (
            declaring(Contributor::new("x", |_| Ok(values(&[]))), &["A", "A"]),
            "bash env contributor \"x\" declares A, which contributor \"x\" owns".to_owned(),
        ),
        (
            declaring(Contributor::new("x", |_| Ok(values(&[]))), &["A", ""]),
            "bash env contributor \"x\" declares \"\": a variable's name is made of letters, digits and underscores, \
             and does not begin with a digit"
                .to_owned(),
        ),
    ];
    for (contributor, text) in cases {
        assert_eq!(fixture.refusal(contributor).to_string(), text);
    }
    // Nothing of them is left: the names are free.
    fixture.env().register(&fixture.app, giving("x", &[("A", "1")])).unwrap();
    assert_eq!(fixture.contributed(None), pairs(&[("A", "1")]));
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn a_name_is_taken_once_and_a_variable_has_one_owner() {
    let fixture = Fixture::new().await;
    let plugin = fixture.app.fiber().label();
    let first = fixture.env().register(&fixture.app, giving("a", &[("K", "1")])).unwrap();
    let taken = fixture.refusal(giving("a", &[("OTHER", "2")]));
    assert!(matches!(&taken, ContributorError::Taken { owner, .. } if *owner == plugin), "{taken}");
    assert!(taken.to_string().starts_with("bash env contributor \"a\" is already registered by `"));
    let owned = fixture.refusal(giving("b", &[("J", "2"), ("K", "2")]));
    assert_eq!(owned.to_string(), "bash env contributor \"b\" declares K, which contributor \"a\" owns");
    assert_eq!(fixture.contributed(None), pairs(&[("K", "1")]));
    first.dispose().await;
    fixture.env().register(&fixture.app, giving("b", &[("J", "2"), ("K", "2")])).unwrap();
    assert_eq!(fixture.contributed(None), pairs(&[("J", "2"), ("K", "2")]));
}

// spec: fs-shell-sandbox/F99
#[tokio::test]
async fn only_declared_variables_with_values_that_programs_take_are_given() {
    let fixture = Fixture::new().await;
    for (given, text) in [
        (("B", "1"), "bash env contributor \"x\" gave B, which it does not declare"),
        (("DSH_HOME", "/x"), "bash env contributor \"x\" gave DSH_HOME, which it does not declare"),
        (("A", "1\0"), "bash env contributor \"x\" gave A a value with a NUL character"),
    ] {
        let contributor = Contributor::new("x", move |_| Ok(values(&[given])));
        let effect = fixture.env().register(&fixture.app, declaring(contributor, &["A"])).unwrap();
        assert_eq!(fixture.env().for_agent(None).unwrap_err().to_string(), text);
        effect.dispose().await;
    }
}

// spec: design/P4
#[tokio::test]
async fn a_contributor_that_fails_or_panics_is_an_error_with_its_plugin() {
    let fixture = Fixture::new().await;
    let plugin = fixture.app.fiber().label();
    let failing = Contributor::new("x", |_| Err("no luck".into()));
    let panicking = Contributor::new("x", |_| panic!("no luck"));
    for (contributor, reason) in [(failing, "no luck"), (panicking, "panicked: no luck")] {
        let effect = fixture.env().register(&fixture.app, contributor).unwrap();
        let error = fixture.env().for_agent(None).unwrap_err();
        assert_eq!(error.to_string(), format!("bash env contributor \"x\" of `{plugin}` failed"));
        let EnvError::Contributor { source, .. } = error else { panic!("{error}") };
        assert_eq!(source.to_string(), reason);
        effect.dispose().await;
        fixture.env().for_agent(None).unwrap();
    }
}
