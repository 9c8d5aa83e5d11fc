//! A checker of answers: what every stream of pieces must keep to.
