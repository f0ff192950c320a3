// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who imports whom.

use std::collections::{BTreeMap, BTreeSet};

/// Modules, what each imports, and the first file that does.
#[derive(Default)]
pub struct Graph {
    edges: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// A file of `from` imports `to`.
    pub fn add(&mut self, from: &str, to: &str, file: &str) {
        self.edges.entry(to.to_owned()).or_default();
        let of = self.edges.entry(from.to_owned()).or_default();
        of.entry(to.to_owned()).or_insert_with(|| file.to_owned());
    }

    /// A module is there, whether it imports or not.
    pub fn add_module(&mut self, name: &str) {
        self.edges.entry(name.to_owned()).or_default();
    }

    /// Whether there is such a module.
    pub fn has(&self, module: &str) -> bool {
        self.edges.contains_key(module)
    }

    /// Groups of modules that reach each other, each sorted.
    pub fn circles(&self) -> BTreeSet<Vec<String>> {
        let reach: BTreeMap<_, _> = self.edges.keys().map(|name| (name, self.reach(name))).collect();
        let circle = |name: &String| -> Vec<String> {
            let back = |other: &&String| reach[name].contains(*other) && reach[*other].contains(name);
            self.edges.keys().filter(back).cloned().collect()
        };
        self.edges.keys().map(circle).filter(|circle| circle.len() > 1).collect()
    }

    fn reach(&self, name: &str) -> BTreeSet<&String> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = self.edges.get(name).into_iter().flat_map(BTreeMap::keys).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(self.edges.get(next).into_iter().flat_map(BTreeMap::keys));
            }
        }
        reached
    }

    /// The imports between some modules: importer, imported, and the file.
    pub fn edges_among<'g>(
        &'g self,
        modules: &'g [String],
    ) -> impl Iterator<Item = (&'g String, &'g String, &'g String)> {
        let from = self.edges.iter().filter(|(name, _)| modules.contains(name));
        from.flat_map(move |(from, to)| {
            to.iter().filter(|(to, _)| modules.contains(to)).map(move |(to, file)| (from, to, file))
        })
    }

    /// The same as text.
    pub fn edges_within(&self, modules: &[String]) -> Vec<String> {
        self.edges_among(modules).map(|(from, to, file)| format!("{from} -> {to} ({file})")).collect()
    }
}
