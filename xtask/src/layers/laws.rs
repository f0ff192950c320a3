// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The laws that hold over everything a crate reaches, even when someone widens the table of edges.

use super::RULE;
use super::graph::Graph;
use super::table::{Join, Law, Table};
use crate::finding::Finding;

/// All broken laws.
pub fn judge(graph: &Graph, table: &Table) -> Vec<Finding> {
    let broken = table.laws.iter().flat_map(|law| breaches(graph, law));
    broken.chain(table.joins.iter().flat_map(|join| joiners(graph, join))).collect()
}

/// Whether a selector (`room:NAME` or a crate's name) means this crate.
fn selects(graph: &Graph, selector: &str, name: &str) -> bool {
    match selector.strip_prefix("room:") {
        Some(room) => graph.crates.get(name).is_some_and(|node| node.room == room),
        None => selector == name,
    }
}

fn selected(graph: &Graph, selectors: &[String], name: &str) -> bool {
    selectors.iter().any(|selector| selects(graph, selector, name))
}

fn breaches(graph: &Graph, law: &Law) -> Vec<Finding> {
    let mut findings = Vec::new();
    for from in graph.crates.keys().filter(|name| selected(graph, &law.from, name)) {
        for to in graph.reach(from).into_iter().filter(|to| selected(graph, &law.never, to)) {
            findings.push(Finding::fail(RULE, from, format!("reaches {to}: {}", law.why)));
        }
    }
    findings
}

fn joiners(graph: &Graph, join: &Join) -> Vec<Finding> {
    let [left, right] = &join.pair;
    let unbidden = graph.crates.keys().filter(|name| {
        let reached = graph.reach(name);
        reached.contains(left.as_str())
            && reached.contains(right.as_str())
            && !selected(graph, &join.only, name)
    });
    unbidden.map(|name| Finding::fail(RULE, name, format!("may not join {left} and {right}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    fn table() -> Table {
        Table::parse(
            r#"
            crates = {}
            laws = [
                { from = ["host"], never = ["device"], why = "separate" },
                { from = ["room:pure"], never = ["room:app"], why = "pure" },
            ]
            joins = [{ pair = ["host", "device"], only = ["world", "room:app"] }]
            "#,
        )
        .unwrap()
    }

    fn messages(graph: &Graph) -> Vec<String> {
        judge(graph, &table())
            .iter()
            .map(|finding| format!("{}: {}", finding.place, finding.message))
            .collect()
    }

    #[test]
    fn joining_is_for_the_named_only() {
        let graph = graph(&[
            ("host", "pure", &[]),
            ("device", "pure", &[]),
            ("world", "pure", &["host", "device"]),
            ("cli", "app", &["host", "device"]),
            ("kvfs", "pure", &["host", "device"]),
        ]);
        assert_eq!(messages(&graph), ["kvfs: may not join host and device"]);
    }

    #[test]
    fn a_law_sees_through_other_crates() {
        let graph =
            graph(&[("host", "pure", &["helper"]), ("helper", "pure", &["device"]), ("device", "pure", &[])]);
        assert_eq!(messages(&graph), ["host: reaches device: separate"]);
    }

    #[test]
    fn a_law_binds_dev_dependencies() {
        let mut graph = graph(&[("host", "pure", &[]), ("device", "pure", &[])]);
        graph.crates.get_mut("host").unwrap().dev.insert("device".into());
        assert_eq!(messages(&graph), ["host: reaches device: separate"]);
    }

    #[test]
    fn rooms_are_selected_by_folder() {
        let graph = graph(&[("sim", "pure", &["cli"]), ("cli", "app", &[]), ("serve", "edge", &["cli"])]);
        assert_eq!(messages(&graph), ["sim: reaches cli: pure"]);
    }
}
