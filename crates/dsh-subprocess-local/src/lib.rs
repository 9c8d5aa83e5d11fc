//! Child processes on this machine, none of which outlives its owner.
//!
//! Each program leads a process group. A caller that lets go of a program that runs, a cancellation, the unloading of the
//! plugin, or the death of the host by any signal, ends the group. What a program leaves behind that has ended by itself ends with
//! the plugin or the host.
//!
//! Read `config`, `resolve` with `launch` (how a program is started), `group` (who is signalled) with `mark` (what has left its
//! group; both ask `system`, in a `batch`), `watchdog` (the death of the host), `table` (all that is answered for), `life` (one
//! process from its start to its end), `kept` with `spill` and `room` (what it prints), `control` (what the caller holds), then
//! `local`, which puts them together.
//!
//! **Architecture Invariant:** a signal goes to our own processes only. A group whose leader was reaped is signalled only if no
//! process has its id, and a process outside of a group only after its mark was read.
//!
//! **Architecture Invariant:** a process that ends by itself costs one wait. Nobody polls, and nobody looks through the
//! processes of the machine unless something is to be killed, or more than a few groups are left behind. That is done on a
//! blocking thread, once for all who need it.
//!
//! # Limits
//! What cannot be found again once it has left its group or session: a program that empties its environment, or writes over it
//! (`setproctitle`), or whose environment the system keeps from its own user (`PR_SET_DUMPABLE`, as `ssh-agent` does); on systems
//! other than Linux any program. A process of another user (`sudo`) cannot be signalled.
//!
//! A host that forks without starting a program (nothing here does) has in its child a second holder of the watchdog's pipe: as
//! long as that lives the watchdog does not hear of the host's death.
//!
//! What has left its group and ends by itself is reaped by the first process of the system. A host that is that process, in a
//! container, reaps only what it kills: run it with an init (`docker run --init`).
//!
//! A host that is started with SIGCHLD ignored is fine: the runtime's own handler takes its place.

#[cfg(not(unix))]
compile_error!(
    "dsh-subprocess-local needs process groups and signals: build for a Unix (Linux, macOS, a BSD)"
);

mod batch;
mod config;
mod control;
mod group;
mod kept;
mod launch;
mod life;
mod local;
mod mark;
mod plugin;
mod resolve;
mod room;
mod spill;
mod system;
mod table;
mod watchdog;

pub use config::Config;
pub use plugin::plugin;

cordis::catalog!(plugin);
