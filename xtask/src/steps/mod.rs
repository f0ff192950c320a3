// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of a run, in one table: cheap ones first, so that a slip shows early.

pub mod bindings;
mod children;
mod report;
mod rooms;
mod runner;
mod tally;

use std::collections::BTreeSet;
use std::path::Path;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::{Target, Workspace};
use crate::{layers, modules, packages, tidy};
pub use report::{Outcome, Report};
use rooms::Rooms;
pub use runner::{run, run_all};
#[cfg(test)]
pub use tally::Tally;

/// How much a run does; tests read it from `SAKER_TIER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Reduced counts. The dev profile (opt-level 1, optimised dependencies): it builds in a fraction of the time
    /// that optimised programs take, which the shorter test runs would not win back.
    Check,
    /// Full counts, optimised, with assertions: `[profile.soak]`.
    Soak,
}

/// What chooses the soak's profile.
const SOAK_PROFILE: &[&str] = &["--profile", "soak"];

/// One step of a run.
pub struct Step {
    /// What the report calls it.
    pub name: String,
    /// What it does.
    pub action: Action,
}

/// What a step does.
pub enum Action {
    /// A rule of this program; it fails on findings that fail.
    Rule(fn(&Workspace) -> Result<Vec<Finding>, Fault>),
    /// A cargo command; it fails with cargo, and its libtest results are counted.
    Cargo {
        /// The arguments.
        args: Vec<String>,
        /// The environment, besides the tier's.
        env: Vec<(&'static str, String)>,
    },
    /// A script of the workspace, which prints its results as libtest does.
    Script {
        /// Its path.
        path: &'static str,
        /// Its arguments.
        args: &'static [&'static str],
    },
}

/// Runs the check tier; true when nothing failed.
///
/// # Errors
/// When the workspace cannot be read.
pub fn check(workspace: &Workspace) -> Result<bool, Fault> {
    let report = run_all(workspace, Tier::Check, &common(workspace, Tier::Check));
    report.print();
    Ok(report.passed())
}

/// The steps that both tiers have.
pub fn common(workspace: &Workspace, tier: Tier) -> Vec<Step> {
    let profile: &[&str] = if tier == Tier::Soak { SOAK_PROFILE } else { &[] };
    let mut steps = vec![
        cargo("fmt", &["fmt", "--all", "--check"], &[]),
        // A workspace of its own, because it builds RocksDB.
        cargo("fmt rocksdb", &["fmt", "--manifest-path", "bench/rocksdb/Cargo.toml", "--check"], &[]),
        cargo("fmt peers", &["fmt", "--manifest-path", "bench/peers/Cargo.toml", "--check"], &[]),
        cargo(
            "fmt python",
            &["fmt", "--all", "--manifest-path", "bindings/python/Cargo.toml", "--check"],
            &[],
        ),
        cargo("fmt plug-in", &["fmt", "--manifest-path", "bindings/rocksdb/Cargo.toml", "--check"], &[]),
        rule("layers", layers::check),
        rule("modules", modules::check),
        rule("tidy", tidy::check),
        rule("packages", packages::check),
        packaged(workspace),
        script("deny", "packaging/deny"),
        cargo(
            "clippy",
            &["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"],
            &[],
        ),
    ];
    // Its side that needs no RocksDB: a changed field or call of ours is seen here.
    let rocksdb = ["--manifest-path", "bench/rocksdb/Cargo.toml", "--no-default-features", "--locked"];
    steps.push(cargo("check rocksdb", &[&["check"][..], &rocksdb].concat(), &[]));
    let peers = ["--manifest-path", "bench/peers/Cargo.toml", "--no-default-features", "--locked"];
    steps.push(cargo("check peers", &[&["check"][..], &peers].concat(), &[]));
    let plugin = ["--manifest-path", "bindings/rocksdb/Cargo.toml", "--no-default-features", "--locked"];
    let engine = ["check", "--features", "inside"];
    steps.push(cargo("check plug-in", &[&engine[..], &plugin].concat(), &[]));
    match tier {
        Tier::Check => {
            // Two steps, so that the report tells what building takes and what running.
            steps.push(tests("build", &["--lib", "--bins", "--tests", "--no-run"], profile));
            steps.push(tests("tests", &["--lib", "--bins", "--tests"], profile));
        }
        Tier::Soak => steps.extend(tests_by_name(workspace, profile)),
    }
    steps.push(tests("doc tests", &["--doc"], profile));
    steps.push(rustdoc(std::env::var("CARGO").ok().as_deref()));
    // `cargo test` runs a bench without the `--bench` argument, which it takes for its smoke mode: the smallest counts,
    // results checked, nothing measured.
    steps.extend(targets(workspace, "bench").into_iter().map(|bench| {
        // The whole workspace, as above: a single package selects other features and builds its dependencies anew.
        let args = [&["test", "--workspace", "--bench", bench], profile].concat();
        cargo(&format!("bench {bench}"), &args, &[])
    }));
    steps
}

