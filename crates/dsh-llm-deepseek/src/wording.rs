//! What the words of a provider mean.

pub(crate) use dsh_llm::classify::{is_context_overflow, is_quota};
