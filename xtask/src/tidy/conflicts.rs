// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marks that a merge has left.

use super::config::Config;
use super::source::Source;
use crate::finding::Finding;

/// How a line begins that git writes where two sides differ; the line between the sides could be an underlined title.
const MARKS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

/// Every line of a merge that was not finished.
pub fn check(source: &Source, _: &Config) -> Vec<Finding> {
    let lines = source.text.lines().enumerate();
    let left = lines.filter(|(_, line)| MARKS.iter().any(|mark| line.starts_with(mark)));
    let place = |n: usize| format!("{}:{}", source.path, n + 1);
    left.map(|(n, _)| Finding::fail("conflicts", place(n), "a merge was not finished here")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::config;
    use super::*;

    #[test]
    fn both_sides_of_a_conflict_are_found() {
        let mark = |sign: &str, side: &str| format!("{} {side}\n", sign.repeat(7));
        let text =
            ["a\n", &mark("<", "HEAD"), "b\n=======\nc\n", &mark(">", "main"), " <<<<<<< b\n"].concat();
        let found: Vec<_> =
            check(&Source::new("a.md", text), &config()).into_iter().map(|finding| finding.place).collect();
        assert_eq!(found, ["a.md:2", "a.md:6"]);
    }
}
