//! What a program can call: functions under one global, checked so that every language can have them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cordis::BoxFuture;
use serde_json::Value;
use thiserror::Error;

use crate::code_mode::identifier::{is_reserved_error_member, is_reserved_global, is_usable_identifier};
use crate::schema::is_lossless;

/// A call of a function on its way.
pub type BindingFuture = BoxFuture<'static, Result<Value, BindingFailure>>;

type Call = dyn Fn(&str, Value) -> BindingFuture + Send + Sync;

/// Functions that a program finds under one global; cheap to clone. Their names may be any text.
#[derive(Clone)]
pub struct Namespace {
    global: String,
    functions: Arc<BTreeSet<String>>,
    call: Arc<Call>,
    error_class: Option<ErrorClass>,
}

/// The class of the errors that functions of a namespace raise in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    name: String,
    member: String,
}

/// Why a call of a function gives no value: what the program reads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BindingFailure(pub String);

/// A binding that programs cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindingError {
    /// The global's name is a word of a language, or no identifier.
    #[error("binding global {name:?} is not a usable identifier")]
    Global {
        /// The name.
        name: String,
    },
    /// The global's name has a meaning of its own in programs.
    #[error("reserved binding global {name:?}")]
    ReservedGlobal {
        /// The name.
        name: String,
    },
    /// Two namespaces have one name.
    #[error("duplicate binding global {name:?}")]
    DuplicateGlobal {
        /// The name.
        name: String,
    },
    /// The error class has a name that programs cannot use.
    #[error("binding error class {name:?} is not a usable identifier, or is reserved")]
    ErrorClass {
        /// The name.
        name: String,
    },
    /// Two namespaces, or a namespace and an error class, have one name.
    #[error("duplicate injected global {name:?}")]
    DuplicateInjected {
        /// The name.
        name: String,
    },
    /// Errors cannot have a member of this name for the function.
    #[error("binding error member property {name:?} is not usable")]
    Member {
        /// The name.
        name: String,
    },
}

impl Namespace {
    /// A namespace of these functions; `call` is asked with the name of one of them.
    ///
    /// # Errors
    /// The global's name is no [usable identifier](crate::is_usable_identifier), or is
    /// [reserved](crate::is_reserved_global).
    pub fn new(
        global: impl Into<String>,
        functions: impl IntoIterator<Item = String>,
        call: impl Fn(&str, Value) -> BindingFuture + Send + Sync + 'static,
    ) -> Result<Self, BindingError> {
        let name = global.into();
        if is_reserved_global(&name) {
            return Err(BindingError::ReservedGlobal { name });
        }
        if !is_usable_identifier(&name) {
            return Err(BindingError::Global { name });
        }
        let functions = Arc::new(functions.into_iter().collect());
        Ok(Self { global: name, functions, call: Arc::new(call), error_class: None })
    }

    /// Has failures raised as errors of a class of this name, which tell the function's name in `member`.
    ///
    /// # Errors
    /// Programs cannot have a class or a member of this name, or the class is called like the global.
    pub fn error_class(
        mut self,
        name: impl Into<String>,
        member: impl Into<String>,
    ) -> Result<Self, BindingError> {
        let (name, member) = (name.into(), member.into());
        if !is_usable_identifier(&name) || is_reserved_global(&name) {
            return Err(BindingError::ErrorClass { name });
        }
        if name == self.global {
            return Err(BindingError::DuplicateInjected { name });
        }
        if !is_usable_identifier(&member) || is_reserved_error_member(&member) {
            return Err(BindingError::Member { name: member });
        }
        self.error_class = Some(ErrorClass { name, member });
        Ok(self)
    }

    /// The global's name.
    #[must_use]
    pub fn global(&self) -> &str {
        &self.global
    }

    /// The names of the functions, sorted by code point.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(String::as_str)
    }

    /// The class of what failed calls raise; none for the language's own errors.
    #[must_use]
    pub fn errors(&self) -> Option<&ErrorClass> {
        self.error_class.as_ref()
    }

    /// The globals that the namespace brings.
    pub(crate) fn injected(&self) -> impl Iterator<Item = &str> {
        let class = self.error_class.as_ref().map(|class| &*class.name);
        std::iter::once(&*self.global).chain(class)
    }

    /// Calls a function; the future owns all that it needs. Only lossless JSON passes, in both directions.
    pub fn call(&self, function: &str, arguments: Value) -> BindingFuture {
        let refuse =
            |why: String| -> BindingFuture { Box::pin(std::future::ready(Err(BindingFailure(why)))) };
        if !self.functions.contains(function) {
            return refuse(format!("unknown binding \"{}.{function}\"", self.global));
        }
        if !is_lossless(&arguments) {
            return refuse("binding arguments must be lossless JSON".to_owned());
        }
        let answer = (self.call)(function, arguments);
        Box::pin(async move {
            match answer.await? {
                value if is_lossless(&value) => Ok(value),
                _ => Err(BindingFailure("binding resolution must be lossless JSON".to_owned())),
            }
        })
    }
}

impl ErrorClass {
    /// The class's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The member of an error that tells the function's name.
    #[must_use]
    pub fn member(&self) -> &str {
        &self.member
    }
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespace")
            .field("global", &self.global)
            .field("functions", &self.functions)
            .field("error_class", &self.error_class)
            .finish_non_exhaustive()
    }
}
