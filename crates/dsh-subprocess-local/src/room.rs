//! How much all files with long output take together.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Weak;

use dsh_subprocess::Spill;

use crate::kept::Kept;

/// What there is, and how much there may be.
pub(crate) struct Room {
    max_bytes: u64,
    used_bytes: u64,
    numbers: u64,
    /// By number, so that the oldest comes first.
    files: BTreeMap<u64, Counted>,
}

/// A file that is counted.
struct Counted {
    path: PathBuf,
    kept: Weak<Kept>,
    bytes: u64,
    is_whole: bool,
}

/// A file that is not counted any more, and is to be removed.
pub(crate) struct Removed(PathBuf);

impl Room {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, used_bytes: 0, numbers: 0, files: BTreeMap::new() }
    }

    /// A stream's file, of which nothing is written.
    pub(crate) fn begin(&mut self, path: PathBuf, kept: Weak<Kept>) -> u64 {
        let number = self.numbers;
        self.numbers += 1;
        self.files.insert(number, Counted { path, kept, bytes: 0, is_whole: false });
        number
    }

    /// So many bytes more are to be written to a file: what has to go for them, whose streams are told; none if there is no room.
    pub(crate) fn take(&mut self, number: u64, bytes: u64) -> Option<Vec<Removed>> {
        let whole = || self.files.iter().filter(|(_, file)| file.is_whole);
        let mut free = self.max_bytes - self.used_bytes;
        let oldest: Vec<u64> = whole()
            .take_while(|(_, file)| {
                let is_needed = free < bytes;
                free += if is_needed { file.bytes } else { 0 };
                is_needed
            })
            .map(|(number, _)| *number)
            .collect();
        if free < bytes {
            return None;
        }
        let removed =
            oldest.into_iter().filter_map(|number| self.forget(number)).map(Counted::gone).collect();
        self.used_bytes += bytes;
        if let Some(file) = self.files.get_mut(&number) {
            file.bytes += bytes;
        }
        Some(removed)
    }

    /// All of the stream is in its file, which may go for others from now on.
    pub(crate) fn end(&mut self, number: u64) {
        if let Some(file) = self.files.get_mut(&number) {
            file.is_whole = true;
        }
    }

    /// The file is not counted any more.
    pub(crate) fn discard(&mut self, number: u64) {
        self.forget(number);
    }

    fn forget(&mut self, number: u64) -> Option<Counted> {
        let file = self.files.remove(&number)?;
        self.used_bytes -= file.bytes;
        Some(file)
    }
}

impl Counted {
    fn gone(self) -> Removed {
        if let Some(kept) = self.kept.upgrade() {
            kept.tell(Spill::NoRoom);
        }
        Removed(self.path)
    }
}

impl Removed {
    /// Blocks.
    pub(crate) fn remove(&self) {
        // With its folder it may be gone already.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use std::path::PathBuf;
    use std::sync::Weak;

    use super::Room;

    fn begin(room: &mut Room, name: &str) -> u64 {
        room.begin(name.into(), Weak::new())
    }

    fn take(room: &mut Room, number: u64, bytes: u64) -> Option<Vec<PathBuf>> {
        room.take(number, bytes).map(|removed| removed.into_iter().map(|file| file.0).collect())
    }

    #[test]
    fn the_oldest_files_that_are_whole_go_and_no_more_than_have_to() {
        let mut room = Room::new(100);
        let numbers = ["a", "b", "c", "d"].map(|name| begin(&mut room, name));
        for number in numbers {
            assert_eq!(take(&mut room, number, 25), Some(vec![]));
        }
        // Those are still written.
        assert_eq!(take(&mut room, numbers[3], 1), None);
        [1, 2, 0].iter().for_each(|at| room.end(numbers[*at]));
        assert_eq!(take(&mut room, numbers[3], 26), Some(vec!["a".into(), "b".into()]));
        assert_eq!(take(&mut room, numbers[3], 24), Some(vec![]));
        assert_eq!(take(&mut room, numbers[3], 26), None, "nothing is removed in vain");
        assert_eq!(take(&mut room, numbers[3], 1), Some(vec!["c".into()]));
        room.discard(numbers[3]);
        let last = begin(&mut room, "e");
        assert_eq!(take(&mut room, last, 101), None);
        assert_eq!(take(&mut room, last, 100), Some(vec![]));
    }
}
