// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Each way in which a payload can be wrong, its place and its status.

use saker_nvme::Status;
use saker_nvme::group::{Form, Malformed, Op, Reason, parse};

const STORE: Form = Form::All(Op::Store);
const KEYS: Form = Form::All(Op::Delete);

fn check(form: Form, payload: &[u8], at: u32, reason: Reason) {
    let refused = parse(form, payload, |_| {});
    assert_eq!(refused, Err(Malformed { at, reason }), "{payload:?}");
    let status = if reason == Reason::KeySize { Status::INVALID_KEY_SIZE } else { Status::INVALID_FIELD };
    assert_eq!(refused.unwrap_err().status(), status);
}

#[test]
fn counts() {
    check(STORE, &[], 0, Reason::Truncated);
    check(STORE, &[1, 0, 0], 0, Reason::Truncated);
    check(STORE, &[0; 4], 0, Reason::Empty);
    check(STORE, b"\x02\0\0\0\x01\0\0\0k\0\0\0\0\0\0\0", 16, Reason::Truncated);
    check(STORE, b"\xFF\xFF\xFF\xFF\x01\0\0\0k\0\0\0\0\0\0\0", 16, Reason::Truncated);
    check(KEYS, b"\x01\0\0\0\x01\0\0\0k\0\0\0\0\0\0\0", 12, Reason::Trailing);
}

#[test]
fn lengths() {
    check(KEYS, b"\x01\0\0\0\0\0\0\0", 4, Reason::KeySize);
    check(KEYS, b"\x01\0\0\0\0\x01\0\0", 4, Reason::KeySize);
    check(KEYS, b"\x01\0\0\0\xFF\xFF\xFF\xFF", 4, Reason::KeySize);
    check(KEYS, b"\x01\0\0\0\x05\0\0\0abcd", 4, Reason::Truncated);
    check(KEYS, b"\x01\0\0\0\x03\0\0\0abc", 4, Reason::Truncated);
    check(STORE, b"\x01\0\0\0\x04\0\0\0abcd", 12, Reason::Truncated);
    check(STORE, b"\x01\0\0\0\x04\0\0\0abcd\x01\0\0\0", 12, Reason::Truncated);
    // Added to its offset this length is beyond 32 bits; rounded up it is 2^32.
    for low in [0xFF, 0xFC, 0xF0] {
        let payload = [1, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, low, 0xFF, 0xFF, 0xFF, 9, 9, 9, 9];
        check(STORE, &payload, 12, Reason::Truncated);
    }
}

#[test]
fn padding() {
    check(KEYS, b"\x01\0\0\0\x01\0\0\0k\0\0\x01", 9, Reason::Padding);
    check(STORE, b"\x01\0\0\0\x04\0\0\0abcd\x02\0\0\0vv\x80\0", 18, Reason::Padding);
}

#[test]
fn types() {
    for kind in [0, 5, 0xFF, 0x0100, 0x0101, 0x8000_0001_u32] {
        let payload = [&[1, 0, 0, 0][..], &kind.to_le_bytes(), b"\x04\0\0\0abcd\0\0\0\0"].concat();
        check(Form::Mixed, &payload, 4, Reason::Type);
    }
    // A store's entry read as mixed has a key's length for a type.
    check(Form::Mixed, b"\x01\0\0\0\x05\0\0\0abcde\0\0\0", 4, Reason::Type);
}
