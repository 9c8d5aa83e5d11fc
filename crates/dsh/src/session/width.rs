//! How wide the output may be.

/// The width of the terminal that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    // A terminal that does not know its size says 0.
    Some(usize::from(width.0)).filter(|width| *width > 0)
}
