//! The commands, one a file: what is done with the arguments, and the output.

pub mod bench;
pub mod block;
pub mod check;
pub mod compare;
mod compare_html;
pub mod conform;
pub mod create;
pub mod delete;
pub mod dump;
pub mod exists;
pub mod get;
pub mod info;
pub mod list;
pub mod load;
pub mod profile;
pub mod put;
pub mod repair;
pub mod reproduce;
pub mod scan;
pub mod serve;
pub mod set;
mod target;
pub mod top;
pub mod txn;
mod walk;

use crate::error::CliError;
use crate::key;

/// The error of a command that needs a key which is not there.
fn no_such_key(bytes: &[u8]) -> CliError {
    CliError::failed(format!("there is no key `{}`", key::show(bytes)), "see the keys with `saker list`")
}
