//! What JSON, as every reader of a log understands it, can hold: the rest is refused before anything is kept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::collections::BTreeMap;

use dsh_session::{AppendError, Event, NewEvent, NotLossless, Payload, Session};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use support::{events, raw, session};

/// Data of any shape.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Any<T>(T);

impl<T: Serialize + for<'de> Deserialize<'de>> Payload for Any<T> {
    const TYPE: &'static str = "test/any";
}

fn kept<T: Serialize + for<'de> Deserialize<'de>>(value: T) -> Result<String, NotLossless> {
    NewEvent::new(&Any(value)).map(|new| session().append(new).unwrap().data().get().to_owned())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(f64),
    Tuple(u8, f64),
    Struct { x: f64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(f64, f64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    #[serde(flatten)]
    rest: BTreeMap<String, f64>,
}

// spec: session/S9
#[test]
fn every_value_of_json_is_kept_as_it_is() {
    assert_eq!(kept(()).unwrap(), "null");
    assert_eq!(kept(None::<u8>).unwrap(), "null");
    assert_eq!(
        kept((true, "é\u{2028}/".to_owned(), 'c', 0, -7, 9_007_199_254_740_991_u64)).unwrap(),
        "[true,\"é\u{2028}/\",\"c\",0,-7,9007199254740991]"
    );
    assert_eq!(
        kept(vec![1.0, 0.1, 1e21, 1e20, 1e-7, 5e-324, f64::MAX]).unwrap(),
        "[1,0.1,1e+21,100000000000000000000,1e-7,5e-324,1.7976931348623157e+308]"
    );
    assert_eq!(
        kept(json!({"z": {"b": [], "a": {}}, "10": 1.5})).unwrap(),
        r#"{"z":{"b":[],"a":{}},"10":1.5}"#
    );
    assert_eq!(
        kept((
            Shape::Unit,
            Shape::Newtype(1.0),
            Shape::Tuple(1, 2.0),
            Shape::Struct { x: 1.0 },
            Pair(1.0, 2.5)
        ))
        .unwrap(),
        r#"["Unit",{"Newtype":1},{"Tuple":[1,2]},{"Struct":{"x":1}},[1,2.5]]"#
    );
    assert_eq!(kept(Flat { rest: BTreeMap::from([("a".to_owned(), 1.0)]) }).unwrap(), r#"{"a":1}"#);
    assert_eq!(
        kept(
            BTreeMap::from([(1_u8, "x")])
                .into_iter()
                .map(|(k, v)| (k, v.to_owned()))
                .collect::<BTreeMap<u8, String>>()
        )
        .unwrap(),
        r#"{"1":"x"}"#
    );
    assert_eq!(kept(RawValue::from_string(r#"{"a": 1.50}"#.to_owned()).unwrap()).unwrap(), r#"{"a": 1.50}"#);
}

// spec: session/S10
#[test]
fn numbers_that_no_reader_gets_back_are_refused_wherever_they_stand() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
        let wrong = [
            kept(number),
            kept(Some(number)),
            kept(vec![1.0, number]),
            kept((1, number)),
            kept(Pair(1.0, number)),
            kept(Flat { rest: BTreeMap::from([("a".to_owned(), number)]) }),
            kept(BTreeMap::from([("a".to_owned(), number)])),
            kept(Shape::Newtype(number)),
            kept(Shape::Tuple(1, number)),
            kept(Shape::Struct { x: number }),
            kept(vec![Some(Shape::Struct { x: number })]),
            #[allow(clippy::cast_possible_truncation, reason = "infinities, NaN and zero are what they are")]
            kept(number as f32),
        ];
        for (place, kept) in wrong.into_iter().enumerate() {
            let error = kept.expect_err(&format!("{number} at {place}"));
            assert_eq!(error.kind, "test/any");
        }
    }
}

// spec: session/S10
#[test]
fn whole_numbers_beyond_what_is_exact_are_refused_wherever_they_come_from() {
    let big = 1_u64 << 53;
    for error in [
        kept(big),
        kept(-(1_i64 << 53)),
        kept(u128::from(big)),
        kept(-i128::from(big)),
        kept(json!({"a": [big]})),
        kept(RawValue::from_string(r#"{"a":[9007199254740992]}"#.to_owned()).unwrap()),
    ] {
        assert!(error.unwrap_err().to_string().contains("2^53 - 1"));
    }
}

// spec: session/S9, S10
#[test]
fn text_is_looked_at_as_closely_as_values_are() {
    for text in [
        "-0",
        "-0.0",
        "-0e5",
        "[1,-0]",
        r#"{"a":-0}"#,
        "1e999",
        "-1e999",
        "9007199254740992",
        "-9007199254740993",
    ] {
        NewEvent::raw("x/y", text).expect_err(text);
    }
    for text in ["", "{", "[1,]", "{'a':1}", "NaN", "undefined", "1 2", "[,1]"] {
        NewEvent::raw("x/y", text).expect_err(text);
    }
    for text in
        ["0", "1e-400", "-1", r#"{"a":"-0, 1e999 and \" 9007199254740993"}"#, r#""\ud800""#, "1e20", " null "]
    {
        let event = session().append(raw("x/y", text)).unwrap();
        assert_eq!(event.data().get(), text.trim());
    }
}

// spec: session/S11
#[test]
fn the_text_that_was_checked_is_the_text_that_is_kept() {
    /// A value that is another one each time that it is looked at.
    #[derive(Deserialize)]
    struct Moody(#[serde(skip)] std::cell::Cell<bool>);
    impl Serialize for Moody {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(if self.0.replace(true) { f64::NAN } else { 1.0 })
        }
    }
    impl Payload for Moody {
        const TYPE: &'static str = "test/moody";
    }
    let value = Moody(std::cell::Cell::new(false));
    let first = NewEvent::new(&value).expect("the first look is the only one");
    assert_eq!(session().append(first).unwrap().data().get(), "1");
    NewEvent::new(&value).expect_err("and so is the second");
}

// spec: session/S11
#[test]
fn a_refused_value_yields_an_error_and_no_event() {
    let session = session();
    let append = |value: f64| -> Result<_, Box<dyn std::error::Error>> {
        Ok(session.append(NewEvent::new(&Any(value))?)?)
    };
    append(f64::NAN).unwrap_err();
    assert!(session.is_empty());
    append(1.0).unwrap();
    assert_eq!(session.len(), 1);
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

// spec: session/S12
#[test]
fn data_of_any_depth_is_appended_compared_read_written_and_dropped() {
    let deep = nested(200_000);
    let on_a_small_stack = move || {
        let session = session();
        let event = session.append(raw("x/y", &deep)).unwrap();
        let held = session.events();
        let same: &Event = &held.get(0).unwrap();
        assert!(&*event == same && event.clone().data() == event.data());
        let line = event.to_line().replace("\"data\"", "\"ignorable\":true,\"data\"");
        assert_eq!(events(&[&line])[0].data(), event.data());
        let other = Session::detached("other");
        other.append(raw("x/y", &nested(199_999))).unwrap();
        assert!(other.events().last().unwrap().data() != event.data());
    };
    std::thread::Builder::new().stack_size(128 * 1024).spawn(on_a_small_stack).unwrap().join().unwrap();
}

// spec: session/S12
#[test]
fn depth_in_what_the_crate_must_look_into_is_an_error_and_no_overflow() {
    let on_a_small_stack = || {
        let deep = nested(20_000);
        let message = |block: &str| {
            format!(r#"{{"id":"m","role":"user","source":{{"kind":"user"}},"content":[{block}]}}"#)
        };
        NewEvent::raw("user/message", &message(&format!(r#"{{"type":"x","v":{deep}}}"#))).unwrap_err();
        let blocks = r#"{"type":"tool-result","toolCallId":"c","content":["#.repeat(1_000);
        NewEvent::raw("user/message", &message(&format!("{blocks}{}", "]}".repeat(1_000)))).unwrap_err();
        let header = format!(
            r#"{{"header":{{"config":{{"provider":"p","model":"m"}},"tools":{deep}}},"reason":"initial"}}"#
        );
        NewEvent::raw("request/header", &header).unwrap_err();
        let result = |id: &str| {
            format!(
                r#"{{"turn":1,"step":1,"meta":{deep},"message":{{"id":"{id}","role":"user","source":{{"kind":"tool","callId":"c"}},"content":[{{"type":"tool-result","toolCallId":"c","content":[]}}]}}}}"#
            )
        };
        let session = session();
        session.append(raw("tool/result", &result("m")).appended()).unwrap();
        let again = raw("tool/result", &result("n")).replacing(0, 0).made_from([0]);
        assert!(matches!(session.append(again), Err(AppendError::Surface { .. })));
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(on_a_small_stack).unwrap().join().unwrap();
}

// spec: session/S13
#[test]
fn a_key_named_proto_is_a_key_like_any_other() {
    let data = r#"{"__proto__":{"constructor":1},"a":{"__proto__":null}}"#;
    let event = session().append(raw("x/y", data)).unwrap();
    assert_eq!(event.data().get(), data);
    let value: Value = serde_json::from_str(data).unwrap();
    assert_eq!(kept(value.clone()).unwrap(), data);
    assert_eq!(event.payload::<Any<Value>>().unwrap().map(|_| ()), None, "the type is another one");
}
