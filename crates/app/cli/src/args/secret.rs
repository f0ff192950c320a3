// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker secret`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `saker secret`.
#[derive(Args, Debug)]
#[command(after_help = "\
A secret proves to a target who a host is (DH-HMAC-CHAP), or to a host who the target is. It goes into a file that only \
its owner can read, at both ends; `nvme gen-dhchap-key` makes such secrets, too. docs/authentication.md says how.

Examples:
  saker secret generate --output host.key
  saker secret generate --hash sha256 --output host.key
  saker serve --image disk.img --secret-file host.key
  saker list --device 'tcp://127.0.0.1:4420?secret_file=host.key'")]
pub struct SecretArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make a secret of random bytes
    Generate {
        /// The hash that binds it to the name of its host: none, sha256 (32 bytes), sha384 (48) or sha512 (64)
        #[arg(long, default_value = "none", value_parser = ["none", "sha256", "sha384", "sha512"])]
        hash: String,
        /// A file to make for it, readable by you alone; otherwise it is shown
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}
