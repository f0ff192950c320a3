// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask peers`: the comparison of `bench/peers`, a workspace of its own, with RocksDB where its library has been built.

use std::path::{Path, PathBuf};

use crate::Fault;
use crate::rocksdb;
use crate::workspace::{Workspace, cargo};

/// Builds and runs the comparison with the arguments; true when it ended well.
///
/// # Errors
/// When cargo cannot be started.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<bool, Fault> {
    let target = workspace.metadata.target_directory.join("peers");
    let mut command = cargo();
    command.args(["build", "--quiet", "--release", "--locked"]);
    if let Some(library) = built(&workspace.metadata.target_directory.join("rocksdb")) {
        command.args(["--features", "rocksdb"]).env("ROCKSDB_LIB_DIR", library).env("ROCKSDB_STATIC", "1");
        rocksdb::bindgen(&mut command, &target)?;
    } else {
        eprintln!("RocksDB has not been built (`cargo xtask rocksdb` does): it is left out");
    }
    // Its folder, whose .cargo/config.toml asks for this machine's instructions.
    command.current_dir(workspace.root.join("bench/peers"));
    if !command.env("CARGO_TARGET_DIR", &target).status()?.success() {
        return Ok(false);
    }
    // Where the caller is, from where paths are meant.
    Ok(std::process::Command::new(target.join("release/saker-bench-peers")).args(args).status()?.success())
}

/// The folder of RocksDB's library, below the target folder of its own comparison.
fn built(target: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(target.join("release/build")).ok()?.flatten();
    folders.map(|entry| entry.path().join("out")).find(|out| out.join("librocksdb.a").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_where_cargo_puts_it() {
        let folder = std::env::temp_dir().join(format!("saker-peers-{}", std::process::id()));
        assert_eq!(built(&folder), None);
        let out = folder.join("release/build/librocksdb-sys-1234/out");
        std::fs::create_dir_all(&out).unwrap();
        assert_eq!(built(&folder), None, "it is still being built");
        std::fs::write(out.join("librocksdb.a"), "").unwrap();
        assert_eq!(built(&folder), Some(out));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_comparison_is_no_part_of_the_workspace() {
        let workspace = Workspace::discover().unwrap();
        let root = workspace.root.join("bench/peers");
        assert!(root.join("Cargo.lock").is_file());
        assert!(workspace.metadata.packages.iter().all(|package| !package.manifest_path.starts_with(&root)));
    }
}
