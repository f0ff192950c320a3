// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every file of code says on its first line what its licence is, as REUSE.toml says it; so does a file that is copied out of here.

use std::fs;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::Workspace;

use super::licences::Reuse;

const TAG: &str = "SPDX-License-Identifier: ";

/// How a comment begins and ends in files of code; none: it is no code.
fn comment(path: &str, text: &str) -> Option<(&'static str, &'static str)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs" | "mjs") => Some(("// ", "")),
        Some("c") => Some(("/* ", " */")),
        Some("py" | "pyi" | "sh") => Some(("# ", "")),
        None if text.starts_with("#!") => Some(("# ", "")),
        _ => None,
    }
}

/// The line that a file should have, and where it belongs; none: it is there, or the file is no code.
fn missing(path: &str, text: &str, licence: &str) -> Option<(String, usize)> {
    let (begin, end) = comment(path, text)?;
    let line = format!("{begin}{TAG}{licence}{end}\n");
    let at = if text.starts_with("#!") { text.find('\n').map_or(text.len(), |at| at + 1) } else { 0 };
    (!text[at..].starts_with(&line)).then_some((line, at))
}

/// Gets a file's path and text, the line that it lacks, and where that belongs.
type Visit<'v> = dyn FnMut(&str, &str, (String, usize)) -> Result<(), Fault> + 'v;

/// Calls `each` for every file without its line.
fn walk(workspace: &Workspace, each: &mut Visit<'_>) -> Result<(), Fault> {
    let reuse = Reuse::load(workspace)?;
    for path in workspace.tracked_files()? {
        // What is no text is no code.
        let Ok(text) = fs::read_to_string(workspace.root.join(&path)) else { continue };
        let line = reuse.licence_of(&path).and_then(|licence| missing(&path, &text, licence));
        line.map_or(Ok(()), |line| each(&path, &text, line))?;
    }
    Ok(())
}

/// Files without their line.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    let mut findings = Vec::new();
    walk(workspace, &mut |path, _, (line, _)| {
        let what = format!("does not begin with `{}`: `cargo xtask packages --fix` adds it", line.trim_end());
        findings.push(Finding::fail("licences", path, what));
        Ok(())
    })?;
    Ok(findings)
}

/// Adds the lines; how many files had none.
pub fn fix(workspace: &Workspace) -> Result<usize, Fault> {
    let mut count = 0;
    walk(workspace, &mut |path, text, (line, at)| {
        count += 1;
        let (head, rest) = text.split_at(at);
        Ok(fs::write(workspace.root.join(path), [head, &line, rest].concat())?)
    })?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_at_the_beginning_or_behind_the_interpreter() {
        let line = |path: &str, text: &str| missing(path, text, "MIT");
        assert_eq!(line("a.rs", "//! A\n"), Some((format!("// {TAG}MIT\n"), 0)));
        assert_eq!(line("a.rs", &format!("// {TAG}MIT\n//! A\n")), None);
        assert_eq!(line("a.rs", &format!("// {TAG}GPL-3.0-only\n")), Some((format!("// {TAG}MIT\n"), 0)));
        assert_eq!(line("b/run", "#!/bin/sh\nset -eu\n"), Some((format!("# {TAG}MIT\n"), 10)));
        assert_eq!(line("b/run", &format!("#!/bin/sh\n# {TAG}MIT\n")), None);
        assert_eq!(line("c.c", "int x;"), Some((format!("/* {TAG}MIT */\n"), 0)));
        assert_eq!(line("d.py", ""), Some((format!("# {TAG}MIT\n"), 0)));
        assert_eq!(
            (line("README.md", "# A"), line("LICENSE", "text"), line("a.b/toml", "x = 1")),
            (None, None, None)
        );
    }
}
