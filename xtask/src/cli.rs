//! The command line.

use std::env;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser, Subcommand};

use crate::examples::Mode;
use crate::workspace::Workspace;
use crate::{bench, catalog, ci, examples, layers, leaks, links, readme, spec, targets};

/// The repository's own rules. All but `ci` and `bench` also run as tests: `cargo test -p xtask`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    rule: Rule,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask ci                everything, in order, before a change lands
  cargo xtask spec --missing    which behaviours of docs/spec have no test yet
  cargo xtask examples --bless  accept what the examples print now
  cargo xtask catalog           regenerate docs/catalog after a change of keys
  cargo xtask bench --quick     how fast the host is, next to its peers";

#[derive(Debug, Subcommand)]
enum Rule {
    /// Check that dependencies between crates point downward.
    #[command(after_help = "Examples:\n  cargo xtask layers")]
    Layers,
    /// Check that libraries say truly whether they have tests inside.
    #[command(after_help = "Examples:\n  cargo xtask targets")]
    Targets,
    /// Show which numbered behaviours of docs/spec are covered.
    Spec(SpecArgs),
    /// Run the examples and compare what they print with examples/expected.
    Examples(ExamplesArgs),
    /// Write docs/catalog from the crates' keys.rs files.
    Catalog(CatalogArgs),
    /// Run README.md's commands in a fresh clone with the working tree's changes.
    #[command(after_help = "Examples:\n  cargo xtask readme")]
    Readme,
    /// Check relative links in README.md and docs, and that no file names this machine's folders.
    #[command(after_help = "Examples:\n  cargo xtask links")]
    Links,
    /// Format, lints, docs and tests; stops at the first failure.
    #[command(after_help = "Examples:\n  cargo xtask ci")]
    Ci,
    /// Measure ours, the hand-written floors and the peers; prints a table and writes target/bench.json.
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo xtask bench                         everything: about ten minutes, most of it the peers
  cargo xtask bench --no-peers              ours and the floors: three minutes
  cargo xtask bench --quick                 shorter samples, smaller sizes of the peers
  cargo xtask bench --only emit             the works whose names contain a word
  cargo xtask bench --no-peers --strict     fail when a work is out of its reach

The works and how to read the table: docs/performance.md")]
struct BenchArgs {
    /// Take fewer and shorter samples.
    #[arg(long)]
    quick: bool,
    /// Leave out the peers.
    #[arg(long)]
    no_peers: bool,
    /// Run only the works whose names contain WORD.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Fail when a work is out of its reach.
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo xtask spec              covered and total for each chapter
  cargo xtask spec --missing    and the ids that are not covered
  cargo xtask spec --strict     fail unless everything is covered")]
struct SpecArgs {
    /// List the ids that are not covered.
    #[arg(long)]
    missing: bool,
    /// Fail when any behaviour of any chapter is not covered.
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cargo xtask examples\n  cargo xtask examples --bless")]
struct ExamplesArgs {
    /// Write what the examples print to examples/expected.
    #[arg(long)]
    bless: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cargo xtask catalog\n  cargo xtask catalog --check")]
struct CatalogArgs {
    /// Write nothing, fail when a page is stale.
    #[arg(long)]
    check: bool,
}

impl Cli {
    /// Runs the rule in the workspace around the current folder and prints what it found.
    ///
    /// # Errors
    /// When the rule is broken or cannot run; the message says what to do next.
    pub fn run(self) -> Result<()> {
        let here = env::current_dir().context("the current folder is gone: change into the repository")?;
        let workspace = Workspace::find(&here)?;
        let report = match self.rule {
            Rule::Layers => layers::check(&workspace)?,
            Rule::Targets => targets::check(&workspace)?,
            Rule::Spec(args) => {
                let coverage = spec::check(&workspace)?;
                print!("{}", coverage.summary(args.missing));
                if args.strict {
                    coverage.require(&coverage.chapter_names())?;
                }
                return Ok(());
            }
            Rule::Examples(args) => {
                examples::check(&workspace, if args.bless { Mode::Bless } else { Mode::Compare })?
            }
            Rule::Catalog(CatalogArgs { check: true }) => catalog::check(&workspace)?,
            Rule::Catalog(CatalogArgs { check: false }) => catalog::write(&workspace)?,
            Rule::Readme => readme::rehearse(&workspace)?,
            Rule::Links => {
                println!("{}", links::check(&workspace)?);
                leaks::check(&workspace)?
            }
            Rule::Ci => ci::run(&workspace)?,
            Rule::Bench(args) => {
                let plan = bench::Plan { quick: args.quick, peers: !args.no_peers, only: args.only };
                let report = bench::run(&workspace, &plan)?;
                println!("{report}");
                let misses = report.misses();
                if args.strict && !misses.is_empty() {
                    bail!("out of reach: {}; docs/performance.md tells what to look at", misses.join(", "));
                }
                return Ok(());
            }
        };
        println!("{report}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_help_of_every_command_shows_an_example() {
        Cli::command().debug_assert();
        let mut cli = Cli::command();
        assert!(cli.render_long_help().to_string().contains("cargo xtask ci"));
        for rule in cli.get_subcommands_mut().filter(|rule| rule.get_name() != "help") {
            let help = rule.render_long_help().to_string();
            assert!(help.contains(&format!("Examples:\n  cargo xtask {}", rule.get_name())), "{help}");
        }
    }
}
