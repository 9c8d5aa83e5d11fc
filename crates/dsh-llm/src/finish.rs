//! Why an answer ended.

use crate::failure::LlmFailure;
use crate::open_enum;

open_enum! {
    /// Why an answer ended.
    pub enum FinishReason by by_kind("kind") {
        /// The model was done.
        Stop = "stop" {}
        /// The model asks for tools.
        ToolCalls = "tool-calls" {}
        /// The answer reached the limit of tokens.
        MaxTokens = "max-tokens" {}
        /// The caller cancelled.
        Aborted = "aborted" {
            /// What was known when it ended.
            failure: LlmFailure,
        }
        /// Something failed.
        Error = "error" {
            /// What failed.
            failure: LlmFailure,
        }
    }
}
