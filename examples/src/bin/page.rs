//! Runs the programs of a page: `cargo run -p examples --bin page docs/guide/01-plugin.md`, or the one at a line of it.

// Each module is a program of its own, written to be read on its page.
#[allow(dead_code, missing_docs, unreachable_pub)]
mod pages {
    type Outcome = Result<(), cordis::BoxError>;

    /// Its page, its line, and its `main`.
    type Program = (&'static str, usize, fn() -> Outcome);

    include!(concat!(env!("OUT_DIR"), "/pages.rs"));

    /// Runs what is at this line of the page, or all of it.
    pub(crate) fn run(page: &str, line: Option<usize>) -> Outcome {
        let mut known = false;
        for (_, _, run) in
            PROGRAMS.iter().filter(|(path, at, _)| *path == page && line.is_none_or(|line| line == *at))
        {
            known = true;
            run()?;
        }
        if known {
            Ok(())
        } else {
            Err(format!("there is no program there; the pages are {}", names()).into())
        }
    }

    fn names() -> String {
        let mut names: Vec<_> = PROGRAMS.iter().map(|(path, _, _)| *path).collect();
        names.dedup();
        names.join(", ")
    }
}

fn main() -> Result<(), cordis::BoxError> {
    let mut arguments = std::env::args().skip(1);
    let page = arguments.next().unwrap_or_default();
    let line = arguments.next().map(|line| line.parse()).transpose()?;
    pages::run(&page, line)
}
