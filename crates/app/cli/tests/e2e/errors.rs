// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Command lines that make no sense: one line that says what to do, exit code 2, nothing done.

use crate::e2e::support::Desk;

#[test]
fn nonsense_is_refused_in_one_line() {
    let desk = Desk::with_image();
    desk.write("empty.csv", b"");
    let long = "k".repeat(256);
    let before = desk.read("disk.img");
    for (line, words) in [
        (&["create", "x.img", "--size", "4K"][..], "write B, KiB, MiB"),
        (&["create", "x.img", "--size", "0"], "give a larger size"),
        (&["create", "x.img", "--size", "1MiB"], "give a larger size"),
        (&["create", "x.img"], "saker create --help"),
        (&["create", "x.img", "--size", "1GiB", "--profile", "none"], "saker-mid"),
        (&["create", "x.img", "--size", "1GiB", "--engine", "btree"], "the engines there are: hash_store"),
        (&["create", "x.img", "--size", "1GiB", "--namespace", "disk:1MiB"], "kv:SIZE or block:SIZE"),
        (&["create", "x.img", "--size", "1GiB", "--namespace", "block:256MiB,512"], "give 4096"),
        (&["create", "x.img", "--size", "1GiB", "--namespace", "kv:9GiB"], "give a larger --size"),
        (&["create", "x.img", "--namespace", "kv"], "give --size"),
        (&["put", &long, "v", "--device", "file:disk.img"], "give a key of 1 to 255 bytes"),
        (&["put", "", "v", "--device", "file:disk.img"], "give a key of 1 to 255 bytes"),
        (&["put", "hex:0", "v", "--device", "file:disk.img"], "pairs of digits"),
        (&["put", "k", "v", "--colour", "red", "--device", "file:disk.img"], "--colour"),
        (&["put", "k", "v", "--device", "file:disk.img?colour=red"], "write one of depth, nsid"),
        (&["put", "k", "v", "--device", "file:disk.img?nsid=0"], "write its number, from 1"),
        (&["put", "k", "v", "--device", "file:disk.img?size=1GiB"], "give it to `saker create`"),
        (&["put", "k", "v", "--device", "mem:?size=lots"], "write a size such as 512MiB"),
        (&["put", "k", "v", "--device", "mem:?threads=9"], "write 0 or 1"),
        (&["put", "k", "v", "--device", "mem:?depth=0"], "write 1 to 4095"),
        (&["put", "k", "v", "--device", "mem:?timing=virtual"], "write off or real"),
        (&["put", "k", "v", "--device", "mem:?engine=btree"], "hash_store"),
        (&["put", "k", "v", "--device", "mem:?seed=x"], "write a whole number"),
        (&["put", "k", "v", "--device", "mem:?fault.read=2/1"], "write it as 1/1000"),
        (&["put", "k", "v", "--device", "mem:?fault.cut=x"], "write a whole number"),
        (&["put", "k", "v", "--device", "mem:?fault.cut=0"], "from 1"),
        (
            &["put", "k", "v", "--device", "mem:?size=1GiB&size=2GiB"],
            "option `size` twice; give each option once",
        ),
        (&["--device", "mem:", "put", "k", "v", "--device", "mem:"], "--device is given twice"),
        (&["create", "x.img", "--size", "1GiB", "--device", "mem:"], "leave it out: the image to make"),
        (&["check", "disk.img", "--device", "mem:"], "the image is the first argument"),
        (&["compare", "--device", "mem:"], "--store and --profile"),
        (&["reproduce", "list", "--device", "mem:"], "leave it out"),
        (&["profile", "list", "--device", "mem:"], "leave it out"),
        (&["serve", "--url", "mem:", "--device", "mem:"], "--image or --url"),
        (&["conform", "mem:", "--device", "mem:"], "name the device once"),
        (&["bench", "a", "--profile", "tiny", "--device", "mem:"], "leave out --device or --profile"),
        (&["bench", "a", "--transfer", "prp", "--device", "mem:?transfer=inline"], "option `transfer` twice"),
        (&["bench", "a", "--warehouses", "3"], "--warehouses is for tpcc"),
        (&["bench", "a", "--phase", "load"], "--phase is for YCSB's"),
        (&["bench", "a", "--threads", "2", "--device", "mem:"], "leave out --threads"),
        (&["bench", "tpcc", "--qd", "4", "--device", "mem:"], "leave out --qd"),
        (&["bench", "replay", "--input", "empty.csv", "--device", "mem:"], "empty.csv has no operations"),
        (&["put", "k", "v", "--device", "tcp://host"], "write tcp://127.0.0.1:4420 or tcp://HOST:PORT/NQN"),
        (
            &["put", "k", "v", "--device", "disk.img"],
            "write mem:, file:disk.img, tcp://HOST:PORT/NQN, vfio-user:SOCKET or /dev/ng0n1",
        ),
        (&["put", "k", "v"], "--device"),
        (&["load", "x.bin", "--device", "mem:"], "--format"),
        (&["dump", "-", "--json", "--device", "mem:"], "give a FILE"),
        (&["scan", "b", "a", "--device", "mem:"], "give the lesser key first"),
        (&["bench", "a", "--value-size", "3MiB"], "the most is 2097152"),
        (&["bench", "kvcache", "--value-size", "3MiB", "--device", "mem:"], "the most is 2097152"),
        (
            &["bench", "a", "--nand", "off", "--device", "mem:"],
            "--nand off is for virtual time; leave out --device",
        ),
        (&["bench", "fillseq", "--batch_size", "0"], "saker bench --help"),
        (&["compare", "--profile", "none"], "saker-mid"),
        (&["compare", "--profile", "./none.toml"], "No such file"),
        (&["create", "x.img", "--size", "1GiB", "--profile", "none.toml"], "No such file"),
        (&["create", "x.img", "--size", "18446744073709551615"], "give a smaller size"),
        (&["create", "x.img", "--size", "-1"], "see `saker create --help`"),
        (&["exists", "k", "--device", "mem:?size=18446744073709551615"], "give a smaller size"),
        (&["exists", "k", "--device", "mem:?size=1000TiB"], "give a smaller size"),
        (&["compare", "--operations", "1000000000000", "--sizes", "16B"], "1..=1000000000"),
        (&["compare", "--operations", "1000000000", "--sizes", "16B"], "of memory: the most is"),
        (&["compare", "--sizes", "16B,3MiB"], "the most is 2097152"),
        (&["compare", "--threads", "0"], "saker compare --help"),
        (&["compare", "--timing", "soon"], "saker compare --help"),
        (&["reproduce", "run", "none"], "saker reproduce list"),
        (&["profile", "show", "none"], "choose one of"),
        (&["nonsense"], "saker --help"),
        (&[], "saker --help"),
    ] {
        let message = desk.saker(line).refused(2);
        assert!(message.contains(words), "{line:?}: {message}");
    }
    assert!(before == desk.read("disk.img"), "nothing was opened");
    assert!(!desk.path("x.img").exists(), "nothing was made");
}

