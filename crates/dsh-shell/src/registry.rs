//! Who contributes which variables: globally, and for the scope of each agent.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cordis::{
    BoxError, Context, Effect, EntryUndo, Inactive, Layer, LayerError, Layers, Lent, NamedEntries, Refused,
    ScopeKey,
};
use dsh_agent::Agent;
use thiserror::Error;

use crate::contributor::{Contributor, Values};
use crate::env::{EnvError, RESERVED};

/// The store behind the service.
pub(crate) struct Registry {
    layers: Layers<EnvLayer>,
}

/// What is registered for one scope, or globally.
#[derive(Default)]
struct EnvLayer {
    contributors: NamedEntries<Arc<LentContributor>>,
    /// The contributor of each variable.
    owners: NamedEntries<Arc<str>>,
}

/// A contributor that a plugin lends.
pub(crate) struct LentContributor {
    name: Arc<str>,
    variables: Vec<String>,
    values: Lent<Box<Values>>,
}

/// A contributor was not registered; nothing of it is kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ContributorError {
    /// The context's plugin is not running.
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// It has no name.
    #[error("bash env contributor \"\" of `{plugin}` needs a name")]
    NoName {
        /// The plugin that wanted it.
        plugin: String,
    },
    /// There is one of that name where it was to be registered.
    #[error(
        "bash env contributor \"{contributor}\" is already registered by `{owner}`: unload that one first, or choose \
         another name"
    )]
    Taken {
        /// Its name.
        contributor: String,
        /// The plugin that has it.
        owner: String,
    },
    /// A variable cannot be called that.
    #[error(
        "bash env contributor \"{contributor}\" declares {variable:?}: a variable's name is made of letters, digits and \
         underscores, and does not begin with a digit"
    )]
    Name {
        /// The contributor.
        contributor: String,
        /// What it declares.
        variable: String,
    },
    /// A variable is the harness's own.
    #[error("bash env contributor \"{contributor}\" declares {variable}, which is reserved for the harness")]
    Reserved {
        /// The contributor.
        contributor: String,
        /// The variable.
        variable: String,
    },
    /// Nothing says what a variable is.
    #[error("bash env contributor \"{contributor}\" declares {variable} without a description")]
    Undescribed {
        /// The contributor.
        contributor: String,
        /// The variable.
        variable: String,
    },
    /// A variable is another contributor's where it was to be registered, or is declared twice.
    #[error("bash env contributor \"{contributor}\" declares {variable}, which contributor \"{owner}\" owns")]
    Owned {
        /// The contributor.
        contributor: String,
        /// The variable.
        variable: String,
        /// Whose it is.
        owner: String,
    },
    /// It was refused where it was to be registered.
    #[error("bash env contributor \"{contributor}\" was refused")]
    Refused {
        /// Its name.
        contributor: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self { layers: Layers::new(|_| EnvLayer::default(), |_| Ok(())) }
    }

    pub(crate) fn register(
        &self,
        ctx: &Context,
        contributor: Contributor,
    ) -> Result<Effect, ContributorError> {
        check(ctx, &contributor)?;
        let name = contributor.name.clone();
        let label = format!("shellEnv: contributor {name:?}");
        ctx.effects(label.clone(), |inside| {
            let lent = Arc::new(LentContributor::lend(inside, label, contributor)?);
            match self.layers.effect_quietly(inside, "entry", |layer| layer.add(&lent)) {
                Ok(_) => Ok(()),
                Err(LayerError::Inactive(inactive)) => Err(inactive.into()),
                Err(LayerError::Action(AddError(error))) => Err(*error),
                Err(refused) => Err(ContributorError::Refused { contributor: name, source: refused.into() }),
            }
        })
    }

    /// The contributors that a scope sees, nearest last; of one name only the nearest.
    pub(crate) fn seen(&self, scope: Option<&ScopeKey>) -> Vec<Arc<LentContributor>> {
        let nearer = scope.map(|scope| self.layers.chain(scope)).unwrap_or_default();
        let mut seen: Vec<Arc<LentContributor>> = Vec::new();
        let mut names = HashSet::new();
        let layers = nearer.iter().rev().map(|layer| &**layer).chain([self.layers.global()]);
        for layer in layers {
            let mut here = layer.contributors.values();
            here.retain(|contributor| !names.contains(&contributor.name));
            names.extend(here.iter().map(|contributor| contributor.name.clone()));
            seen.extend(here.into_iter().rev());
        }
        seen.reverse();
        seen
    }
}

