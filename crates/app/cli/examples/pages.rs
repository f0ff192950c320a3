//! Writes the manual pages and the shells' completions of the command into a folder: `pages FOLDER`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/pages"), PathBuf::from);
    let (man, completions) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let mut command = saker_cli::command();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, "saker", &completions)?;
    }
    command.build();
    page(&command, "saker", &man)
}

/// The page of a command, and those of its parts: saker.1, saker-profile.1, saker-profile-list.1.
fn page(command: &Command, name: &str, folder: &Path) -> std::io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone().name(name.to_owned())).render(&mut text)?;
    fs::write(folder.join(format!("{name}.1")), text)?;
    let parts = command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help");
    for part in parts {
        page(part, &format!("{name}-{}", part.get_name()), folder)?;
    }
    Ok(())
}
