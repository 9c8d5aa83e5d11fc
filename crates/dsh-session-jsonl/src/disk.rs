//! The file system, as far as the store needs it: the one place where it is reached, so that a test can let it fail.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What is done to folders and to names.
pub trait Disk: Send + Sync + 'static {
    /// Makes one folder, for its owner alone; its parent is there.
    ///
    /// # Errors
    /// As [`fs::create_dir`].
    fn make_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes a file that is not there yet, for its owner alone, to read and to write.
    ///
    /// # Errors
    /// As [`File::create_new`].
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file that is there. Nothing but a file is opened.
    ///
    /// # Errors
    /// As [`File::open`].
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn DiskFile>>;

    /// What is known of a file or a folder without opening it; a symbolic link is not followed.
    ///
    /// # Errors
    /// As [`fs::symlink_metadata`].
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Gives a file a second name, which must be free.
    ///
    /// # Errors
    /// As [`fs::hard_link`].
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file the name of another one, in one step.
    ///
    /// # Errors
    /// As [`fs::rename`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file's name away.
    ///
    /// # Errors
    /// As [`fs::remove_file`].
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Forces the names in a folder onto the disk.
    ///
    /// # Errors
    /// As [`File::sync_all`].
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// What is in a folder, in no particular order.
    ///
    /// # Errors
    /// As [`fs::read_dir`].
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>>;

    /// Takes the lock of a file, which is made if it is not there, and writes `note` into it. Does not wait.
    ///
    /// # Errors
    /// The file cannot be made, or the file system has no locks.
    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking>;
}

/// An open file. Writes go to its end.
pub trait DiskFile: Send {
    /// Reads some bytes from a place on; 0 at the end.
    ///
    /// # Errors
    /// As [`Read::read`].
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Adds bytes. On failure some of them may have been added.
    ///
    /// # Errors
    /// As [`Write::write_all`].
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file off.
    ///
    /// # Errors
    /// As [`File::set_len`].
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Forces bytes and length onto the disk.
    ///
    /// # Errors
    /// As [`File::sync_data`].
    fn sync(&mut self) -> io::Result<()>;

    /// What is known of the file.
    ///
    /// # Errors
    /// As [`File::metadata`].
    fn stat(&self) -> io::Result<Stat>;
}

/// What an open file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read.
    Read,
    /// To be read and added to.
    Append,
}

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Whether it is a folder, and not a link to one.
    pub is_folder: bool,
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length.
    pub size_bytes: u64,
    /// When its bytes changed, in nanoseconds since the epoch.
    pub modified_ns: i128,
    /// When anything of it changed, in nanoseconds since the epoch.
    pub changed_ns: i128,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// Whether it is a folder, and not a link to one.
    pub is_folder: bool,
}

/// What came of taking a lock.
pub enum Locking {
    /// It is taken until this is dropped.
    Held(Box<dyn Send>),
    /// Somebody else has it; what they wrote into the file, as far as it can be read.
    Busy(String),
}

impl fmt::Debug for Locking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(_) => f.write_str("Held"),
            Self::Busy(note) => write!(f, "Busy({note:?})"),
        }
    }
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = private(OpenOptions::new().read(true).write(true).create_new(true)).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn DiskFile>> {
        // A pipe would be waited for until somebody writes to it.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        let file = OpenOptions::new().read(true).write(access == Access::Append).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        fs::symlink_metadata(path).map(|meta| stat_of(&meta))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // A folder cannot be opened as a file elsewhere; there a new name is durable when it is made.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        fs::read_dir(path)?
            .map(|entry| {
                let entry = entry?;
                Ok(Entry { name: entry.file_name(), is_folder: entry.file_type()?.is_dir() })
            })
            .collect()
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking> {
        let mut file =
            private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                // The note is for people; a lock without one is as good.
                let _ = file.set_len(0).and_then(|()| file.write_all(note.as_bytes()));
                Ok(Locking::Held(Box::new(file)))
            }
            Err(TryLockError::WouldBlock) => {
                let mut note = String::new();
                let _ = file.take(64).read_to_string(&mut note);
                Ok(Locking::Busy(note))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.read(buffer)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::End(0))?;
        self.0.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn stat(&self) -> io::Result<Stat> {
        self.0.metadata().map(|meta| stat_of(&meta))
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(unix)]
fn stat_of(meta: &fs::Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt;

    let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    Stat {
        is_folder: meta.is_dir(),
        device: meta.dev(),
        inode: meta.ino(),
        size_bytes: meta.size(),
        modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
        changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
    }
}

/// Without device and number, two files of one length and time are taken for one.
#[cfg(not(unix))]
fn stat_of(meta: &fs::Metadata) -> Stat {
    let ns = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        since.and_then(|since| i128::try_from(since.as_nanos()).ok()).unwrap_or(0)
    };
    Stat {
        is_folder: meta.is_dir(),
        device: 0,
        inode: 0,
        size_bytes: meta.len(),
        modified_ns: ns(meta.modified()),
        changed_ns: ns(meta.created()),
    }
}
