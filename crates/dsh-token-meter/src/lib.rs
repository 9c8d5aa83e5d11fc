//! How many tokens a session takes.
