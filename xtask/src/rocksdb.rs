// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask rocksdb`: the comparison of `bench/rocksdb`, a workspace of its own, with what its build needs; with `--stores` that of
//! Debian's RocksDB on files and on the plug-in with our own stores.
//!
//! RocksDB's bindings are made by bindgen, which loads libclang. Where there is none, Debian's package is installed (as root),
//! or the wheel of the Python package index is unpacked into the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Fault;
use crate::workspace::{Workspace, cargo, output};

/// Folders in which distributions put libclang.
const FOLDERS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// Builds and runs the comparison with the arguments; true when it ended well.
///
/// # Errors
/// When libclang cannot be had, or cargo cannot be started.
pub fn run(workspace: &Workspace, args: &[String]) -> Result<bool, Fault> {
    if let Some((_, args)) = args.split_first().filter(|(first, _)| *first == "--stores") {
        let script = workspace.root.join("bindings/rocksdb/check");
        let status = Command::new(script).arg("compare").args(args).current_dir(&workspace.root).status()?;
        return Ok(status.success());
    }
    let target = workspace.metadata.target_directory.join("rocksdb");
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--"]).args(args);
    // Its folder, whose .cargo/config.toml asks for this machine's instructions.
    command.current_dir(workspace.root.join("bench/rocksdb"));
    command.env("CARGO_TARGET_DIR", &target);
    bindgen(&mut command, &target)?;
    Ok(command.status()?.success())
}

/// What the build of RocksDB's bindings needs, below a target folder if it is not installed.
///
/// # Errors
/// When libclang cannot be had.
pub fn bindgen(command: &mut Command, target: &Path) -> Result<(), Fault> {
    command.env("LIBCLANG_PATH", libclang(target)?);
    if let Some(headers) = compiler_headers() {
        // The wheel has no headers of the compiler, such as stddef.h.
        command.env("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{headers}"));
    }
    Ok(())
}

/// The folder of libclang: one that is there, or one that is installed now.
fn libclang(target: &Path) -> Result<PathBuf, Fault> {
    let wheel = target.join("libclang");
    let native = wheel.join("clang/native");
    if let Some(found) = asked().or_else(installed).or_else(|| has_libclang(&native).then(|| native.clone()))
    {
        return Ok(found);
    }
    eprintln!("libclang is missing: it is being installed");
    let apt = ["install", "-y", "-qq", "--no-install-recommends", "libclang-dev"];
    if is_root()
        && succeeds(Command::new("apt-get").args(apt))
        && let Some(found) = installed()
    {
        return Ok(found);
    }
    let pip = ["-m", "pip", "install", "--quiet", "--target"];
    if succeeds(Command::new("python3").args(pip).arg(&wheel).arg("libclang")) && has_libclang(&native) {
        return Ok(native);
    }
    Err("libclang could not be installed: install libclang-dev, or the Python package libclang and set LIBCLANG_PATH \
         to its folder clang/native"
        .into())
}

fn asked() -> Option<PathBuf> {
    std::env::var_os("LIBCLANG_PATH").map(PathBuf::from)
}

fn installed() -> Option<PathBuf> {
    let llvm =
        std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path().join("lib"));
    FOLDERS.iter().map(PathBuf::from).chain(llvm).find(|folder| has_libclang(folder))
}

/// Whether a folder has the library itself: libclang-cpp is another one.
fn has_libclang(folder: &Path) -> bool {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|name| is_libclang(&name.to_string_lossy()))
}

fn is_libclang(name: &str) -> bool {
    name.starts_with("libclang.so")
        || (name.starts_with("libclang-") && name.contains(".so") && !name.contains("cpp"))
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

fn compiler_headers() -> Option<String> {
    let folder = output(Command::new("cc").arg("-print-file-name=include")).ok()?;
    Some(folder.trim().to_owned()).filter(|folder| Path::new(folder).is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libclang_is_not_libclang_cpp() {
        let found =
            ["libclang.so", "libclang.so.14", "libclang-14.so.1", "libclang-cpp.so.14", "libclangd.a"];
        assert_eq!(found.map(is_libclang), [true, true, true, false, false]);
    }

    #[test]
    fn the_comparison_is_no_part_of_the_workspace() {
        let workspace = Workspace::discover().unwrap();
        let root = workspace.root.join("bench");
        assert!(root.join("rocksdb/Cargo.lock").is_file());
        assert!(workspace.metadata.packages.iter().all(|package| !package.manifest_path.starts_with(&root)));
    }
}
