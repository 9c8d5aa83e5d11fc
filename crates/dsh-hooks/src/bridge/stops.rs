//! How often hooks have kept the turn of each agent from ending.

use std::collections::HashMap;
use std::num::NonZeroU32;

use dsh_agent::Agent;
use dsh_llm::{ContentBlock, Message, Role, Source};
use parking_lot::Mutex;

use crate::bridge::Bridge;

/// What there is to remember of agents, by the numbers of their scopes.
#[derive(Default)]
pub(crate) struct Stops(Mutex<HashMap<u64, Remembered>>);

/// What there is to remember of an agent: nothing most of the time.
#[derive(Default)]
struct Remembered {
    kept_on: Option<KeptOn>,
    /// What is said to it with its next step. Said at once it would have the turn go on.
    notice: Option<Message>,
}

/// A turn that hooks wanted to go on. It is remembered until another one is: the turn may go on because of others too, and
/// would never end if each of them began to count again.
struct KeptOn {
    turn: u64,
    times: u32,
    /// It goes on because hooks of this bridge wanted it to.
    is_active: bool,
}

impl Stops {
    /// Whether the turn goes on because hooks wanted it to.
    pub(crate) fn is_active(&self, agent: &Agent, turn: u64) -> bool {
        let agents = self.0.lock();
        let kept_on = agents.get(&agent.scope().id()).and_then(|it| it.kept_on.as_ref());
        kept_on.is_some_and(|kept_on| kept_on.turn == turn && kept_on.is_active)
    }

    /// Whether hooks may keep the turn from ending once more; counts it if so.
    pub(crate) fn may_block(&self, agent: &Agent, turn: u64, max: NonZeroU32) -> bool {
        self.with(agent, |it| {
            let kept_on = it.kept_on.take().filter(|kept_on| kept_on.turn == turn);
            let times = kept_on.map_or(0, |kept_on| kept_on.times);
            let may = times < max.get();
            it.kept_on = Some(KeptOn { turn, times: times + u32::from(may), is_active: may });
            may
        })
    }

    /// Hooks let the turn end.
    pub(crate) fn passed(&self, agent: &Agent) {
        self.with(agent, |it| {
            if let Some(kept_on) = &mut it.kept_on {
                kept_on.is_active = false;
            }
        });
    }

    /// The turn ends although hooks did not let it.
    pub(crate) fn ended_all_the_same(&self, agent: &Agent, notice: Message) {
        self.with(agent, |it| it.notice = Some(notice));
    }

    pub(crate) fn take_notice(&self, agent: &Agent) -> Option<Message> {
        self.with(agent, |it| it.notice.take())
    }

    pub(crate) fn forget(&self, agent: &Agent) {
        self.0.lock().remove(&agent.scope().id());
    }

    fn with<R>(&self, agent: &Agent, change: impl FnOnce(&mut Remembered) -> R) -> R {
        let (mut agents, id) = (self.0.lock(), agent.scope().id());
        let mut remembered = agents.remove(&id).unwrap_or_default();
        let result = change(&mut remembered);
        if remembered.kept_on.is_some() || remembered.notice.is_some() {
            agents.insert(id, remembered);
        }
        result
    }
}

impl Bridge {
    pub(crate) fn notice_of_end(&self, reason: &str) -> Message {
        let max = self.options.max_stop_blocks;
        let text = format!(
            "The turn before this one was ended although a Stop hook still objected: it had kept the turn going {max} times, \
             which is as often as it may. Its last reason was:\n{reason}\nIf that can be settled now, settle it; \
             otherwise tell the user what is left."
        );
        let source = Source::notice(self.plugin(), &format!("Stop hook overruled after {max} times"));
        Message::new(Role::User, vec![ContentBlock::text(text)], source)
    }
}
