// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Damaged images: what the commands say, and what they save.

use crate::e2e::support::{Desk, TINY};
use saker::EngineKind;
use std::io::{Seek, SeekFrom, Write};

/// Changes a byte of the pair of a key, which lies in the image as it is.
fn change(desk: &Desk, image: &str, value: &[u8]) {
    let bytes = desk.read(image);
    let places: Vec<usize> =
        bytes.windows(value.len()).enumerate().filter(|(_, w)| *w == value).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "the value is there");
    for at in places {
        let mut file = std::fs::File::options().write(true).open(desk.path(image)).expect("opens");
        file.seek(SeekFrom::Start(at as u64 + 3)).expect("seeks");
        file.write_all(&[bytes[at + 3] ^ 0x20]).expect("writes");
    }
}

fn desk_with(engine: &str) -> Desk {
    let desk = Desk::new();
    desk.saker(&[&["create", "disk.img", "--engine", engine], &TINY[..]].concat()).good();
    let long = "k".repeat(60);
    for (key, value) in
        [("a", "a sound value"), ("b", "this one is damaged"), (long.as_str(), "of a long key")]
    {
        desk.saker(&["put", "--device", "file:disk.img", key, value]).good();
    }
    desk
}

#[test]
fn one_damaged_pair_is_named_and_all_others_are_saved() {
    for engine in EngineKind::ALL.iter().map(|kind| kind.name()) {
        let desk = desk_with(engine);
        desk.saker(&["dump", "--salvage", "--device", "file:disk.img", "sound.tsv"]).good();
        change(&desk, "disk.img", b"this one is damaged");
        let before = desk.read("disk.img");

        let checked = desk.saker(&["check", "disk.img"]);
        let said = String::from_utf8(checked.out.clone()).expect("text");
        assert_eq!(checked.code, Some(1), "{engine}: {said}");
        assert!(before == desk.read("disk.img"), "{engine}: a check only reads");
        assert!(said.contains("lost: namespace 1: the pair of key b\n"), "{engine}: {said}");
        assert!(said.contains("2 pairs can be saved"), "{engine}: {said}");
        assert!(said.contains("saker dump --salvage") && said.contains("saker repair"), "{engine}: {said}");

        // Who opens it strictly, and who reads the pair, name the page that the check names.
        for url in ["file:disk.img", "file:disk.img?readonly&salvage"] {
            let refused = desk.saker(&["get", "--device", url, "b"]).refused(1);
            let page =
                refused.split("page ").nth(1).and_then(|rest| rest.split_once(')')).map(|(page, _)| page);
            let page = page.unwrap_or_else(|| panic!("{engine}: no page in {refused}"));
            assert!(said.contains(&format!("page {page})")), "{engine}: page {page} is not in {said}");
        }

        // Who opens it to write marks it as in use; whoever saves only reads.
        let before = desk.read("disk.img");
        let dumped = desk.saker(&["dump", "--salvage", "--device", "file:disk.img", "saved.tsv"]);
        assert_eq!(dumped.code, Some(1), "{}", dumped.err);
        assert!(dumped.err.contains("lost: namespace 1: the pair of key b\n"), "{engine}: {}", dumped.err);
        let saved = String::from_utf8(desk.read("saved.tsv")).expect("text");
        assert!(saved.contains("a sound value") && saved.contains("of a long key"), "{engine}: {saved}");
        assert_eq!(saved.lines().count(), 2, "{engine}: {saved}");

        let url = "file:disk.img?readonly&salvage";
        assert_eq!(desk.saker(&["get", "--device", url, "a"]).good().trim_end(), "a sound value");
        let lost = desk.saker(&["get", "--device", url, "b"]).refused(1);
        assert!(lost.contains("cannot be read"), "{engine}: {lost}");
        let refused = desk.saker(&["put", "--device", url, "a", "new"]).refused(1);
        assert!(refused.contains("write protected"), "{engine}: {refused}");

        let repaired = desk.saker(&["repair", "disk.img", "new.img", "--json"]);
        assert_eq!(repaired.code, Some(1), "{}", repaired.err);
        let document: serde_json::Value = serde_json::from_slice(&repaired.out).expect("a document");
        assert_eq!(document["namespaces"][0]["lost"][0]["key"], "b", "{engine}: {document}");
        assert!(before == desk.read("disk.img"), "{engine}: the damaged image is only read");
        desk.saker(&["check", "new.img"]).good();
        assert_eq!(
            desk.saker(&["get", "--device", "file:new.img", &"k".repeat(60)]).good().trim_end(),
            "of a long key"
        );
        let exists = desk.saker(&["repair", "disk.img", "new.img"]).refused(1);
        assert!(exists.contains("exists already"), "{exists}");
    }
}

