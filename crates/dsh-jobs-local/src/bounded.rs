//! Texts of any length, cut to what is kept of them.

/// A text of no more than so many bytes, or its beginning, its end, and how much between them was left out.
pub(crate) fn bounded(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let head = (0..=bytes / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - bytes / 2..=text.len()).find(|at| text.is_char_boundary(*at));
    let tail = tail.unwrap_or(text.len());
    format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests;
