//! The store as its users see it, and the database as others could find or leave it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod fixture;

mod claims;
mod hostile;
#[cfg(unix)]
mod places;
mod recovery;
mod round_trip;
mod rows;
mod schema;
mod suffix;
mod writing;
