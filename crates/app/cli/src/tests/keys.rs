// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands on one key.

use super::{Fake, document, ran};

#[test]
fn put_stores_flushes_and_says_nothing() {
    let fake = Fake::default();
    assert_eq!(fake.run(&["put", "user:1", "Ada"]), ran(0, "", ""));
    assert_eq!(fake.run(&["put", "hex:00ff", "base64:AP8="]), ran(0, "", ""));
    assert_eq!(fake.run(&["put", "n", "-5"]), ran(0, "", ""));
    assert_eq!(fake.run(&["put", "empty", ""]), ran(0, "", ""));
    assert_eq!(fake.get(b"user:1").unwrap(), b"Ada");
    assert_eq!(fake.get(b"\x00\xff").unwrap(), b"\x00\xff");
    assert_eq!(fake.get(b"n").unwrap(), b"-5");
    assert_eq!(fake.get(b"empty").unwrap(), b"");
    assert_eq!(fake.device.borrow().flushed, 4);
}

#[test]
fn put_takes_values_from_standard_input_and_files() {
    let directory = super::files::Scratch::new("put");
    let file = directory.file("value", b"\x00from a file\n");
    let fake = Fake { input: b"piped\n".to_vec(), ..Fake::default() };
    assert_eq!(fake.run(&["put", "a", "-"]), ran(0, "", ""));
    assert_eq!(fake.run(&["put", "b", &format!("@{file}")]), ran(0, "", ""));
    assert_eq!(fake.run(&["put", "c", "str:@b"]), ran(0, "", ""));
    assert_eq!(fake.get(b"a").unwrap(), b"piped\n");
    assert_eq!(fake.get(b"b").unwrap(), b"\x00from a file\n");
    assert_eq!(fake.get(b"c").unwrap(), b"@b");
    let missing = fake.run(&["put", "d", "@no/such"]);
    let expected =
        "saker: error: cannot open `no/such`: No such file or directory (os error 2); check the path\n";
    assert_eq!(missing, ran(1, "", expected));
}

#[test]
fn put_takes_two_mebibytes_and_no_byte_more() {
    let fake = Fake { input: vec![7; 2 << 20], ..Fake::default() };
    assert_eq!(fake.run(&["put", "a", "-"]), ran(0, "", ""));
    assert_eq!(fake.get(b"a").unwrap().len(), 2 << 20);
    let fake = Fake { input: vec![7; (2 << 20) + 1], ..Fake::default() };
    let what = "`standard input` has more than 2097152 bytes (2MiB), the most a value can have";
    let error = format!("saker: error: {what}; split it over several keys\n");
    assert_eq!(fake.run(&["put", "a", "-"]), ran(2, "", &error));
    assert_eq!(fake.device.borrow().opened, 0);
}

#[test]
fn get_writes_the_bytes_and_nothing_else() {
    let fake = Fake::with(&[(b"a", b"x\x00\xff\n"), (b"t", b"text")]);
    assert_eq!(fake.run_bytes(&["get", "a"]), (0, b"x\x00\xff\n".to_vec(), String::new()));
    assert_eq!(fake.run(&["get", "t"]), ran(0, "text", ""));
    assert_eq!(fake.run(&["get", "t", "--output", "-"]), ran(0, "text", ""));
    let json = document("saker.get.v1", "\"value\":\"text\",\"value_bytes\":4");
    assert_eq!(fake.run(&["get", "t", "--json"]), ran(0, &json, ""));
    let json = document("saker.get.v1", "\"value_base64\":\"eAD/Cg==\",\"value_bytes\":4");
    assert_eq!(fake.run(&["--json", "get", "a"]), ran(0, &json, ""));
}

#[test]
fn get_can_write_a_file() {
    let directory = super::files::Scratch::new("get");
    let path = directory.path("out");
    let fake = Fake::with(&[(b"a", b"x\x00")]);
    assert_eq!(fake.run(&["get", "a", "--output", &path]), ran(0, "", ""));
    assert_eq!(std::fs::read(&path).unwrap(), b"x\x00");
    assert_eq!(fake.run(&["get", "b", "--output", &path]).code, 1);
    assert_eq!(std::fs::read(&path).unwrap(), b"x\x00");
    assert_eq!(directory.names(), ["out"]);
}

#[test]
fn a_key_that_is_not_there_is_one_line_and_exit_code_1() {
    let fake = Fake::default();
    let error = "saker: error: there is no key `a\\nb`; see the keys with `saker list`\n";
    assert_eq!(fake.run(&["get", "a\nb"]), ran(1, "", error));
    assert_eq!(fake.run(&["get", "a\nb", "--json"]), ran(1, "", error));
    assert_eq!(fake.run(&["delete", "a\nb"]), ran(1, "", error));
}

#[test]
fn delete_removes_and_flushes() {
    let fake = Fake::with(&[(b"a", b"1"), (b"b", b"2")]);
    assert_eq!(fake.run(&["delete", "a"]), ran(0, "", ""));
    assert_eq!(fake.records().into_keys().collect::<Vec<_>>(), [b"b"]);
    assert_eq!(fake.device.borrow().flushed, 1);
    let json = document("saker.delete.v1", "\"deleted\":true");
    assert_eq!(fake.run(&["delete", "b", "--json"]), ran(0, &json, ""));
}

#[test]
fn exists_answers_in_words_and_in_the_exit_code() {
    let fake = Fake::with(&[(b"a", b"")]);
    assert_eq!(fake.run(&["exists", "a"]), ran(0, "yes\n", ""));
    assert_eq!(fake.run(&["exists", "b"]), ran(1, "no\n", ""));
    let no = document("saker.exists.v1", "\"exists\":false");
    assert_eq!(fake.run(&["exists", "b", "--json"]), ran(1, &no, ""));
}

#[test]
fn documents_tell_what_was_put() {
    let json = document("saker.put.v1", "\"key_bytes\":2,\"value_bytes\":3");
    assert_eq!(Fake::default().run(&["put", "hex:0001", "abc", "--json"]), ran(0, &json, ""));
}

#[test]
fn bad_keys_are_refused_before_the_device_is_opened() {
    let fake = Fake::default();
    let empty = "saker: error: the key is empty; give a key of 1 to 255 bytes\n";
    for command in ["get", "delete", "exists", "list", "scan"] {
        assert_eq!(fake.run(&[command, ""]), ran(2, "", empty), "{command}");
    }
    assert_eq!(fake.run(&["put", "", "v"]), ran(2, "", empty));
    assert_eq!(fake.device.borrow().opened, 0);
}

#[test]
fn the_errors_of_a_device_are_passed_on() {
    let fake = Fake::default();
    fake.device.borrow_mut().room = Some(0);
    assert_eq!(fake.run(&["put", "a", "1"]), ran(1, "", "saker: error: the device is full; delete keys\n"));
}
