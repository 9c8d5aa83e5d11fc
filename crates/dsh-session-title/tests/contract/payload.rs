//! The title's event.

use dsh_session::{NewEvent, Payload, Session};
use dsh_session_title::{ModelRoute, SessionTitle, TitleSource, title_of};

use crate::fixture::provided;

// spec: session/S117
#[test]
fn the_last_title_of_a_log_is_the_sessions() {
    let session = Session::detached("s-1");
    assert_eq!(title_of(&session), None);
    session.append(provided("one")).unwrap();
    session.append(provided("two")).unwrap();
    session.append(NewEvent::raw("turn/start", r#"{"turn":1}"#).unwrap()).unwrap();
    let title = title_of(&session).unwrap();
    assert_eq!((title.title(), title.message_seqs()), ("two", &[0][..]));
    let model = Some(ModelRoute { provider: "p".to_owned(), model: "m".to_owned() });
    assert_eq!(title.source(), &TitleSource::Provider { provider: "titles".to_owned(), model });
}

// spec: session/S117
#[test]
fn titles_are_read_and_written_as_the_reference_writes_them() {
    for text in [
        r#"{"title":"fix the bug in parser,","messageSeqs":[7],"source":{"kind":"fallback"}}"#,
        r#"{"title":"A title","messageSeqs":[7],"source":{"kind":"provider","provider":"session-title-first-prompt-llm","model":{"provider":"deepseek-official","model":"deepseek-v4-flash"}}}"#,
        r#"{"title":"Mine","messageSeqs":[],"source":{"kind":"user"}}"#,
    ] {
        let title = SessionTitle::read(text).unwrap();
        assert_eq!(serde_json::to_string(&title).unwrap(), text);
    }
}

// spec: session/S117
#[test]
fn a_title_names_no_messages_exactly_if_the_user_gave_it() {
    let of = |seqs: &str, kind: &str| {
        SessionTitle::read(&format!(r#"{{"title":"t","messageSeqs":{seqs},"source":{{"kind":"{kind}"}}}}"#))
    };
    assert!(of("[]", "user").is_ok_and(|title| title.is_pinned()));
    assert!(of("[1]", "user").is_err());
    assert!(of("[]", "fallback").is_err());
    assert!(of("[1]", "fallback").is_ok_and(|title| !title.is_pinned()));
    assert!(SessionTitle::read(r#"["t",[],{"kind":"user"}]"#).is_err());
}
