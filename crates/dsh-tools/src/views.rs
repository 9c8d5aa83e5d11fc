//! How a user interface may show a call and its result. Nothing of it reaches the model.
//!
//! Views are made anew of what a log keeps and are written for others; nothing reads them back.

use std::borrow::Cow;

use dsh_llm::ContentBlock;
use serde::Serialize;
use serde_json::Value;

/// How many characters of a text its title has at most, besides an ellipsis.
const TITLE_CHARS: usize = 200;

/// What kind of work a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ViewKind {
    /// Something is read.
    Read,
    /// Something is changed.
    Edit,
    /// Something is removed.
    Delete,
    /// Something is moved.
    Move,
    /// Something is looked for.
    Search,
    /// Something is run.
    Execute,
    /// Something is fetched.
    Fetch,
    /// Anything else.
    #[default]
    Other,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file.
    pub path: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// How one file changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    /// The file.
    pub path: String,
    /// What was there; none, written as `null`, for a new file.
    pub old_text: Option<String>,
    /// What will be there.
    pub new_text: String,
}

/// How a call may be shown.
///
/// Source: the call views of the reference, by `card`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "card", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum CallView {
    /// A card.
    Generic {
        /// The line that stands for the call.
        title: String,
        /// What kind of work it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<ViewKind>,
        /// What it was given, for who looks closer.
        #[serde(skip_serializing_if = "Option::is_none")]
        raw_input: Option<Value>,
        /// What the card shows.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentBlock>,
        /// The files that it is about.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        locations: Vec<Location>,
    },
    /// A command.
    Terminal {
        /// The command.
        title: String,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The folder that it runs in.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Changes of files.
    Diff {
        /// The line that stands for the call.
        title: String,
        /// The changes.
        diffs: Vec<FileDiff>,
        /// The files that it is about.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        locations: Vec<Location>,
    },
}

/// A result as a log keeps it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoggedResult<'a> {
    /// What the model read.
    pub content: &'a [ContentBlock],
    /// Whether the model was told that the call failed.
    pub is_error: bool,
    /// Facts for a user interface.
    pub meta: Option<&'a Value>,
}

/// How a result may be shown.
///
/// Source: the result views of the reference, by `card`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "card", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum ResultView {
    /// A card.
    Generic {
        /// What the card shows.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentBlock>,
    },
    /// What a command printed, and how it ended.
    Terminal {
        /// What it printed.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// How it ended.
        #[serde(flatten)]
        ended: Option<TerminalEnd>,
    },
    /// Changes of files.
    Diff {
        /// The changes.
        diffs: Vec<FileDiff>,
    },
    /// What was found.
    Search {
        /// The lines or the files.
        #[serde(flatten)]
        found: Found,
        /// Whether there is more.
        truncated: bool,
        /// How much there is.
        total: u64,
    },
    /// A part of a file.
    Read {
        /// The file.
        path: String,
        /// The first line, from 1.
        offset: u64,
        /// The lines that are shown.
        lines: Vec<ReadLine>,
        /// How many lines there are.
        total_lines: u64,
        /// The language, for highlighting.
        #[serde(skip_serializing_if = "Option::is_none")]
        lang: Option<String>,
        /// What the model read.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentBlock>,
    },
    /// Something from the web.
    Web {
        /// What was done.
        #[serde(flatten)]
        web: Web,
        /// Whether there is more.
        truncated: bool,
    },
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TerminalEnd {
    /// By itself.
    ExitCode(i32),
    /// By a signal.
    Signal(String),
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Found {
    /// Lines.
    Matches {
        /// The files that they are in.
        files: Vec<FoundFile>,
    },
    /// Files.
    Paths {
        /// The files.
        paths: Vec<String>,
    },
}

/// A file with lines that were found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundFile {
    /// The file.
    pub path: String,
    /// The lines.
    pub matches: Vec<FoundLine>,
}

/// A line that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLine {
    /// Its number, from 1.
    pub line_number: u64,
    /// Its text.
    pub line: String,
}

/// A line that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its text.
    pub text: String,
}

/// What was done in the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Web {
    /// A search.
    Search {
        /// The pages.
        sources: Vec<WebSource>,
        /// What they say together.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// A page was fetched.
    Fetch {
        /// The page.
        url: String,
        /// The status of the answer.
        status_code: u16,
    },
}

/// A page that was found in the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebSource {
    /// Where it is.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The words in it that fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// When it was published, as the page says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
}

/// A text as the title of something: of a long one the first 200 characters and an ellipsis.
#[must_use]
pub fn title(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(TITLE_CHARS) {
        Some((cut, _)) => Cow::Owned(format!("{}…", &text[..cut])),
        None => Cow::Borrowed(text),
    }
}
