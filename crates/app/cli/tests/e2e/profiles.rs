// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile of one's own, from `saker profile show --toml` to devices that have it.

use crate::e2e::support::Desk;

/// A copy of a built-in profile under another name, with one number changed.
fn own_profile(desk: &Desk, file: &str, name: &str) {
    let text = desk.saker(&["profile", "show", "tiny", "--toml"]).good();
    let text = text.replace("name = \"tiny\"", &format!("name = \"{name}\""));
    let slower = text.replace("channels = { value = 2", "channels = { value = 1");
    assert_ne!(text, slower, "the number is there");
    desk.write(file, slower.as_bytes());
}

#[test]
fn a_file_is_a_profile_wherever_one_is_named() {
    let desk = Desk::new();
    own_profile(&desk, "mine.toml", "mine");
    desk.saker(&["create", "disk.img", "--size", "16MiB", "--profile", "mine.toml"]).good();
    desk.disk(&["put", "k", "v"]).good();
    assert_eq!(desk.disk(&["get", "k"]).good().trim_end(), "v");
    assert!(desk.disk(&["info"]).good().contains("mine"), "the image names it");
    desk.saker(&["compare", "--profile", "./mine.toml", "--operations", "20", "--sizes", "16B"]).good();
    desk.saker(&["bench", "a", "--profile", "mine.toml", "--operations", "20"]).good();
    desk.saker(&["put", "k", "v", "--device", "mem:?profile=mine.toml&size=16MiB"]).good();
}

/// An image keeps a profile's name alone, so its times need the file.
#[test]
fn an_image_of_a_profile_of_ones_own_is_timed_by_its_file() {
    let desk = Desk::new();
    own_profile(&desk, "mine.toml", "mine");
    own_profile(&desk, "other.toml", "other");
    own_profile(&desk, "tiny.toml", "tiny");
    desk.saker(&["create", "disk.img", "--size", "16MiB", "--profile", "mine.toml"]).good();
    let real = |profile: &str| {
        let url = format!("file:disk.img?timing=real{profile}");
        desk.saker(&["exists", "k", "--device", &url])
    };
    assert_eq!(real("&profile=mine.toml").code, Some(1), "there is no such key");
    assert!(real("").refused(2).contains("&profile=FILE"));
    assert!(real("&profile=other.toml").refused(2).contains("made with `mine`"));
    let taken = desk.saker(&["create", "x.img", "--size", "16MiB", "--profile", "tiny.toml"]).refused(2);
    assert!(taken.contains("a name of its own"), "{taken}");
}

/// Whatever its pages are like, both stores run on it.
#[test]
fn every_built_in_profile_can_be_compared_on() {
    let desk = Desk::new();
    let list: serde_json::Value =
        serde_json::from_str(&desk.saker(&["profile", "list", "--json"]).good()).expect("a document");
    let profiles = list["profiles"].as_array().expect("a list");
    assert!(profiles.len() >= 7);
    for profile in profiles {
        let name = profile["name"].as_str().expect("a name");
        desk.saker(&["compare", "--profile", name, "--operations", "20", "--sizes", "16B", "-q"]).good();
    }
}
