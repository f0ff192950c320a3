// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask package`: the command as a static program and as a Debian package, with manual pages and completions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::Fault;
use crate::workspace::{Workspace, cargo};

/// What is built for: no library of the system is needed where it runs.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";
/// Most bytes that the static program may have without symbols.
const STATIC_BYTES_MAX: u64 = 20_000_000;

/// Arguments of `cargo xtask package`.
#[derive(Args)]
pub struct PackageArgs {
    /// The profile that is built: dist for what is handed out
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Leave the Debian package out
    #[arg(long)]
    no_deb: bool,
}

/// Builds them into `target/package`. What is missing is told, with the command that installs it.
///
/// # Errors
/// When a tool is missing or fails, or the program is larger than it may be.
pub fn package(workspace: &Workspace, args: &PackageArgs) -> Result<bool, Fault> {
    let out = workspace.metadata.target_directory.join("package-out");
    fs::create_dir_all(&out)?;
    pages(workspace, &workspace.root.join("target/pages"))?;
    let program = program(workspace, args, &out)?;
    let bytes = fs::metadata(&program)?.len();
    println!("{}: {bytes} bytes, at most {STATIC_BYTES_MAX}", program.display());
    if bytes > STATIC_BYTES_MAX {
        return Err(format!(
            "the static program has {bytes} bytes, and at most {STATIC_BYTES_MAX} are allowed"
        )
        .into());
    }
    if !args.no_deb {
        println!("{}", deb(workspace, args, &out)?.display());
    }
    Ok(true)
}

fn run(command: &mut Command, todo: &str) -> Result<(), Fault> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}; {todo}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status}); {todo}").into()) }
}

/// Manual pages and completions.
fn pages(workspace: &Workspace, folder: &Path) -> Result<(), Fault> {
    let mut command = cargo();
    command.args(["run", "-q", "-p", "saker-cli", "--features", "pages", "--example", "pages", "--"]);
    run(command.arg(folder).current_dir(&workspace.root), "see above")
}

/// The static program, without symbols.
fn program(workspace: &Workspace, args: &PackageArgs, out: &Path) -> Result<PathBuf, Fault> {
    let mut build = cargo();
    build.args(["build", "-p", "saker-cli", "--profile", &args.profile, "--target", STATIC_TARGET]);
    // Flags of the caller's may be for another target.
    build.env_remove("RUSTFLAGS").current_dir(&workspace.root);
    // Reports name it.
    build.envs(commit(workspace).map(|commit| ("SAKER_COMMIT", commit)));
    run(&mut build, "`rustup target add x86_64-unknown-linux-musl` installs what it needs")?;
    let built = built(workspace, args);
    let program = out.join("saker");
    run(Command::new("strip").arg("-o").arg(&program).arg(built), "install binutils")?;
    Ok(program)
}

/// The commit of the source tree, if it is one of git's.
fn commit(workspace: &Workspace) -> Option<String> {
    let mut git = Command::new("git");
    let found = git.args(["rev-parse", "--short=12", "HEAD"]).current_dir(&workspace.root).output().ok()?;
    found.status.success().then(|| String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

/// Where cargo puts the program.
fn built(workspace: &Workspace, args: &PackageArgs) -> PathBuf {
    workspace.metadata.target_directory.join(STATIC_TARGET).join(&args.profile).join("saker")
}

/// Whether the package's changelog begins with the version that is built.
fn has_entry(workspace: &Workspace) -> Result<(), Fault> {
    let path = workspace.root.join("packaging/changelog");
    let text = fs::read_to_string(&path)?;
    let cli = workspace.metadata.packages.iter().find(|package| package.name == "saker-cli");
    let version = cli.map(|package| package.version.as_str()).unwrap_or_default();
    match text.starts_with(&format!("saker ({version}-1) ")) {
        true => Ok(()),
        false => Err(format!("{}: add an entry of version {version}-1", path.display()).into()),
    }
}

/// The Debian package of the program.
fn deb(workspace: &Workspace, args: &PackageArgs, out: &Path) -> Result<PathBuf, Fault> {
    // cargo-deb takes what is where cargo puts it.
    fs::copy(out.join("saker"), built(workspace, args))?;
    has_entry(workspace)?;
    let deb = out.join("saker.deb");
    let mut command = cargo();
    command.args(["deb", "-p", "saker-cli", "--no-build", "--no-strip", "--profile", &args.profile]);
    command.args(["--target", STATIC_TARGET, "-o"]).arg(&deb).current_dir(&workspace.root);
    run(
        &mut command,
        "`cargo install cargo-deb` installs it; before 3.0 it does not know this workspace's resolver",
    )?;
    Ok(deb)
}
