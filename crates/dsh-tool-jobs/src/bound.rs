//! Texts that fit into a number of bytes.

/// `text` and `suffix` if they fit into `limit` bytes, else the end of the text, `marker` and `suffix`. A text that ends
/// in the marker already is not marked twice. Where marker and suffix fill the limit alone, their own end is left.
pub(crate) fn bounded(text: &str, marker: &str, suffix: &str, limit: usize) -> String {
    if text.len().saturating_add(suffix.len()) <= limit {
        return format!("{text}{suffix}");
    }
    let end = format!("{marker}{suffix}");
    match limit.checked_sub(end.len()) {
        None | Some(0) => tail(&end, limit).to_owned(),
        Some(room) => format!("{}{end}", tail(text.strip_suffix(marker).unwrap_or(text), room)),
    }
}

/// The beginning of a text: as many characters as fit into so many bytes.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let cut = (0..=bytes.min(text.len())).rev().find(|cut| text.is_char_boundary(*cut));
    &text[..cut.unwrap_or(0)]
}

/// The end of a text: as many characters as fit into so many bytes.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let first = text.len().saturating_sub(bytes);
    let cut = (first..=text.len()).find(|cut| text.is_char_boundary(*cut));
    &text[cut.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests;
