//! Key names, hashed at compile time.

/// The name of a key and its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) text: &'static str,
    pub(crate) hash: u64,
}

impl Name {
    pub(crate) const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        let (mut hash, mut i) = (0xcbf2_9ce4_8422_2325u64, 0);
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
            i += 1;
        }
        Name { text, hash: hash ^ (hash >> 29) ^ (hash >> 47) }
    }

    /// Equal texts; a constant used twice usually has one address, which is quick to see.
    #[inline]
    pub(crate) fn is(self, other: Name) -> bool {
        self.hash == other.hash && (std::ptr::eq(self.text, other.text) || self.text == other.text)
    }
}