/// Makes the packages of all crates that are published, without building them.
fn packaged(workspace: &Workspace) -> Step {
    let mut args = packages::cargo_package(workspace);
    args.extend(["--no-verify", "--offline", "--quiet"].map(str::to_owned));
    Step { name: "cargo package".to_owned(), action: Action::Cargo { args, env: Vec::new() } }
}

/// The documents. They need the metadata of each crate, which clippy has left: where the driver of `cargo clippy` lies beside `cargo`, a
/// build with it, with the flags and features of the step before, finds them. Otherwise every crate is looked at once more.
fn rustdoc(cargo_path: Option<&str>) -> Step {
    let driver = cargo_path.map(|path| Path::new(path).with_file_name("clippy-driver"));
    let driver = driver.filter(|driver| driver.is_file()).map(|driver| driver.display().to_string());
    // As `cargo clippy` says `-D warnings` to its driver.
    let flags = ["-D", "warnings"].map(|flag| format!("{flag}__CLIPPY_HACKERY__")).concat();
    let mut env = vec![("RUSTDOCFLAGS", "-D warnings")];
    if let Some(driver) = &driver {
        env.extend([("RUSTC_WORKSPACE_WRAPPER", driver.as_str()), ("CLIPPY_ARGS", &flags)]);
    }
    cargo(
        "rustdoc",
        &["doc", "--workspace", "--no-deps", "--keep-going", "--features", "saker/planted"],
        &env,
    )
}

/// A step that runs tests of the workspace, whatever fails.
fn tests(name: &str, which: &[&str], profile: &[&str]) -> Step {
    cargo(name, &[&["test", "--workspace", "--no-fail-fast"], which, profile].concat(), &[])
}

/// The tests in several steps, so that each can be run again by itself: all that are beside the code, then those of each
/// name.
fn tests_by_name(workspace: &Workspace, profile: &[&str]) -> Vec<Step> {
    let mut steps = vec![
        tests("build", &["--lib", "--bins", "--tests", "--no-run"], profile),
        tests("unit tests", &["--lib", "--bins"], profile),
    ];
    for target in test_programs(workspace) {
        let rooms = Rooms::of(target);
        if rooms.names.is_empty() {
            let name = &target.name;
            steps.push(tests(&format!("test {name}"), &["--test", name], profile));
        } else {
            steps.extend(rooms.names.iter().map(|room| tests_of_room(target, &rooms, room, profile)));
        }
    }
    steps
}

/// The tests of one module of a program that joins several.
fn tests_of_room(target: &Target, rooms: &Rooms, room: &str, profile: &[&str]) -> Step {
    let (program, filter) = (target.name.as_str(), format!("{room}::"));
    // libtest looks for the filter anywhere in a test's path.
    let skipped: Vec<String> = rooms.within(room).map(|other| format!("{other}::{room}::")).collect();
    let skips = skipped.iter().flat_map(|path| ["--skip", path]);
    let args = ["test", "--workspace", "--no-fail-fast", "--test", program].into_iter();
    let args = args.chain(profile.iter().copied()).chain(["--", &filter]).chain(skips);
    cargo(&format!("test {program} {room}"), &args.collect::<Vec<_>>(), &[])
}

/// The programs of tests, a name once.
fn test_programs(workspace: &Workspace) -> Vec<&Target> {
    let all = workspace.metadata.packages.iter().flat_map(|package| &package.targets);
    let mut programs: Vec<_> = all.filter(|target| target.kind.iter().any(|kind| kind == "test")).collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs.dedup_by(|a, b| a.name == b.name);
    programs
}

