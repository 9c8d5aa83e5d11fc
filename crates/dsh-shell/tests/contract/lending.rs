//! What a plugin contributes runs as its code and ends with it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use cordis::{BoxError, Context, Handle, define};
use dsh_shell::{Contributor, ContributorError, SHELL_ENV, ShellEnv};
use parking_lot::Mutex;

use crate::fixture::{Fixture, giving, pairs, values};

// spec: design/P1
#[tokio::test]
async fn what_a_plugin_contributed_is_gone_and_dropped_with_it() {
    async fn apply(ctx: &Context, env: Handle<ShellEnv>, held: &Arc<()>) -> Result<(), BoxError> {
        let held = held.clone();
        let contributor = Contributor::new("x", move |_| {
            let _held = &held;
            Ok(values(&[("A", "1")]))
        });
        env.get()?.register(ctx, contributor.variable("A", "What the test wants."))?;
        Ok(())
    }
    let fixture = Fixture::new().await;
    let held = Arc::new(());
    let fiber = fixture.app.plugin(define("x").needs(SHELL_ENV).run(apply), held.clone()).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(fixture.contributed(None), pairs(&[("A", "1")]));
    assert!(fiber.dispose().await.is_clean());
    assert_eq!(fixture.contributed(None), []);
    assert_eq!(Arc::strong_count(&held), 1);
}

/// Values that wait on their thread for a word from the test.
struct Slow {
    entered: Sender<()>,
    released: Mutex<Receiver<()>>,
}

// spec: design/P1
#[tokio::test]
async fn values_that_are_being_asked_for_on_another_thread_hold_their_plugins_unloading_up() {
    async fn apply(ctx: &Context, env: Handle<ShellEnv>, slow: &Arc<Slow>) -> Result<(), BoxError> {
        let slow = slow.clone();
        let contributor = Contributor::new("slow", move |_| {
            slow.entered.send(())?;
            slow.released.lock().recv()?;
            Ok(values(&[]))
        });
        env.get()?.register(ctx, contributor)?;
        Ok(())
    }
    let fixture = Fixture::new().await;
    let ((entered, wait), (release, released)) = (channel(), channel());
    let slow = Arc::new(Slow { entered, released: Mutex::new(released) });
    let fiber = fixture.app.plugin(define("slow").needs(SHELL_ENV).run(apply), slow).unwrap();
    fiber.ready().await.unwrap();

    let env = fixture.app.get(SHELL_ENV).unwrap();
    let asking = std::thread::spawn(move || env.get().unwrap().for_agent(None).map(|env| env.len()));
    wait.recv().unwrap();
    let mut disposing = tokio::spawn(async move { fiber.dispose().await });
    for _ in 0..100 {
        tokio::select! {
            biased;
            _ = &mut disposing => panic!("unloaded while its values were asked for"),
            () = tokio::task::yield_now() => {}
        }
    }
    release.send(()).unwrap();
    assert!(disposing.await.unwrap().is_clean());
    assert_eq!(asking.join().unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_plugin_that_is_unloaded_contributes_nothing_any_more() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    ada.context().fiber().dispose().await;
    let refused = fixture.env().register(ada.context(), giving("x", &[("A", "1")])).unwrap_err();
    assert!(matches!(refused, ContributorError::Inactive(_)), "{refused}");
}

// spec: design/P1
#[tokio::test]
async fn the_environment_is_gone_with_its_plugin() {
    let fixture = Fixture::new().await;
    assert!(fixture.plugin.dispose().await.is_clean());
    assert!(fixture.app.get(SHELL_ENV).is_none());
}
