// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The binary that is looked at.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::Fault;

/// The exit code of arguments that make no sense: the binary does not know what it is asked for.
const USAGE_CODE: i32 = 2;

/// A binary by its path.
pub struct Program {
    path: PathBuf,
    engines: Vec<String>,
}

impl Program {
    /// The binary at that path.
    ///
    /// # Errors
    /// When there is none, or it does not say its version or its engines.
    pub fn at(path: &Path) -> Result<Self, Fault> {
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let mut program = Self { path, engines: Vec::new() };
        let version = program.bytes(&["--version"])?;
        program.engines = program.asked_for_engines()?;
        eprintln!("{}: {}", program.path.display(), String::from_utf8_lossy(&version).trim());
        Ok(program)
    }

    /// Its engines, by their names on the command line.
    pub fn engines(&self) -> &[String] {
        &self.engines
    }

    /// The engines that it lists when a URL asks for one that it does not have: binaries without `bench history` do so, too.
    fn asked_for_engines(&self) -> Result<Vec<String>, Fault> {
        let url = "mem:?size=64MiB&engine=none_of_that_name";
        let output = self.output(&["bench", "a", "--device", url])?;
        let said = String::from_utf8_lossy(&output.stderr);
        let engines = engines_in(&said);
        if engines.is_empty() {
            Err(format!("it does not say its engines: {}", said.trim()).into())
        } else {
            Ok(engines)
        }
    }

    fn output(&self, args: &[&str]) -> Result<Output, Fault> {
        let mut command = Command::new(&self.path);
        // Nothing of the machine's settings is to matter.
        command.args(args).env_remove("SAKER_DEVICE");
        command.output().map_err(|error| format!("cannot run {}: {error}", self.path.display()).into())
    }

    fn failed(&self, args: &[&str], output: &Output) -> Fault {
        let why = String::from_utf8_lossy(&output.stderr);
        format!("{} {} failed: {}", self.path.display(), args.join(" "), why.trim()).into()
    }

    /// What it writes to standard output.
    ///
    /// # Errors
    /// When it fails.
    pub fn bytes(&self, args: &[&str]) -> Result<Vec<u8>, Fault> {
        let output = self.output(args)?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.failed(args, &output)) }
    }

    /// The document that it writes, without its version; `None` if it does not know what it is asked for. A document counts
    /// whatever the exit code: claims that fail make it 1.
    ///
    /// # Errors
    /// When it fails, or writes something else.
    pub fn document(&self, args: &[&str]) -> Result<Option<Value>, Fault> {
        let output = self.output(args)?;
        if output.status.code() == Some(USAGE_CODE) {
            return Ok(None);
        }
        let parsed = serde_json::from_slice::<Value>(&output.stdout);
        let Ok(Value::Object(mut document)) = parsed else { return Err(self.failed(args, &output)) };
        document.remove("saker");
        Ok(Some(Value::Object(document)))
    }
}

/// The names in a message that ends in a choice of them.
fn engines_in(message: &str) -> Vec<String> {
    let names = message.trim().rsplit_once("write one of ").map_or("", |(_, names)| names);
    names.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_in_the_message() {
        let message = "saker: error: device URL `mem:?engine=x`: option `engine=x`; write one of hash_store, lsm, tree\n";
        assert_eq!(engines_in(message), ["hash_store", "lsm", "tree"]);
        assert!(engines_in("unknown command").is_empty());
    }
}
