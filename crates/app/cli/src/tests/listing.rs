// SPDX-License-Identifier: Apache-2.0 OR MIT
//! list, scan and info.

use proptest::prelude::*;

use super::{Fake, document, ran};

fn alphabet() -> Fake {
    Fake::with(&[(b"a", b"1"), (b"b\n", b"2\t"), (b"c", b"3"), (b"cc", b"\xff"), (b"d", b"5")])
}

fn backwards(fake: Fake) -> Fake {
    fake.device.borrow_mut().backwards = true;
    fake
}

/// More keys than several pages hold, under two prefixes.
fn many() -> Fake {
    let fake = Fake::default();
    fake.device.borrow_mut().records = (0..5000_u32)
        .map(|n| (format!("{}:{n:04}", n % 2).into_bytes(), n.to_string().into_bytes()))
        .collect();
    fake
}

#[test]
fn list_shows_one_escaped_key_a_line() {
    let fake = alphabet();
    assert_eq!(fake.run(&["list"]), ran(0, "a\nb\\n\nc\ncc\nd\n", ""));
    assert_eq!(fake.run(&["list", "c"]), ran(0, "c\ncc\nd\n", ""));
    assert_eq!(fake.run(&["list", "bz", "--limit", "2"]), ran(0, "c\ncc\n", ""));
    assert_eq!(fake.run(&["list", "--prefix", "c"]), ran(0, "c\ncc\n", ""));
    assert_eq!(fake.run(&["list", "--limit", "0"]), ran(0, "", ""));
    assert_eq!(Fake::default().run(&["list"]), ran(0, "", ""));
}

#[test]
fn list_keeps_the_order_of_the_device_unless_sorted() {
    let fake = backwards(alphabet());
    assert_eq!(fake.run(&["list"]), ran(0, "d\ncc\nc\nb\\n\na\n", ""));
    assert_eq!(fake.run(&["list", "c"]), ran(0, "c\nb\\n\na\n", ""));
    assert_eq!(fake.run(&["list", "--sort"]), ran(0, "a\nb\\n\nc\ncc\nd\n", ""));
    assert_eq!(fake.run(&["list", "--sort", "--limit", "2"]), ran(0, "a\nb\\n\n", ""));
    assert_eq!(fake.run(&["list", "--prefix", "c"]), ran(0, "cc\nc\n", ""));
}

#[test]
fn documents_hold_keys_and_records_as_text_or_base64() {
    let fake = Fake::with(&[(b"a", b"1"), (b"\xff", b"\xfe")]);
    let list = document("saker.list.v1", "\"keys\":[{\"key\":\"a\"},{\"key_base64\":\"/w==\"}],\"count\":2");
    assert_eq!(fake.run(&["list", "--json"]), ran(0, &list, ""));
    let records = "{\"key\":\"a\",\"value\":\"1\"},{\"key_base64\":\"/w==\",\"value_base64\":\"/g==\"}";
    let scan = document("saker.scan.v1", &format!("\"records\":[{records}],\"count\":2"));
    assert_eq!(fake.run(&["scan", "--json"]), ran(0, &scan, ""));
}

#[test]
fn scan_shows_a_range_by_bytes_in_either_order() {
    let fake = alphabet();
    assert_eq!(fake.run(&["scan"]), ran(0, "a\t1\nb\\n\t2\\t\nc\t3\ncc\t\\xff\nd\t5\n", ""));
    assert_eq!(fake.run(&["scan", "b", "cc"]), ran(0, "b\\n\t2\\t\nc\t3\n", ""));
    assert_eq!(fake.run(&["scan", "c", "--limit", "1"]), ran(0, "c\t3\n", ""));
    assert_eq!(fake.run(&["scan", "c", "c"]), ran(0, "", ""));
    assert_eq!(fake.run(&["scan", "--from", "b", "--to", "cc"]), ran(0, "b\\n\t2\\t\nc\t3\n", ""));
    assert_eq!(fake.run(&["scan", "--prefix", "c", "--limit", "9"]), ran(0, "c\t3\ncc\t\\xff\n", ""));
    assert_eq!(fake.run(&["scan", "--limit", "0"]), ran(0, "", ""));
    let fake = backwards(fake);
    assert_eq!(fake.run(&["scan", "b", "cc"]), ran(0, "c\t3\nb\\n\t2\\t\n", ""));
    let error = "saker: error: FROM is behind TO; give the lesser key first\n";
    assert_eq!(fake.run(&["scan", "d", "a"]), ran(2, "", error));
}

