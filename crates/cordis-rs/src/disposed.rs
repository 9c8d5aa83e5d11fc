//! What a teardown could not finish.

use serde::Serialize;
use std::fmt;

/// The exceptions of one `dispose`: none when everything ended and was dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Disposed {
    /// Steps that did not end within their limit and are no longer waited for.
    pub still_running: Vec<StillRunning>,
    /// Services whose value other code still holds through a lease; their registrations are gone.
    pub leases: Vec<HeldService>,
    /// Whether the end was not waited for: `dispose` was called from inside of what it disposes, and only requested. What
    /// will be left behind is not known then.
    pub requested: bool,
}

/// One step of a teardown that ran past its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StillRunning {
    /// The plugin that owns the step, as `name#uid`.
    pub plugin: String,
    /// The effect's label, or `body` for a plugin's own body.
    pub step: String,
}

/// A service whose value outlives its registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HeldService {
    /// The key's name.
    pub service: String,
    /// How many leases were out when the service was removed.
    pub leases: usize,
}

impl Disposed {
    /// Whether everything has ended and nothing was left behind.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.requested && self.still_running.is_empty() && self.leases.is_empty()
    }

    pub(crate) fn late(plugin: String, step: String) -> Self {
        Disposed { still_running: vec![StillRunning { plugin, step }], ..Disposed::default() }
    }

    pub(crate) fn held(service: &str, leases: usize) -> Self {
        Disposed { leases: vec![HeldService { service: service.into(), leases }], ..Disposed::default() }
    }

    pub(crate) fn merge(&mut self, other: Disposed) {
        self.still_running.extend(other.still_running);
        self.leases.extend(other.leases);
        self.requested |= other.requested;
    }
}

impl fmt::Display for Disposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("nothing left behind");
        }
        let mut first = true;
        let mut separate =
            |f: &mut fmt::Formatter<'_>| if std::mem::take(&mut first) { Ok(()) } else { f.write_str("; ") };
        if self.requested {
            separate(f)?;
            f.write_str("only requested, from inside of what is disposed")?;
        }
        for late in &self.still_running {
            separate(f)?;
            write!(f, "`{}` of `{}` is still running", late.step, late.plugin)?;
        }
        for held in &self.leases {
            separate(f)?;
            write!(f, "service `{}` is still leased {} time(s)", held.service, held.leases)?;
        }
        Ok(())
    }
}
