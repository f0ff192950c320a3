// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker txn`: all of a script or nothing.

use crate::e2e::support::{Desk, TINY};
use saker::{Kv, TransactionId};
use saker_host::Driver;

#[test]
fn a_script_is_done_as_a_whole() {
    let desk = Desk::with_image();
    desk.disk(&["put", "stock", "3"]).good();
    let script = b"# one of them is sold\nget stock\n\nrequire stock value 3\nrequire order:1 absent\n\
        put stock 2\nput order:1 a pair of shoes\nget order:1\ndelete never was\n";
    desk.write("sell.txt", script);
    let refused = desk.disk(&["txn", "sell.txt"]).refused(2);
    assert!(refused.contains("line 9: `delete never was` is no operation"), "{refused}");
    assert_eq!(desk.disk(&["get", "stock"]).good(), "3");
    desk.write("sell.txt", &script[..script.len() - 5]);
    let good = desk.disk(&["txn", "sell.txt"]).good();
    assert_eq!(good, "stock\t3\norder:1\ta pair of shoes\n", "what it reads, its own writes too");
    assert_eq!(desk.disk(&["get", "order:1"]).good(), "a pair of shoes");
    // Again it does not hold, and nothing is done.
    let refused = desk.disk(&["txn", "sell.txt"]).refused(1);
    assert!(refused.contains("requires of \"stock\" does not hold; nothing was done"), "{refused}");
    assert_eq!(desk.disk(&["get", "stock"]).good(), "2");
    let piped = desk.piped(
        &["txn", "-", "--json", "--device", "file:disk.img"],
        b"get stock\nget hex:00ff\nrequire hex:00ff absent\nput hex:00ff base64:AP8=\nget hex:00ff\n",
    );
    let document: serde_json::Value = serde_json::from_str(&piped.good()).expect("one document");
    assert_eq!(document["operations"], 5);
    assert_eq!(document["reads"][0]["value"], "2");
    assert_eq!(document["reads"][1], serde_json::json!({ "key_base64": "AP8=" }));
    assert_eq!(document["reads"][2]["value_base64"], "AP8=");
}

/// As if answers had been lost: what is sent again under its ID has one effect.
#[test]
fn a_script_with_an_id_is_carried_out_once() {
    let desk = Desk::with_image();
    desk.disk(&["put", "stock", "3"]).good();
    desk.write("sell.txt", b"get stock\nput stock 2\n");
    let id = ["--host-id", "str:the shop's ID...", "--number", "17"];
    let ask = [&["txn", "--outcome"][..], &id].concat();
    let sell = [&["txn", "sell.txt"][..], &id].concat();
    assert_eq!(desk.disk(&ask).good(), "not done\n");
    assert_eq!(desk.disk(&sell).good(), "stock\t3\n");
    assert_eq!(desk.disk(&ask).good(), "done\n");
    desk.disk(&["put", "stock", "9"]).good();
    assert_eq!(desk.disk(&sell).good(), "", "what was read then is not known any more");
    assert_eq!(desk.disk(&["get", "stock"]).good(), "9", "no second effect");
    let told = desk.disk(&[&sell[..], &["--json"]].concat()).good();
    let document: serde_json::Value = serde_json::from_str(&told).expect("one document");
    assert_eq!((&document["was_done"], &document["reads"]), (&true.into(), &serde_json::json!([])));
    let asked = desk.disk(&[&ask[..], &["--json"]].concat()).good();
    let document: serde_json::Value = serde_json::from_str(&asked).expect("one document");
    assert_eq!(document["outcome"], "done");
    let other = ["txn", "sell.txt", "--host-id", "str:the shop's ID...", "--number", "18"];
    assert_eq!(desk.disk(&other).good(), "stock\t9\n");
    let newer = ["txn", "sell.txt", "--host-id", "str:the shop's ID...", "--number", "8723"];
    desk.disk(&newer).good();
    let refused = desk.disk(&ask).refused(1);
    assert!(refused.contains("has forgotten what became of the transaction"), "{refused}");
    for (wrong, said) in [
        (
            &["txn", "sell.txt", "--host-id", "abc", "--number", "1"][..],
            "a host's ID of 3 bytes; give 16 bytes",
        ),
        (&["txn", "sell.txt", "--number", "1"], "--host-id"),
        (&["txn", "--outcome"], "--host-id"),
        (
            &["txn", "sell.txt", "--outcome", "--host-id", "str:the shop's ID...", "--number", "1"],
            "--outcome",
        ),
    ] {
        let refused = desk.disk(wrong).refused(2);
        assert!(refused.contains(said), "{refused}");
    }
}

