//! What a row holds.

use dsh_session::Storage as _;
use dsh_session_sqlite::SqliteStore;

use crate::fixture::{Folder, chunk, events, header, line, read, stored, turns};

const LAYOUT: &str = "SELECT seq || '|' || type || '|' || time || '|' || typeof(data) || '|' || \
     CASE WHEN typeof(data) = 'text' AND length(data) < 300 THEN data ELSE '-' END || '|' || \
     iif(source_event_seqs IS NULL, '-', hex(source_event_seqs)) || '|' || coalesce(surface_op, '-') || '|' || \
     coalesce(ignorable, '-') FROM events ORDER BY seq";

fn chunks(count: usize, text: &str) -> Vec<String> {
    (0..count).map(|seq| chunk(seq, text)).collect()
}

// spec: session/S105
#[test]
fn an_event_is_a_row_and_a_run_of_pieces_is_one_that_ignorable_0_marks() {
    let folder = Folder::new();
    let user = |id: &str| {
        format!(
            r#"{{"id":"{id}","role":"user","source":{{"kind":"user"}},"content":[{{"type":"text","text":"a"}}]}}"#
        )
    };
    let surface = |seq: usize, id: &str, rest: &str| {
        let line = line("user/message", seq, &user(id));
        format!("{}{rest}}}", line.strip_suffix('}').unwrap())
    };
    let lines = vec![
        line("turn/start", 0, r#"{"turn":1}"#),
        surface(1, "m1", r#","surfaceOp":"append""#),
        surface(2, "m2", r#","surfaceOp":"append""#),
        surface(3, "m3", r#","sourceEventSeqs":[2,1],"surfaceOp":{"op":"replace","start":1,"end":2}"#),
        r#"{"type":"made/up","seq":4,"time":-3,"data":[ 1.50 ],"ignorable":true}"#.to_owned(),
        chunk(5, "a"),
        chunk(6, "b"),
        chunk(7, "c"),
    ];
    let store = stored(&folder, &lines);
    assert_eq!(
        folder.column(LAYOUT),
        [
            r#"0|turn/start|1000|text|{"turn":1}|-|-|-"#.to_owned(),
            format!(r#"1|user/message|1001|text|{}|-|"append"|-"#, user("m1")),
            format!(r#"2|user/message|1002|text|{}|-|"append"|-"#, user("m2")),
            format!(r#"3|user/message|1003|text|{}|0201|{{"op":"replace","start":1,"end":2}}|-"#, user("m3")),
            "4|made/up|-3|text|[ 1.50 ]|-|-|1".to_owned(),
            r#"5|text-chunks|1005|text|{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}|-|-|0"#
                .to_owned(),
        ]
    );
    assert_eq!(read(&store).events, events(&lines));
}

// spec: session/S105
#[test]
fn a_run_is_split_after_1024_members_and_two_are_no_run() {
    let folder = Folder::new();
    let lines = chunks(2 * 1_024 + 2, "a");
    let store = stored(&folder, &lines);
    assert_eq!(
        folder.column("SELECT seq || '|' || type FROM events ORDER BY seq"),
        ["0|text-chunks", "1024|text-chunks", "2048|assistant/chunk", "2049|assistant/chunk"]
    );
    assert_eq!(read(&store).events, events(&lines));
}

// spec: session/S105
#[test]
fn a_run_of_more_than_a_mebibyte_is_split() {
    let folder = Folder::new();
    let lines = chunks(12, &"a".repeat(200_000));
    let store = stored(&folder, &lines);
    assert_eq!(
        folder.column("SELECT seq || '|' || type FROM events ORDER BY seq"),
        ["0|text-chunks", "3|text-chunks", "6|text-chunks", "9|text-chunks"]
    );
    assert_eq!(read(&store).events, events(&lines));
}

// spec: session/S102, session/S105
#[test]
fn without_packing_every_piece_is_a_row_and_both_forms_are_read() {
    let folder = Folder::new();
    let mut config = folder.config();
    config.pack_chunks = false;
    let store = SqliteStore::new(&config).unwrap();
    let lines = chunks(8, "a");
    let mut writer = store.create(&header(), &events(&lines)[..4]).unwrap();
    drop(store);
    writer.append(&[]).unwrap();
    drop(writer);
    let mut writer = folder.store().open("s").unwrap().unwrap().writer;
    writer.append(&events(&lines)[4..]).unwrap();
    assert_eq!(
        folder.column("SELECT seq || '|' || type FROM events ORDER BY seq"),
        ["0|assistant/chunk", "1|assistant/chunk", "2|assistant/chunk", "3|assistant/chunk", "4|text-chunks"]
    );
    assert_eq!(read(&folder.store()).events, events(&lines));
}

// spec: session/S105
#[test]
fn long_data_is_compressed_and_comes_back_byte_for_byte() {
    let folder = Folder::new();
    let long = |length| format!(r#"{{ "a" : "{}" }}"#, "b".repeat(length));
    let lines = vec![
        line("goal/change", 0, &long(4_095 - 12)),
        line("goal/change", 1, &long(4_096 - 12)),
        line("goal/change", 2, &long(1 << 20)),
    ];
    let store = stored(&folder, &lines);
    assert_eq!(folder.column("SELECT typeof(data) FROM events ORDER BY seq"), ["text", "blob", "blob"]);
    assert_eq!(
        folder.column("SELECT hex(substr(data, 1, 4)) FROM events WHERE seq > 0"),
        ["28B52FFD", "28B52FFD"]
    );
    assert_eq!(read(&store).events, events(&lines));
    assert_eq!(read(&store).events[1].data().get().len(), 4_096);
}

// spec: session/S105
#[test]
fn packed_rows_that_break_the_limits_are_refused() {
    let member = |count: usize| {
        let texts = vec![r#""a""#; count].join(",");
        let gaps = vec!["1"; count - 1].join(",");
        format!(r#"{{"turn":1,"step":1,"index":0,"dt":[{gaps}],"texts":[{texts}]}}"#)
    };
    let wide =
        format!(r#"{{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","{}"]}}"#, "c".repeat(1 << 20));
    let fine = member(3);
    for (data, sources, surface, reason) in [
        (member(2), "NULL", "NULL", "3 to 1024 members, not 2"),
        (member(1_025), "NULL", "NULL", "3 to 1024 members, not 1025"),
        (wide, "NULL", "NULL", "more than 1048576"),
        (fine.clone(), "x'00'", "NULL", "neither"),
        (fine.clone(), "NULL", "'\"append\"'", "neither"),
        (fine.replace("dt", "du"), "NULL", "NULL", "unknown field `du`"),
    ] {
        let folder = Folder::new();
        let store = stored(&folder, &turns(1));
        folder.run(&format!(
            "INSERT INTO events VALUES ('s', 3, 'text-chunks', 1, '{data}', {sources}, {surface}, 0)"
        ));
        let found = read(&store);
        assert_eq!(found.events.len(), 3);
        assert!(found.torn.as_ref().unwrap().contains(reason), "{reason}: {:?}", found.torn);
    }
}
