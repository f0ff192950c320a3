// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a file passes on from other crates: `pub use saker_host::{KeyRange, ...}`.

use super::super::source::Source;
use crate::rust::{find_word, is_identifier};

/// Words at the head of a path that stay in the crate.
const INSIDE: [&str; 3] = ["crate", "self", "super"];

/// An item of another crate.
pub struct Export {
    /// The name of its crate in code.
    pub krate: String,
    /// The folder of its crate.
    pub folder: String,
    /// Its name there.
    pub original: String,
    /// Its name here.
    pub name: String,
}

/// The exports of a file, each with its place. A crate of this workspace has its folder's name behind the first `_`.
pub fn of(source: &Source) -> Vec<(String, Export)> {
    let code = source.code.as_deref().unwrap_or_default();
    let uses = find_word(code, "pub use").filter_map(|at| {
        let path = code[at + "pub use".len()..].split_once(';')?.0;
        let krate = path.trim().split(|c| !is_identifier(c)).next()?;
        let is_outside = krate.contains('_') && !INSIDE.contains(&krate);
        is_outside.then(|| leaves(path).map(move |leaf| (source.place(code, at), export(krate, leaf))))
    });
    uses.flatten().collect()
}

/// The last parts of a tree of paths.
fn leaves(path: &str) -> impl Iterator<Item = &str> {
    path.split(['{', '}', ',']).map(str::trim).filter(|part| !part.is_empty() && !part.ends_with("::"))
}

fn export(krate: &str, leaf: &str) -> Export {
    let (original, name) = leaf.split_once(" as ").unwrap_or((leaf, leaf));
    let last = |path: &str| path.rsplit("::").next().unwrap_or(path).trim().to_owned();
    let folder = krate.split_once('_').map_or(krate, |(_, name)| name).replace('_', "-");
    Export { krate: krate.to_owned(), folder, original: last(original), name: last(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_paths_are_taken_apart() {
        let text = "pub use saker_a_b::c::{D, e::F as G};\npub use saker_h as i;\npub use crate::x_y::Z;\nuse saker_j::K;";
        let found = of(&Source::new("x.rs", text.into()));
        let names = found.iter().map(|(place, e)| (&place[..], &e.folder[..], &e.original[..], &e.name[..]));
        let expected =
            [("x.rs:1", "a-b", "D", "D"), ("x.rs:1", "a-b", "F", "G"), ("x.rs:2", "h", "saker_h", "i")];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }
}
