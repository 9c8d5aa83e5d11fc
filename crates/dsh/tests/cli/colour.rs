//! Colours: on request, on a terminal, and nowhere else.

#![cfg(target_os = "linux")]

use crate::fixture::{Fixture, Log};
use crate::terminal::Terminal;

const SAME: &str = "\x1b[32msame";

fn fixture() -> Fixture {
    Fixture::with(&Log::new().bash("true").result("(no output)"))
}

#[test]
fn colours_can_be_asked_for_where_there_is_no_terminal() {
    assert!(fixture().replay(&["--yes", "--color", "always"]).stdout.contains(SAME));
    for colour in ["never", "auto"] {
        assert!(!fixture().replay(&["--yes", "--color", colour]).stdout.contains('\x1b'));
    }
    let json = fixture().replay(&["--yes", "--json", "--color", "always"]).stdout;
    assert!(!json.contains('\x1b'), "{json}");
    let plugins = Fixture::new().run(&["plugins", "--color=always"]).stdout;
    assert!(plugins.starts_with("\x1b[1mNAME"), "{plugins}");
    assert_eq!(Fixture::new().run(&["plugins", "--color", "sometimes"]).code, Some(2));
}

#[test]
fn colours_can_be_refused_on_a_terminal() {
    for (options, no_color, coloured) in [
        (&[][..], None, true),
        (&[], Some(""), true),
        (&[], Some("1"), false),
        (&["--color", "auto"], Some("1"), false),
        (&["--color", "always"], Some("1"), true),
        (&["--color", "never"], None, false),
    ] {
        let fixture = fixture();
        let log = fixture.log().display().to_string();
        let terminal = Terminal { no_color, ..Terminal::default() };
        let arguments = [&["replay", "--yes"], options, &[&log]].concat();
        let (code, shown) = terminal.run(&fixture, &arguments);
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(shown.contains(SAME), coloured, "{options:?} {no_color:?}: {shown}");
        assert!(coloured || !shown.contains('\x1b'), "{options:?} {no_color:?}: {shown}");
    }
}

#[test]
fn the_help_has_the_colours_that_were_asked_for() {
    for (arguments, coloured) in [
        (["--color", "always", "--help"], true),
        (["replay", "--color=always", "--help"], true),
        (["--color", "never", "--help"], false),
    ] {
        let help = Fixture::new().run(&arguments).stdout;
        assert_eq!(help.contains('\x1b'), coloured, "{arguments:?}");
        let (_, help) = Terminal::default().run(&Fixture::new(), &arguments);
        assert_eq!(help.contains('\x1b'), coloured, "{arguments:?} on a terminal");
    }
}
