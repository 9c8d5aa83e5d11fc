//! The data of events: what each core type holds.
//!
//! A plugin adds a type of its own by implementing [`Payload`] for a struct of its own; nothing here needs to know it.

use std::sync::Arc;

use dsh_llm::open::present;
use dsh_llm::{
    AdapterDefaults, CallConfig, ContentBlock, LlmFailure, Message, StreamChunk, TokenUsage, ToolSchema,
    open_enum,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::json::{object, reason};

/// The data of one event type that is not part of the conversation.
///
/// An event that carries state carries the whole state after the change, never a difference. The crate that writes the type
/// also makes it known to readers: see [`event_type`](crate::event_type).
///
/// # Examples
/// ```
/// use dsh_session::{NewEvent, Payload, Session};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Mood {
///     mood: String,
/// }
///
/// impl Payload for Mood {
///     const TYPE: &'static str = "weather/mood";
/// }
///
/// // Without this, logs that hold one could not be read again.
/// dsh_session::event_type!(Mood::TYPE);
///
/// let session = Session::detached("s-1");
/// let event = session.append(NewEvent::new(&Mood { mood: "sunny".into() })?)?;
/// assert_eq!(event.payload::<Mood>()?.map(|it| it.mood).as_deref(), Some("sunny"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the data of an event type",
    note = "implement `dsh_session::Payload` for it and name its type: `const TYPE: &'static str = \"my-plugin/what\";`"
)]
pub trait Payload: Serialize + DeserializeOwned {
    /// The event type, such as `turn/start`.
    const TYPE: &'static str;

    /// Reads the data from its text.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(text: &str) -> Result<Self, String> {
        object(text).map_err(|error| reason(&error))
    }
}

macro_rules! payloads {
    ($( $(#[$meta:meta])* $name:ident = $kind:literal { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* } )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
            }

            impl Payload for $name {
                const TYPE: &'static str = $kind;
            }
        )*
    };
}

payloads! {
    /// A turn begins.
    TurnStart = "turn/start" {
        /// The turn, counted from 1.
        turn: u64,
    }

    /// A turn has ended.
    TurnEnd = "turn/end" {
        /// The turn.
        turn: u64,
        /// Why.
        reason: TurnEndReason,
    }

    /// A step begins.
    StepStart = "step/start" {
        /// The turn.
        turn: u64,
        /// The step within the turn, counted from 1.
        step: u64,
    }

    /// A step has ended.
    StepEnd = "step/end" {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
    }

    /// A piece of an answer arrived.
    AssistantChunk = "assistant/chunk" {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// The piece.
        chunk: StreamChunk,
    }

    /// A model answered. Part of the conversation: appended by [`NewEvent::answer`](crate::NewEvent::answer).
    AssistantMessage = "assistant/message" {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// The answer.
        message: Arc<Message>,
        /// What it cost, if the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        usage: Option<TokenUsage>,
        /// Whether the answer was cut off.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        interrupted: Option<bool>,
    }

    /// A call that the model asked for, as it was logged before anything was done about it.
    ToolCall = "tool/call" {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// The call's id, given by the model.
        call_id: String,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The model's text for the arguments: meant to be JSON, not checked.
        arguments: String,
    }

    /// What the model was told about a call. Part of the conversation: appended by
    /// [`NewEvent::tool_result`](crate::NewEvent::tool_result).
    ToolResult = "tool/result" {
        /// The turn.
        turn: u64,
        /// The step.
        step: u64,
        /// What the model reads.
        message: Arc<Message>,
        /// The kind of failure, for errors that have one.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        error: Option<ErrorInfo>,
        /// What the tool keeps for readers of the log.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        meta: Option<Value>,
    }

    /// The whole list of things to do; the last one stands.
    TodoWrite = "todo/write" {
        /// The list.
        todos: Vec<Todo>,
    }

    /// With which instructions and tools a model is asked from here on.
    RequestHeader = "request/header" {
        /// The header.
        header: EpochHeader,
        /// Why it was written.
        reason: HeaderReason,
    }

    /// Which model is asked, and how much it can hold.
    RequestContext = "request/context" {
        /// The provider's name.
        provider: String,
        /// The model's id.
        model: String,
        /// How many tokens the model can hold, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        context_window: Option<u64>,
    }

    /// The log so far was given to the session when it was made. The last one counts.
    EndSeed = "session/end-seed" {}

    /// Messages that wait for the agent were taken out or put in.
    InboxSpliced = "agent/inbox/spliced" {
        /// Which queue.
        target: InboxTarget,
        /// At which place.
        start: u64,
        /// How many were taken out; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        removed_count: Option<u64>,
        /// What was put in.
        inserted: Vec<Message>,
        /// `canceled` if those taken out will not be said.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        outcome: Option<String>,
    }
}

