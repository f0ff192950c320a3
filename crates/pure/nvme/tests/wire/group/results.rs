// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results of groups.

use saker_nvme::Status;
use saker_nvme::group::results::{OpResult, ResultsReader, ResultsWriter, results_bytes};

#[test]
fn golden_bytes() {
    let mut writer = ResultsWriter::new(4, 4 + 4 * 8 + 8);
    assert!(writer.begin_value(5));
    writer.value(b"ab");
    writer.value(b"cde");
    writer.push(Status::KEY_DOES_NOT_EXIST);
    assert!(!writer.begin_value(0));
    assert!(!writer.begin_value(1), "eight bytes for values are used up");
    assert_eq!(writer.failed(), 1);
    // 87h is the KV command set's Key Does Not Exist, generic, with DNR (bit 14).
    let drawn =
        b"\x04\0\0\0\0\0\0\0\x05\0\0\0abcde\0\0\0\x87\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x01\0\0\0";
    assert_eq!(writer.finish(), drawn);
    let read: Vec<_> = ResultsReader::new(drawn).unwrap().collect();
    let ok = |bytes, value| OpResult { status: Status::SUCCESS, bytes, value };
    assert_eq!(read[0], ok(5, Some(&b"abcde"[..])));
    assert!(read[1].status.is(Status::KEY_DOES_NOT_EXIST));
    assert_eq!((read[2], read[3]), (ok(0, Some(&[])), ok(1, None)));
    assert_eq!(results_bytes([5, 0, 0]), 4 + 8 + 8 + 8 + 8);
}

#[test]
fn bytes_that_are_no_results_end_the_reading() {
    assert!(ResultsReader::new(&[1, 0, 0]).is_none());
    assert_eq!(ResultsReader::new(&[9, 0, 0, 0]).unwrap().count(), 0);
    assert_eq!(ResultsReader::new(b"\x02\0\0\0\0\0\0\0\xFF\xFF\xFF\x7Fxxxx").unwrap().count(), 0);
}

#[test]
fn many_successes_are_as_many_results() {
    for count in [0, 1, 2, 64] {
        // Room for all results and not a byte more, so that what results still need has to be known.
        let bytes_max = results_bytes(std::iter::repeat_n(0, count as usize + 1).chain([3]));
        let mut one_by_one = ResultsWriter::new(count + 2, bytes_max);
        let mut at_once = one_by_one.clone();
        for writer in [&mut one_by_one, &mut at_once] {
            writer.push(Status::KEY_DOES_NOT_EXIST);
        }
        (0..count).for_each(|_| one_by_one.push(Status::SUCCESS));
        at_once.push_successes(count);
        for writer in [&mut one_by_one, &mut at_once] {
            assert!(writer.begin_value(3));
            writer.value(b"abc");
            assert_eq!(writer.failed(), 1);
        }
        assert_eq!(one_by_one.finish(), at_once.finish());
    }
}