/// The names of all targets of a kind in the workspace.
fn targets<'w>(workspace: &'w Workspace, kind: &str) -> BTreeSet<&'w str> {
    let targets = workspace.metadata.packages.iter().flat_map(|package| &package.targets);
    let of_kind = targets.filter(|target| target.kind.iter().any(|k| k == kind));
    of_kind.map(|target| target.name.as_str()).collect()
}

/// A step that runs cargo.
pub fn cargo(name: &str, args: &[&str], env: &[(&'static str, &str)]) -> Step {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    let env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Step { name: name.to_owned(), action: Action::Cargo { args, env } }
}

/// A step that is a script of the workspace.
pub fn script(name: &str, path: &'static str) -> Step {
    Step { name: name.to_owned(), action: Action::Script { path, args: &[] } }
}

fn rule(name: &str, check: fn(&Workspace) -> Result<Vec<Finding>, Fault>) -> Step {
    Step { name: name.to_owned(), action: Action::Rule(check) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(tier: Tier) -> Vec<String> {
        let steps = common(&Workspace::discover().unwrap(), tier);
        let cargo = steps.into_iter().filter_map(|step| match step.action {
            Action::Cargo { args, .. } => Some(args.join(" ")),
            Action::Rule(_) | Action::Script { .. } => None,
        });
        cargo.collect()
    }

    #[test]
    fn tests_are_fully_optimised_only_in_the_soak() {
        assert!(
            commands(Tier::Check).contains(&"test --workspace --no-fail-fast --lib --bins --tests".into())
        );
        assert!(
            commands(Tier::Soak).contains(&"test --workspace --no-fail-fast --doc --profile soak".into())
        );
        assert!(commands(Tier::Check).iter().all(|command| !command.contains("--profile")));
    }

    #[test]
    fn documents_take_what_clippy_has_left_where_there_is_its_driver() {
        let variables = |cargo_path: Option<&str>| match rustdoc(cargo_path).action {
            Action::Cargo { env, .. } => env.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            Action::Rule(_) | Action::Script { .. } => Vec::new(),
        };
        assert_eq!(variables(None), ["RUSTDOCFLAGS"]);
        assert_eq!(variables(Some("/nowhere/cargo")), ["RUSTDOCFLAGS"]);
        let folder = std::env::temp_dir().join(format!("saker-xtask-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("clippy-driver"), "").unwrap();
        let found = variables(folder.join("cargo").to_str());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, ["RUSTDOCFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS"]);
    }

    #[test]
    fn every_bench_is_a_step() {
        let json = r#"{"packages": [{"name": "p", "manifest_path": "p/Cargo.toml", "dependencies": [], "targets":
            [{"name": "p", "kind": ["lib"], "src_path": "p"}, {"name": "b", "kind": ["bench"], "src_path": "b"}]}],
            "workspace_root": ".", "target_directory": "t"}"#;
        let workspace = Workspace { root: ".".into(), metadata: serde_json::from_str(json).unwrap() };
        assert_eq!(targets(&workspace, "bench"), ["b"].into());
        assert_eq!(common(&workspace, Tier::Check).last().unwrap().name, "bench b");
    }

    #[test]
    fn the_soak_has_a_step_for_every_name_of_tests() {
        let soak = commands(Tier::Soak);
        assert!(soak.contains(&"test --workspace --no-fail-fast --lib --bins --profile soak".into()));
        let workspace = Workspace::discover().unwrap();
        for target in test_programs(&workspace) {
            let of_it = soak.iter().filter(|command| command.contains(&format!(" --test {} ", target.name)));
            assert_eq!(of_it.count(), Rooms::of(target).names.len().max(1), "{}", target.name);
        }
        assert!(!soak.iter().any(|command| command.contains("--tests --profile")));
    }

    #[test]
    fn a_room_of_a_program_is_a_step_without_rooms_of_that_name_in_others() {
        let soak = commands(Tier::Soak);
        let format =
            soak.iter().find(|command| command.contains("--test doors") && command.contains("-- format::"));
        assert!(format.is_some_and(|command| command.contains("--skip image::format::")), "{format:?}");
    }
}
