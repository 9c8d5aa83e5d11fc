//! In which order tools are offered.

use dsh_llm::ToolSchema;
use dsh_prompt::{ASSEMBLE, AssembleContext, AssembleError, Assembling, ToolContribution};
use proptest::prelude::*;

use crate::fixture::{Assembled, Fixture, Rest, offers, tool, tools};

fn described(name: &str, description: &str) -> ToolSchema {
    ToolSchema { description: description.to_owned(), ..tool(name) }
}

fn offering(
    schemas: Vec<ToolSchema>,
    known: Option<&[&str]>,
) -> impl Fn(&AssembleContext) -> Result<ToolContribution, cordis::BoxError> + Send + Sync + 'static {
    let known_names = known.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    move |_| Ok(ToolContribution { schemas: schemas.clone(), known_names: Option::clone(&known_names) })
}

// spec: system-prompt/S26
#[tokio::test]
async fn without_an_order_names_are_compared_by_utf16_code_units() {
    let fixture = Fixture::new().await;
    // U+1F600 is written with surrogates, which are below U+FF5E; its UTF-8 bytes are above.
    fixture
        .prompt()
        .tools(&fixture.app, offers(&["b", "\u{ff5e}", "a", "\u{1f600}", "B", "ab", "é"]))
        .unwrap();
    assert_eq!(tools(&fixture.assemble().await), ["B", "a", "ab", "b", "é", "\u{1f600}", "\u{ff5e}"]);
}

// spec: system-prompt/S26, S27
#[tokio::test]
async fn tools_of_one_name_stay_in_the_order_in_which_they_were_collected() {
    for fixture in [
        Fixture::new().await,
        Fixture::ordered(&["a", "<unlisted-tools>"]).await,
        Fixture::ordered(&["b", "<unlisted-tools>"]).await,
    ] {
        let preset = fixture.app.scope().unwrap();
        let agent = fixture.app.scope_under(&preset).unwrap();
        let prompt = fixture.prompt();
        let offer = |place: &str| offering(vec![described("b", place), described("a", place)], None);
        prompt.tools(agent.context(), offer(" own")).unwrap();
        prompt.tools(preset.context(), offer(" preset")).unwrap();
        prompt.tools(&fixture.app, offer(" global 1")).unwrap();
        prompt.tools(&fixture.app, offer(" global 2")).unwrap();
        let all = tools(&fixture.assemble_at(&agent).await);
        for name in ["a", "b"] {
            let own: Vec<&String> = all.iter().filter(|tool| tool.starts_with(name)).collect();
            let expected = ["global 1", "global 2", "preset", "own"].map(|place| format!("{name} {place}"));
            assert_eq!(own, expected.iter().collect::<Vec<_>>());
        }
    }
}

// spec: system-prompt/S27
#[tokio::test]
async fn listed_tools_stand_where_they_are_listed_and_the_others_where_the_rest_is() {
    let offered = ["d", "last", "a", "first", "c", "last", "second"];
    for (order, expected) in [
        (
            &["first", "second", "<unlisted-tools>", "last"][..],
            ["first", "second", "a", "c", "d", "last", "last"],
        ),
        (&["<unlisted-tools>", "d", "a"][..], ["c", "first", "last", "last", "second", "d", "a"]),
        (&["d", "<unlisted-tools>"][..], ["d", "a", "c", "first", "last", "last", "second"]),
        (&["<unlisted-tools>"][..], ["a", "c", "d", "first", "last", "last", "second"]),
    ] {
        let fixture = Fixture::ordered(order).await;
        fixture.prompt().tools(&fixture.app, offers(&offered)).unwrap();
        assert_eq!(tools(&fixture.assemble().await), expected, "{order:?}");
    }
}

// spec: system-prompt/S28
#[tokio::test]
async fn an_order_that_lists_a_name_that_nobody_knows_is_refused() {
    let fixture = Fixture::ordered(&["z", "a", "<unlisted-tools>", "y"]).await;
    let refused = async |unknown: &[&str], known: &[&str], words: &str| {
        let refusal = fixture.refusal().await;
        let text = refusal.to_string();
        let AssembleError::UnknownTools { unknown: given, known: all } = refusal else { panic!("{text}") };
        assert_eq!((given, all), (owned(unknown), owned(known)));
        assert!(text.contains(words), "{text}");
    };
    refused(&["z", "a", "y"], &[], "known are (none)").await;
    // What a provider knows stands for what it offers.
    fixture.prompt().tools(&fixture.app, offering(vec![tool("z")], Some(&["hidden"]))).unwrap();
    refused(&["z", "a", "y"], &["hidden"], r#"unknown tools "z", "a", "y": known are "hidden""#).await;
    fixture.prompt().tools(&fixture.app, offering(Vec::new(), Some(&["y", "z"]))).unwrap();
    refused(&["a"], &["hidden", "y", "z"], r#"unknown tool "a": known are "hidden", "y", "z""#).await;
    fixture.prompt().tools(&fixture.app, offers(&["a", "b"])).unwrap();
    // `y` is known and hidden: it is simply not there.
    assert_eq!(tools(&fixture.assemble().await), ["z", "a", "b"]);
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// spec: system-prompt/S28
#[tokio::test]
async fn only_the_providers_that_an_assembly_asks_know_names() {
    let fixture = Fixture::ordered(&["own", "<unlisted-tools>"]).await;
    let agent = fixture.app.scope().unwrap();
    fixture.prompt().tools(agent.context(), offers(&["own"])).unwrap();
    assert_eq!(tools(&fixture.assemble_at(&agent).await), ["own"]);
    assert!(matches!(fixture.refusal().await, AssembleError::UnknownTools { .. }));
}

async fn add_a_tool(assembling: &mut Assembling, next: Rest<'_>) -> Assembled {
    let seen: Vec<String> = assembling.assembly.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(seen, ["b", "c"]);
    let mut assembly = next.run(assembling).await?;
    assembly.tools.push(tool("a"));
    Ok(assembly)
}

// spec: system-prompt/S23
#[tokio::test]
async fn listeners_see_sorted_tools_and_what_they_add_is_not_sorted_again() {
    let fixture = Fixture::new().await;
    fixture.prompt().tools(&fixture.app, offers(&["c", "b"])).unwrap();
    fixture.app.on(ASSEMBLE).run(add_a_tool).unwrap();
    assert_eq!(tools(&fixture.assemble().await), ["b", "c", "a"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    // spec: system-prompt/S30
    #[test]
    fn the_order_in_which_plugins_load_does_not_show(
        names in Just(vec!["a", "b", "c", "d", "e"]).prop_shuffle(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (by_name, configured) = runtime.block_on(async {
            let by_name = Fixture::new().await;
            let configured = Fixture::ordered(&["d", "<unlisted-tools>", "a"]).await;
            for fixture in [&by_name, &configured] {
                for name in &names {
                    fixture.prompt().tools(&fixture.app, offers(&[name])).unwrap();
                }
            }
            (tools(&by_name.assemble().await), tools(&configured.assemble().await))
        });
        prop_assert_eq!(by_name, ["a", "b", "c", "d", "e"]);
        prop_assert_eq!(configured, ["d", "b", "c", "e", "a"]);
    }
}
