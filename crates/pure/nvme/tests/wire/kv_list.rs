// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of List.

use proptest::collection::vec;
use proptest::prelude::*;
use saker_nvme::Key;
use saker_nvme::kv_list::{HEAD_BYTES, ListError, ListFull, ListReader, ListWriter, entry_bytes};

#[test]
fn golden() {
    let mut buffer = [0xEE; 36];
    let mut writer = ListWriter::new(&mut buffer).unwrap();
    for key in [&b"ab"[..], b"abc", b"abcde", b"z"] {
        writer.push(&Key::new(key).unwrap()).unwrap();
    }
    assert_eq!((writer.count(), writer.bytes()), (4, 28));
    let expected = b"\x04\0\0\0\x02\0ab\x03\0abc\0\0\0\x05\0abcde\0\x01\0z\0\xEE\xEE\xEE\xEE\xEE\xEE\xEE\xEE";
    assert_eq!(&buffer, expected);
}

#[test]
fn strides() {
    for (len, stride) in [(1, 4), (2, 4), (3, 8), (6, 8), (7, 12), (14, 16), (15, 20), (16, 20)] {
        assert_eq!(entry_bytes(len), stride, "{len}");
    }
}

#[test]
fn padding_of_the_last_entry_must_fit() {
    let key = Key::new(b"abc").unwrap();
    for (bytes, fits) in [(9, false), (11, false), (12, true)] {
        let mut buffer = vec![0xEE; bytes];
        let mut writer = ListWriter::new(&mut buffer).unwrap();
        assert_eq!(writer.push(&key).is_ok(), fits, "{bytes}");
        assert_eq!(writer.bytes(), if fits { 12 } else { 4 });
        let written = if fits { 12 } else { 4 };
        assert!(buffer[written..].iter().all(|byte| *byte == 0xEE), "wrote past what it reports");
        assert_eq!(buffer[..4], [u8::from(fits), 0, 0, 0]);
    }
}

#[test]
fn writer_needs_the_head() {
    assert!(ListWriter::new(&mut [0; 3]).is_err_and(|error| error == ListFull));
    let mut buffer = [0xEE; 4];
    assert_eq!(ListWriter::new(&mut buffer).unwrap().bytes(), HEAD_BYTES);
    assert_eq!(buffer, [0; 4]);
}

fn read(bytes: &[u8]) -> Vec<Result<Key, ListError>> {
    ListReader::new(bytes).unwrap().collect()
}

#[test]
fn reader_reports_what_is_wrong_once() {
    let ok = Ok(Key::new(b"ab").unwrap());
    assert_eq!(ListReader::new(&[1, 0, 0]).err(), Some(ListError::Truncated));
    assert_eq!(read(b"\x02\0\0\0\x02\0ab"), [ok, Err(ListError::Truncated)]);
    assert_eq!(read(b"\x02\0\0\0\x02\0ab\x03\0ab"), [ok, Err(ListError::Truncated)]);
    assert_eq!(read(b"\x09\0\0\0\0\0\0\0"), [Err(ListError::KeyLength(0))]);
    assert_eq!(read(b"\x09\0\0\0\x11\0\0\0"), [Err(ListError::KeyLength(17))]);
    assert_eq!(read(b"\x01\0\0\0\x02\x01ab"), [Err(ListError::KeyLength(0x0102))]);
}

#[test]
fn reader_forgives_missing_padding_at_the_end() {
    assert_eq!(read(b"\x01\0\0\0\x03\0abc"), [Ok(Key::new(b"abc").unwrap())]);
}

proptest! {
    #[test]
    fn reader_returns_what_fitted(keys in vec(vec(any::<u8>(), 1..=16), 0..40), room in 4_usize..600) {
        let keys: Vec<_> = keys.iter().map(|key| Key::new(key).unwrap()).collect();
        let mut buffer = vec![0xEE; room];
        let mut writer = ListWriter::new(&mut buffer).unwrap();
        let written = keys.iter().take_while(|key| writer.push(key).is_ok()).count();
        let bytes = writer.bytes();
        let model: usize = 4 + keys[..written].iter().map(|key| (2 + key.len()).next_multiple_of(4)).sum::<usize>();
        prop_assert_eq!(bytes, model);
        if let Some(next) = keys.get(written) {
            prop_assert!(bytes + (2 + next.len()).next_multiple_of(4) > room);
        }
        let read: Result<Vec<_>, _> = ListReader::new(&buffer[..bytes]).unwrap().collect();
        prop_assert_eq!(read.unwrap(), &keys[..written]);
    }

    #[test]
    fn hostile_answers_end(nrk: u32, body in vec(prop_oneof![3 => 0_u8..18, 1 => any::<u8>()], 0..200)) {
        let bytes = [&nrk.to_le_bytes()[..], &body].concat();
        let items = read(&bytes);
        prop_assert!(items.len() <= body.len() / 4 + 2);
        prop_assert!(items.iter().rev().skip(1).all(Result::is_ok), "an error is the last item");
    }
}
