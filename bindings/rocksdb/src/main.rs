// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command `saker` with one engine more: `rocksdb`.

use std::process::ExitCode;

fn main() -> ExitCode {
    saker_rocksdb::engine::add();
    saker_cli::main()
}
