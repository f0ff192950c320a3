// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The documents have a row for each engine and each setting that an image keeps, as the registry has them, and no other row.

use saker_engine::settings::Values;
use saker_engine::{Capability, EngineKind, Setting};

/// The rows of the table with that head.
fn rows<'a>(page: &'a str, head: &str) -> Vec<&'a str> {
    let table = page.split_once(head).map_or("", |(_, rest)| rest);
    let table = table.split("\n\n").next().unwrap_or(table);
    table.lines().filter(|row| row.starts_with('|') && !row.starts_with("|---")).collect()
}

fn assert_rows(page: &str, head: &str, expected: &[String]) {
    assert_eq!(rows(page, head), expected, "below `{head}` must stand:\n{}", expected.join("\n"));
}

#[test]
fn the_page_about_disks_has_every_engine() {
    let order = |kind: &EngineKind| if kind.capabilities().has(Capability::Scan) { "keys" } else { "hash" };
    let row = |kind: &EngineKind| {
        format!("| `{}` | {} | {} |", kind.name(), kind.registration().summary, order(kind))
    };
    let expected: Vec<_> = EngineKind::ALL.iter().map(row).collect();
    let page = include_str!("../../../../docs/disk.md");
    assert_rows(page, "| engine | what it is | order of `list` |", &expected);
    let default = format!("The default is `{}`.", EngineKind::default().name());
    assert!(page.contains(&default), "the page lacks: {default}");
}

#[test]
fn the_image_format_has_every_number() {
    let row = |kind: &EngineKind| Some(format!("| {} | `{}` |", kind.code()?, kind.name()));
    let expected: Vec<_> = EngineKind::ALL.iter().filter_map(row).collect();
    assert_rows(include_str!("../../../../docs/image-format.md"), "| number | engine |", &expected);
}

fn numbers_of(setting: &Setting) -> String {
    match setting.values {
        Values::Words(words) => {
            let numbered = words.iter().enumerate().map(|(n, word)| format!("{n} {word}"));
            numbered.collect::<Vec<_>>().join(", ")
        }
        _ => setting.takes(),
    }
}

#[test]
fn the_image_format_has_every_stored_setting() {
    let mut expected: Vec<(&Setting, Vec<String>)> = Vec::new();
    for kind in EngineKind::ALL {
        for setting in kind.settings().iter().filter(|setting| setting.place().is_some()) {
            let name = format!("`{}`", kind.name());
            match expected.iter_mut().find(|(known, _)| *known == setting) {
                Some((_, engines)) => engines.push(name),
                None => expected.push((setting, vec![name])),
            }
        }
    }
    let row = |(setting, engines): &(&Setting, Vec<String>)| {
        let place = setting.place().expect("only such are in the list");
        let (engines, low) = (engines.join(", "), place.shift);
        let (high, name, numbers) = (low + place.bits - 1, setting.name, numbers_of(setting));
        format!("| {engines} | {high}:{low} | `{name}` | {numbers} |")
    };
    let expected: Vec<_> = expected.iter().map(row).collect();
    let page = include_str!("../../../../docs/image-format.md");
    assert_rows(page, "| engine | bits of the flags | setting | numbers |", &expected);
}
