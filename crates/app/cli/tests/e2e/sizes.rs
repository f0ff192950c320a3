// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sizes that a profile cannot have: the refusal says the least one, and which profile takes it.

use crate::e2e::support::Desk;

/// The least size that a refusal names.
fn least(message: &str) -> &str {
    let behind = message.split("needs at least ").nth(1).unwrap_or_else(|| panic!("{message}"));
    behind.split([';', ' ']).next().unwrap_or_default()
}

/// The profiles that a refusal names.
fn fitting(message: &str) -> Vec<&str> {
    let behind = message.split("a profile that fits: ").nth(1).unwrap_or_else(|| panic!("{message}"));
    behind.split(", ").collect()
}

#[test]
fn a_size_that_is_too_small_names_a_profile_that_fits() {
    let desk = Desk::new();
    let message = desk.saker(&["create", "x.img", "--size", "64MiB"]).refused(2);
    assert!(message.contains("67108864 bytes are too few for profile default"), "{message}");
    assert!(!fitting(&message).is_empty() && !fitting(&message).contains(&"default"), "{message}");
    for profile in fitting(&message) {
        desk.saker(&["create", &format!("{profile}.img"), "--size", "64MiB", "--profile", profile]).good();
    }
    let size = least(&message);
    desk.saker(&["create", "least.img", "--size", size]).good();
    let url = format!("mem:?size=64MiB&profile={}", fitting(&message)[0]);
    desk.saker(&["put", "k", "v", "--device", &url]).good();
    let refused = desk.saker(&["put", "k", "v", "--device", "mem:?size=64MiB"]).refused(2);
    assert_eq!((least(&refused), fitting(&refused)), (size, fitting(&message)));
}

#[test]
fn a_size_that_no_profile_takes_names_the_smallest_device() {
    let desk = Desk::new();
    let message = desk.saker(&["create", "x.img", "--size", "1KiB"]).refused(2);
    let behind = message.split("the smallest device has ").nth(1).unwrap_or_else(|| panic!("{message}"));
    let (size, profile) = behind.split_once(", of profile ").unwrap_or_else(|| panic!("{message}"));
    desk.saker(&["create", "x.img", "--size", size, "--profile", profile]).good();
    let bytes = std::fs::metadata(desk.path("x.img")).expect("it is there").len();
    assert!(bytes > 1024, "{bytes}");
}

#[test]
fn namespaces_that_are_too_small_say_what_they_need() {
    let desk = Desk::new();
    let line = ["create", "x.img", "--size", "1GiB", "--namespace", "kv:16MiB", "--namespace", "kv"];
    let message = desk.saker(&line).refused(2);
    assert!(message.contains("namespace 1 would have 12MiB of flash and needs at least 288MiB"), "{message}");
    for profile in fitting(&message) {
        desk.saker(&[&["--quiet"], &line[..], &["--profile", profile, "--force"]].concat()).good();
    }
    std::fs::remove_file(desk.path("x.img")).expect("made");
    let given = format!("kv:{}", least(&message));
    desk.saker(&["create", "x.img", "--size", "1GiB", "--namespace", &given, "--namespace", "kv"]).good();
    let tiny = [
        "create",
        "y.img",
        "--size",
        "16MiB",
        "--profile",
        "tiny",
        "--namespace",
        "kv:1KiB",
        "--namespace",
        "kv",
    ];
    let message = desk.saker(&tiny).refused(2);
    assert!(message.contains("the smallest device has ") && message.contains("; give it more"), "{message}");
}
