//! What is asked for, if little is said.

use std::time::Duration;

use dsh_subprocess::{Collect, Output, SpawnSpec, Stdin};

#[test]
fn a_program_of_which_only_the_name_is_said_reads_nothing_and_its_output_is_thrown_away() {
    let spec = SpawnSpec::new(["true"]);
    assert_eq!((spec.argv, spec.cwd, spec.grace), (vec!["true".into()], None, Duration::from_secs(3)));
    assert!(matches!((spec.stdin, spec.stdout), (Stdin::Closed, Output::Discarded)));
    assert!(matches!(spec.stderr, Output::Discarded) && !spec.cancellation.is_cancelled());
}

#[test]
fn both_ends_together_are_as_much_as_was_asked_for() {
    for bytes in [0, 1, 2, 7, 64_000, usize::MAX] {
        let Collect { head_bytes, tail_bytes, spill_max_bytes, watch } = Collect::both_ends(bytes);
        assert_eq!((head_bytes + tail_bytes, tail_bytes - head_bytes), (bytes, bytes % 2));
        assert!(spill_max_bytes.is_none() && watch.is_none());
    }
}
