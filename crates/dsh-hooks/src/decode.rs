//! How the answer of a hook is read.
//!
//! Only the members of an answer that mean something are ever read; the rest is skipped, however it is made.

use std::borrow::Cow;
use std::fmt;

use dsh_tools::parse_arguments;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::output::{HookOutput, Stop};
use crate::point::Point;
use crate::said::{Decision, Said};
use crate::text::{bounded, some_text, trimmed};

/// The exit code that forbids.
const BLOCK: i32 = 2;

/// Reads the answer of a hook that ended with this exit code, none if it gave none.
///
/// With `expected`, the part of the answer that is meant for one point counts only if it names that point. Of each text the
/// first 64 KiB are kept.
///
/// Source: the exit codes and the fields of the reference's codec.
#[must_use]
pub fn decode(exit_code: Option<i32>, stdout: &str, stderr: &str, expected: Option<Point>) -> HookOutput {
    let answer = match exit_code {
        Some(BLOCK) => {
            HookOutput { said: Some(Said::Block), reason: some_text(stderr), ..HookOutput::default() }
        }
        Some(0) => structured(trimmed(stdout), expected)
            .unwrap_or_else(|| HookOutput { plain_stdout: some_text(stdout), ..HookOutput::default() }),
        Some(_) | None => HookOutput::default(),
    };
    with_bounded_texts(answer)
}

fn with_bounded_texts(answer: HookOutput) -> HookOutput {
    HookOutput {
        reason: answer.reason.map(bounded),
        stop: answer.stop.map(|stop| Stop { reason: stop.reason.map(bounded) }),
        system_message: answer.system_message.map(bounded),
        additional_context: answer.additional_context.map(bounded),
        plain_stdout: answer.plain_stdout.map(bounded),
        ..answer
    }
}

fn structured(text: &str, expected: Option<Point>) -> Option<HookOutput> {
    // The whole text is looked at first: of members that are read one by one not every fault would show.
    let answer = serde_json::from_str::<&RawValue>(text).ok().and_then(Object::of)?;
    let mut output = HookOutput {
        said: answer.text("decision").and_then(|word| match word.as_str() {
            "approve" => Some(Said::Approve),
            "block" => Some(Said::Block),
            _ => None,
        }),
        reason: answer.text("reason"),
        stop: (answer.raw("continue") == Some("false")).then(|| Stop { reason: answer.text("stopReason") }),
        system_message: answer.text("systemMessage"),
        ..HookOutput::default()
    };
    if let Some(own) = answer.object("hookSpecificOutput") {
        output.event_name = own.text("hookEventName");
        if expected.is_none_or(|point| output.event_name.as_deref() == Some(point.as_str())) {
            take_own(&mut output, &own, expected);
        }
    }
    Some(output)
}

/// Takes the part that is meant for one point.
fn take_own(output: &mut HookOutput, own: &Object<'_>, expected: Option<Point>) {
    let said = own.text("permissionDecision").and_then(|word| match word.as_str() {
        "allow" => Some(Said::Allow),
        "ask" => Some(Said::Ask),
        "deny" => Some(Said::Deny),
        _ => None,
    });
    output.said = said.or(output.said);
    output.reason = own.text("permissionDecisionReason").or(output.reason.take());
    output.additional_context = own.text("additionalContext");
    match own.raw("updatedInput").filter(|text| *text != "null").map(input) {
        Some(Ok(input)) => output.updated_input = Some(input),
        // Without the change that was meant the call is not the one that the hook lets go on.
        Some(Err(reason))
            if expected == Some(Point::PreToolUse) && output.decision() != Some(Decision::Deny) =>
        {
            output.said = Some(Said::Deny);
            output.reason = Some(reason);
        }
        Some(Err(_)) | None => {}
    }
}

fn input(text: &str) -> Result<Map<String, Value>, String> {
    match parse_arguments(text) {
        Ok(Value::Object(input)) => Ok(input),
        Ok(_) => Err("the hook's updatedInput cannot be used: it is no object".to_owned()),
        Err(error) => Err(format!("the hook's updatedInput cannot be used: {error}")),
    }
}

/// An object whose members are not read yet. Of a name that is there twice the last one counts.
struct Object<'t>(Vec<(Lossy<'t>, &'t RawValue)>);

/// A text in which half of a character, as other languages can cut one, is replaced.
struct Lossy<'t>(Cow<'t, str>);

impl<'t> Object<'t> {
    fn of(value: &'t RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    fn member(&self, name: &str) -> Option<&'t RawValue> {
        self.0.iter().rev().find(|(key, _)| key.0 == name).map(|(_, value)| *value)
    }

    fn raw(&self, name: &str) -> Option<&'t str> {
        self.member(name).map(RawValue::get)
    }

    fn text(&self, name: &str) -> Option<String> {
        let Lossy(text) = serde_json::from_str(self.raw(name)?).ok()?;
        Some(text.into_owned())
    }

    fn object(&self, name: &str) -> Option<Self> {
        self.member(name).and_then(Self::of)
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Lossy<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Lossy<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Lossy<'de>, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy<'de>, E> {
                Ok(Lossy(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
            }
        }

        // As a string, half of a character would make the whole answer unreadable.
        deserializer.deserialize_bytes(Bytes)
    }
}
