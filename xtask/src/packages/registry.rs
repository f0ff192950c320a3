// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Crates that are published say what they are, have a README, and depend on crates that are published, too.

use std::collections::BTreeMap;
use std::fs;

use crate::Fault;
use crate::finding::Finding;
use crate::workspace::{Package, Workspace};

/// Keywords that a registry takes.
const KEYWORDS_MAX: usize = 5;

/// The crates that are not published.
pub fn kept(workspace: &Workspace) -> Vec<&str> {
    let all = workspace.metadata.packages.iter();
    all.filter(|package| !package.is_published()).map(|package| package.name.as_str()).collect()
}

/// What keeps crates from being published.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>, Fault> {
    let all = &workspace.metadata.packages;
    let published: BTreeMap<&str, bool> = all.iter().map(|p| (p.name.as_str(), p.is_published())).collect();
    let mut findings = Vec::new();
    for package in all.iter().filter(|package| package.is_published()) {
        let readme = package.readme.as_ref().map(|name| package.manifest_path.with_file_name(name));
        let readme =
            readme.map(|path| fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display())));
        let wrong = described(package, readme.transpose()?.as_deref());
        let wrong = wrong.into_iter().chain(depends(package, &published));
        findings.extend(wrong.map(|what| Finding::fail("registry", package.name.as_str(), what)));
    }
    Ok(findings)
}

/// What a crate does not say of itself.
fn described(package: &Package, readme: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut ensure = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned());
        }
    };
    ensure(
        package.description.as_ref().is_some_and(|text| text.len() > 20),
        "has no `description` of a sentence",
    );
    ensure(package.license.is_some(), "has no `license`");
    ensure((1..=KEYWORDS_MAX).contains(&package.keywords.len()), "has no `keywords`, or more than five");
    let title = format!("# {}\n", package.name);
    ensure(readme.is_some_and(|text| text.starts_with(&title)), "has no README.md that begins with its name");
    let told = package.description.clone().unwrap_or_default();
    ensure(
        readme.is_some_and(|text| text.contains(&told)),
        "has a README.md that does not have its description",
    );
    wrong
}

/// Dependencies with which a crate cannot be published. Those of tests that have no version are left out of what is published.
fn depends<'p>(
    package: &'p Package,
    published: &'p BTreeMap<&str, bool>,
) -> impl Iterator<Item = String> + 'p {
    let ours = package.dependencies.iter().filter_map(|d| Some((d, *published.get(d.name.as_str())?)));
    ours.filter_map(|(dependency, is_published)| {
        let has_version = dependency.req != "*";
        let name = &dependency.name;
        match (dependency.kind.as_deref() == Some("dev"), is_published, has_version) {
            (true, _, false) | (_, true, true) => None,
            (false, true, false) => Some(format!("depends on {name} by its path alone: add a version")),
            (_, false, _) => Some(format!("depends on {name}, which is not published")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package() -> Package {
        let json = r#"{"name": "a", "manifest_path": "a/Cargo.toml", "dependencies": [], "targets": [], "license": "MIT",
            "description": "Something that is described", "keywords": ["one"], "readme": "README.md", "publish": null}"#;
        serde_json::from_str(json).unwrap()
    }

    const README: Option<&str> = Some("# a\n\nSomething that is described.\n");

    #[test]
    fn whatever_is_missing_is_found() {
        assert_eq!(described(&package(), README), Vec::<String>::new());
        assert_eq!(described(&package(), None).len(), 2);
        assert_eq!(described(&package(), Some("# b\n\nSomething that is described.\n")).len(), 1);
        assert_eq!(described(&package(), Some("# a\n")).len(), 1);
        let six = vec!["k".to_owned(); 6];
        assert_eq!(described(&Package { keywords: six, ..package() }, README).len(), 1);
        assert_eq!(described(&Package { description: None, ..package() }, README).len(), 1);
        assert_eq!(described(&Package { license: None, ..package() }, README).len(), 1);
    }

    #[test]
    fn dependencies_are_published_with_a_version_or_of_tests_alone() {
        let wrong = |name: &str, kind: Option<&str>, req: &str| {
            let dependency = Dependency { name: name.into(), kind: kind.map(Into::into), req: req.into() };
            let package = Package { dependencies: vec![dependency], ..package() };
            depends(&package, &BTreeMap::from([("public", true), ("private", false)])).count()
        };
        assert_eq!((wrong("public", None, "^0.1"), wrong("public", None, "*")), (0, 1));
        assert_eq!((wrong("private", None, "^0.1"), wrong("private", None, "*")), (1, 1));
        assert_eq!((wrong("private", Some("dev"), "*"), wrong("private", Some("dev"), "^0.1")), (0, 1));
        assert_eq!(wrong("other", None, "*"), 0, "not ours");
    }

    #[test]
    fn what_is_published_and_what_is_kept() {
        assert!(package().is_published());
        assert!(!Package { publish: Some(Vec::new()), ..package() }.is_published());
        // cargo tells them in an order of its own.
        let workspace = Workspace::discover().unwrap();
        let mut kept = kept(&workspace);
        kept.sort_unstable();
        assert_eq!(kept, ["saker-engine-suite", "saker-isolation", "saker-testing", "xtask"]);
    }
}
