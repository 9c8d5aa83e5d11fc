//! Where lines come from.

use std::io;

/// Where somebody types; used by one thread of its own, which may be blocked.
pub trait Input: Send {
    /// Waits for bytes, gives as many as there are and fit, and 0 at the end.
    ///
    /// # Errors
    /// It cannot be read. The question is left to other answerers.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Throws away what was typed and not read yet, without waiting.
    ///
    /// # Errors
    /// It cannot be thrown away. The question is left to other answerers, since an older line could answer it.
    fn discard(&mut self) -> io::Result<()>;
}
