//! A disk that fails when it is told to, and forgets at a power failure what was not forced onto it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use dsh_session_jsonl::disk::{Access, Disk, DiskFile, Entry, Locking, RealDisk, Stat};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does nothing.
    Nothing,
    /// A write puts half of its bytes; everything else does nothing.
    Half,
    /// It does what it was asked for, and says that it has failed.
    Done,
    /// Half is written, and no later call does anything: the machine has stopped.
    PowerOff,
}

#[derive(Clone, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Changing calls until the fault; counts down.
    next: Option<(usize, Fault)>,
    /// How many calls fail from there on.
    length: usize,
    off: bool,
    /// How much of each file is on the disk, by its number.
    synced: HashMap<u64, u64>,
    /// Names that are not on the disk yet.
    names: Vec<Name>,
    stashed: usize,
    /// What somebody else does right after each read of a file, so many times.
    meddler: Option<(usize, Meddler)>,
}

type Meddler = Arc<dyn Fn() + Send + Sync>;

struct Name {
    path: PathBuf,
    /// What had the name before.
    before: Option<PathBuf>,
}

impl FaultyDisk {
    /// Lets the changing call after `calls` others fail, and `length - 1` more.
    pub(crate) fn fail(&self, calls: usize, length: usize, fault: Fault) {
        let mut state = self.state();
        state.next = Some((calls, fault));
        state.length = length;
    }

    /// Lets somebody else do something right after each of the next reads.
    pub(crate) fn meddle(&self, times: usize, meddler: impl Fn() + Send + Sync + 'static) {
        self.state().meddler = Some((times, Arc::new(meddler)));
    }

    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.next = None;
        state.length = 0;
    }

    pub(crate) fn is_off(&self) -> bool {
        self.state().off
    }

    /// The machine starts again. Of what was not forced onto the disk there is `share` of 256 left.
    pub(crate) fn restart(&self, share: u8) {
        let mut state = self.state();
        let names = std::mem::take(&mut state.names);
        for name in names.into_iter().rev().filter(|_| share < 128) {
            match name.before {
                Some(before) => fs::rename(before, name.path).unwrap(),
                None => drop(fs::remove_file(name.path)),
            }
        }
        state.off = false;
        state.next = None;
        state.length = 0;
    }

    /// Cuts a file to what is left of it; after `restart`, for each file that still has a name.
    pub(crate) fn forget(&self, path: &Path, share: u8) {
        let state = self.state();
        let Ok(stat) = RealDisk.stat(path) else { return };
        let Some(synced) = state.synced.get(&stat.inode).filter(|synced| **synced < stat.size_bytes) else {
            return;
        };
        let left = synced + (stat.size_bytes - synced) * u64::from(share) / 256;
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(left).unwrap();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// What is to become of a changing call.
    fn fault(&self) -> io::Result<Option<Fault>> {
        let mut state = self.state();
        if state.off {
            return Err(io::Error::other("the machine is off"));
        }
        match &mut state.next {
            None => Ok(None),
            Some((0, fault)) => {
                let fault = *fault;
                state.length = state.length.saturating_sub(1);
                if state.length == 0 {
                    state.next = None;
                }
                state.off |= fault == Fault::PowerOff;
                Ok(Some(fault))
            }
            Some((calls, _)) => {
                *calls -= 1;
                Ok(None)
            }
        }
    }

    /// Makes a call that is done or not.
    fn call<T>(&self, done: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.fault()? {
            None => done(),
            Some(Fault::Done) => done().and(Err(failure())),
            Some(Fault::Nothing | Fault::Half | Fault::PowerOff) => Err(failure()),
        }
    }

    fn file(&self, real: Box<dyn DiskFile>) -> io::Result<Box<dyn DiskFile>> {
        let stat = real.stat()?;
        self.state().synced.entry(stat.inode).or_insert(stat.size_bytes);
        Ok(Box::new(FaultyFile { disk: self.clone(), real, inode: stat.inode }))
    }
}

fn failure() -> io::Error {
    // What a full disk gives: ENOSPC.
    io::Error::from_raw_os_error(28)
}

impl Disk for FaultyDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.call(|| RealDisk.make_folder(path))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let real = self.call(|| RealDisk.create_new(path))?;
        // The number may be that of a file that is gone.
        self.state().synced.remove(&real.stat()?.inode);
        self.file(real)
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn DiskFile>> {
        self.file(RealDisk.open(path, access)?)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        RealDisk.stat(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(|| {
            RealDisk.link(from, to)?;
            self.state().names.push(Name { path: to.to_owned(), before: None });
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(|| {
            let mut state = self.state();
            state.stashed += 1;
            let stash = to.with_file_name(format!("stash-{}", state.stashed));
            RealDisk.link(to, &stash)?;
            RealDisk.rename(from, to)?;
            state.names.push(Name { path: to.to_owned(), before: Some(stash) });
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(|| {
            RealDisk.remove(path)?;
            self.state().names.retain(|name| name.path != path);
            Ok(())
        })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.call(|| {
            self.state().names.retain(|name| name.path.parent() != Some(path));
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        RealDisk.list(path)
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking> {
        RealDisk.lock(path, note)
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    real: Box<dyn DiskFile>,
    inode: u64,
}

impl DiskFile for FaultyFile {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.real.read_at(offset, buffer)?;
        let meddler = match &mut self.disk.state().meddler {
            Some((times, meddler)) if *times > 0 => {
                *times -= 1;
                Some(meddler.clone())
            }
            _ => None,
        };
        if let Some(meddler) = meddler {
            meddler();
        }
        Ok(count)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.disk.fault()? {
            None => self.real.write_all(bytes),
            Some(Fault::Nothing) => Err(failure()),
            Some(Fault::Half | Fault::PowerOff) => {
                self.real.write_all(&bytes[..bytes.len() / 2]).and(Err(failure()))
            }
            Some(Fault::Done) => self.real.write_all(bytes).and(Err(failure())),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let (real, disk) = (&mut self.real, &self.disk);
        disk.call(|| {
            real.truncate(length)?;
            if let Some(synced) = disk.state().synced.get_mut(&self.inode) {
                *synced = length.min(*synced);
            }
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.call(|| {
            let size = self.real.stat()?.size_bytes;
            self.disk.state().synced.insert(self.inode, size);
            Ok(())
        })
    }

    fn stat(&self) -> io::Result<Stat> {
        self.real.stat()
    }
}
