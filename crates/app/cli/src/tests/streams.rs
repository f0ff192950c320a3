// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices, usage errors and closed pipes.

use std::io::ErrorKind;

use super::fake::Refusing;
use super::{Fake, ran};

#[test]
fn the_option_goes_before_the_variable() {
    let fake = Fake { variable: Some("file:x".to_owned()), ..Fake::default() };
    let error = "saker: error: no device at `file:x`; try mem:\n";
    assert_eq!(fake.run(&["list"]), ran(2, "", error));
    assert_eq!(fake.run(&["list", "--device", "mem:"]), ran(0, "", ""));
    assert_eq!(fake.run(&["--device", "mem:", "list"]), ran(0, "", ""));
}

#[test]
fn a_missing_device_is_a_usage_error() {
    let fake = Fake { variable: Some(String::new()), ..Fake::default() };
    let todo = "add --device URL (such as file:disk.img) or set SAKER_DEVICE";
    assert_eq!(fake.run(&["list"]), ran(2, "", &format!("saker: error: no device is named; {todo}\n")));
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let fake = Fake::with(&[(b"a", b"1")]);
    for command in [&["list"][..], &["list", "--json"], &["scan"], &["get", "a"], &["dump", "-"], &["--help"]]
    {
        let found = fake.run_into(command, &mut Refusing(ErrorKind::BrokenPipe));
        assert_eq!(found, (0, String::new()), "{command:?}");
        assert_eq!(fake.device.borrow().opened, fake.device.borrow().closed);
    }
}

#[test]
fn an_output_that_takes_no_more_is_an_error() {
    let fake = Fake::with(&[(b"a", b"1")]);
    let (code, error) = fake.run_into(&["get", "a"], &mut Refusing(ErrorKind::StorageFull));
    assert_eq!(code, 1);
    assert!(error.starts_with("saker: error: cannot write standard output: "), "{error}");
    assert_eq!(error.lines().count(), 1);
}
