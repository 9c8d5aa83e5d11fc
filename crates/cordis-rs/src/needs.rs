//! What a plugin declares that it needs; what is declared is what arrives.

use crate::{
    Handle, Key,
    service::{AnyProvided, AnyService, Optional, Provided, Slot},
    shared::Shared,
    sync::Arc,
    view::View,
};
use std::fmt;

/// One declared need of a mounted plugin.
pub(crate) struct Need {
    pub(crate) slot: Arc<dyn AnyService>,
    pub(crate) optional: bool,
}

/// A needed key of whose name another type is in use.
#[doc(hidden)]
#[derive(Debug)]
pub struct Conflict(pub(crate) &'static str);

/// Collects the needs of a plugin that is being mounted.
#[doc(hidden)]
pub struct Declared<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) view: Option<&'a View>,
    pub(crate) needs: Vec<Need>,
}

/// Hands out what satisfies the needs, in the order of their declaration.
#[doc(hidden)]
pub struct Satisfied<'a> {
    pub(crate) sources: std::slice::Iter<'a, Option<Arc<dyn AnyProvided>>>,
}

impl fmt::Debug for Declared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.needs.iter().map(|need| need.slot.name())).finish()
    }
}

impl fmt::Debug for Satisfied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Satisfied").field("left", &self.sources.len()).finish()
    }
}

impl Declared<'_> {
    fn add<T: ?Sized + Send + Sync + 'static>(
        &mut self,
        key: Key<T>,
        optional: bool,
    ) -> Result<(), Conflict> {
        let services = self.view.and_then(|view| view.realm(key.name));
        let services = services.map_or(&self.shared.services, |realm| realm.services());
        let slot = Slot::<T>::of(services, key.name).ok_or(Conflict(key.name.text))?;
        self.needs.push(Need { slot: slot.clone(), optional });
        Ok(())
    }
}

impl Satisfied<'_> {
    fn take<T: ?Sized + Send + Sync + 'static>(&mut self) -> Option<Handle<T>> {
        let provided = self.sources.next()?.as_ref()?;
        provided.as_any().downcast_ref::<Provided<T>>().map(Provided::handle)
    }
}

/// What a plugin needs: a [`Key`], a `key.optional()`, `()`, or a tuple of up to eight of them. Sealed.
///
/// | declared | arrives |
/// |---|---|
/// | `()`, or nothing | `()` |
/// | `KEY` | `Handle<T>` |
/// | `KEY.optional()` | `Option<Handle<T>>` |
/// | `(A, B.optional())` | `(Handle<A>, Option<Handle<B>>)` |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be declared as the needs of a plugin",
    label = "not a service key",
    note = "needs are `KEY`, `KEY.optional()`, `()`, or a tuple of up to eight of them, where `KEY: cordis::Key<T>`"
)]
pub trait Needs: Copy + Send + Sync + 'static + sealed::Needs {
    /// What the plugin's body receives: a [`Handle`], an `Option<Handle>`, or a tuple of them.
    type Out: Send + 'static;

    #[doc(hidden)]
    fn declare(&self, declared: &mut Declared<'_>) -> Result<(), Conflict>;

    #[doc(hidden)]
    fn take(satisfied: &mut Satisfied<'_>) -> Option<Self::Out>;

    /// The names, in order, and whether each may be absent.
    #[doc(hidden)]
    fn names(&self, out: &mut Vec<(&'static str, bool)>);
}

mod sealed {
    pub trait Needs {}
}

impl<T: ?Sized> sealed::Needs for Key<T> {}

impl<T: ?Sized + Send + Sync + 'static> Needs for Key<T> {
    type Out = Handle<T>;

    fn declare(&self, declared: &mut Declared<'_>) -> Result<(), Conflict> {
        declared.add(*self, false)
    }

    fn take(satisfied: &mut Satisfied<'_>) -> Option<Handle<T>> {
        satisfied.take()
    }

    fn names(&self, out: &mut Vec<(&'static str, bool)>) {
        out.push((self.name.text, false));
    }
}

impl<T: ?Sized> sealed::Needs for Optional<T> {}

impl<T: ?Sized + Send + Sync + 'static> Needs for Optional<T> {
    type Out = Option<Handle<T>>;

    fn declare(&self, declared: &mut Declared<'_>) -> Result<(), Conflict> {
        declared.add(self.0, true)
    }

    fn take(satisfied: &mut Satisfied<'_>) -> Option<Option<Handle<T>>> {
        Some(satisfied.take())
    }

    fn names(&self, out: &mut Vec<(&'static str, bool)>) {
        out.push((self.0.name.text, true));
    }
}

macro_rules! tuple {
    ($($need:ident),*) => {
        impl<$($need: Needs),*> sealed::Needs for ($($need,)*) {}

        #[allow(non_snake_case, unused_variables, clippy::unused_unit, reason = "one form for all lengths")]
        impl<$($need: Needs),*> Needs for ($($need,)*) {
            type Out = ($($need::Out,)*);

            fn declare(&self, declared: &mut Declared<'_>) -> Result<(), Conflict> {
                let ($($need,)*) = self;
                $($need.declare(declared)?;)*
                Ok(())
            }

            fn take(satisfied: &mut Satisfied<'_>) -> Option<Self::Out> {
                Some(($($need::take(satisfied)?,)*))
            }

            fn names(&self, out: &mut Vec<(&'static str, bool)>) {
                let ($($need,)*) = self;
                $($need.names(out);)*
            }
        }
    };
}

tuple!();
tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);
tuple!(A, B, C, D, E, F, G);
tuple!(A, B, C, D, E, F, G, H);
