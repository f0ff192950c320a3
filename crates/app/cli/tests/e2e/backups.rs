// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backups, growing and scrubbing from the command line.

use crate::e2e::support::{Desk, TINY};

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.saker(&[&["create", "disk.img", "--engine", "lsm"], &TINY[..]].concat()).good();
    desk.saker(&[&["create", "new.img"], &TINY[..]].concat()).good();
    for key in ["a", "b", "c"] {
        desk.saker(&["put", "--device", "file:disk.img", key, "a value of some length"]).good();
    }
    desk
}

#[test]
fn a_full_backup_and_what_has_changed_come_back() {
    let desk = desk();
    let full = desk.saker(&["backup", "file:disk.img", "full.bak"]);
    assert_eq!(
        (full.code, said(&full.out)),
        (Some(0), "full.bak: all of file:disk.img: 3 pairs of namespace 1 (alone)\n".into())
    );
    desk.saker(&["delete", "--device", "file:disk.img", "b"]).good();
    desk.saker(&["put", "--device", "file:disk.img", "d", "new"]).good();
    let changes = desk.saker(&["backup", "file:disk.img", "changes.bak", "--since", "full.bak", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&changes.out).expect("a document");
    assert_eq!(document["schema"], "saker.backup.v1");
    let namespace = &document["namespaces"][0];
    assert_eq!((&namespace["pairs"], &namespace["deleted"]), (&1.into(), &1.into()), "{document}");
    let checked = desk.saker(&["restore", "full.bak", "--check", "--then", "changes.bak"]);
    assert_eq!(
        said(&checked.out).lines().filter(|line| line.contains(": sound, ")).count(),
        2,
        "{}",
        checked.err
    );
    desk.saker(&["restore", "full.bak", "file:new.img", "--then", "changes.bak"]).good();
    for name in ["disk.img", "new.img"] {
        desk.saker(&["dump", "--device", &format!("file:{name}"), &format!("{name}.tsv")]).good();
    }
    let sorted = |name: &str| {
        let mut lines: Vec<_> = said(&desk.read(name)).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted("disk.img.tsv"), sorted("new.img.tsv"));
}

#[test]
fn what_makes_no_sense_is_one_line_that_says_what_to_do() {
    let desk = desk();
    desk.saker(&["backup", "file:disk.img", "full.bak"]).good();
    for (line, words) in [
        (&["backup", "file:disk.img", "full.bak"][..], "choose another name"),
        (&["backup", "file:disk.img", "disk.img"], "would be lost"),
        (&["backup", "file:disk.img?nsid=7", "x.bak"], "there is no namespace 7"),
        (&["backup", "file:no.img", "x.bak"], "check the path"),
        (&["backup", "file:disk.img", "x.bak", "--since", "disk.img"], "is no backup"),
        (&["restore", "full.bak", "file:disk.img"], "--replace"),
        (&["restore", "full.bak", "file:new.img", "--then", "full.bak"], "in order"),
        (&["restore", "full.bak", "file:new.img", "--namespace", "4"], "--check"),
        (&["restore", "disk.img", "file:new.img"], "is no backup"),
        (&["grow", "disk.img", "--size", "1MiB"], "does not shrink"),
        (&["grow", "disk.img", "--size", "1GiB", "--namespace", "2"], "there is no namespace 2"),
        (&["grow", "full.bak", "--size", "1GiB"], "not a Saker image"),
        (&["scrub", "file:full.bak"], "not a Saker image"),
    ] {
        let refused = desk.saker(line);
        assert!(matches!(refused.code, Some(1 | 2)), "{line:?}: {}", refused.err);
        assert!(refused.err.contains(words) && refused.err.lines().count() == 1, "{line:?}: {}", refused.err);
        assert!(!desk.path("x.bak").exists() && !desk.path("x.bak.part").exists());
    }
}

#[test]
fn an_image_grows_and_is_scrubbed() {
    let desk = desk();
    let grown = desk.saker(&["grow", "disk.img", "--size", "64MiB"]);
    assert!(said(&grown.out).contains("3 pairs and blocks"), "{} {}", said(&grown.out), grown.err);
    desk.saker(&["get", "--device", "file:disk.img", "c"]).good();
    let sound = desk.saker(&["scrub", "file:disk.img", "--rate", "100MiB"]);
    assert!(sound.code == Some(0) && said(&sound.out).contains(": sound; "), "{}", said(&sound.out));
    // A scrub is of pages that are programmed: more than the page buffer holds.
    let value = "x".repeat(900);
    for n in 0..60 {
        desk.saker(&["put", "--device", "file:disk.img", &format!("more {n}"), &value]).good();
    }
    let mut bytes = desk.read("disk.img");
    let at = bytes.iter().rposition(|byte| *byte != 0).expect("there is data");
    bytes[at] ^= 4;
    std::fs::write(desk.path("disk.img"), bytes).expect("writes");
    let damaged = desk.saker(&["scrub", "file:disk.img"]);
    assert_eq!(damaged.code, Some(1));
    assert!(said(&damaged.out).contains("DAMAGED") && damaged.err.contains("page "), "{}", damaged.err);
}
