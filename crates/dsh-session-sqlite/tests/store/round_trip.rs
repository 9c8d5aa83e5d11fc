//! Any log: what the store gives equals what the reader of files makes of the log's lines.

use dsh_session::{SessionLog, Storage as _};
use dsh_session_sqlite::{Config, SqliteStore};
use proptest::prelude::*;

use crate::fixture::{Folder, HEADER, header, line, log, read};

/// What may come next in a log.
#[derive(Clone, Debug)]
enum Next {
    Turn,
    TurnEnd,
    Pieces { count: usize, kind: usize, text: String },
    Long(usize),
    Unknown(String),
    Said,
    Replaced,
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        1 => Just(Next::Turn),
        1 => Just(Next::TurnEnd),
        4 => (1..9_usize, 0..4_usize, "\\PC{0,6}").prop_map(|(count, kind, text)| Next::Pieces { count, kind, text }),
        1 => (4_000..9_000_usize).prop_map(Next::Long),
        1 => "\\PC{0,9}".prop_map(Next::Unknown),
        2 => Just(Next::Said),
        1 => Just(Next::Replaced),
    ]
}

fn logs() -> impl Strategy<Value = Vec<String>> {
    (prop::collection::vec(next(), 0..24), any::<u64>()).prop_map(|(all, seed)| lines(&all, seed))
}

fn lines(all: &[Next], mut seed: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut shown: Vec<usize> = Vec::new();
    for next in all {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let seq = lines.len();
        match next {
            Next::Turn => lines.push(line("turn/start", seq, r#"{"turn": 1}"#)),
            Next::TurnEnd => lines.push(line("turn/end", seq, r#"{"turn":1,"reason":{"kind":"completed"}}"#)),
            Next::Long(length) => {
                lines.push(line("goal/change", seq, &format!(r#"["{}"]"#, "é".repeat(*length))))
            }
            Next::Unknown(text) => {
                let text = serde_json::to_string(text).unwrap();
                lines.push(format!(
                    r#"{{"type":"made/up","seq":{seq},"time":-{seq},"data":[1.50,{text}],"ignorable":true}}"#
                ));
            }
            Next::Pieces { count, kind, text } => {
                let text = serde_json::to_string(text).unwrap();
                for seq in seq..seq + count {
                    let chunk = match kind {
                        0 => format!(r#"{{"type":"text-delta","index":0,"text":{text}}}"#),
                        1 => format!(r#"{{"type":"reasoning-delta","index":1,"text":{text}}}"#),
                        2 => format!(
                            r#"{{"type":"tool-call-delta","index":2,"id":"c","argumentsDelta":{text}}}"#
                        ),
                        _ => format!(
                            r#"{{"type":"tool-call-delta","index":2,"id":"c","name":"n","argumentsDelta":{text}}}"#
                        ),
                    };
                    lines.push(line(
                        "assistant/chunk",
                        seq,
                        &format!(r#"{{"turn":1,"step":1,"chunk":{chunk}}}"#),
                    ));
                }
            }
            Next::Said => {
                lines.push(said(seq, r#""surfaceOp":"append""#));
                shown.push(seq);
            }
            Next::Replaced => {
                let Some(first) = (!shown.is_empty()).then(|| seed as usize % shown.len()) else { continue };
                let last = first + (seed >> 32) as usize % (shown.len() - first);
                let mut sources: Vec<String> = shown[first..=last].iter().map(usize::to_string).collect();
                sources.reverse();
                let (start, end, sources) = (shown[first], shown[last], sources.join(","));
                lines.push(said(
                    seq,
                    &format!(
                        r#""sourceEventSeqs":[{sources}],"surfaceOp":{{"op":"replace","start":{start},"end":{end}}}"#
                    ),
                ));
                shown.splice(first..=last, [seq]);
            }
        }
    }
    lines
}

fn said(seq: usize, marks: &str) -> String {
    let data = format!(
        r#"{{"id":"m{seq}","role":"user","source":{{"kind":"user"}},"content":[{{"type":"text","text":"a"}}]}}"#
    );
    format!(r#"{{"type":"user/message","seq":{seq},"time":9,"data":{data},{marks}}}"#)
}

fn in_memory(pack_chunks: bool) -> SqliteStore {
    let mut config = Config::new(":memory:");
    config.pack_chunks = pack_chunks;
    SqliteStore::new(&config).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    // spec: session/S105, session/S106
    #[test]
    fn a_log_stored_in_any_batches_is_read_as_its_lines_are(
        lines in logs(),
        sizes in prop::collection::vec(1..20_usize, 1..20),
        pack in any::<bool>(),
    ) {
        let log = log(&lines);
        let store = in_memory(pack);
        let mut writer = store.create(&header(), &[]).unwrap();
        let (mut rest, mut sizes) = (&log.events[..], sizes.into_iter().cycle());
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            writer.append(batch).unwrap();
            rest = after;
        }
        drop(writer);
        let stored = read(&store);
        prop_assert_eq!(&stored.header, &log.header);
        prop_assert_eq!(&stored.events, &log.events);
        prop_assert_eq!(&stored.torn, &None);
        // And again by way of the writer.
        prop_assert_eq!(&store.open("s").unwrap().unwrap().stored.events, &log.events);
    }

    // spec: session/S78, session/S108
    #[test]
    fn every_suffix_of_a_log_is_read_from_where_it_begins(lines in logs(), pack in any::<bool>()) {
        let log = log(&lines);
        let store = in_memory(pack);
        drop(store.create(&header(), &log.events).unwrap());
        for from in 0..=log.events.len() + 1 {
            let stored = store.read_from("s", from as u64).unwrap().unwrap();
            prop_assert_eq!(&stored.events[..], &log.events[from.min(log.events.len())..]);
            prop_assert_eq!(stored.torn, None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // spec: session/S107
    #[test]
    fn one_damaged_row_means_what_one_damaged_line_means(lines in logs(), at in any::<prop::sample::Index>()) {
        prop_assume!(!lines.is_empty());
        let at = at.index(lines.len());
        prop_assume!(!lines[at].contains("turn/end"));
        let folder = Folder::new();
        let mut config = folder.config();
        config.pack_chunks = false;
        let store = SqliteStore::new(&config).unwrap();
        drop(store.create(&header(), &log(&lines).events).unwrap());
        folder.run(&format!("UPDATE events SET data = '{{' WHERE seq = {at}"));
        let mut text = format!("{HEADER}\n");
        for (seq, line) in lines.iter().enumerate() {
            text.push_str(if seq == at { "{" } else { line });
            text.push('\n');
        }
        match (SessionLog::parse(text.as_bytes()), store.read("s")) {
            (Ok(log), Ok(stored)) => {
                prop_assert_eq!(log.events, stored.unwrap().events);
                prop_assert!(log.torn.is_some());
            }
            (Err(_), Err(_)) => {}
            (log, stored) => prop_assert!(false, "{:?} and {:?}", log.map(|log| log.torn), stored.map(|_| ())),
        }
    }
}
