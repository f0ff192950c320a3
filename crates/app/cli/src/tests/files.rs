// SPDX-License-Identifier: Apache-2.0 OR MIT
//! load and dump.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::{Fake, document, ran};

/// A directory of its own for a test, removed at the end.
pub struct Scratch(PathBuf);

static SCRATCHES: AtomicU64 = AtomicU64::new(0);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let number = SCRATCHES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("saker-cli-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn piped(input: &[u8]) -> Fake {
    Fake { input: input.to_vec(), ..Fake::default() }
}

#[test]
fn load_stores_every_record_and_tells_how_many() {
    let fake = piped(b"a\t1\nb\t2\nc\t3\nd\t4\ne\t5\na\t6");
    let summary = "loaded 6 records, 23 B in 1.00 s (23 B/s, 6 records/s)\n";
    assert_eq!(fake.run(&["load", "-"]), ran(0, "", summary));
    assert_eq!(fake.run(&["scan"]).out, "a\t6\nb\t2\nc\t3\nd\t4\ne\t5\n");
    assert_eq!(fake.device.borrow().flushed, 1);
    assert_eq!(fake.run(&["load", "-", "--quiet"]), ran(0, "", ""));
}

#[test]
fn the_document_of_a_load_has_counts_bytes_and_rates() {
    let fields = "\"file\":\"-\",\"format\":\"jsonl\",\"records\":1,\"key_bytes\":2,\"value_bytes\":1,\
        \"file_bytes\":34,\"seconds\":1.0,\"records_per_s\":1.0,\"bytes_per_s\":34.0,\"skipped\":1";
    let fake = piped(b"{\"key\":\"\\u00e9\",\"value\":\"1\"}\r\nbad\n");
    let found = fake.run(&["load", "-", "--format", "jsonl", "--json", "--skip-bad"]);
    assert_eq!(found, ran(0, &document("saker.load.v1", fields), ""));
}

#[test]
fn an_empty_file_is_no_records() {
    let summary = "loaded 0 records, 0 B in 1.00 s (0 B/s, 0 records/s)\n";
    assert_eq!(Fake::default().run(&["load", "-"]), ran(0, "", summary));
}

#[test]
fn a_bad_line_stops_the_load_with_what_to_do() {
    let directory = Scratch::new("bad");
    let path = directory.file("users.tsv", b"a\t1\nb\t2\nbad\nc\t3\n");
    let fake = Fake::default();
    let what = format!("{path} line 3: no tab between key and value");
    let todo = "mend it or add --skip-bad (2 records before it are stored)";
    assert_eq!(fake.run(&["load", &path]), ran(1, "", &format!("saker: error: {what}; {todo}\n")));
    assert_eq!(fake.run(&["scan"]).out, "a\t1\nb\t2\n");
    assert_eq!(fake.device.borrow().flushed, 1);
}

#[test]
fn bad_lines_can_be_skipped_and_are_counted() {
    let fake = piped(b"a;1\nbad\n;x\nb;\\q\nc;3\n");
    let found = fake.run(&["load", "-", "--format", "semicolon", "--skip-bad"]);
    let summary = "loaded 2 records, 20 B in 1.00 s (20 B/s, 2 records/s)\n";
    let skipped = "skipped 3 bad lines, the first: line 2: no semicolon between key and value\n";
    assert_eq!(found, ran(0, "", &format!("{summary}{skipped}")));
    assert_eq!(fake.run(&["scan"]).out, "a\t1\nc\t3\n");
}

#[test]
fn raw_lines_keep_their_backslashes() {
    let fake = piped(b"a;C:\\new\n");
    assert_eq!(fake.run(&["load", "-", "--format", "semicolon", "--raw"]).code, 0);
    assert_eq!(fake.get(b"a").unwrap(), b"C:\\new");
}

