//! Two linked plugins of one name; a program of its own, since every program has one catalogue.

#![cfg(feature = "catalog")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{
    BoxError, Context, Plugin,
    catalog::{self, FindError},
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static MADE: AtomicU32 = AtomicU32::new(0);

async fn apply(_ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
    Ok(())
}

mod lamp {
    pub(crate) fn plugin() -> impl super::Plugin<Config = ()> {
        cordis::define("lamp").run(super::apply)
    }

    cordis::catalog!(plugin);
}

mod other_lamp {
    pub(crate) fn plugin() -> impl super::Plugin<Config = ()> {
        cordis::define("lamp").run(super::apply)
    }

    cordis::catalog!(plugin);
}

fn clock() -> impl Plugin<Config = ()> {
    MADE.fetch_add(1, Relaxed);
    cordis::define("clock").run(apply)
}

cordis::catalog!(clock);

#[test]
fn two_plugins_of_one_name_are_an_error_that_names_both() {
    let ambiguous = FindError::Ambiguous {
        name: "lamp".into(),
        first: "config_catalog_names::lamp::plugin",
        second: "config_catalog_names::other_lamp::plugin",
    };
    assert_eq!(catalog::find("lamp").unwrap_err(), ambiguous);
    assert_eq!(catalog::all().unwrap_err(), ambiguous);
    assert_eq!(
        ambiguous.to_string(),
        "two plugins are called `lamp`, `config_catalog_names::lamp::plugin` and \
         `config_catalog_names::other_lamp::plugin`: link only one of them, or rename one"
    );
}

#[test]
fn a_name_that_is_not_ambiguous_is_found_and_finding_it_makes_no_plugin_anew() {
    assert_eq!(catalog::find("clock").unwrap().name(), "clock");
    let made = MADE.load(Relaxed);
    catalog::find("clock").unwrap();
    assert!(catalog::find("cloc").is_err() && catalog::find("clocks").is_err());
    assert_eq!(MADE.load(Relaxed), made);
}
