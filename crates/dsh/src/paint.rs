//! Colours, where they are wanted.

use std::fmt::{self, Display};
use std::io::IsTerminal;

use clap::ColorChoice;

/// Colours text for a terminal, and leaves it alone elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

/// The colours in use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
}

/// A text with its colour.
pub(crate) struct Painted<T> {
    text: T,
    code: Option<&'static str>,
}

impl Paint {
    /// For what is printed on `stream`. If nothing else is asked for, on for a terminal, unless `NO_COLOR` is set or the
    /// terminal has none.
    pub(crate) fn for_stream(choice: ColorChoice, stream: &impl IsTerminal) -> Self {
        let on = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stream.is_terminal() && !unwanted(),
        };
        Self { on }
    }

    pub(crate) fn with<T: Display>(self, colour: Colour, text: T) -> Painted<T> {
        let code = match colour {
            Colour::Bold => "1",
            Colour::Dim => "2",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Red => "31",
            Colour::Cyan => "36",
        };
        Painted { text, code: self.on.then_some(code) }
    }
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.code else { return self.text.fmt(f) };
        write!(f, "\x1b[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

fn unwanted() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
