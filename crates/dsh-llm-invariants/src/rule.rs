//! What the pieces of an answer keep to.

use thiserror::Error;

/// A piece that is out of place.
///
/// Source: the rules of the reference's checker of streams.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A block begins once; its index may be used again when it has ended.
    #[error("block {index} of an answer begins while it is open")]
    Begun {
        /// The block's index.
        index: u64,
    },
    /// A block grows between its beginning and its end, by pieces of its own kind.
    #[error("a {piece} came for block {index} of an answer, which is {open}")]
    Piece {
        /// The block's index.
        index: u64,
        /// The type of the piece.
        piece: &'static str,
        /// What is open there.
        open: String,
    },
    /// A block ends after it began, as what it began as.
    #[error("block {index} of an answer ends as {ends:?}, and is {open}")]
    End {
        /// The block's index.
        index: u64,
        /// The type of the block at its end.
        ends: String,
        /// What is open there.
        open: String,
    },
    /// An answer tells once what it cost.
    #[error("an answer tells its usage twice")]
    Usage,
    /// Nothing comes after the finish.
    #[error("a {piece} came after the finish of an answer")]
    AfterFinish {
        /// The type of the piece.
        piece: &'static str,
    },
    /// An answer that did not fail has ended all of its blocks.
    #[error("an answer finishes while blocks are open: {}", list(.open))]
    Open {
        /// The indices of the blocks.
        open: Vec<u64>,
    },
    /// Every answer has a finish.
    #[error("an answer ended without a finish")]
    NoFinish,
}

impl Violation {
    /// The code of all violations.
    pub const CODE: &'static str = "INVARIANT";
}

fn list(indices: &[u64]) -> String {
    indices.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
