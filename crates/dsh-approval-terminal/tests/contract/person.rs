//! A person at a terminal of the system.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The other end of a terminal of the system: what a person would hold.
pub(crate) struct Person {
    master: File,
    seen: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Person {
    pub(crate) fn new() -> (Self, PathBuf) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path =
            PathBuf::from(std::ffi::OsString::from_vec(ptsname(&master, Vec::new()).unwrap().into_bytes()));
        let master = File::from(master);
        let mut eyes = master.try_clone().unwrap();
        let (sender, seen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(read) = eyes.read(&mut chunk) {
                if read == 0 || sender.send(chunk[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        (Self { master, seen, text: String::new() }, path)
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a text was shown, and gives what was shown up to its end. Blocks.
    pub(crate) fn sees(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.text.find(text) {
                return self.text.drain(..at + text.len()).collect();
            }
            let chunk = self.seen.recv_timeout(Duration::from_secs(60));
            self.text.push_str(&String::from_utf8_lossy(&chunk.expect(text)));
        }
    }
}
