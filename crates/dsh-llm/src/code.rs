//! The codes of failures, the same for every provider. Code decides by them, never by a message.
//!
//! Source: the codes of the reference's `LlmError`.

/// No adapter is registered for the provider.
pub const NO_ADAPTER: &str = "NO_ADAPTER";
/// The provider has an adapter already.
pub const DUPLICATE_ADAPTER: &str = "DUPLICATE_ADAPTER";
/// An adapter does not know a provider that it is registered for.
pub const INVALID_ADAPTER: &str = "INVALID_ADAPTER";
/// The adapter's plugin has taken it back.
pub const REGISTRATION_DISPOSED: &str = "REGISTRATION_DISPOSED";
/// An entry of the directory of providers that can be set up is not complete.
pub const INVALID_DIRECTORY: &str = "INVALID_DIRECTORY";
/// The directory has an entry for the provider already.
pub const DUPLICATE_DIRECTORY: &str = "DUPLICATE_DIRECTORY";
/// What asks for the models of a provider does not say where.
pub const INVALID_DISCOVERY: &str = "INVALID_DISCOVERY";
/// The models of a part of the settings are looked for by another plugin already.
pub const DUPLICATE_DISCOVERY: &str = "DUPLICATE_DISCOVERY";
/// Nobody looks for the models of a part of the settings.
pub const NO_DISCOVERY: &str = "NO_DISCOVERY";
/// An adapter's list of models is not in order.
pub const INVALID_CATALOG: &str = "INVALID_CATALOG";
/// What an adapter says of a model is not about that model.
pub const INVALID_MODEL_INFO: &str = "INVALID_MODEL_INFO";
/// An adapter gives a model a window that cannot be.
pub const INVALID_MODEL_CONTEXT: &str = "INVALID_MODEL_CONTEXT";
/// An adapter gives a model a limit of tokens that cannot be.
pub const INVALID_MODEL_MAX_TOKENS: &str = "INVALID_MODEL_MAX_TOKENS";
/// What an adapter says of a model's efforts is not in order.
pub const INVALID_MODEL_REASONING: &str = "INVALID_MODEL_REASONING";
/// The model does not have the effort that is asked for.
pub const UNSUPPORTED_REASONING_EFFORT: &str = "UNSUPPORTED_REASONING_EFFORT";
/// A prepared call is used for another one.
pub const INVALID_PREPARED_CALL: &str = "INVALID_PREPARED_CALL";
/// The conversation is longer than the model can hold.
pub const CONTEXT_WINDOW_EXCEEDED: &str = "CONTEXT_WINDOW_EXCEEDED";
/// The account has nothing left.
pub const QUOTA: &str = "QUOTA";
/// Too many requests at once.
pub const RATE_LIMIT: &str = "RATE_LIMIT";
/// The provider does not accept the key.
pub const AUTH: &str = "AUTH";
/// The provider does not accept the request.
pub const INVALID_REQUEST: &str = "INVALID_REQUEST";
/// The provider failed.
pub const SERVER: &str = "SERVER";
/// The connection failed or broke.
pub const TRANSPORT: &str = "TRANSPORT";
/// Nothing came for too long.
pub const TIMEOUT: &str = "TIMEOUT";
/// The caller cancelled.
pub const ABORTED: &str = "ABORTED";
/// The answer ended before it was over.
pub const STREAM_CLOSED: &str = "STREAM_CLOSED";
/// The answer is not what the protocol says.
pub const MALFORMED_RESPONSE: &str = "MALFORMED_RESPONSE";
/// The answer is complete, and says nothing.
pub const EMPTY_RESPONSE: &str = "EMPTY_RESPONSE";
/// The key cannot be one.
pub const INVALID_CREDENTIAL: &str = "INVALID_CREDENTIAL";
/// There is no key.
pub const MISSING_CREDENTIAL: &str = "MISSING_CREDENTIAL";
/// A message holds what the model cannot be told.
pub const UNSUPPORTED_CONTENT: &str = "UNSUPPORTED_CONTENT";
/// Anything else.
pub const UNKNOWN: &str = "UNKNOWN";
