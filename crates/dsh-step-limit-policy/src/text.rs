//! What the model is told.

use dsh_llm::{ContentBlock, Message, Role, Source};

use crate::NAME;

/// Begins the last step that a turn may have.
pub(crate) fn last_step(max_steps: u64) -> Message {
    let steps = if max_steps == 1 { "1 step".to_owned() } else { format!("{max_steps} steps") };
    let text = format!(
        "This is the last step of this turn, which has a limit of {steps}. Tools that you call now still run, but you will \
         not see what they give before the next turn. So answer now: say what is done, what you found, and what \
         is left to do. The limit is for this turn only; it begins anew with the next one."
    );
    let source = Source::notice(NAME, &format!("the last of {steps}"));
    Message::new(Role::User, vec![ContentBlock::text(text)], source)
}
