//! How a user interface may show calls and results.

use dsh_llm::ContentBlock;
use dsh_tool_bash::Config;
use dsh_tools::{LoggedResult, TOOLS};
use serde_json::{Value, json};

use crate::fixture::{in_background, service};
use crate::scripted::Scripted;

fn foreground() -> Value {
    json!({ "command": "ls", "description": "List", "timeoutMs": 5 })
}

async fn shown(arguments: &Value, content: &[ContentBlock], is_error: bool) -> Option<Value> {
    let scripted = Scripted::new(Config::default()).await;
    let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
    let view = tool.present_result(arguments, LoggedResult { content, is_error, meta: None });
    view.map(|view| serde_json::to_value(view).unwrap())
}

async fn shown_text(arguments: &Value, text: &str, is_error: bool) -> Value {
    shown(arguments, &[ContentBlock::text(text)], is_error).await.unwrap()
}

// spec: fs-shell-sandbox/F106
#[tokio::test]
async fn a_call_is_a_terminal_and_in_the_background_a_card() {
    let scripted = Scripted::new(Config::default()).await;
    let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
    let card =
        |arguments: Value| tool.present_call(&arguments).map(|view| serde_json::to_value(view).unwrap());
    let terminal = json!({ "card": "terminal", "title": "ls", "description": "List" });
    assert_eq!(card(foreground()), Some(terminal.clone()));
    let mut inside = foreground();
    inside["workdir"] = json!("sub");
    let mut expected = terminal;
    expected["cwd"] = json!("sub");
    assert_eq!(card(inside), Some(expected));
    let expected = json!({ "card": "generic", "title": "test", "kind": "execute", "rawInput": "sleep 9" });
    assert_eq!(card(in_background("sleep 9")), Some(expected));
    assert_eq!(card(json!({ "command": "ls" })), None);
}

// spec: fs-shell-sandbox/F106
#[tokio::test]
async fn the_title_of_a_long_command_is_its_beginning() {
    let scripted = Scripted::new(Config::default()).await;
    let tool = service(&scripted.app, TOOLS, |tools| tools.get("bash", None).unwrap());
    let card = |arguments: Value| serde_json::to_value(tool.present_call(&arguments).unwrap()).unwrap();
    let (short, long) = ("é".repeat(200), "é".repeat(1_000_000));
    let of = |command: &str| card(json!({ "command": command, "description": "List" }))["title"].clone();
    assert_eq!((of(&short), of(&long)), (json!(short), json!(format!("{short}…"))));
    let mut arguments = in_background(&long);
    arguments["description"] = json!(long);
    let background = card(arguments);
    assert_eq!((&background["title"], &background["rawInput"]), (&json!(format!("{short}…")), &json!(long)));
}

// spec: fs-shell-sandbox/F106
#[tokio::test]
async fn a_result_is_a_terminal_that_tells_how_the_command_ended() {
    let exit = |output: &str, code: i32| json!({ "card": "terminal", "output": output, "exitCode": code });
    let signal = |output: &str, name: &str| json!({ "card": "terminal", "output": output, "signal": name });
    for (text, view) in [
        ("hi\n", exit("hi\n", 0)),
        ("(no output)", exit("(no output)", 0)),
        ("hi\n[exit code: 3]", exit("hi", 3)),
        ("(no output)\n[exit code: 255]", exit("(no output)", 255)),
        ("hi\n[killed by signal: SIGRTMIN+1]", signal("hi", "SIGRTMIN+1")),
        (
            "a\n[timed out after 5ms]\n[killed by signal: SIGTERM]",
            signal("a\n[timed out after 5ms]", "SIGTERM"),
        ),
        ("a\n[timed out after 5ms]", exit("a\n[timed out after 5ms]", 0)),
        // The command printed these.
        ("[exit code: 3]", exit("[exit code: 3]", 0)),
        ("hi\n[exit code: 3]\n", exit("hi\n[exit code: 3]\n", 0)),
        ("[exit code: 3]\nhi", exit("[exit code: 3]\nhi", 0)),
        ("hi\n[exit code: 0]", exit("hi\n[exit code: 0]", 0)),
        ("hi\n[exit code: 03]", exit("hi\n[exit code: 03]", 0)),
        ("hi\n[exit code: many]", exit("hi\n[exit code: many]", 0)),
        ("hi\n[killed by signal: boredom]", exit("hi\n[killed by signal: boredom]", 0)),
        ("hi\n[killed by signal: SIG]", exit("hi\n[killed by signal: SIG]", 0)),
    ] {
        assert_eq!(shown_text(&foreground(), text, false).await, view, "{text}");
    }
}

// spec: fs-shell-sandbox/F106
#[tokio::test]
async fn a_failure_and_a_started_job_are_shown_as_they_are() {
    let fenced = |text: &str| json!({ "card": "generic", "content": [{ "type": "text", "text": text }] });
    assert_eq!(
        shown_text(&foreground(), "part\nError: no\n[exit code: 3]", true).await,
        fenced("```console\npart\nError: no\n[exit code: 3]\n```")
    );
    assert_eq!(
        shown_text(&in_background("x"), "started background job bash-1", false).await,
        fenced("```console\nstarted background job bash-1\n```")
    );
    // No text breaks out of its fence.
    assert_eq!(
        shown_text(&foreground(), "a\n````\nb\n", true).await,
        fenced("`````console\na\n````\nb\n`````")
    );
}

// spec: fs-shell-sandbox/F106
#[tokio::test]
async fn what_is_not_one_text_is_not_shown() {
    let text = || ContentBlock::text("a");
    assert_eq!(shown(&foreground(), &[], false).await, None);
    assert_eq!(shown(&foreground(), &[text(), text()], false).await, None);
    let image = json!({ "type": "image", "mediaType": "image/png", "data": "AAAA" });
    if let Ok(image) = serde_json::from_value(image) {
        assert_eq!(shown(&foreground(), &[image], true).await, None);
    }
    assert_eq!(shown(&json!({ "command": 1 }), &[text()], false).await, None);
}
