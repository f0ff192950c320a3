// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lock file names the public registry only.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;

/// Every dependency source in a Cargo.lock that is not on the list.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    if !is_lock(&source.path) {
        return Vec::new();
    }
    let lines = source.text.lines().enumerate();
    let named = lines.filter_map(|(index, line)| Some((index, origin(line)?)));
    let unknown = named.filter(|(_, origin)| !config.lock.sources.iter().any(|allowed| allowed == origin));
    unknown
        .map(|(index, origin)| {
            Finding::fail(
                "lock",
                format!("{}:{}", source.path, index + 1),
                format!("{origin} is not on the list"),
            )
        })
        .collect()
}

fn is_lock(path: &str) -> bool {
    path.rsplit('/').next() == Some("Cargo.lock")
}

/// The value of a `source = "..."` line.
fn origin(line: &str) -> Option<&str> {
    line.strip_prefix("source = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        let findings = check(&Source::new(path, text.into()), &config());
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_mirror_is_found() {
        let text = "name = \"a\"\nsource = \"registry\"\nsource = \"registry+mirror\"\n";
        assert_eq!(places("Cargo.lock", text), ["Cargo.lock:3"]);
        assert_eq!(places("fuzz/Cargo.lock", text), ["fuzz/Cargo.lock:3"]);
        assert_eq!(places("NotCargo.lock", text), [""; 0]);
    }
}
