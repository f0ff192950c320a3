// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The status word and the table of codes.

use proptest::prelude::*;
use saker_nvme::Status;

#[test]
fn words_are_those_of_the_specification() {
    assert_eq!(Status::SUCCESS.to_word(false), 0x0000);
    assert_eq!(Status::SUCCESS.to_word(true), 0x0001);
    // 87h with DNR: (87h << 1) | 8000h; Linux shows it as 4087h.
    assert_eq!(Status::KEY_DOES_NOT_EXIST.to_word(false), 0x810E);
    assert_eq!(Status::KEY_DOES_NOT_EXIST.to_word(true), 0x810F);
    assert_eq!(Status::KEY_DOES_NOT_EXIST.shifted(), 0x4087);
    // SCT 1, SC 01h: bit 9 is the low bit of SCT.
    assert_eq!(Status::INVALID_QUEUE_ID.to_word(false), 0x8202);
    assert_eq!(Status::new(7, 0xFF).to_word(false), 0x0FFE);
    assert_eq!(Status::new(0, 0).with_retry_delay(3).to_word(false), 0x3000);
    assert_eq!(Status::new(0, 0).with_more(true).to_word(false), 0x4000);
    assert_eq!(Status::new(0, 0).with_do_not_retry(true).to_word(false), 0x8000);
}

#[test]
fn codes_have_their_numbers() {
    let generic = [
        (0x01, Status::INVALID_OPCODE),
        (0x02, Status::INVALID_FIELD),
        (0x04, Status::DATA_TRANSFER_ERROR),
        (0x06, Status::INTERNAL_ERROR),
        (0x0B, Status::INVALID_NAMESPACE_OR_FORMAT),
        (0x0C, Status::COMMAND_SEQUENCE_ERROR),
        (0x13, Status::PRP_OFFSET_INVALID),
        (0x16, Status::SGL_OFFSET_INVALID),
        (0x20, Status::NAMESPACE_WRITE_PROTECTED),
        (0x22, Status::TRANSIENT_TRANSPORT_ERROR),
        (0x81, Status::CAPACITY_EXCEEDED),
        (0x82, Status::NAMESPACE_NOT_READY),
        (0x84, Status::FORMAT_IN_PROGRESS),
        (0x85, Status::INVALID_VALUE_SIZE),
        (0x86, Status::INVALID_KEY_SIZE),
        (0x87, Status::KEY_DOES_NOT_EXIST),
        (0x88, Status::UNRECOVERED_ERROR),
        (0x89, Status::KEY_EXISTS),
    ];
    for (sc, status) in generic {
        assert_eq!((status.sct(), status.sc()), (0, sc), "{status}");
    }
    assert_eq!((Status::INVALID_LOG_PAGE.sct(), Status::INVALID_LOG_PAGE.sc()), (1, 0x09));
    assert_eq!((Status::INVALID_COMMAND_SET.sct(), Status::INVALID_COMMAND_SET.sc()), (1, 0x2C));
}

#[test]
fn retry_is_forbidden_only_where_it_is_useless() {
    let retriable: Vec<_> = Status::all()
        .iter()
        .filter(|(status, _)| !status.do_not_retry())
        .map(|(s, _)| (s.sct(), s.sc()))
        .collect();
    let expected = [
        (0, 0x00),
        (0, 0x03),
        (0, 0x04),
        (0, 0x05),
        (0, 0x06),
        (0, 0x07),
        (0, 0x08),
        (0, 0x1D),
        (0, 0x21),
        (0, 0x22),
        (0, 0x24),
        (0, 0x82),
        (0, 0x84),
        (1, 0x03),
        (1, 0x81),
        (3, 0x02),
        (3, 0x70),
        (3, 0x71),
    ];
    assert_eq!(retriable, expected);
}

#[test]
fn table_names_each_code_once() {
    for (status, name) in Status::all() {
        assert_eq!(status.name(), Some(*name), "two rows for SCT {} SC {:#x}", status.sct(), status.sc());
    }
    assert_eq!(Status::new(3, 0x42).name(), None);
}

#[test]
fn display_uses_the_name() {
    assert_eq!(Status::KEY_DOES_NOT_EXIST.to_string(), "KV Key Does Not Exist (SCT 0h, SC 87h)");
    assert_eq!(Status::new(7, 0xBF).to_string(), "Unknown Status (SCT 7h, SC BFh)");
    let all = Status::KEY_EXISTS.with_more(true).with_retry_delay(2);
    assert_eq!(format!("{all:?}"), "Key Exists (SCT 0h, SC 89h) CRD2 M DNR");
}

#[test]
fn is_looks_at_the_code_alone() {
    let plain = Status::KEY_EXISTS.with_do_not_retry(false);
    assert!(plain.is(Status::KEY_EXISTS) && plain != Status::KEY_EXISTS);
    assert!(!plain.is(Status::KEY_DOES_NOT_EXIST));
    assert!(!Status::new(1, 0x02).is(Status::INVALID_FIELD), "same SC, other SCT");
    assert!(Status::SUCCESS.with_more(true).is_success() && !Status::new(1, 0).is_success());
}

proptest! {
    #[test]
    fn word_is_lossless(word: u16) {
        let status = Status::from_word(word);
        prop_assert_eq!(status.to_word(word & 1 != 0), word);
        prop_assert_eq!(Status::from_shifted(status.shifted()), status);
        let rebuilt = Status::new(status.sct(), status.sc())
            .with_retry_delay(status.retry_delay())
            .with_more(status.more())
            .with_do_not_retry(status.do_not_retry());
        prop_assert_eq!(rebuilt, status);
    }
}
