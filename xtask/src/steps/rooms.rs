// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The modules of a test program that joins what could be several.

use crate::workspace::Target;
use std::path::{Path, PathBuf};

/// The modules with tests that `tests/main.rs` declares.
pub struct Rooms {
    folder: PathBuf,
    /// Their names; none for a program that is one file.
    pub names: Vec<String>,
}

impl Rooms {
    /// Those of a program.
    pub fn of(target: &Target) -> Self {
        let folder = target.src_path.parent().unwrap_or(Path::new("")).to_owned();
        let is_joined = target.src_path.ends_with("tests/main.rs");
        let text = if is_joined {
            std::fs::read_to_string(&target.src_path).unwrap_or_default()
        } else {
            String::new()
        };
        let declared = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let names = declared.filter(|name| has_tests(&folder, name)).map(str::to_owned).collect();
        Self { folder, names }
    }

    /// Modules that have a module of that name inside.
    pub fn within<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let has = move |other: &&String| {
            let inside = self.folder.join(other.as_str());
            inside.join(format!("{name}.rs")).exists() || inside.join(name).is_dir()
        };
        self.names.iter().filter(has).map(String::as_str)
    }
}

/// Whether a module has tests, in its file or its folder. A macro may write them.
fn has_tests(folder: &Path, name: &str) -> bool {
    let file = folder.join(format!("{name}.rs"));
    let inside =
        std::fs::read_dir(folder.join(name)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut texts = inside.chain([file]).filter_map(|path| std::fs::read_to_string(path).ok());
    texts.any(|text| text.contains("#[test]\nfn") || text.contains("suites!") || text.contains("_suite!("))
}
