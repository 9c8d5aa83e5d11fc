//! The program as its users meet it: real processes, real files.

#![allow(clippy::unwrap_used, missing_docs, reason = "these are tests")]

mod colour;
mod doctor;
mod fixture;
mod guard;
mod hooks;
mod hooks_check;
mod hooks_page;
mod hooks_published;
mod hooks_run;
mod hooks_samples;
mod input;
mod interruption;
mod piped;
mod plugins;
mod replay;
mod run;
mod run_approve;
mod run_fixture;
mod run_json;
mod run_refused;
mod run_resume;
mod run_signals;
mod run_terminal;
mod safety;
mod session;
mod session_check;
mod session_export;
mod session_fork;
mod session_import;
mod session_show;
mod session_store;
mod survivors;
mod terminal;
mod tools_call;
mod tools_list;
mod workspace;
