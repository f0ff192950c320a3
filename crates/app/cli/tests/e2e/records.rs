// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bytes go in and come out, by arguments, files and pipes.

use crate::e2e::support::{Desk, TINY};

fn hex(bytes: &[u8]) -> String {
    "hex:".to_owned() + &bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
}

/// What `dump` writes is compared as `load` reads it, from standard input too.
#[test]
fn compare_takes_the_records_that_load_takes() {
    let desk = Desk::new();
    let records =
        b"{\"key_base64\":\"AP8=\",\"value\":\"xx\"}\n{\"key\":\"a\\tb\",\"value_base64\":\"AP8=\"}\n";
    let line = ["compare", "--batch", "1", "--input", "-"];
    let found = desk.piped(&[&line[..], &["--format", "jsonl"]].concat(), records).good();
    assert!(found.contains("2 records of -") && found.contains("\n  2 to 2 B "), "{found}");
    let found = desk.piped(&line, b"a\\tb\tv\\n\n").good();
    assert!(found.contains("\n  2 to 2 B "), "escapes are decoded: {found}");
    let refused = desk.piped(&line, b"a\tv\nb\n").refused(1);
    assert!(refused.starts_with("- line 2: no tab between key and value; "), "{refused}");
}

#[test]
fn keys_of_every_length_and_binary_values_round_trip() {
    let desk = Desk::with_image();
    for bytes in [1, 15, 16, 17, 254, 255] {
        let key: Vec<u8> = (0..bytes).map(|n| (n * 37 + bytes) as u8).collect();
        let value: Vec<u8> = (0..bytes * 11).map(|n| n as u8).collect();
        let key = hex(&key);
        desk.write("value", &value);
        desk.disk(&["put", &key, "@value"]).good();
        assert!(desk.disk(&["get", &key]).out == value, "{bytes} bytes");
        assert_eq!(desk.disk(&["exists", &key]).code, Some(0));
    }
    desk.disk(&["put", "empty", ""]).good();
    assert_eq!(desk.disk(&["get", "empty"]).good(), "");
    for format in ["tsv", "jsonl"] {
        let (file, other) = (format!("all.{format}"), format!("other-{format}.img"));
        desk.disk(&["dump", &file]).good();
        desk.saker(&["create", &other, "--size", "16MiB", "--profile", "tiny"]).good();
        let device = format!("file:{other}");
        desk.saker(&["load", &file, "--device", &device]).good();
        let again = format!("again.{format}");
        desk.saker(&["dump", &again, "--device", &device]).good();
        let sorted = |name: &str| {
            let text = String::from_utf8(desk.read(name)).expect("escaped");
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&file).len(), 7);
        assert_eq!(sorted(&file), sorted(&again));
    }
}

#[test]
fn ordered_engines_scan_backwards() {
    let desk = Desk::with_image();
    let refused = desk.disk(&["scan", "--reverse"]).refused(1);
    assert!(refused.contains("no order") && refused.contains("lsm"), "{refused}");
    for engine in ["lsm", "tree"] {
        let image = format!("{engine}.img");
        desk.saker(&[&["create", &image, "--engine", engine], &TINY[..]].concat()).good();
        let device = format!("file:{image}");
        let lines: String = (0..3000).map(|n| format!("key{n:04}\t{}\n", "v".repeat(100))).collect();
        desk.write("some.tsv", lines.as_bytes());
        desk.saker(&["load", "some.tsv", "--device", &device]).good();
        let keys = |more: &[&str]| -> Vec<String> {
            let lines = desk.saker(&[&["scan", "--device", &device], more].concat()).good();
            lines.lines().map(|line| line[..7].to_owned()).collect()
        };
        let mut forwards = keys(&[]);
        assert!(forwards.len() == 3000 && forwards.is_sorted());
        forwards.reverse();
        assert_eq!(keys(&["--reverse"]), forwards);
        assert_eq!(keys(&["--reverse", "--limit", "2"]), ["key2999", "key2998"]);
        assert_eq!(keys(&["--reverse", "key0003", "key0006"]), ["key0005", "key0004", "key0003"]);
        assert_eq!(keys(&["--reverse", "--prefix", "key011", "-n", "1"]), ["key0119"]);
        let late = desk.saker(&["scan", "--device", &device, "--timeout", "0.000000001"]).refused(1);
        assert!(late.contains("after 0 records") && late.contains("--from"), "{late}");
    }
}

#[test]
fn lines_of_other_systems_and_escapes_are_read() {
    let desk = Desk::with_image();
    desk.write("crlf.tsv", b"a\tb\\tc\r\nd\te\r\n\r\nf\tg");
    desk.disk(&["load", "crlf.tsv"]).good();
    assert_eq!(desk.disk(&["get", "a"]).good(), "b\tc");
    assert_eq!(desk.disk(&["get", "d"]).good(), "e");
    assert_eq!(desk.disk(&["get", "f"]).good(), "g", "the last line needs no end");
    let piped = desk.piped(&["load", "-", "--device", "file:disk.img"], b"p\\x00q\tv\n");
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    assert_eq!(desk.disk(&["get", "hex:700071"]).good(), "v");
    let piped = desk.piped(&["put", "now", "-", "--device", "file:disk.img"], b"12:00\n");
    assert_eq!(piped.code, Some(0));
    assert_eq!(desk.disk(&["get", "now"]).good(), "12:00\n");
}

#[test]
fn bad_lines_are_named_and_what_was_before_them_stays() {
    let desk = Desk::with_image();
    let huge = ["k\t".to_owned(), "v".repeat((2 << 20) + 1)].concat();
    for (name, text, words) in [
        ("no-tab.tsv", "a\tb\nno tab here\n", "line 2"),
        ("cut.jsonl", "{\"key\":\"a\",\"value\":\"b\"}\n{\"key\":\"x\"", "line 2: bad JSON"),
        ("array.jsonl", "{\"key\":\"a\",\"value\":\"b\"}\n[1]\n", "line 2: not a JSON object"),
        ("escape.tsv", "a\tb\nc\t\\q\n", "line 2"),
        ("empty-key.tsv", "a\tb\n\tv\n", "line 2: the key is empty"),
        ("long-key.tsv", &format!("a\tb\n{}\tv\n", "k".repeat(256)), "line 2: the key has 256 bytes"),
        ("huge.tsv", &format!("a\tb\n{huge}\n"), "line 2: the value has 2097153 bytes"),
        ("endless.tsv", &format!("a\tb\n{}\n", "x".repeat(20 << 20)), "line 2: the line is too long"),
    ] {
        desk.write(name, text.as_bytes());
        let refused = desk.disk(&["load", name]).refused(1);
        assert!(refused.contains(words) && refused.contains("--skip-bad"), "{name}: {refused}");
        assert!(refused.contains("(1 records before it are stored)"), "{refused}");
        desk.disk(&["load", name, "--skip-bad"]).good();
        assert_eq!(desk.disk(&["get", "a"]).good(), "b");
    }
}
