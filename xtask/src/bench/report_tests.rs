use crate::bench::lines;

use super::*;

const PEERS: &str = r#"
{"peer":"p 1","work":"emit/1","ns":1500,"spread":0.1,"samples":31}
{"peer":"p 1","work":"chain/10000","error":"took more than 20 s"}
{"peer":"q 2","work":"memory","bytes":1234.4}
"#;

fn report() -> Report {
    let figure = |median| Figure { median, p10: median * 0.9, p90: median * 1.1, samples: 30 };
    let ours = [("emit/1", 20.0), ("get", 45.0), ("chain/10000/up", 1.234e7), ("memory", 480.0)];
    let figures = Figures {
        ours: ours.map(|(work, median)| (work.to_owned(), figure(median))).into(),
        floors: [("emit/1", 1.5), ("get", 40.0), ("chain/10000/up", 1.2e7)]
            .map(|(work, median)| (work.to_owned(), figure(median)))
            .into(),
        peers: lines::read(PEERS).unwrap(),
        left_out: vec!["peers in node: there is no npm".to_owned()],
    };
    let machine = Machine {
        cpu: "AMD EPYC".to_owned(),
        cores: 2,
        rustc: "rustc 1.95.0".to_owned(),
        date: "2026-11-30".to_owned(),
        load: "0.10".to_owned(),
    };
    Report::new(figures, machine)
}

#[test]
fn the_table_shows_every_measured_work_with_its_bound_and_its_peers() {
    let expected = "\
| work           | ours           | floor   | reach   | verdict | p 1     | q 2    |
| -------------- | -------------- | ------- | ------- | ------- | ------- | ------ |
| emit/1         | 20.0 ns ± 10 % | 1.50 ns | 21.8 ns | ok      | 1.50 µs | -      |
| get            | 45.0 ns ± 10 % | 40.0 ns | 30.0 ns | MISS    | -       | -      |
| chain/10000/up | 12.3 ms ± 10 % | 12.0 ms | 18.0 ms | ok      | failed  | -      |
| memory         | 480 B ± 10 %   | -       | 500 B   | ok      | -       | 1234 B |

2026-11-30, AMD EPYC, 2 cores, load 0.10, rustc 1.95.0
left out: peers in node: there is no npm";
    assert_eq!(report().to_string(), expected);
    assert_eq!(report().misses(), ["get"]);
}

#[test]
fn the_file_holds_all_of_it() {
    let file: Value = serde_json::from_str(&report().json()).unwrap();
    let number = |value: &Value| value.as_f64();
    assert_eq!(file["machine"]["cpu"], "AMD EPYC");
    assert_eq!(file["left_out"][0], "peers in node: there is no npm");
    let emit = &file["works"][0];
    assert_eq!((emit["work"].as_str(), emit["unit"].as_str()), (Some("emit/1"), Some("ns")));
    assert_eq!((number(&emit["ours"]["median"]), number(&emit["floor"]["p10"])), (Some(20.0), Some(1.35)));
    assert_eq!((number(&emit["reach"]), emit["verdict"].as_str()), (Some(21.775), Some("ok")));
    assert_eq!(number(&emit["peers"]["p 1"]["median"]), Some(1_500.0));
    assert_eq!(file["works"][2]["peers"]["p 1"]["error"], "took more than 20 s");
}
