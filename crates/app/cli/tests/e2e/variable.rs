// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The variable SAKER_DEVICE names the device of every command that has one.

use crate::e2e::support::{Desk, Ran, ran};

fn with(desk: &Desk, url: &str, line: &[&str]) -> Ran {
    ran(desk.command(line).env("SAKER_DEVICE", url))
}

#[test]
fn every_command_with_a_device_takes_it_from_the_variable() {
    let desk = Desk::with_image();
    desk.write("some.tsv", b"one\t1\ntwo\t2\n");
    let image = "file:disk.img";
    for line in [
        &["put", "k", "v"][..],
        &["get", "k"],
        &["exists", "k"],
        &["list"],
        &["scan"],
        &["load", "some.tsv"],
        &["dump", "all.tsv"],
        &["delete", "k"],
        &["info"],
        &["bench", "readrandom", "--operations", "10"],
        &["bench", "fillseq", "--operations", "10"],
        &["bench", "tpcc", "--operations", "1"],
        &["bench", "ycsb-a", "--operations", "10"],
    ] {
        with(&desk, image, line).good();
    }
    assert_eq!(with(&desk, image, &["get", "two"]).good(), "2");
    with(&desk, "mem:?size=64MiB&profile=tiny", &["conform"]).good();
}

/// It is a wish among others: what the line names comes first, and an empty one is none.
#[test]
fn the_line_comes_before_the_variable() {
    let desk = Desk::with_image();
    with(&desk, "nonsense:", &["put", "k", "v", "--device", "file:disk.img"]).good();
    with(&desk, "", &["get", "k", "--device", "file:disk.img"]).good();
    let none = with(&desk, "", &["get", "k"]).refused(2);
    assert!(none.contains("no device is named"), "{none}");
    // Commands that make their own devices, or name an image, have no use for it.
    with(&desk, "nonsense:", &["check", "disk.img"]).good();
    with(&desk, "nonsense:", &["compare", "--operations", "10", "--sizes", "16B"]).good();
    with(&desk, "nonsense:", &["profile", "list"]).good();
}

#[test]
fn serve_without_anything_to_serve_says_what_to_name() {
    let desk = Desk::with_image();
    for device in ["", "tcp://127.0.0.1:1/x", "nonsense:", "/dev/ng0n1"] {
        let ran = with(&desk, device, &["serve", "--listen", "127.0.0.1:0"]);
        assert!(ran.code == Some(2) || ran.code == Some(1), "{device}: {}", ran.err);
        let told = ran.err.contains("SAKER_DEVICE") || ran.err.contains("mem:");
        assert!(told && ran.err.lines().count() == 1, "{device}: {}", ran.err);
    }
}