#[test]
fn a_scan_ends_with_its_time() {
    // The clock goes on by a second whenever it is looked at: before each page of 1024 keys.
    let late = |seconds: &str, shown: usize| {
        let fake = many();
        let ran = fake.run(&["scan", "--timeout", seconds]);
        let error = format!(
            "saker: error: the scan ended with its time, {seconds} s, after {shown} records; give it more, or ask for fewer with --limit, --from or --prefix\n"
        );
        assert_eq!((ran.code, ran.out.lines().count(), ran.err), (1, shown, error));
        assert_eq!(fake.device.borrow().closed, 1);
    };
    late("0.5", 0);
    late("3", 2048);
    assert_eq!(many().run(&["scan", "--timeout", "100"]).code, 0);
    let json = many().run(&["scan", "--timeout", "2", "--json"]);
    assert_eq!((json.code, json.out.ends_with(",\"count\":1024}\n")), (1, true), "the document is whole");
    for wrong in ["0", "-1", "soon", "nan", "1e30"] {
        assert_eq!(many().run(&["scan", "--timeout", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn only_devices_with_an_order_go_back() {
    let error = "saker: error: the device reads no ranges in order; leave --reverse out\n";
    assert_eq!(alphabet().run(&["scan", "--reverse"]), ran(1, "", error));
}

#[test]
fn every_key_comes_once_over_many_pages() {
    for fake in [many(), backwards(many())] {
        let lines = fake.run(&["list"]).out;
        let mut keys: Vec<&str> = lines.lines().collect();
        assert_eq!(keys.len(), 5000);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 5000);
        assert_eq!(fake.run(&["scan", "--limit", "3000"]).out.lines().count(), 3000);
        assert_eq!(fake.run(&["list", "--prefix", "1:"]).out.lines().count(), 2500);
        assert_eq!(fake.run(&["list", "--sort", "--limit", "1500"]).out.lines().last(), Some("0:2998"));
    }
}

#[test]
fn a_list_by_bytes_seeks_and_stops() {
    let fake = many();
    assert_eq!(fake.run(&["list", "--prefix", "1:499"]).out.lines().count(), 5);
    assert_eq!(fake.run(&["scan", "0:1000", "0:1010"]).out.lines().count(), 5);
    assert!(fake.device.borrow().visited < 20, "{} keys visited", fake.device.borrow().visited);
}

#[test]
fn a_key_that_vanishes_during_a_scan_is_passed_over_and_not_counted() {
    let fake = alphabet();
    fake.device.borrow_mut().vanishing = Some(b"c".to_vec());
    assert_eq!(fake.run(&["scan", "b", "--limit", "2"]), ran(0, "b\\n\t2\\t\ncc\t\\xff\n", ""));
}

#[test]
fn info_is_flat_for_people_and_whole_in_the_document() {
    let fake = alphabet();
    let rows = "engine       fake line\nkeys         5\nqueues       [1,2]\nspaces.0.id  1\n";
    assert_eq!(fake.told(&["info"]), ran(0, rows, ""));
    let info = "\"info\":{\"engine\":\"fake\\nline\",\"keys\":5,\"queues\":[1,2],\"spaces\":[{\"id\":1}]}";
    assert_eq!(fake.told(&["info", "--json"]), ran(0, &document("saker.info.v1", info), ""));
}

proptest! {
    #[test]
    fn scans_agree_with_a_model(
        keys in prop::collection::btree_set("[ab]{1,4}", 0..20),
        from in "[ab]{1,3}", to in "[ab]{1,3}", prefix in "[ab]{0,2}", reverse: bool,
    ) {
        let (from, to) = if from <= to { (from, to) } else { (to, from) };
        let records: Vec<_> = keys.iter().map(|k| (k.as_bytes(), &b"v"[..])).collect();
        let fake = Fake::with(&records);
        fake.device.borrow_mut().backwards = reverse;
        let mut found: Vec<_> = fake.run(&["scan", &from, &to]).out.lines().map(str::to_owned).collect();
        found.sort();
        let model: Vec<_> = keys.iter().filter(|k| **k >= from && **k < to).map(|k| format!("{k}\tv")).collect();
        prop_assert_eq!(found, model);
        let listed = fake.run(&["list", "--sort", "--prefix", &prefix]).out;
        let model: String = keys.iter().filter(|k| k.starts_with(&prefix)).map(|k| format!("{k}\n")).collect();
        prop_assert_eq!(listed, model);
    }
}
