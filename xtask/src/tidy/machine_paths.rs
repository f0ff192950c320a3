// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No absolute path of somebody's machine.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;
use crate::rust::is_identifier;

/// Every absolute path below a folder of machines, in any text.
pub fn check(source: &Source, config: &Config) -> Vec<Finding> {
    let folders = config.machine_paths.folders.iter().map(|folder| format!("/{folder}/"));
    folders.flat_map(|folder| matches(source, &folder)).collect()
}

fn matches(source: &Source, folder: &str) -> Vec<Finding> {
    let found = source.text.match_indices(folder).filter(|(offset, _)| starts_path(&source.text[..*offset]));
    let message = format!("an absolute path below {folder}: make it relative, or an option");
    found
        .map(|(at, _)| Finding::fail("machine_paths", source.place(&source.text, at), message.clone()))
        .collect()
}

/// Whether a slash after this text starts an absolute path rather than goes on with a relative one.
fn starts_path(before: &str) -> bool {
    let inside = |c: char| is_identifier(c) || matches!(c, '.' | '~' | '-' | '}' | ')' | '>' | '*');
    !before.chars().next_back().is_some_and(inside)
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    fn places(text: &str) -> Vec<String> {
        let findings = check(&Source::new("a.md", text.into()), &config());
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn absolute_paths_are_found() {
        assert_eq!(places("/planted/x"), ["a.md:1"]);
        assert_eq!(places("a\n`/planted/` and \"/planted/y\" dir=/planted/z"), ["a.md:2"; 3]);
        assert_eq!(places("file:///planted/x"), ["a.md:1"]);
    }

    #[test]
    fn relative_paths_and_other_folders_pass() {
        assert_eq!(
            places("crates/planted/x ../planted/x $HOME/planted/x ${X}/planted/x ~/planted/"),
            [""; 0]
        );
        assert_eq!(places("/plantedness/x /usr/planted"), [""; 0]);
    }
}