#[test]
fn keys_of_outcomes_are_refused() {
    let desk = Desk::with_image();
    let key = "hex:ff54534b525830313233343536373839";
    desk.write("some.tsv", b"before\tv\n\xFFTSKRX0123456789\tv\n");
    desk.write("some.txn", format!("put beside v\nput {key} v\n").as_bytes());
    for line in [&["put", key, "v"][..], &["load", "some.tsv"], &["txn", "some.txn"]] {
        let message = desk.disk(line).refused(1);
        assert!(message.contains("reserved for outcomes of transactions"), "{line:?}: {message}");
        assert!(message.ends_with("; choose another key"), "{line:?}: {message}");
    }
    assert_eq!(desk.disk(&["exists", key]).code, Some(1), "nothing was stored");
}

#[test]
fn values_are_limited_to_2_mib() {
    let desk = Desk::new();
    desk.saker(&["create", "disk.img", "--size", "320MiB"]).good();
    let most = vec![0xa5; 2 << 20];
    desk.write("most", &most);
    desk.write("more", &[most.as_slice(), &[1]].concat());
    for name in ["k", &"long".repeat(5)] {
        let refused = desk.disk(&["put", name, "@more"]).refused(2);
        assert!(refused.contains("2097152 bytes (2MiB)") && refused.contains("split it"), "{refused}");
    }
    desk.saker(&[&["create", "tiny.img"], &crate::e2e::support::TINY[..]].concat()).good();
    let refused = desk.saker(&["put", "k", "@most", "--device", "file:tiny.img"]).refused(1);
    assert!(refused.contains("2097152 bytes is too long: the limit here is 32748"), "{refused}");
    desk.disk(&["put", "k", "@most"]).good();
    assert!(desk.disk(&["get", "k"]).out == most);
    // A long key is kept with the value, so that less of the value fits.
    let refused = desk.disk(&["put", &"long".repeat(5), "@most"]).refused(1);
    assert!(refused.contains("split the value"), "{refused}");
}

#[test]
fn a_cut_that_was_asked_for_is_told_as_such() {
    let desk = Desk::with_image();
    let told = "power was cut, as fault.cut asked; open the image without it to recover";
    let lines: String = (0..300).map(|n| format!("key{n}\t{}\n", "v".repeat(700))).collect();
    desk.write("some.tsv", lines.as_bytes());
    let load = ["load", "some.tsv", "--device", "file:disk.img?fault.cut=5"];
    assert_eq!(desk.saker(&load).refused(1), told);
    desk.disk(&["put", "k", "v"]).good();
    assert_eq!(desk.disk(&["get", "k"]).good(), "v");
}

#[test]
fn help_has_examples_and_goes_to_standard_output() {
    let desk = Desk::new();
    let overview = desk.saker(&["--help"]).good();
    for command in [
        "create",
        "check",
        "put",
        "get",
        "delete",
        "txn",
        "exists",
        "list",
        "scan",
        "load",
        "dump",
        "block",
        "info",
        "profile",
        "compare",
        "reproduce",
    ] {
        assert!(overview.contains(&format!("  {command} ")), "{command}");
        let help = desk.saker(&[command, "--help"]).good();
        assert!(help.contains("Usage: saker") && help.contains("Examples:"), "{command}: {help}");
        assert!(help.contains(&format!("saker {command} ")), "{command}");
        assert!(!help.contains("tree or lsm"), "no engines that there are not: {command}");
    }
}
