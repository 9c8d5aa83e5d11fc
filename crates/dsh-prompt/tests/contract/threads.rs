//! Registrations from several threads at once.

use std::sync::{Arc, Barrier};

use dsh_prompt::{PromptSection, RegisterError, SYSTEM_PROMPT};

use crate::fixture::{Fixture, sections};

// spec: system-prompt/S7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_threads_that_register_one_name_one_wins_and_the_other_is_told_who_has_it() {
    let fixture = Fixture::new().await;
    let owner = fixture.app.fiber().label();
    for round in 0..2_000 {
        let gate = Arc::new(Barrier::new(2));
        let racing = ["one", "two"].map(|text| {
            let (gate, ctx) = (Arc::clone(&gate), (**fixture.app).clone());
            std::thread::spawn(move || {
                let prompt = ctx.get(SYSTEM_PROMPT).unwrap();
                gate.wait();
                let registered = prompt.get().unwrap().section(&ctx, PromptSection::new("s", 1, text));
                registered.map(|effect| (text, effect))
            })
        });
        let ended = racing.map(|thread| thread.join().unwrap());
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for result in ended {
            match result {
                Ok(registered) => won.push(registered),
                Err(RegisterError::Taken { owner, .. }) => lost.push(owner),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(lost, std::slice::from_ref(&owner), "round {round}");
        let [(text, effect)] = won.try_into().unwrap();
        assert_eq!(sections(&fixture.assemble().await), [("s", text)]);
        effect.dispose().await;
    }
}
