//! The languages that can be presented to models, and whether the runtime that there is speaks one of them.

use cordis::{Context, Handle};
use thiserror::Error;

use crate::code_mode::seam::CodeRuntime;
use crate::keys::CODE_RUNTIME;
use crate::mode::Mode;

/// A language that models are told how to write programs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    TypeScript,
    Python,
}

/// Why tools cannot be presented through programs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// Nothing runs programs.
    #[error(
        "dsh-tools: the tools are presented as `{mode}`, and nothing runs programs: load a code runtime (a plugin that \
         provides `codeRuntime`, for instance the worker-thread backend), or set the mode of the tools to `native`"
    )]
    NoRuntime {
        /// The mode of the scope.
        mode: Mode,
    },
    /// The runtime speaks a language that models cannot be told of.
    #[error(
        "dsh-tools: the code runtime runs {language:?}, which tools cannot be presented in: known are `typescript` and `python`"
    )]
    Language {
        /// The language.
        language: String,
    },
}

impl Flavour {
    fn of(language: &str) -> Option<Self> {
        match language {
            "typescript" => Some(Self::TypeScript),
            "python" => Some(Self::Python),
            _ => None,
        }
    }

    /// The language of the runtime that there is, for tools that are presented in this mode.
    pub(crate) fn served(ctx: &Context, mode: Mode) -> Result<Self, PresentationError> {
        let no_runtime = || PresentationError::NoRuntime { mode };
        let runtime = runtime(ctx).ok_or_else(no_runtime)?;
        let runtime = runtime.get().map_err(|_| no_runtime())?;
        let language = runtime.language();
        Self::of(language).ok_or_else(|| PresentationError::Language { language: language.to_owned() })
    }

    /// As [`served`](Self::served); the one that models know best where there is none.
    pub(crate) fn current(ctx: &Context) -> Self {
        Self::served(ctx, Mode::Code).unwrap_or(Self::TypeScript)
    }

    /// What a model is told of `run_code`.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::TypeScript => {
                "Runs a TypeScript program that calls the tools. Give both arguments: `code`, which becomes the body of an \
                 async function (`await` and `return` work at its top level; only syntax that can be erased, so no enums, \
                 namespaces or parameter properties), and `description`, which says in a few words what the program does. A \
                 tool is called as `await tools.name(args)`, as the system prompt declares it. You see what the program prints \
                 or returns, and nothing else, so print or return just what you need. Images in results of tools are \
                 attached after the run."
            }
            Self::Python => {
                "Runs a Python program that calls the tools. Give both arguments: `code`, which becomes the body of an async \
                 function (`await` and `return` work at its top level), and `description`, which says in a few words what \
                 the program does. A tool is called as `await tools.name(args)`, as the system prompt declares it. You see what \
                 the program prints with `print` or returns, and nothing else, so print or return just what you need. Images in \
                 results of tools are attached after the run."
            }
        }
    }

    /// What a model is told of the argument `code`.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::TypeScript => "The program, in TypeScript: the body of an async function.",
            Self::Python => "The program, in Python: the body of an async function.",
        }
    }
}

/// The runtime that there is.
pub(crate) fn runtime(ctx: &Context) -> Option<Handle<dyn CodeRuntime>> {
    ctx.get(CODE_RUNTIME)
}
