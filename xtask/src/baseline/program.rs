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
}

impl Program {
    /// The binary at that path.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub fn at(path: &Path) -> Result<Self, Fault> {
        let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
        let program = Self { path };
        let version = program.bytes(&["--version"])?;
        eprintln!("{}: {}", program.path.display(), String::from_utf8_lossy(&version).trim());
        Ok(program)
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
