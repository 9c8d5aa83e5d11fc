//! Runs the programs of a page: `cargo run -p examples --bin page docs/guide/01-plugin.md`, or the one at a line of it.

use std::env;
use std::process::Command;

// Each module is a program of its own, written to be read on its page.
#[allow(dead_code, missing_docs, unreachable_pub)]
mod pages {
    type Outcome = Result<(), cordis::BoxError>;

    /// Its page, its line, and its `main`.
    type Program = (&'static str, usize, fn() -> Outcome);

    include!(concat!(env!("OUT_DIR"), "/pages.rs"));

    /// Runs the program at this line of the page.
    pub(crate) fn run(page: &str, line: usize) -> Outcome {
        let program = PROGRAMS.iter().find(|(path, at, _)| (*path, *at) == (page, line));
        program.map_or_else(|| Err(unknown()), |(_, _, run)| run())
    }

    /// The lines of the page that have a program.
    pub(crate) fn lines(page: &str) -> Result<Vec<usize>, cordis::BoxError> {
        let of_page = PROGRAMS.iter().filter(|(path, _, _)| *path == page);
        let lines: Vec<_> = of_page.map(|(_, line, _)| *line).collect();
        if lines.is_empty() { Err(unknown()) } else { Ok(lines) }
    }

    fn unknown() -> cordis::BoxError {
        let mut names: Vec<_> = PROGRAMS.iter().map(|(path, _, _)| *path).collect();
        names.dedup();
        format!("there is no program there; the pages are {}", names.join(", ")).into()
    }
}

fn main() -> Result<(), cordis::BoxError> {
    let mut arguments = env::args().skip(1);
    let page = arguments.next().unwrap_or_default();
    if let Some(line) = arguments.next() {
        return pages::run(&page, line.parse()?);
    }
    // Each in a process of its own: what is numbered in one begins anew in the next.
    for line in pages::lines(&page)? {
        let status = Command::new(env::current_exe()?).args([&page, &line.to_string()]).status()?;
        if !status.success() {
            return Err(format!("{page}:{line} ended with {status}").into());
        }
    }
    Ok(())
}
