// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images with several namespaces.

use crate::e2e::support::{Desk, TINY};

fn desk() -> Desk {
    let desk = Desk::new();
    let namespaces = ["--namespace", "kv:6MiB", "--namespace", "block:2MiB,512", "--namespace", "kv"];
    let made = desk.saker(&[&["create", "disk.img"], &TINY[..], &namespaces].concat());
    assert_eq!((made.code, made.out.as_slice()), (Some(0), b"".as_slice()), "{}", made.err);
    let lines: Vec<_> = made.err.lines().collect();
    assert!(lines[0].starts_with("created disk.img: 16."), "{lines:?}");
    assert!(
        lines[2].starts_with("namespace 2: block, ") && lines[2].ends_with("4096 blocks of 512 bytes"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 4, "{lines:?}");
    desk
}

#[test]
fn pairs_and_blocks_live_side_by_side() {
    let desk = desk();
    desk.saker(&["put", "k", "one", "--device", "file:disk.img?nsid=1"]).good();
    desk.saker(&["put", "k", "three", "--device", "file:disk.img?nsid=3"]).good();
    let bytes: Vec<u8> = (0..3 * 512u32).map(|n| (n / 7) as u8).collect();
    desk.write("three", &bytes);
    desk.saker(&["block", "write", "4093", "three", "--device", "file:disk.img?nsid=2"]).good();
    assert_eq!(desk.saker(&["get", "k", "--device", "file:disk.img?nsid=1"]).good(), "one");
    assert_eq!(desk.saker(&["get", "k", "--device", "file:disk.img"]).good(), "one", "the first of its kind");
    assert_eq!(desk.saker(&["get", "k", "--device", "file:disk.img?nsid=3"]).good(), "three");
    // To a file and to standard output; without a number the first block namespace is meant.
    desk.saker(&["block", "read", "4092", "4", "-o", "back", "--device", "file:disk.img"]).good();
    let expected = [vec![0; 512], bytes.clone()].concat();
    assert!(desk.read("back") == expected);
    assert!(desk.disk(&["block", "read", "4092", "4"]).out == expected);
    desk.disk(&["block", "trim", "4094"]).good();
    let hole = [&bytes[..512], &[0; 512], &bytes[1024..]].concat();
    assert!(desk.disk(&["block", "read", "4093", "3"]).out == hole);
    let check = desk.saker(&["check", "disk.img"]).good();
    let lines: Vec<_> = check.lines().collect();
    assert!(lines[0].starts_with("disk.img: sound; 2 records"), "{check}");
    assert_eq!(lines[2], "namespace 2: block, 1.0 kB live", "{check}");
    let info = desk.disk(&["info"]).good();
    for (name, value) in
        [("namespaces.1.kind", "block"), ("namespaces.1.blocks", "4096"), ("namespaces.2.pairs", "1")]
    {
        let line = info.lines().find(|l| l.starts_with(&format!("{name} "))).expect(name);
        assert!(line.ends_with(value), "{line}");
    }
}

#[test]
fn blocks_outside_and_parts_of_blocks_are_refused() {
    let desk = desk();
    desk.write("odd", &[1; 700]);
    desk.write("long", &vec![1; 3 * 512]);
    for (arguments, words) in [
        (&["block", "read", "4096"][..], "it has 4096 blocks"),
        (&["block", "read", "0", "4097"], "it has 4096 blocks"),
        (&["block", "read", "18446744073709551615", "2"], "it has 4096 blocks"),
        (&["block", "write", "0", "odd"], "pad it to a multiple of 512 bytes"),
        (&["block", "write", "4094", "long"], "it has 4096 blocks"),
        (&["block", "trim", "4000", "97"], "it has 4096 blocks"),
        (&["block", "read", "0", "1", "--json"], "add --output FILE"),
    ] {
        let message = desk.disk(arguments).refused(2);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    assert!(desk.disk(&["block", "read", "0", "4096"]).out.iter().all(|b| *b == 0), "nothing was written");
    assert!(desk.disk(&["block", "write", "0", "none"]).refused(1).contains("check the path"));
}

#[test]
fn kinds_are_not_mixed_up() {
    let desk = desk();
    let refused = desk.saker(&["get", "k", "--device", "file:disk.img?nsid=2"]).refused(1);
    let there = "the device has 1 (kv), 2 (block), 3 (kv)";
    assert_eq!(refused, format!("namespace 2 is no key-value namespace; {there}"));
    let refused = desk.saker(&["block", "read", "0", "--device", "file:disk.img?nsid=1"]).refused(1);
    assert_eq!(refused, format!("namespace 1 is no block namespace; {there}"));
    for command in [&["get", "k"][..], &["block", "read", "0"], &["info"]] {
        let line = [command, &["--device", "file:disk.img?nsid=4"]].concat();
        assert_eq!(desk.saker(&line).refused(1), format!("there is no namespace 4; {there}"));
    }
}

#[test]
fn an_image_of_blocks_alone_can_be_used_and_described() {
    let desk = Desk::new();
    desk.saker(&[&["create", "disk.img"], &TINY[..], &["--namespace", "block:,2048"]].concat()).good();
    let page = [7; 2048];
    let written = desk.piped(&["block", "write", "3", "-", "--device", "file:disk.img"], &page);
    assert_eq!(written.code, Some(0), "{}", written.err);
    assert!(desk.disk(&["block", "read", "3"]).out == page);
    assert!(desk.disk(&["info"]).good().contains("block"));
    let refused = desk.disk(&["put", "k", "v"]).refused(1);
    assert_eq!(refused, "the device has no key-value namespace; it has 1 (block)");
}

/// What cannot be written whole is refused before anything is written.
#[test]
fn a_file_that_does_not_fit_changes_nothing() {
    let desk = Desk::new();
    let namespaces = ["--namespace", "kv:6MiB", "--namespace", "block:2MiB,512", "--namespace", "kv"];
    desk.saker(&[&["create", "disk.img"], &TINY[..2], &TINY[2..], &namespaces[..]].concat()).good();
    desk.write("odd", &vec![7; (1 << 20) + 100]);
    desk.write("long", &vec![7; 1 << 20]);
    let refused = desk.disk(&["block", "write", "0", "odd"]).refused(2);
    assert!(refused.contains("--pad") && !refused.contains("are written"), "{refused}");
    assert!(desk.disk(&["block", "write", "3000", "long"]).refused(2).contains("it has 4096 blocks"));
    let all = desk.disk(&["block", "read", "0", "4096"]).out;
    assert!(all.len() == 2 << 20 && all.iter().all(|byte| *byte == 0), "nothing was written");
}

/// How long a stream is shows at its end: what fits is written by then, and told.
#[test]
fn a_stream_that_does_not_fit_is_written_as_far_as_it_does() {
    let desk = desk();
    let write = |first: &str, more: &[&str], bytes: &[u8]| {
        desk.piped(
            &[&["block", "write", first, "-", "--device", "file:disk.img?nsid=2"], more].concat(),
            bytes,
        )
    };
    let said = |ran: crate::e2e::support::Ran, code| {
        assert_eq!((ran.code, ran.out.len(), ran.err.lines().count()), (Some(code), 0, 1), "{}", ran.err);
        ran.err
    };
    let read = |first: &str, count: &str| desk.disk(&["block", "read", first, count]).out;
    // More than a piece, and its end is in no whole block.
    let long: Vec<u8> = (0..(3 << 19) + 700_u32).map(|n| (n % 251) as u8 + 1).collect();
    let fits = 3000 * 512;
    for more in [&["--pad"][..], &[]] {
        desk.disk(&["block", "trim", "0", "4096"]).good();
        let told = said(write("1096", more, &long), 1);
        assert!(told.contains("3000 blocks of it are written") && told.contains("does not fit"), "{told}");
        assert!(read("1096", "3000") == long[..fits], "what is told is there");
        assert!(read("0", "1096").iter().all(|byte| *byte == 0), "and nothing else");
    }
    // One that fits to the last byte, and one that ends where the namespace does.
    assert_eq!(write("1096", &[], &long[..fits]).code, Some(0));
    assert_eq!(write("4096", &[], b"").code, Some(0));
    assert!(said(write("4096", &[], &long), 1).contains("0 blocks of it are written"));
    // Behind the end nothing is read; a part of a block is told behind what was written.
    assert!(said(write("4097", &[], &long), 2).contains("it has 4096 blocks"));
    let told = said(write("0", &[], &long), 1);
    assert!(
        told.contains("no whole blocks") && told.contains("2048 blocks before the end are written"),
        "{told}"
    );
    assert!(said(write("0", &[], b"short"), 2).contains("add --pad"));
}

#[test]
fn blocks_whose_map_is_on_flash_are_made_used_and_described() {
    let desk = Desk::new();
    let namespaces = ["--namespace", "block:,512,2KiB", "--json"];
    let made = desk.saker(&[&["create", "disk.img"], &TINY[..], &namespaces].concat()).good();
    assert!(made.replace(' ', "").contains("\"map_cache_bytes\":2048"), "{made}");
    let blocks = vec![7; 200 * 512];
    let written = desk.piped(&["block", "write", "0", "-", "--device", "file:disk.img"], &blocks);
    assert_eq!(written.code, Some(0), "{}", written.err);
    assert!(desk.disk(&["block", "read", "0", "200"]).out == blocks);
    let told = desk.disk(&["info", "--json"]).good();
    for name in ["modelled_dram_bytes", "live_sectors", "translation_reads", "misses"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let both = ["--namespace", "kv", "--namespace", "block:2MiB,512,2KiB"];
    let made = desk.saker(&[&["create", "y.img"], &TINY[..], &both].concat());
    assert!(
        made.err.contains(
            "4096 blocks of 512 bytes, their map on flash with a cached mapping table of 2048 bytes"
        ),
        "{}",
        made.err
    );
    let refused = desk.saker(&[&["create", "x.img"], &TINY[..], &["--namespace", "block:,512,1B"]].concat());
    assert!(refused.refused(2).contains("the cached mapping table of a map on flash has"));
}
