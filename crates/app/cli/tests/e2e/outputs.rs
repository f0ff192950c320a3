// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What commands write: never over an image.

use crate::e2e::support::{Desk, TINY};

/// `disk.img` with the pair `k` and a block namespace, and `other.img`.
fn desk() -> Desk {
    let desk = Desk::new();
    for name in ["disk.img", "other.img"] {
        let namespaces = ["--namespace", "kv:6MiB", "--namespace", "block:2MiB,512"];
        desk.saker(&[&["create", name], &TINY[..], &namespaces].concat()).good();
    }
    desk.disk(&["put", "k", "v"]).good();
    desk
}

#[test]
fn no_command_writes_over_an_image() {
    let desk = desk();
    std::os::unix::fs::symlink("disk.img", desk.path("symbolic")).expect("links");
    std::fs::hard_link(desk.path("disk.img"), desk.path("hard")).expect("links");
    let other = desk.read("other.img");
    for name in ["disk.img", "./disk.img", "symbolic", "hard", "other.img"] {
        for command in [
            &["get", "k", "-o", name][..],
            &["dump", name, "--format", "tsv"],
            &["block", "read", "0", "4", "-o", name],
        ] {
            let refused = desk.disk(command).refused(1);
            assert!(refused.contains("is a Saker image and would be lost"), "{command:?}: {refused}");
        }
    }
    for command in [
        &["compare", "--operations", "10", "--sizes", "16B", "--html", "other.img"][..],
        &["bench", "fillseq", "--operations", "10", "--trace", "other.img"],
    ] {
        assert!(desk.saker(command).refused(1).contains("name another file"), "{command:?}");
    }
    assert!(other == desk.read("other.img"));
    assert_eq!(desk.disk(&["get", "k"]).good(), "v");
    desk.saker(&["check", "disk.img"]).good();
}

#[test]
fn an_image_in_the_place_of_an_unfinished_file_stays_too() {
    let desk = desk();
    std::fs::rename(desk.path("other.img"), desk.path("out.tsv.part")).expect("renames");
    let other = desk.read("out.tsv.part");
    assert!(desk.disk(&["dump", "out.tsv"]).refused(1).contains("`out.tsv.part` is a Saker image"));
    assert!(other == desk.read("out.tsv.part") && !desk.path("out.tsv").exists());
}

/// As long as the file system lets names be, whatever the file is called until it is complete.
#[test]
fn files_have_names_as_long_as_they_can_be() {
    let desk = desk();
    let name = |first: &str| first.to_owned() + &"n".repeat(254);
    desk.disk(&["dump", &name("d"), "--format", "tsv"]).good();
    desk.disk(&["block", "read", "0", "4", "-o", &name("b")]).good();
    desk.saker(&["backup", "file:disk.img", &name("s")]).good();
    desk.saker(&[&["create", &name("i")], &TINY[..]].concat()).good();
    desk.saker(&["grow", &name("i"), "--size", "24MiB"]).good();
    desk.saker(&["repair", &name("i"), &name("r")]).good();
    assert_eq!(std::fs::read_dir(desk.path(".")).expect("lists").count(), 7, "nothing is left beside them");
}
