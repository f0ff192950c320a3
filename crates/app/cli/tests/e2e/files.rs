// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker fs`: files on a block namespace.

use crate::e2e::support::{Desk, TINY, repository};

fn desk() -> Desk {
    let desk = Desk::new();
    let namespaces = ["--namespace", "kv", "--namespace", "block:4MiB,512"];
    desk.saker(&[&["create", "disk.img"], &TINY[..], &namespaces].concat()).good();
    desk
}

#[test]
fn files_come_and_go() {
    let desk = desk();
    let none = desk.disk(&["fs", "ls"]).refused(1);
    assert!(none.contains("there is no file system") && none.contains("saker fs mkfs"), "{none}");
    desk.disk(&["fs", "mkfs"]).good();
    let again = desk.disk(&["fs", "mkfs"]).refused(1);
    assert!(again.contains("has a file system already; add --force"), "{again}");
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n / 3) as u8).collect();
    desk.write("notes", &bytes);
    desk.disk(&["fs", "mkdir", "db"]).good();
    desk.disk(&["fs", "cp", "notes", "dev:db/notes"]).good();
    desk.disk(&["fs", "mv", "db/notes", "/db/renamed"]).good();
    assert_eq!(desk.disk(&["fs", "ls"]).good(), "             0  db/\n");
    assert_eq!(desk.disk(&["fs", "ls", "db"]).good(), "       100,000  renamed\n".trim_start_matches('\n'));
    assert!(desk.disk(&["fs", "cat", "db/renamed"]).out == bytes);
    desk.disk(&["fs", "cp", "dev:db/renamed", "back"]).good();
    assert!(desk.read("back") == bytes);
    // Pairs beside them.
    desk.disk(&["put", "k", "v"]).good();
    let full = desk.disk(&["fs", "rm", "db"]).refused(1);
    assert!(full.contains("the directory is not empty"), "{full}");
    desk.disk(&["fs", "rm", "db/renamed"]).good();
    desk.disk(&["fs", "rm", "db"]).good();
    assert_eq!(desk.disk(&["fs", "ls"]).good(), "");
    let sound = desk.disk(&["fs", "fsck"]).good();
    assert!(sound.contains("sound; 0 files of 0 B"), "{sound}");
    assert_eq!(desk.disk(&["get", "k"]).good(), "v");
}

#[test]
fn standard_streams_are_files_too() {
    let desk = desk();
    desk.disk(&["fs", "mkfs", "--journal", "16KiB"]).good();
    let bytes = vec![7; 70_000];
    let put = desk.piped(&["fs", "cp", "-", "dev:a", "--device", "file:disk.img"], &bytes);
    assert_eq!(put.code, Some(0), "{}", put.err);
    assert!(desk.disk(&["fs", "cp", "dev:a", "-"]).out == bytes);
}

/// A copy that does not fit leaves what was there, and no part of itself.
#[test]
fn a_copy_that_does_not_fit_changes_nothing() {
    let desk = desk();
    desk.disk(&["fs", "mkfs"]).good();
    desk.write("short", b"short");
    desk.write("long", &vec![1; 5 << 20]);
    desk.disk(&["fs", "cp", "short", "dev:a"]).good();
    let refused = desk.disk(&["fs", "cp", "long", "dev:a"]).refused(1);
    assert!(refused.contains("no space is left"), "{refused}");
    assert_eq!(desk.disk(&["fs", "cat", "a"]).good(), "short");
    assert_eq!(desk.disk(&["fs", "ls"]).good().lines().count(), 1);
}

/// Names have up to 255 bytes, on the device and beside it: until a copy is whole it is called by no longer one.
#[test]
fn files_have_names_of_every_length() {
    let desk = desk();
    desk.disk(&["fs", "mkfs"]).good();
    desk.disk(&["fs", "mkdir", "d"]).good();
    desk.write("notes", b"notes");
    desk.write("long", &vec![1; 5 << 20]);
    for name in [250, 251, 254, 255].map(|n| "n".repeat(n)).into_iter().chain(["\u{e4}".repeat(127)]) {
        let there = format!("dev:d/{name}");
        desk.disk(&["fs", "cp", "notes", &there]).good();
        assert!(desk.disk(&["fs", "cp", "long", &there]).refused(1).contains("no space is left"));
        assert_eq!(desk.disk(&["fs", "ls", "d"]).good().lines().count(), 1, "{} bytes", name.len());
        desk.disk(&["fs", "cp", &there, &name]).good();
        assert_eq!(desk.read(&name), b"notes", "{} bytes", name.len());
        desk.disk(&["fs", "rm", &format!("d/{name}")]).good();
    }
    let refused = desk.disk(&["fs", "cp", "notes", &format!("dev:d/{}", "n".repeat(256))]).refused(1);
    assert!(refused.contains("is not a name; use 1 to 255 bytes"), "{refused}");
    assert_eq!(desk.disk(&["fs", "ls", "d"]).good(), "");
}

#[test]
fn documents_have_versions() {
    let desk = desk();
    let names =
        ["saker.fs.mkfs.v1", "saker.fs.change.v1", "saker.fs.ls.v1", "saker.fs.df.v1", "saker.fs.fsck.v1"];
    let commands = [&["mkfs"][..], &["mkdir", "d"], &["ls"], &["df"], &["fsck"]];
    for (name, command) in names.into_iter().zip(commands) {
        let out = desk.disk(&[&["fs"], command, &["--json"]].concat()).good();
        let document: serde_json::Value = serde_json::from_str(&out).expect("a document");
        assert_eq!(document["schema"], name);
    }
}

#[test]
fn wrong_paths_are_told() {
    let desk = desk();
    desk.disk(&["fs", "mkfs"]).good();
    for (arguments, code, words) in [
        (&["fs", "cp", "a", "b"][..], 2, "write dev: before it"),
        (&["fs", "cat", "a"], 1, "a: no such file or directory"),
        (&["fs", "cat", "/"], 1, "is a directory"),
        (&["fs", "mkdir", "a/b"], 1, "no such file or directory"),
        (&["fs", "rm", ".."], 1, "is not a name"),
    ] {
        let told = desk.disk(arguments).refused(code);
        assert!(told.contains(words) && told.lines().count() == 1, "{told}");
    }
}

/// The first commands of the page about files, as they stand there.
#[test]
fn the_pages_commands_work() {
    let page = std::fs::read_to_string(repository("docs/files.md")).expect("the page");
    let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its commands");
    let desk = Desk::new();
    desk.write("README.md", b"a file\n");
    for line in block.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words.first(), Some(&"saker"), "{line}");
        let out = desk.saker(&words[1..]).good();
        assert!(!line.contains(" cat ") || out == "a file\n", "{line}: {out}");
    }
    assert_eq!(block.lines().count(), 6);
}