/// A dump has pairs alone: what tells of transactions stays, and does not come along.
#[test]
fn a_dump_knows_of_no_transactions() {
    let desk = Desk::with_image();
    desk.write("sell.txt", b"put stock 2\n");
    let id = ["--host-id", "str:the shop's ID...", "--number", "17"];
    desk.disk(&[&["txn", "sell.txt"][..], &id].concat()).good();
    let dumped = desk.disk(&["dump", "pairs.tsv"]).good();
    assert_eq!(desk.read("pairs.tsv"), b"stock\t2\n", "{dumped}");
    assert_eq!(desk.disk(&["list"]).good(), "stock\n");
    let new = Desk::with_image();
    new.write("pairs.tsv", &desk.read("pairs.tsv"));
    new.disk(&["load", "pairs.tsv"]).good();
    assert_eq!(new.disk(&["get", "stock"]).good(), "2");
    let ask = [&["txn", "--outcome"][..], &id].concat();
    assert_eq!((desk.disk(&ask).good(), new.disk(&ask).good()), ("done\n".into(), "not done\n".into()));
}

/// More than a transaction may write is refused by what it is, and nothing is done.
#[test]
fn what_is_too_long_is_not_done() {
    let desk = Desk::with_image();
    let long = format!("put stock 2\nput long {}\n", "v".repeat((1 << 20) + 1));
    desk.write("long.txt", long.as_bytes());
    for id in [&[][..], &["--host-id", "str:the shop's ID...", "--number", "1"]] {
        let refused = desk.disk(&[&["txn", "long.txt"][..], id].concat()).refused(1);
        assert!(refused.contains("is too long: the device takes at most"), "{refused}");
        assert_eq!(desk.disk(&["list"]).good(), "");
    }
}

#[test]
fn scripts_and_devices_that_make_no_sense() {
    let desk = Desk::with_image();
    for (script, said) in [
        (&b""[..], "no operations"),
        (b"# nothing\n", "no operations"),
        (b"put\n", "line 1: the key is empty"),
        (b"get a\nfetch b\n", "line 2: `fetch b` is no operation"),
        (b"require a\n", "line 1: `require a` is no operation"),
        (b"require a gone\n", "is no operation"),
        (b"put hex:0 v\n", "no hexadecimal"),
    ] {
        let refused = desk.piped(&["txn", "-", "--device", "file:disk.img"], script).refused(2);
        assert!(refused.contains(said), "{refused}");
    }
    desk.disk(&["txn", "no/such"]).refused(1);
}

/// Status and DW0 of a part with one entry of type store.
fn part(kv: &mut Kv, number: u64, (begins, commits): (bool, bool), key: &[u8; 4]) -> Option<u32> {
    let entry = [1, 1, 4, u32::from_le_bytes(*key), 4, u32::from_le_bytes(*b"part")];
    let payload: Vec<u8> = entry.iter().flat_map(|word| word.to_le_bytes()).collect();
    let id = TransactionId { host: [7; 16], number };
    let client = kv.client();
    client.queue_mut().transaction_part(id, begins, commits, &payload).expect("room");
    client.queue_mut().ring();
    loop {
        client.driver_mut().drive();
        if let Some(ended) = client.queue_mut().poll(|done| (done.status, done.result)) {
            let (status, dw0) = ended.expect("an answer");
            return status.is_success().then_some(dw0);
        }
    }
}

/// What copies a target amid a transaction in parts takes nothing of it along and does not end it; the commit is whole.
#[test]
fn dumps_between_parts() {
    for engine in saker::EngineKind::ALL {
        let desk = Desk::new();
        let mut config =
            saker_tcp::ServerConfig::new(&format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name()));
        config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
        let server = saker_tcp::Server::start(config).expect("starts");
        let url = format!("tcp://{}/{}", server.addresses()[0], server.names()[0]);
        let run = |words: &[&str]| desk.saker(&[words, &["--device", &url]].concat()).good();
        run(&["put", "sold", "3"]);
        let mut kv = Kv::open(&url).expect("opens");
        assert_eq!(part(&mut kv, 1, (true, false), b"sold"), Some(1));
        let copies = |n: u32, pairs: &str| {
            let [dump, backup, copy] = ["tsv", "bak", "img"].map(|kind| format!("{n}.{kind}"));
            run(&["dump", &dump]);
            assert_eq!(String::from_utf8_lossy(&desk.read(&dump)), pairs, "{}", engine.name());
            desk.saker(&["backup", &url, &backup, "--per-key"]).good();
            desk.saker(&[&["create", &copy][..], &TINY].concat()).good();
            desk.saker(&["restore", &backup, &format!("file:{copy}")]).good();
            let listed = desk.saker(&["scan", "--device", &format!("file:{copy}")]).good();
            assert_eq!(listed, pairs, "{}", engine.name());
        };
        copies(1, "sold\t3\n");
        assert_eq!(part(&mut kv, 1, (false, false), b"more"), Some(2));
        copies(2, "sold\t3\n");
        assert_eq!(part(&mut kv, 1, (false, true), b"last"), Some(0), "{}", engine.name());
        assert_eq!(run(&["get", "more"]), "part");
        assert_eq!([run(&["get", "sold"]), run(&["get", "last"])], ["part", "part"]);
    }
}
