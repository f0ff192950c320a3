// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes the manual pages and the shells' completions of the command into a folder: `pages FOLDER`.

use std::fs;
use std::path::PathBuf;

use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/pages"), PathBuf::from);
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut saker_cli::command(), "saker", &completions)?;
    }
    // Those of its parts, too: saker.1, saker-profile.1, saker-profile-list.1.
    clap_mangen::generate_to(saker_cli::command(), man)
}
