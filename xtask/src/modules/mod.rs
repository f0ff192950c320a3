// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Imports inside a crate: no circle between its top-level modules, and none between modules that are kept apart.

mod graph;
mod imports;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::Fault;
use crate::finding::Finding;
use crate::rust::is_test;
use crate::workspace::Workspace;
use graph::Graph;
use imports::Exports;
use table::Table;

const RULE: &str = "modules";

/// Reads the sources of every crate and compares their imports with the table in `xtask/modules.toml`.
///
/// # Errors
/// When the table does not parse, git fails or a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    let table = Table::load()?;
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, files) in sources(workspace)? {
        findings.extend(judge(&name, &files, &table));
        seen.insert(name);
    }
    let unknown = table.names().into_iter().filter(|name| !seen.contains(*name));
    findings.extend(
        unknown.map(|name| Finding::fail(RULE, name, "in xtask/modules.toml but not in the workspace")),
    );
    Ok(findings)
}

/// The Rust files of each crate's `src`: the path below it, and the text.
fn sources(workspace: &Workspace) -> Result<BTreeMap<String, Vec<(String, String)>>, Fault> {
    let mut all: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let tracked = workspace.tracked_files()?;
    for package in &workspace.metadata.packages {
        let manifest = workspace.relative(&package.manifest_path);
        let folder = format!("{}src/", manifest.trim_end_matches("Cargo.toml"));
        let files = all.entry(package.name.clone()).or_default();
        for path in tracked.iter().filter(|path| path.starts_with(&folder) && path.ends_with(".rs")) {
            let text =
                fs::read_to_string(workspace.root.join(path)).map_err(|error| format!("{path}: {error}"))?;
            files.push((path[folder.len()..].to_owned(), text));
        }
    }
    Ok(all)
}

/// Who imports whom among the top-level modules of a crate.
fn graph_of(files: &[(String, String)]) -> Graph {
    let modules: BTreeSet<&str> = files.iter().filter_map(|(path, _)| imports::module_of(path)).collect();
    let root = files.iter().find(|(path, _)| path == "lib.rs").map_or("", |(_, text)| text);
    let exports = Exports::of(root, &modules);
    let mut graph = Graph::default();
    modules.iter().for_each(|name| graph.add_module(name));
    for (path, text) in files.iter().filter(|(path, _)| !is_test(path)) {
        let Some(from) = imports::module_of(path) else { continue };
        for to in imports::of(path, text, &exports).into_iter().filter(|to| to != from) {
            graph.add(from, &to, path);
        }
    }
    graph
}

/// All findings on one crate.
fn judge(name: &str, files: &[(String, String)], table: &Table) -> Vec<Finding> {
    let graph = graph_of(files);
    let allowed = table.circles.get(name);
    let known = allowed.cloned().unwrap_or_default();
    let circles = graph.circles();
    let mut findings: Vec<Finding> = (circles.iter())
        .filter(|circle| !known.contains(*circle))
        .map(|circle| {
            let edges = graph.edges_within(circle).join(", ");
            Finding::fail(RULE, name, format!("modules import each other in a circle: {edges}"))
        })
        .collect();
    let gone = known.iter().filter(|circle| !circles.contains(*circle));
    findings.extend(gone.map(|circle| {
        let circle = circle.join(", ");
        Finding::fail(RULE, name, format!("xtask/modules.toml allows a circle that is not there: {circle}"))
    }));
    for law in table.apart.iter().filter(|law| law.within == name).map(|law| law.among(files)) {
        for (from, to, file) in graph.edges_among(&law.modules) {
            findings.push(Finding::fail(
                RULE,
                format!("{name}: {file}"),
                format!("{from} imports {to}: {}", law.why),
            ));
        }
        if law.modules.len() < 2 {
            findings.push(Finding::fail(RULE, name, format!("has nothing to keep apart: {}", law.why)));
        }
        let lost = law.modules.iter().filter(|module| !graph.has(module));
        findings.extend(
            lost.map(|module| Finding::fail(RULE, name, format!("has no module {module} to keep apart"))),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn table() -> Table {
        Table::parse(
            "circles = { old = [['a', 'b']] }\n\
             [[apart]]\nwithin = 'house'\nmodules = ['x', 'y']\nwhy = 'they are apart'",
        )
        .unwrap()
    }

    fn found(name: &str, list: &[(&str, &str)]) -> Vec<String> {
        judge(name, &files(list), &table()).into_iter().map(|f| f.message).collect()
    }

    #[test]
    fn a_circle_is_found_with_its_files() {
        let round = [
            ("lib.rs", "mod a; mod b; pub mod c; pub use c::See;"),
            ("a.rs", "use crate::b::{One, two};"),
            ("b/mod.rs", "fn f() -> crate::See { todo!() }"),
            ("b/deep.rs", "use super::Other;"),
            ("c.rs", "use super::a::Back;"),
        ];
        let expected =
            "modules import each other in a circle: a -> b (a.rs), b -> c (b/mod.rs), c -> a (c.rs)";
        assert_eq!(found("new", &round), [expected]);
        assert_eq!(found("new", &round[..4]), [""; 0]);
    }

    #[test]
    fn a_circle_that_is_allowed_must_be_there() {
        let round = [("lib.rs", ""), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a::X;")];
        assert_eq!(found("old", &round), [""; 0]);
        assert_eq!(found("old", &round[..2]), ["xtask/modules.toml allows a circle that is not there: a, b"]);
    }

    #[test]
    fn modules_apart_import_nothing_of_each_other() {
        let shared =
            [("lib.rs", ""), ("x/mod.rs", "use crate::kit::K;"), ("y.rs", "use crate::kit;"), ("kit.rs", "")];
        assert_eq!(found("house", &shared), [""; 0]);
        let reach = [("lib.rs", ""), ("x/mod.rs", "fn f() { crate::y::g(); }"), ("y.rs", "")];
        assert_eq!(found("house", &reach), ["x imports y: they are apart"]);
        assert_eq!(found("house", &[("lib.rs", ""), ("x.rs", "")]), ["has no module y to keep apart"]);
    }

    #[test]
    fn modules_with_a_file_are_kept_apart_whatever_their_names() {
        let table =
            Table::parse("[[apart]]\nwithin = 'house'\nwith_file = 'door.rs'\nwhy = 'they are apart'")
                .unwrap();
        let rooms = [
            ("lib.rs", ""),
            ("x/door.rs", ""),
            ("y/door.rs", ""),
            ("kit/mod.rs", ""),
            ("x/mod.rs", "use crate::kit;"),
        ];
        let told = |more: &[(&str, &str)]| -> Vec<String> {
            let list = files(&[&rooms[..], more].concat());
            judge("house", &list, &table).into_iter().map(|f| f.message).collect()
        };
        assert_eq!(told(&[]), [""; 0]);
        assert_eq!(told(&[("y/mod.rs", "use crate::x::X;")]), ["y imports x: they are apart"]);
        let none = judge("house", &files(&[("lib.rs", ""), ("x/door.rs", "")]), &table);
        assert_eq!(none.len(), 1, "one module is apart from nothing: the file may have another name now");
    }

    #[test]
    fn tests_may_import_what_they_like() {
        let round = [
            ("lib.rs", ""),
            ("a.rs", "use crate::b::X;"),
            ("b.rs", "struct X;\n#[cfg(test)]\nmod tests { use crate::a::Y; }"),
            ("b/tests.rs", "use crate::a::Y;"),
        ];
        assert_eq!(found("new", &round), [""; 0]);
    }
}