impl Layer for EnvLayer {
    fn is_empty(&self) -> bool {
        self.contributors.is_empty() && self.owners.is_empty()
    }
}

impl EnvLayer {
    fn add(&self, contributor: &Arc<LentContributor>) -> Result<impl FnOnce() + use<>, AddError> {
        let mut undos = Vec::new();
        let added = self.add_all(contributor, &mut undos);
        let undo = move || undos.iter().rev().for_each(EntryUndo::undo);
        match added {
            Ok(()) => Ok(undo),
            Err(error) => {
                undo();
                Err(AddError(Box::new(error)))
            }
        }
    }

    fn add_all(
        &self,
        contributor: &Arc<LentContributor>,
        undos: &mut Vec<EntryUndo>,
    ) -> Result<(), ContributorError> {
        let name = || contributor.name.to_string();
        let added = insert(&self.contributors, &contributor.name, contributor);
        undos.push(
            added.map_err(|held| ContributorError::Taken {
                contributor: name(),
                owner: held.values.owner(),
            })?,
        );
        for variable in &contributor.variables {
            let added = insert(&self.owners, variable, &contributor.name);
            undos.push(added.map_err(|owner| ContributorError::Owned {
                contributor: name(),
                variable: variable.clone(),
                owner: owner.to_string(),
            })?);
        }
        Ok(())
    }
}

impl LentContributor {
    fn lend(ctx: &Context, label: String, contributor: Contributor) -> Result<Self, Inactive> {
        let Contributor { name, variables, values } = contributor;
        let (_, values) = ctx.lend(label, values)?;
        let variables = variables.into_iter().map(|variable| variable.name).collect();
        Ok(Self { name: name.into(), variables, values })
    }

    /// Its values; none if its plugin has taken it back meanwhile.
    pub(crate) fn values(&self, agent: Option<&Agent>) -> Result<BTreeMap<String, String>, EnvError> {
        let failed = |source: BoxError| EnvError::Contributor {
            contributor: self.name.to_string(),
            plugin: self.values.owner(),
            source,
        };
        let values = match self.values.call(|values| values(agent)) {
            Ok(values) => values.map_err(failed)?,
            Err(Refused::Panicked { reason, .. }) => {
                return Err(failed(format!("panicked: {reason}").into()));
            }
            Err(Refused::Gone { .. }) => return Ok(BTreeMap::new()),
            Err(refused) => return Err(failed(refused.into())),
        };
        for (variable, value) in &values {
            let (contributor, variable) = (self.name.to_string(), variable.clone());
            if !self.variables.contains(&variable) {
                return Err(EnvError::Undeclared { contributor, variable });
            }
            if value.contains('\0') {
                return Err(EnvError::Nul { contributor, variable });
            }
        }
        Ok(values)
    }
}

fn check(ctx: &Context, contributor: &Contributor) -> Result<(), ContributorError> {
    if contributor.name.trim().is_empty() {
        return Err(ContributorError::NoName { plugin: ctx.fiber().label() });
    }
    for declared in &contributor.variables {
        let (contributor, variable) = (contributor.name.clone(), declared.name.clone());
        if !declared.is_valid() {
            return Err(ContributorError::Name { contributor, variable });
        }
        if RESERVED.contains(&variable.as_str()) {
            return Err(ContributorError::Reserved { contributor, variable });
        }
        if !declared.is_described() {
            return Err(ContributorError::Undescribed { contributor, variable });
        }
    }
    Ok(())
}

/// Adds an entry, or gives the one that has the name.
fn insert<T: Clone + Send + Sync + 'static>(
    table: &NamedEntries<T>,
    name: &str,
    entry: &T,
) -> Result<EntryUndo, T> {
    loop {
        if let Ok(undo) = table.insert(name, entry.clone()) {
            return Ok(undo);
        }
        // None when it went in between: then the name is free.
        if let Some(held) = table.get(name) {
            return Err(held);
        }
    }
}

/// Boxed: results are small.
#[derive(Debug, Error)]
#[error(transparent)]
struct AddError(Box<ContributorError>);