#[test]
fn what_cannot_be_salvaged_is_refused() {
    let desk = desk_with("hash_store");
    let refused = desk.saker(&["dump", "--salvage", "--device", "mem:", "x.tsv"]).refused(2);
    assert!(refused.contains("is no image"), "{refused}");
    desk.saker(&["dump", "--uncertain", "--device", "file:disk.img", "x.tsv"]).refused(2);
    let refused = desk.saker(&["get", "--device", "file:disk.img?salvage", "a"]).refused(2);
    assert!(refused.contains("?readonly&salvage"), "{refused}");
    let refused = desk.saker(&["repair", "none.img", "new.img"]).refused(1);
    assert!(refused.contains("none.img"), "{refused}");
    assert!(!desk.path("new.img").exists() && !desk.path("new.img.part").exists());
}

/// A repair that was killed is begun again. What somebody else has under that name is left alone.
#[test]
fn what_a_killed_repair_left_is_in_nobodys_way() {
    let desk = desk_with("lsm");
    let repair = || desk.saker(&["repair", "disk.img", "new.img"]);
    // As it is killed while it copies, and in the middle of the making of the image.
    let whole = desk.read("disk.img");
    for left in [&whole[..], &[0; 3 << 13], &[]] {
        desk.write("new.img.part", left);
        repair().good();
        assert!(!desk.path("new.img.part").exists(), "{} bytes", left.len());
        assert_eq!(desk.saker(&["get", "--device", "file:new.img", "a"]).good().trim_end(), "a sound value");
        let again = repair().refused(1);
        assert!(again.contains("exists already") && !again.contains("--force"), "{again}");
        std::fs::remove_file(desk.path("new.img")).expect("it was made");
    }
    desk.write("new.img.part", b"half of something else");
    let refused = repair().refused(1);
    assert!(refused.contains("new.img.part exists already") && !refused.contains("--force"), "{refused}");
    assert_eq!(desk.read("new.img.part"), b"half of something else");
    std::fs::rename(desk.path("disk.img"), desk.path("new.img.part")).expect("renames");
    desk.write("disk.img", &whole);
    let held = saker::image::hold(&desk.path("new.img.part"), saker::image::Access::Write).expect("locks");
    assert!(repair().refused(1).contains("new.img.part is in use"), "another repair makes it");
    drop(held);
    assert!(desk.read("new.img.part") == whole && !desk.path("new.img").exists());
}

#[test]
fn a_sound_image_is_repaired_to_the_same() {
    let desk = desk_with("lsm");
    let report = desk.saker(&["repair", "disk.img", "new.img"]).good();
    assert!(report.contains("3 pairs and blocks"), "{report}");
    for image in ["disk.img", "new.img"] {
        desk.saker(&["dump", "--device", &format!("file:{image}"), &format!("{image}.tsv")]).good();
    }
    assert_eq!(desk.read("disk.img.tsv"), desk.read("new.img.tsv"));
    let serial = |image: &str| {
        let info = desk.saker(&["info", "--json", "--device", &format!("file:{image}")]).good();
        let info: serde_json::Value = serde_json::from_str(&info).expect("a document");
        info["serial"].clone()
    };
    assert_eq!(serial("disk.img"), serial("new.img"), "it takes the old one's place");
}

/// A reader beside a reader; a writer wants the image alone.
#[test]
fn readers_share_an_image() {
    let desk = desk_with("hash_store");
    let list = || desk.saker(&["list", "--device", "file:disk.img?readonly"]).good();
    std::thread::scope(|s| {
        let readers: Vec<_> = (0..4).map(|_| s.spawn(list)).collect();
        let lists: Vec<String> = readers.into_iter().map(|r| r.join().expect("no panic")).collect();
        assert!(lists.iter().all(|list| *list == lists[0] && list.lines().count() == 3), "{lists:?}");
    });
}
