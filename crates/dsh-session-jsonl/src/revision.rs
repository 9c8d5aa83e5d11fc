//! The revision of a log: what changes whenever its file does.

use crate::disk::Stat;

/// Device, number, length and both times, as the reference writes it.
pub(crate) fn of(stat: &Stat) -> String {
    let Stat { is_folder: _, device, inode, size_bytes, modified_ns, changed_ns } = stat;
    format!("{device}:{inode}:{size_bytes}:{modified_ns}:{changed_ns}")
}
