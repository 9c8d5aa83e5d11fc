//! Registrations from several threads at once.

use std::sync::{Arc, Barrier};

use dsh_shell::{ContributorError, SHELL_ENV};

use crate::fixture::{Fixture, giving, pairs};

// spec: fs-shell-sandbox/F99
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_threads_that_declare_one_variable_one_owns_it_and_nothing_is_left_of_the_other() {
    let fixture = Fixture::new().await;
    for round in 0..500 {
        let gate = Arc::new(Barrier::new(2));
        let racing = ["a", "b"].map(|name| {
            let (gate, ctx) = (gate.clone(), (**fixture.app).clone());
            std::thread::spawn(move || {
                let env = ctx.get(SHELL_ENV).unwrap();
                gate.wait();
                let contributor = giving(name, &[(name, "own"), ("K", name)]);
                env.get().unwrap().register(&ctx, contributor).map(|effect| (name, effect))
            })
        });
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for ended in racing.map(|thread| thread.join().unwrap()) {
            match ended {
                Ok(registered) => won.push(registered),
                Err(ContributorError::Owned { owner, .. }) => lost.push(owner),
                Err(other) => panic!("{other}"),
            }
        }
        let [(name, effect)] = won.try_into().unwrap();
        assert_eq!(lost, [name], "round {round}");
        assert_eq!(fixture.contributed(None), pairs(&[("K", name), (name, "own")]));
        effect.dispose().await;
        assert_eq!(fixture.contributed(None), []);
    }
}
