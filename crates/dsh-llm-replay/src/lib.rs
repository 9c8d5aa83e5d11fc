//! A model that answers from a script.
