//! What is known to differ from the reference: all of it, in one table.

use crate::difference::matches;

/// A difference that is meant.
pub(crate) struct Known {
    /// The recordings that have it, each of them; `*` stands for any text, and `!` before a name leaves it out.
    pub(crate) recordings: &'static [&'static str],
    pub(crate) differs: Differs,
    /// The row of `docs/fidelity.md`; none where nothing but words differ, which each program finds for itself.
    pub(crate) fidelity: Option<&'static str>,
    /// Why.
    pub(crate) why: &'static str,
}

/// What differs.
pub(crate) enum Differs {
    /// The reference says the first where we say the second.
    Words(&'static str, &'static str),
    /// Whole lines: `-` before what only the reference has, `+` before what only we have; `*` stands for any text.
    Lines(&'static [&'static str]),
}

impl Known {
    pub(crate) fn is_about(&self, recording: &str) -> bool {
        let is_one = |pattern: &str| matches(pattern, recording);
        let is_out = |pattern: &&str| pattern.strip_prefix('!').is_some_and(is_one);
        self.recordings.iter().any(|pattern| is_one(pattern)) && !self.recordings.iter().any(is_out)
    }
}

impl Differs {
    pub(crate) fn lines(&self) -> &'static [&'static str] {
        match self {
            Self::Words(..) => &[],
            Self::Lines(lines) => lines,
        }
    }
}

const ALL: &[&str] = &["*"];
/// Those in which both programs begin a session.
const NEW: &[&str] = &["*", "!resumed_*"];
/// Those in which the reference says first what a session may do.
const PERMITTED: &[&str] = &["*", "!resumed_three_bash", "!resumed_killed"];
/// Those in which a call succeeds.
const RESULTS: &[&str] = &[
    "background_job",
    "bad_request_after_call",
    "cut_before_notice",
    "cut_call",
    "cut_then_fine",
    "failing_calls",
    "interrupted",
    "job_left_running",
    "killed",
    "many_reads",
    "nothing_but_finish",
    "parallel_and_bad_args",
    "reasoning_and_calls",
    "refused_before_notice",
    "repeated_calls",
    "same_ids",
    "server_error_then_fine",
    "terminated",
    "three_bash",
];
/// Those in which a file is read.
const READS: &[&str] =
    &["cut_call", "many_reads", "nothing_but_finish", "parallel_and_bad_args", "reasoning_and_calls"];
const ITS_OWN_WORDS: &str = "texts for the model and for people are our own";

