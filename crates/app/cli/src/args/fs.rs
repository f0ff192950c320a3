// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker fs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::size;

/// Arguments of `saker fs`.
#[derive(Args, Debug)]
#[command(after_help = "\
A file system on a block namespace: the one that `?nsid=N` in the URL names, or the first. Paths on the device begin in its root, \
with or without a slash. What a command has done is durable when it ends.

Examples:
  saker create disk.img --size 1GiB --namespace block:512MiB,4096
  saker fs mkfs --device file:disk.img
  saker fs cp notes.txt dev:notes.txt --device file:disk.img
  saker fs ls / --device file:disk.img
  saker fs cat notes.txt --device file:disk.img
  saker fs fsck --device file:disk.img")]
pub struct FsArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make an empty file system; what the namespace had is gone
    Mkfs {
        /// Do so although there is a file system already
        #[arg(long)]
        force: bool,
        /// Bytes of each of the two areas of the journal, such as 4MiB
        #[arg(long, value_name = "SIZE", value_parser = size::parse)]
        journal: Option<u64>,
    },
    /// List a directory, or a file
    Ls {
        /// The path
        #[arg(default_value = "/")]
        path: String,
    },
    /// Write the bytes of a file to standard output
    Cat {
        /// The path
        path: String,
    },
    /// Copy a file to the device or from it; `dev:` stands before the path that is on the device, and - is a standard stream
    Cp {
        /// What is copied
        from: PathBuf,
        /// Where to; a file that is there is replaced when the copy is whole
        to: PathBuf,
    },
    /// Give a file or directory another name, in place of a file that has it
    Mv {
        /// The path
        from: String,
        /// The path afterwards
        to: String,
    },
    /// Make a directory
    Mkdir {
        /// The path
        path: String,
    },
    /// Remove a file, or an empty directory
    Rm {
        /// The path
        path: String,
    },
    /// Say how much space there is
    Df,
    /// Read everything and say what is damaged; changes nothing
    Fsck,
}
