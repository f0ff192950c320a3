// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker block`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `saker block`.
#[derive(Args, Debug)]
#[command(after_help = "\
Blocks are numbered from 0. Without ?nsid=N in the URL the first block namespace is meant. A block that was never \
written, or was trimmed, reads as zeros. What is written is flushed when the command ends.

Examples:
  saker create disk.img --size 1GiB --namespace kv --namespace block:256MiB,4096
  saker block write --device 'file:disk.img?nsid=2' 0 boot.bin --pad
  saker block read --device 'file:disk.img?nsid=2' 0 16 --output boot.copy
  saker block read --device 'file:disk.img?nsid=2' 0 1 | xxd | head
  saker block trim --device 'file:disk.img?nsid=2' 0 16")]
pub struct BlockArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Write the bytes of blocks to standard output or a file
    Read {
        /// The first block
        first: u64,
        /// How many blocks
        #[arg(default_value_t = 1)]
        count: u64,
        /// Write the bytes to FILE
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Store the bytes of a file, whole blocks of them
    Write {
        /// The first block
        first: u64,
        /// The file; - is standard input
        file: PathBuf,
        /// Fill the last block with zeros
        #[arg(long)]
        pad: bool,
    },
    /// Deallocate blocks, so that they read as zeros and take no flash
    Trim {
        /// The first block
        first: u64,
        /// How many blocks
        #[arg(default_value_t = 1)]
        count: u64,
    },
}