#[test]
fn a_device_that_fills_up_ends_the_load() {
    let fake = piped(b"a\t1\nb\t2\nc\t3\n");
    fake.device.borrow_mut().room = Some(2);
    assert_eq!(fake.run(&["load", "-"]), ran(1, "", "saker: error: the device is full; delete keys\n"));
    assert_eq!(fake.records().len(), 2);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let fake = Fake::default();
    let what = "cannot open `no/such.tsv`: No such file or directory (os error 2); check the path";
    assert_eq!(fake.run(&["load", "no/such.tsv"]), ran(1, "", &format!("saker: error: {what}\n")));
    let what = "cannot tell the format of `x.bin` from its name; add --format tsv, jsonl or semicolon";
    assert_eq!(fake.run(&["load", "x.bin"]), ran(2, "", &format!("saker: error: {what}\n")));
    assert_eq!(fake.run(&["dump", "x.bin"]), ran(2, "", &format!("saker: error: {what}\n")));
    let what = "cannot create `no/such.tsv.part`: No such file or directory (os error 2); check the path";
    assert_eq!(fake.run(&["dump", "no/such.tsv"]), ran(1, "", &format!("saker: error: {what}\n")));
    assert_eq!(fake.device.borrow().opened, 1);
}

#[test]
fn dump_writes_every_format() {
    let directory = Scratch::new("dump");
    let fake = Fake::with(&[(b"a;\t", b"1;\n"), (b"b", b"\xff")]);
    let summary = |bytes| format!("dumped 2 records, {bytes} B in 1.00 s ({bytes} B/s, 2 records/s)\n");
    for (name, text) in [
        ("x.tsv", "a;\\t\t1;\\n\nb\t\\xff\n"),
        ("x.txt", "a\\x3b\\t;1;\\n\nb;\\xff\n"),
        ("x.jsonl", "{\"key\":\"a;\\t\",\"value\":\"1;\\n\"}\n{\"key\":\"b\",\"value_base64\":\"/w==\"}\n"),
    ] {
        let path = directory.path(name);
        assert_eq!(fake.run(&["dump", &path]), ran(0, "", &summary(text.len())));
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
    let text = "a;\\t\t1;\\n\nb\t\\xff\n";
    assert_eq!(fake.run(&["dump", "-"]), ran(0, text, &summary(text.len())));
    assert_eq!(directory.names(), ["x.jsonl", "x.tsv", "x.txt"]);
}

#[test]
fn the_document_of_a_dump_does_not_mix_with_records() {
    let directory = Scratch::new("json");
    let path = directory.path("x.tsv");
    let fields = format!(
        "\"file\":\"{path}\",\"format\":\"tsv\",\"records\":1,\"key_bytes\":1,\"value_bytes\":1,\
         \"file_bytes\":4,\"seconds\":1.0,\"records_per_s\":1.0,\"bytes_per_s\":4.0"
    );
    let fake = Fake::with(&[(b"a", b"1")]);
    assert_eq!(fake.run(&["dump", &path, "--json"]), ran(0, &document("saker.dump.v1", &fields), ""));
    let error = "saker: error: records and --json cannot both go to standard output; give a FILE\n";
    assert_eq!(fake.run(&["dump", "-", "--json"]), ran(2, "", error));
}

#[test]
fn the_character_database_survives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../data/UnicodeData.txt");
    let fake = Fake::default();
    assert_eq!(fake.run(&["load", path, "--quiet"]), ran(0, "", ""));
    let original = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = original.lines().collect();
    lines.sort_by_key(|line| line.split(';').next().unwrap().to_owned());
    let dumped = fake.run(&["dump", "-", "--format", "semicolon", "-q"]);
    assert_eq!(dumped.err, "");
    assert!(dumped.out.lines().eq(lines));
    assert_eq!(fake.get(b"0041").unwrap(), b"LATIN CAPITAL LETTER A;Lu;0;L;;;;;N;;;;0061;");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_dump_loads_into_an_identical_store(
        records in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 1..=255), any::<Vec<u8>>(), 0..20),
    ) {
        for format in ["tsv", "jsonl", "semicolon"] {
            let from = Fake::default();
            from.device.borrow_mut().records.clone_from(&records);
            let (code, out, _) = from.run_bytes(&["dump", "-", "--format", format]);
            prop_assert_eq!(code, 0);
            let to = piped(&out);
            prop_assert_eq!(to.run(&["load", "-", "--format", format]).code, 0);
            prop_assert_eq!(to.records(), records.clone());
        }
    }
}
