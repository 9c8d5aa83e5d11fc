//! Taking away the torn end of a log: a new file with all that is sound takes its place in one step.
//!
//! A cut in place would lose what a cut frame still shows if the machine stopped before that is written again. The file is
//! copied instead; that happens once after a crash.

use std::io;

use dsh_session::StorageError;

use crate::disk::DiskFile;
use crate::reader::Torn;
use crate::writer::{LogWriter, both, temporary, write_new};

impl LogWriter {
    /// Writes the log anew without its torn end, with `lines` behind what is kept of that.
    pub(crate) fn replace(&mut self, torn: &Torn, lines: Vec<u8>) -> Result<(), StorageError> {
        let batch =
            self.style.batch([&torn.kept[..], &lines].concat()).map_err(|error| self.failed(error))?;
        let temporary = temporary(&self.path);
        let _ = self.disk.remove(&temporary);
        let old = &mut *self.file;
        let written = write_new(&*self.disk, self.style, &temporary, |file| {
            copy(old, file, torn.cut_bytes)?;
            if batch.is_empty() { Ok(()) } else { file.write_all(&batch) }
        });
        let renamed = written.and_then(|file| self.disk.rename(&temporary, &self.path).map(|()| file));
        match renamed {
            Ok(file) => self.file = file,
            Err(error) => {
                let _ = self.disk.remove(&temporary);
                return Err(self.failed(error));
            }
        }
        self.length = torn.cut_bytes + batch.len() as u64;
        let folder = self.path.parent().unwrap_or(&self.path);
        self.style.sync_folder(&*self.disk, folder).map_err(|error| {
            // Which of the two files has the name after a power failure cannot be said.
            self.poisoned = true;
            self.failed(both(&error, &io::Error::other("the file has its name already")))
        })
    }
}

fn copy(from: &mut dyn DiskFile, to: &mut dyn DiskFile, length: u64) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    let mut at = 0;
    while at < length {
        let wanted = usize::try_from(length - at).unwrap_or(usize::MAX).min(buffer.len());
        match from.read_at(at, &mut buffer[..wanted])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                to.write_all(&buffer[..count])?;
                at += count as u64;
            }
        }
    }
    Ok(())
}
