// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What leaves this checkout: crates for the registry, licences of files, and packages of the command.

mod build;
mod headers;
mod licences;
mod registry;

pub use build::{PackageArgs, package};
pub use headers::fix;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::Workspace;

/// Looks whether every crate that is published could be, and every file has a licence.
///
/// # Errors
/// When a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    let mut findings = registry::check(workspace)?;
    findings.extend(licences::check(workspace)?);
    findings.extend(headers::check(workspace)?);
    Ok(findings)
}

/// The arguments of the cargo command that makes the packages of all crates that are published.
pub fn cargo_package(workspace: &Workspace) -> Vec<String> {
    let kept =
        registry::kept(workspace).into_iter().flat_map(|name| ["--exclude".to_owned(), name.to_owned()]);
    ["package", "--workspace", "--allow-dirty"].map(str::to_owned).into_iter().chain(kept).collect()
}
