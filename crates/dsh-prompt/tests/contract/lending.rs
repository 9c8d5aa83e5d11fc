//! What a plugin contributes runs as its code and ends with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use cordis::{BoxError, Context, Handle, define};
use dsh_prompt::{AssembleContext, PromptSection, PromptText, SYSTEM_PROMPT, SystemPrompt};
use parking_lot::Mutex;

use crate::fixture::{Fixture, sections};

/// A text that waits on its thread for a word from the test.
struct Slow {
    entered: std::sync::mpsc::Sender<()>,
    released: Mutex<Receiver<()>>,
    ended: Arc<AtomicBool>,
}

async fn apply(ctx: &Context, prompt: Handle<SystemPrompt>, slow: &Arc<Slow>) -> Result<(), BoxError> {
    let slow = slow.clone();
    let text = PromptText::fallible(move |_: &AssembleContext| {
        slow.entered.send(())?;
        slow.released.lock().recv()?;
        slow.ended.store(true, Ordering::SeqCst);
        Ok("slow".to_owned())
    });
    prompt.get()?.section(ctx, PromptSection::new("slow", 1, text))?;
    Ok(())
}

// spec: design/P1
#[tokio::test]
async fn a_text_that_is_being_made_on_another_thread_holds_its_plugins_unloading_up() {
    let fixture = Fixture::new().await;
    let ((entered, wait), (release, released)) = (channel(), channel());
    let ended = Arc::new(AtomicBool::new(false));
    let slow = Arc::new(Slow { entered, released: Mutex::new(released), ended: ended.clone() });
    let fiber = fixture.app.plugin(define("slow").needs(SYSTEM_PROMPT).run(apply), slow).unwrap();
    fiber.ready().await.unwrap();

    let (app, prompt) = (fixture.app.root(), fixture.app.get(SYSTEM_PROMPT).unwrap());
    let assembling = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let nobody = AssembleContext::new();
        runtime.block_on(async { prompt.get().unwrap().assemble(&app, &nobody).await })
    });
    wait.recv().unwrap();

    let mut disposing = tokio::spawn(async move { fiber.dispose().await });
    for _ in 0..100 {
        tokio::select! {
            biased;
            _ = &mut disposing => panic!("unloaded while its text was being made"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert!(!ended.load(Ordering::SeqCst));
    release.send(()).unwrap();
    assert!(disposing.await.unwrap().is_clean());
    assert!(ended.load(Ordering::SeqCst));

    let assembled = assembling.join().unwrap().unwrap();
    assert_eq!(sections(&assembled), [("slow", "slow")]);
    assert_eq!(sections(&fixture.assemble().await), []);
}

#[tokio::test]
async fn a_complete_section_taken_back_during_the_assembly_is_left_out_of_it() {
    let fixture = Fixture::new().await;
    let effects: Arc<Mutex<Vec<cordis::Effect>>> = Arc::default();
    let taken = effects.clone();
    let first = PromptText::dynamic(move |_| {
        taken.lock().drain(..).for_each(|effect| effect.cancel());
        "first".to_owned()
    });
    fixture.prompt().section(&fixture.app, PromptSection::new("first", 1, first)).unwrap();
    let second = PromptText::dynamic(|_| "second".to_owned());
    let section = PromptSection::new("second", 2, second).complete();
    effects.lock().push(fixture.prompt().section(&fixture.app, section).unwrap());
    assert_eq!(sections(&fixture.assemble().await), [("first", "first")]);
}
