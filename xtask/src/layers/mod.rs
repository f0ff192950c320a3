// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The direction check: every declared dependency against the table in `xtask/layers.toml`.

mod graph;
mod laws;
mod table;

use std::collections::BTreeSet;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::Workspace;
use graph::{Crate, Graph};
use table::Table;

const RULE: &str = "layers";

/// Compares the workspace's dependencies with the table.
///
/// # Errors
/// When the table does not parse.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    Ok(judge(&Graph::of(workspace), &Table::load()?))
}

/// All findings on a graph.
fn judge(graph: &Graph, table: &Table) -> Vec<Finding> {
    let mut findings = names(graph, table);
    for (name, node) in &graph.crates {
        findings.extend(edges(name, node, table));
        findings.extend(externals(name, node, table));
    }
    findings.extend(laws::judge(graph, table));
    findings
}

/// The table and the workspace name the same crates.
fn names(graph: &Graph, table: &Table) -> Vec<Finding> {
    let untabled = graph.crates.keys().filter(|name| !table.crates.contains_key(*name));
    let untabled = untabled.map(|name| Finding::fail(RULE, name, "missing from xtask/layers.toml"));
    let unknown = table.names().into_iter().filter(|name| !graph.crates.contains_key(*name));
    let unknown =
        unknown.map(|name| Finding::fail(RULE, name, "in xtask/layers.toml but not in the workspace"));
    untabled.chain(unknown).collect()
}

/// Workspace dependencies that the table does not allow.
fn edges(name: &str, node: &Crate, table: &Table) -> Vec<Finding> {
    let Some(allowed) = table.crates.get(name) else { return Vec::new() };
    let normal = refused(&node.normal, &[&allowed.normal]);
    let dev = refused(&node.dev, &[&allowed.normal, &allowed.dev]);
    let message =
        |kind: &str, to: String| Finding::fail(RULE, name, format!("may not have {to} as a {kind}"));
    let normal = normal.into_iter().map(|to| message("dependency", to));
    normal.chain(dev.into_iter().map(|to| message("dev-dependency", to))).collect()
}

/// Outside dependencies that the crate's room does not allow.
fn externals(name: &str, node: &Crate, table: &Table) -> Vec<Finding> {
    let Some(allowed) = table.external.get(&node.room) else { return Vec::new() };
    let normal = refused(&node.external, &[&allowed.normal]);
    let dev = refused(&node.external_dev, &[&allowed.normal, &allowed.dev]);
    let message = |to| format!("outside dependency {to} is not on the list for room {}", node.room);
    normal.into_iter().chain(dev).map(|to| Finding::fail(RULE, name, message(to))).collect()
}

/// The used names that no list allows.
fn refused(used: &BTreeSet<String>, allowed: &[&Vec<String>]) -> Vec<String> {
    used.iter().filter(|name| !allowed.iter().any(|list| list.contains(name))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::graph::tests::{add, graph};
    use super::*;

    /// host and device over link; world joins them; pure crates may use `good`, and `probe` in tests.
    fn table() -> Table {
        Table::parse(
            r#"
            [crates.link]
            [crates.host]
            normal = ["link"]
            dev = ["world"]
            [crates.device]
            normal = ["link"]
            [crates.world]
            normal = ["host", "device"]
            [external.pure]
            normal = ["good"]
            dev = ["probe"]
            "#,
        )
        .unwrap()
    }

    fn sound() -> Graph {
        graph(&[
            ("link", "pure", &[]),
            ("host", "pure", &["link"]),
            ("device", "pure", &["link"]),
            ("world", "pure", &["host", "device"]),
        ])
    }

    fn messages(graph: &Graph) -> Vec<String> {
        judge(graph, &table())
            .iter()
            .map(|finding| format!("{}: {}", finding.place, finding.message))
            .collect()
    }

    #[test]
    fn a_sound_graph_has_no_findings() {
        assert_eq!(messages(&sound()), Vec::<String>::new());
    }

    #[test]
    fn a_planted_edge_is_rejected() {
        let mut graph = sound();
        graph.crates.get_mut("host").unwrap().normal.insert("device".into());
        assert_eq!(messages(&graph), ["host: may not have device as a dependency"]);
    }

    #[test]
    fn a_dev_edge_needs_its_own_permission() {
        let mut graph = sound();
        graph.crates.get_mut("host").unwrap().dev.insert("world".into());
        assert_eq!(messages(&graph), Vec::<String>::new());
        graph.crates.get_mut("device").unwrap().dev.insert("world".into());
        assert_eq!(messages(&graph), ["device: may not have world as a dev-dependency"]);
        graph.crates.get_mut("host").unwrap().normal.insert("world".into());
        assert_eq!(messages(&graph).len(), 2, "a dev permission is no normal permission");
    }

    #[test]
    fn an_unlisted_crate_and_a_stale_entry_are_rejected() {
        let mut graph = sound();
        add(&mut graph, "newcomer", "pure", &[]);
        graph.crates.remove("world");
        let expected = [
            "newcomer: missing from xtask/layers.toml",
            "world: in xtask/layers.toml but not in the workspace",
        ];
        assert_eq!(messages(&graph), expected);
    }

    #[test]
    fn an_outside_dependency_must_be_on_the_list_of_its_room() {
        let mut graph = sound();
        let host = graph.crates.get_mut("host").unwrap();
        host.external.extend(["good".into(), "probe".into()]);
        host.external_dev.extend(["good".into(), "probe".into(), "bad".into()]);
        let expected = ["probe", "bad"]
            .map(|name| format!("host: outside dependency {name} is not on the list for room pure"));
        assert_eq!(messages(&graph), expected);
    }

    #[test]
    fn a_room_without_a_list_is_free() {
        let mut graph = sound();
        let world = graph.crates.get_mut("world").unwrap();
        world.room = "edge".into();
        world.external.insert("bad".into());
        assert_eq!(messages(&graph), Vec::<String>::new());
    }
}
