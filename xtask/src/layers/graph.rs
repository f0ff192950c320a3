// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The dependencies that the workspace declares.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::{Dependency, Package, Workspace};

/// All crates of the workspace by name.
#[derive(Default)]
pub struct Graph {
    /// Name to crate.
    pub crates: BTreeMap<String, Crate>,
}

/// One crate and what it declares.
#[derive(Default)]
pub struct Crate {
    /// The folder under `crates/` (`pure`, `edge`, `app`), or the top folder (`xtask`).
    pub room: String,
    /// Workspace crates it depends on; build dependencies count too.
    pub normal: BTreeSet<String>,
    /// Workspace crates only its tests, examples and benches depend on.
    pub dev: BTreeSet<String>,
    /// Outside crates it depends on.
    pub external: BTreeSet<String>,
    /// Outside crates only its tests, examples and benches depend on.
    pub external_dev: BTreeSet<String>,
}

impl Graph {
    /// The graph of a workspace, as declared (optional and target-specific dependencies included).
    pub fn of(workspace: &Workspace) -> Self {
        let packages = &workspace.metadata.packages;
        let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        let node = |package: &Package| {
            let room = room(&workspace.relative(&package.manifest_path));
            (package.name.clone(), Crate::new(room, &package.dependencies, &members))
        };
        Self { crates: packages.iter().map(node).collect() }
    }

    /// Everything a crate reaches: its own dependencies and dev-dependencies, and their normal ones, transitively.
    pub fn reach(&self, name: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let start = self.crates.get(name);
        let mut open: Vec<&String> =
            start.iter().flat_map(|node| node.normal.iter().chain(&node.dev)).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next.as_str()) {
                open.extend(self.crates.get(next).iter().flat_map(|node| &node.normal));
            }
        }
        reached
    }
}

impl Crate {
    fn new(room: String, dependencies: &[Dependency], members: &BTreeSet<&str>) -> Self {
        let mut node = Self { room, ..Self::default() };
        for dependency in dependencies {
            let dev = dependency.kind.as_deref() == Some("dev");
            let set = match (members.contains(dependency.name.as_str()), dev) {
                (true, false) => &mut node.normal,
                (true, true) => &mut node.dev,
                (false, false) => &mut node.external,
                (false, true) => &mut node.external_dev,
            };
            set.insert(dependency.name.clone());
        }
        node
    }
}

/// The room of a crate, from the relative path of its manifest.
fn room(manifest: &str) -> String {
    let inner = manifest.strip_prefix("crates/").unwrap_or(manifest);
    inner.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn add(graph: &mut Graph, name: &str, room: &str, normal: &[&str]) {
        let normal = normal.iter().map(|&to| to.to_owned()).collect();
        graph.crates.insert(name.into(), Crate { room: room.into(), normal, ..Crate::default() });
    }

    /// A graph of `(name, room, normal dependencies)`.
    pub fn graph(nodes: &[(&str, &str, &[&str])]) -> Graph {
        let mut graph = Graph::default();
        nodes.iter().for_each(|(name, room, normal)| add(&mut graph, name, room, normal));
        graph
    }

    fn dependency(name: &str, kind: Option<&str>) -> Dependency {
        Dependency { name: name.into(), kind: kind.map(str::to_owned), req: String::new() }
    }

    #[test]
    fn dependencies_are_sorted_by_kind_and_origin() {
        let declared = [
            dependency("ours", None),
            dependency("tool", Some("build")),
            dependency("ours", Some("dev")),
            dependency("theirs", None),
            dependency("probe", Some("dev")),
        ];
        let node = Crate::new("pure".into(), &declared, &["ours", "tool"].into());
        assert_eq!(node.normal, ["ours".to_owned(), "tool".to_owned()].into());
        assert_eq!(node.dev, ["ours".to_owned()].into());
        assert_eq!(node.external, ["theirs".to_owned()].into());
        assert_eq!(node.external_dev, ["probe".to_owned()].into());
    }

    #[test]
    fn rooms_come_from_the_folder() {
        assert_eq!(room("crates/pure/sim/Cargo.toml"), "pure");
        assert_eq!(room("xtask/Cargo.toml"), "xtask");
    }

    #[test]
    fn reach_is_transitive_but_ignores_dev_dependencies_of_others() {
        let mut graph =
            graph(&[("a", "pure", &["b"]), ("b", "pure", &["c"]), ("c", "pure", &[]), ("d", "pure", &[])]);
        graph.crates.get_mut("b").unwrap().dev.insert("d".into());
        assert_eq!(graph.reach("a"), ["b", "c"].into());
        assert_eq!(graph.reach("b"), ["c", "d"].into());
    }

    #[test]
    fn this_workspace_has_the_checker_in_its_own_room() {
        let graph = Graph::of(&Workspace::discover().unwrap());
        assert_eq!(graph.crates["xtask"].room, "xtask");
        assert!(graph.crates["xtask"].external.contains("serde_json"));
    }
}