open_enum! {
    /// Why a turn ended.
    pub enum TurnEndReason by by_kind("kind") {
        /// The model was done.
        Completed = "completed" {}
        /// Somebody cancelled.
        Aborted = "aborted" {
            /// Who.
            reason: CancelCause,
        }
        /// A hook or policy kept it from going on.
        Blocked = "blocked" {}
        /// Something failed.
        Error = "error" {
            /// What.
            error: LlmFailure,
        }
        /// The answer reached the limit of tokens.
        MaxTokens = "max-tokens" {}
        /// The writer went away in the middle of it. Only ever made when a log is opened again.
        Interrupted = "interrupted" {}
    }
}

open_enum! {
    /// Who cancelled.
    pub enum CancelCause by by_kind("kind") {
        /// The user.
        User = "user" {}
        /// The agent that this one works for.
        Parent = "parent" {}
        /// A hook.
        Hook = "hook" {
            /// What it said.
            reason: String,
        }
        /// The session went away.
        Disposed = "disposed" {}
        /// An older log did not say.
        Legacy = "legacy" {}
    }
}

/// The name and code of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The error's class, such as `ToolNotFoundError`.
    pub name: String,
    /// The error's code, such as `UNKNOWN_TOOL`.
    pub code: String,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a thing to do is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

/// With which settings, instructions and tools a model is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EpochHeader {
    /// Which model, and how.
    pub config: CallConfig,
    /// Which settings the adapter chose, not the user.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub adapter_defaults: Option<AdapterDefaults>,
    /// The instructions.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub system: Option<String>,
    /// The tools that are offered.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub tools: Option<Vec<ToolSchema>>,
}

/// Why a request header was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderReason {
    /// The first one of the session.
    Initial,
    /// The session was opened again.
    Resume,
    /// Something of it changed.
    Change,
}

/// A queue of messages that wait for the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboxTarget {
    /// Said when the next turn begins.
    NextTurn,
    /// Said before the next step.
    NextStep,
}

impl ToolResult {
    /// The id of the call that it answers.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.message.check_tool_result().unwrap_or_default()
    }

    /// What the model reads.
    #[must_use]
    pub fn content(&self) -> &[ContentBlock] {
        match self.message.content.as_slice() {
            [ContentBlock::ToolResult { content, .. }] => content,
            _ => &[],
        }
    }

    /// Whether the model was told that the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self.message.content.as_slice(), [ContentBlock::ToolResult { is_error: Some(true), .. }])
    }

    /// What the model reads as one text, if all of it is text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let text = |block: &ContentBlock| match block {
            ContentBlock::Text { text } => Some(text.clone()),
            _ => None,
        };
        self.content().iter().map(text).collect()
    }
}

impl EpochHeader {
    /// What two headers are compared by: empty instructions and tools are absent, and so are markers that mark nothing.
    #[must_use]
    pub fn canonical(self) -> Self {
        let marks = |defaults: &AdapterDefaults| {
            defaults.reasoning_effort == Some(true) || defaults.max_tokens == Some(true)
        };
        Self {
            config: self.config,
            adapter_defaults: self.adapter_defaults.filter(marks),
            system: self.system.filter(|system| !system.is_empty()),
            tools: self.tools.filter(|tools| !tools.is_empty()),
        }
    }

    /// Whether a model would be asked in the same way: settings, markers, instructions and tools, in order.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.clone().canonical() == other.clone().canonical()
    }
}
