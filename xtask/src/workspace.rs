// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The checkout: where it is, what it tracks, what it is made of.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Fault;

/// The checkout being checked.
pub struct Workspace {
    /// The folder of the workspace's Cargo.toml.
    pub root: PathBuf,
    /// What cargo knows of it.
    pub metadata: Metadata,
}

/// The part of `cargo metadata --no-deps` (format version 1) that the checker reads.
#[derive(Deserialize)]
pub struct Metadata {
    /// The workspace's own packages.
    pub packages: Vec<Package>,
    /// The folder of the workspace's Cargo.toml.
    pub workspace_root: PathBuf,
    /// Where cargo builds.
    pub target_directory: PathBuf,
}

/// One package of the workspace.
#[derive(Deserialize)]
pub struct Package {
    /// Its name in Cargo.toml.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// The path of its Cargo.toml.
    pub manifest_path: PathBuf,
    /// What it declares, before resolution.
    pub dependencies: Vec<Dependency>,
    /// What it builds.
    pub targets: Vec<Target>,
    /// What it is, for the registry.
    #[serde(default)]
    pub description: Option<String>,
    /// Its licence, as an SPDX expression.
    #[serde(default)]
    pub license: Option<String>,
    /// Words by which it is found.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Its README, beside its Cargo.toml.
    #[serde(default)]
    pub readme: Option<PathBuf>,
    /// The registries to which it may go; none: any.
    #[serde(default)]
    pub publish: Option<Vec<String>>,
}

impl Package {
    /// Whether it may go to a registry.
    pub fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// One declared dependency.
#[derive(Deserialize)]
pub struct Dependency {
    /// The package's name, whatever it is renamed to.
    pub name: String,
    /// `dev`, `build`, or none for a normal one.
    pub kind: Option<String>,
    /// The versions that will do; `*` where none is named.
    #[serde(default)]
    pub req: String,
}

/// One build target of a package.
#[derive(Deserialize)]
pub struct Target {
    /// The target's name.
    pub name: String,
    /// `lib`, `bin`, `test`, `bench`, `example`, ...
    pub kind: Vec<String>,
    /// Its first file.
    pub src_path: PathBuf,
    /// Whether `cargo test` makes a program of its unit tests.
    #[serde(default = "unless_said")]
    pub test: bool,
    /// Whether `cargo test` looks for tests in its documentation.
    #[serde(default = "unless_said")]
    pub doctest: bool,
}

const fn unless_said() -> bool {
    true
}

impl Workspace {
    /// Asks cargo for the workspace around the current folder.
    ///
    /// # Errors
    /// When cargo fails or answers something unknown.
    pub fn discover() -> Result<Self, Fault> {
        let json = output(cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        let metadata: Metadata = serde_json::from_str(&json)?;
        Ok(Self { root: metadata.workspace_root.clone(), metadata })
    }

    /// The tracked files, relative to the root, with `/` between folders; deleted ones left out.
    ///
    /// # Errors
    /// When git fails, for example outside a checkout.
    pub fn tracked_files(&self) -> Result<Vec<String>, Fault> {
        let list = output(Command::new("git").args(["ls-files", "-z"]).current_dir(&self.root))?;
        let files = list.split('\0').filter(|path| !path.is_empty() && self.root.join(path).is_file());
        Ok(files.map(str::to_owned).collect())
    }

    /// A path below the root, as text with `/`; unchanged when it is not below the root.
    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// The standard output of a finished command.
///
/// # Errors
/// When the command cannot start, fails, or prints something other than UTF-8.
pub fn output(command: &mut Command) -> Result<String, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&done.stderr).trim()).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_this_package_and_its_tracked_manifest() {
        let workspace = Workspace::discover().unwrap();
        assert!(workspace.metadata.packages.iter().any(|package| package.name == "xtask"));
        assert!(workspace.tracked_files().unwrap().contains(&"xtask/Cargo.toml".to_owned()));
    }

    #[test]
    fn a_failing_command_is_an_error_with_its_message() {
        let fault = output(cargo().arg("no-such-command-at-all")).unwrap_err();
        assert!(fault.to_string().contains("no-such-command-at-all"), "{fault}");
    }
}
