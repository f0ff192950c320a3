// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `saker` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    saker_cli::main()
}
