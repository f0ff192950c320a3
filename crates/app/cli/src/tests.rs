// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line from outside: arguments in; standard output, standard error and exit code out.

mod experiments;
mod fake;
mod files;
mod help;
mod keys;
mod listing;
mod reports;
mod streams;

use fake::Fake;

/// What a run left.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: u8,
    out: String,
    err: String,
}

fn ran(code: u8, out: &str, err: &str) -> Ran {
    Ran { code, out: out.to_owned(), err: err.to_owned() }
}

/// The document of a command, without its last brace and line end.
fn document(schema: &str, fields: &str) -> String {
    format!("{{\"saker\":\"{}\",\"schema\":\"{schema}\",\"seed\":null,{fields}}}\n", crate::output::VERSION)
}
