//! The same answer, written in every way.

use dsh_llm::FinishReason;
use dsh_testkit::{Done, Encoding, LineEnd, Step};

use crate::fixture::{Fixture, full};

/// Every way to write an answer of a step.
fn ways(step: &Step) -> Vec<Step> {
    let mut ways = Vec::new();
    for line_end in [LineEnd::Lf, LineEnd::Crlf, LineEnd::Cr] {
        for (comments, split_data, bom, no_space) in [
            (false, false, false, false),
            (true, false, true, true),
            (false, true, true, false),
            (true, true, false, true),
        ] {
            for done in [Done::Full, Done::NoBlankLine, Done::NoLineEnd] {
                ways.push(Step { line_end, comments, split_data, bom, no_space, done, ..step.clone() });
            }
        }
    }
    ways
}

// spec: llm/S63, cases/S1, cases/S2
#[tokio::test]
async fn the_same_pieces_come_of_an_answer_however_it_is_written() {
    let expected = Fixture::new([full()]).await.ask().await;
    assert_eq!((expected.blocks().len(), expected.finish()), (4, FinishReason::ToolCalls {}));
    let ways = ways(&full());
    let fixture = Fixture::new(ways.clone()).await;
    for way in ways {
        assert_eq!(fixture.ask().await, expected, "{way:?}");
    }
}

// spec: llm/S63, cases/S1
#[tokio::test]
async fn it_does_not_matter_where_the_body_is_cut_into_writes() {
    let expected = Fixture::new([full()]).await.ask().await;
    for line_end in [LineEnd::Lf, LineEnd::Crlf, LineEnd::Cr] {
        for (write_bytes, encoding) in
            [(1, Encoding::Chunked), (2, Encoding::Length), (7, Encoding::Close), (1, Encoding::Close)]
        {
            let way = Step { line_end, write_bytes: Some(write_bytes), encoding, bom: true, ..full() };
            assert_eq!(Fixture::new([way.clone()]).await.ask().await, expected, "{way:?}");
        }
    }
}

// spec: llm/S63, cases/S2
#[tokio::test]
async fn done_ends_the_answer_while_the_socket_stays_open() {
    for done in [Done::Full, Done::NoBlankLine] {
        for encoding in [Encoding::Chunked, Encoding::Length, Encoding::Close] {
            let way = Step { keep_open: true, done, encoding, ..full() };
            let came = Fixture::new([way]).await.ask().await;
            assert_eq!(came.finish(), FinishReason::ToolCalls {}, "{done:?} {encoding:?}");
        }
    }
}
