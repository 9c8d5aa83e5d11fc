#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use super::{Events, MAX_EVENT, Taken};

/// The events of a body that comes in pieces of so many bytes, and whether it said that it is over.
fn events(body: &[u8], piece: usize) -> (Vec<String>, bool) {
    let mut events = Events::default();
    let mut told = Vec::new();
    for piece in body.chunks(piece) {
        let taken = events.feed(piece, |data| {
            told.push(String::from_utf8_lossy(data).into_owned());
            Ok(())
        });
        if taken.unwrap() == Taken::Done {
            return (told, true);
        }
    }
    let is_over = events.end(|data| {
        told.push(String::from_utf8(data.to_vec()).unwrap());
        Ok(())
    });
    (told, is_over.unwrap())
}

// spec: llm/S63, cases/S1
#[test]
fn the_same_events_come_out_however_they_are_written_and_cut() {
    let lines = ["data: {\"a\":1}", "", "data: two", "data: lines", "", "data: [DONE]", ""];
    let written = [
        lines.join("\n") + "\n",
        lines.join("\r\n") + "\r\n",
        lines.join("\r") + "\r",
        format!("\u{feff}{}\n", lines.join("\n")),
        lines.join("\n").replace("data: ", "data:") + "\n",
        lines.join("\n: a comment\n") + "\n",
        format!("id: 7\nevent: x\nretry: 3\nDATA: no\n{}\n", lines.join("\n")),
        format!("\n\n{}\n", lines.join("\n")),
        "data: {\"a\":1}\r\n\ndata: two\rdata: lines\r\n\r\ndata: [DONE]\r".to_owned(),
    ];
    for body in written {
        for piece in 1..=body.len() {
            let (told, done) = events(body.as_bytes(), piece);
            assert_eq!(
                (told.as_slice(), done),
                (&["{\"a\":1}".to_owned(), "two\nlines".to_owned()][..], true),
                "{body:?} by {piece}"
            );
        }
    }
}

// spec: cases/S2
#[test]
fn done_counts_when_its_line_is_over_or_the_body_is() {
    for body in
        ["data: [DONE]\n", "data: [DONE]", "data:[DONE]\r", "data:  [DONE] \n\n", "data: [DONE]\n\njunk"]
    {
        for piece in 1..=body.len() {
            assert_eq!(events(body.as_bytes(), piece), (vec![], true), "{body:?} by {piece}");
        }
    }
    for piece in 1..30 {
        assert_eq!(events(b"data: x\ndata: [DONE]\n", piece), (vec!["x".to_owned()], true), "{piece}");
    }
    for body in ["data: [DONE", "data: x\n\n", "", ": [DONE]\n", "[DONE]\n"] {
        assert!(!events(body.as_bytes(), 3).1, "{body:?}");
    }
}

// spec: llm/S63
#[test]
fn an_event_counts_only_after_its_blank_line_and_with_data() {
    assert_eq!(events(b"data: one\n\ndata: two\n", 4).0, ["one"]);
    assert_eq!(events(b"event: ping\n\ndata\n\ndata:\n\ndata: x\n\n", 5).0, ["x"]);
}

#[test]
fn only_a_whole_line_is_a_sign_of_life() {
    let mut events = Events::default();
    let none = |_: &[u8]| Ok(());
    assert_eq!(events.feed(b": pi", none).unwrap(), Taken::All { has_line: false });
    assert_eq!(events.feed(b"ng\n", none).unwrap(), Taken::All { has_line: true });
    assert_eq!(events.feed(b"", none).unwrap(), Taken::All { has_line: false });
}

#[test]
fn an_event_without_end_is_refused() {
    let mut events = Events::default();
    let piece = vec![b'x'; 8 << 20];
    let refused = (0..=MAX_EVENT / piece.len()).find_map(|_| events.feed(&piece, |_| Ok(())).err());
    assert_eq!(refused.unwrap().code(), "MALFORMED_RESPONSE");
}
