// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs of the program in a directory of their own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Small images are quick to make: the profile for tests.
pub const TINY: [&str; 4] = ["--size", "16MiB", "--profile", "tiny"];

/// What a run left.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// Standard output of a run that went well.
    pub fn good(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        String::from_utf8(self.out).expect("text")
    }

    /// The words of a run that was refused: one line on standard error, nothing on standard output.
    pub fn refused(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_slice()), (Some(code), b"".as_slice()), "{}", self.err);
        let message = self.err.strip_prefix("saker: error: ").unwrap_or_else(|| panic!("{:?}", self.err));
        assert_eq!(message.find('\n'), Some(message.len() - 1), "one line: {message:?}");
        let message = message.trim_end();
        assert!(message.contains("; "), "it says what to do: {message}");
        message.to_owned()
    }
}

/// A directory in which the program runs.
pub struct Desk(TempDir);

impl Desk {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// With an image `disk.img` of the tiny profile.
    pub fn with_image() -> Self {
        let desk = Self::new();
        desk.saker(&[&["create", "disk.img"], &TINY[..]].concat()).good();
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("writes");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("reads")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.args(arguments).current_dir(self.0.path());
        command
    }

    pub fn saker(&self, arguments: &[&str]) -> Ran {
        ran(&mut self.command(arguments))
    }

    /// On the image `disk.img`.
    pub fn disk(&self, arguments: &[&str]) -> Ran {
        self.saker(&[arguments, &["--device", "file:disk.img"]].concat())
    }

    pub fn piped(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let mut stdin = child.stdin.take().expect("piped");
        // A command that has no use for all of it may end before.
        let _ = stdin.write_all(input);
        drop(stdin);
        taken(child.wait_with_output().expect("ends"))
    }
}

/// The program.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_saker"));
    command.env_remove("SAKER_DEVICE").stdin(Stdio::null());
    command
}

pub fn ran(command: &mut Command) -> Ran {
    taken(command.output().expect("starts"))
}

fn taken(output: std::process::Output) -> Ran {
    let err = String::from_utf8(output.stderr).expect("text");
    Ran { code: output.status.code(), out: output.stdout, err }
}

/// A file of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(name)
}
