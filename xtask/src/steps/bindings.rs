// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Steps of what is written in other languages, each a script beside it. They need programs that a machine may lack: a step without its
//! own counts as ignored.

use super::{Action, Step};

/// Names, scripts and their arguments.
const SCRIPTS: &[(&str, &str, &[&str])] = &[
    ("python pytest", "bindings/python/check", &["pytest"]),
    ("python stubs", "bindings/python/check", &["stubs"]),
    ("python speed", "bindings/python/check", &["speed"]),
    ("python sglang", "bindings/python/check", &["sglang"]),
    ("rocksdb plugin", "bindings/rocksdb/check", &["plugin"]),
    ("rocksdb crash", "bindings/rocksdb/check", &["crash"]),
    ("rocksdb newest", "bindings/rocksdb/check", &["newest"]),
    ("rocksdb store", "bindings/rocksdb/check", &["store"]),
    ("c header", "crates/edge/c/check", &["header"]),
    ("c tsan", "crates/edge/c/check", &["tsan"]),
];

/// The steps, in the order of the table.
pub fn steps() -> Vec<Step> {
    let step =
        |&(name, path, args): &_| Step { name: String::from(name), action: Action::Script { path, args } };
    SCRIPTS.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn every_script_is_there() {
        let root = Workspace::discover().unwrap().root;
        for (name, path, _) in SCRIPTS {
            assert!(root.join(path).is_file(), "{name}: {path}");
        }
    }
}