pub(crate) const KNOWN: &[Known] = &[
    Known {
        recordings: ALL,
        differs: Differs::Lines(&[
            "- * tool create_goal",
            "- * tool edit",
            "- * tool exit_plan_mode",
            "- * tool get_goal",
            "- * tool glob",
            "- * tool grep",
            "- * tool interrupt_agent",
            "- * tool list_agents",
            "- * tool ralph",
            "- * tool read_image",
            "- * tool send_message",
            "- * tool skill",
            "- * tool str_replace_editor",
            "- * tool subagent",
            "- * tool subagent_fork",
            "- * tool todo_write",
            "- * tool update_goal",
            "- * tool web_search",
            "- * tool workflow",
            "- * tool write",
        ]),
        fidelity: Some("profile-cli/P51"),
        why: "the tools on board are bash, read and those of jobs",
    },
    Known {
        recordings: PERMITTED,
        differs: Differs::Lines(&[
            "- event permission/preset {\"preset\":\"danger-full-access\"}",
            "- event sandbox/mode {\"mode\":\"danger-full-access\"}",
            "- event approval/policy {\"policy\":\"never\"}",
        ]),
        fidelity: Some("profile-cli/P51"),
        why: "there are no permission presets and no sandbox; what is approved is said on the command line",
    },
    Known {
        recordings: NEW,
        differs: Differs::Lines(&[
            "- event beside the turn: session/title-llm-request*",
            "- event beside the turn: session/title *\"kind\":\"provider\"*",
            "- request beside the turn: *",
        ]),
        fidelity: Some("session/S119"),
        why: "no model is asked for a title",
    },
    Known {
        recordings: RESULTS,
        differs: Differs::Words("\"isError\":false,", ""),
        fidelity: Some("tools/T90"),
        why: "what is absent is false",
    },
    Known {
        recordings: READS,
        differs: Differs::Lines(&[
            "- event tool/result *<type>file</type>*\"meta\":{*",
            "+ event tool/result *<type>file</type>*",
        ]),
        fidelity: Some("fs-shell-sandbox/F40"),
        why: "what a read shows is all in its text",
    },
    Known {
        recordings: READS,
        differs: Differs::Words("(End of file - total 1 lines)", "(end of file, lines in total: 1)"),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["parallel_and_bad_args"],
        differs: Differs::Words("(End of file - total 2 lines)", "(end of file, lines in total: 2)"),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["parallel_and_bad_args"],
        differs: Differs::Words(
            r#"\"arguments\" must be an object"#,
            "not valid JSON: expected the rest of a string, control characters escaped at line 1 column 22, but the text ends",
        ),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["content_filter"],
        differs: Differs::Words("model stopped: content_filter", "the model stopped: content_filter"),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["empty_then_fine"],
        differs: Differs::Words(
            "model returned a completed response with no content",
            "the model answered with nothing at all",
        ),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["server_error_then_fine"],
        differs: Differs::Words(
            "DeepSeek API error (HTTP 503)",
            "<server>/chat/completions answered with an error (HTTP 503) and does not say why",
        ),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["cut_then_fine"],
        differs: Differs::Words(
            "DeepSeek API stream from <server> failed",
            "the answer of <server>/chat/completions failed: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line",
        ),
        fidelity: Some("llm/S62"),
        why: "the cause is told",
    },
    Known {
        recordings: &["refused_before_notice"],
        differs: Differs::Words(
            "who are you",
            "who are you (check the key in DEEPSEEK_API_KEY, and that it is one for <server>/chat/completions)",
        ),
        fidelity: Some("llm/S61"),
        why: "it says what to check",
    },
    Known {
        recordings: &["ended_without_done"],
        differs: Differs::Lines(&[
            "- exit 1",
            "+ exit 0",
            "- stdout \"\\n\"",
            "+ stdout \"It was not over.\\n\"",
            "- stderr \"dsh: STREAM_CLOSED: SSE stream ended without [DONE]\\n\"",
            "+ stderr \"\"",
            "+ request 1 has the settings and tools of the one before",
            "+ request 1 begins with all messages of the one before",
            "- event assistant/chunk *\"code\":\"STREAM_CLOSED\"*",
            "+ event assistant/chunk *\"code\":\"TRANSPORT\",\"message\":\"the connection ended in the middle of the answer (from <server>/chat/completions)\"*",
            "+ event llm/retry *\"code\":\"TRANSPORT\"*\"retry\":1,*",
            "+ event llm/retry-started {\"retry\":1,*",
            "+ event assistant/chunk *\"blockType\":\"text\"*",
            "+ event assistant/chunk *\"text\":\"It was not over.\"*",
            "+ event assistant/chunk *\"usage\":*",
            "+ event assistant/chunk *\"kind\":\"stop\"*",
            "+ event assistant/message *\"text\":\"It was not over.\"* of assistant/chunk 4 to 8",
            "- event turn/end *\"code\":\"STREAM_CLOSED\"*",
            "+ event turn/end {\"reason\":{\"kind\":\"completed\"},\"turn\":1}",
        ]),
        fidelity: Some("llm/S63"),
        why: "a stream that ends without its mark was cut, so it is asked for again",
    },
    Known {
        recordings: &["background_job"],
        differs: Differs::Words(
            "\"job bash-1 had already finished",
            "\"nothing to cancel: job bash-1 had already finished",
        ),
        fidelity: None,
        why: ITS_OWN_WORDS,
    },
    Known {
        recordings: &["resumed_ours"],
        differs: Differs::Lines(&[
            "- request 0 message {\"content\":\"<snapshot of @deepseek-ai/dsh-system-prompt>\",\"role\":\"user\"}",
            "- event user/message {\"content\":[{\"text\":\"<snapshot of @deepseek-ai/dsh-system-prompt>\"*",
        ]),
        fidelity: None,
        why: "the reference tells the runtime context anew, in its own words; we said it already",
    },
    Known {
        recordings: &["interrupted", "terminated"],
        differs: Differs::Lines(&[
            "+ event tool/result {\"error\":{\"code\":\"ABORTED\",*\"callId\":\"call_0_1\"*of tool/call 2",
            "+ event tool/call *\"callId\":\"call_0_2\"*",
            "+ event tool/result {\"error\":{\"code\":\"ABORTED_BEFORE_DISPATCH\",*\"callId\":\"call_0_2\"*of tool/call 3",
            "+ event step/end {\"step\":1,\"turn\":1}",
        ]),
        fidelity: Some("profile-cli/P49"),
        why: "an orderly end leaves no log that has to be repaired",
    },
    Known {
        recordings: &["interrupted"],
        differs: Differs::Lines(&[
            "+ event turn/end {\"reason\":{\"kind\":\"aborted\",\"reason\":{\"kind\":\"user\"}},\"turn\":1}",
        ]),
        fidelity: Some("profile-cli/P49"),
        why: "the user ended it",
    },
    Known {
        recordings: &["terminated"],
        differs: Differs::Lines(&[
            "+ event turn/end {\"reason\":{\"kind\":\"aborted\",\"reason\":{\"kind\":\"disposed\"}},\"turn\":1}",
        ]),
        fidelity: Some("profile-cli/P49"),
        why: "the program ended",
    },
];
