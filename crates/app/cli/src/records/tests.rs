// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reader and writer together, over every format.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;
use crate::limits::VALUE_BYTES_MAX;

const FORMATS: [Format; 3] = [Format::Tsv, Format::Jsonl, Format::Semicolon];

type Outcome = Result<(Vec<u8>, Vec<u8>), String>;

fn written(records: &[(Vec<u8>, Vec<u8>)], format: Format) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), format);
    for (key, value) in records {
        writer.write(key, value).unwrap();
    }
    let bytes_written = writer.bytes_written();
    let text = writer.into_inner();
    assert_eq!(bytes_written, text.len() as u64);
    text
}

/// Every record and bad line of `text`, read through a buffer of `capacity` bytes.
fn outcomes(text: &[u8], format: Format, capacity: usize) -> Vec<Outcome> {
    let mut reader = Reader::new(BufReader::with_capacity(capacity, text), format, false);
    let (mut all, mut record) = (Vec::new(), Record::default());
    loop {
        match reader.next(&mut record) {
            Ok(false) => break,
            Ok(true) => all.push(Ok((record.key.clone(), record.value.clone()))),
            Err(error) => all.push(Err(error.to_string())),
        }
    }
    assert_eq!(reader.bytes_read(), text.len() as u64);
    all
}

fn record(key: &[u8], value: &[u8]) -> Outcome {
    Ok((key.to_vec(), value.to_vec()))
}

#[test]
fn no_records_are_an_empty_file() {
    for format in FORMATS {
        assert_eq!(written(&[], format), b"");
        assert_eq!(outcomes(b"", format, 16), []);
        assert_eq!(outcomes(b"\n\r\n\n", format, 16), []);
    }
}

#[test]
fn bad_lines_have_their_number_and_reading_goes_on() {
    let found = outcomes(b"a\t1\r\n\nbad\n\tx\nc\t3", Format::Tsv, 3);
    let bad = Err("line 3: no tab between key and value".to_owned());
    assert_eq!(
        found,
        [record(b"a", b"1"), bad, Err("line 4: the key is empty".to_owned()), record(b"c", b"3")]
    );
}

#[test]
fn a_value_over_two_mebibytes_is_an_error() {
    let text = [b"k;", vec![b'v'; 3 << 20].as_slice(), b"\nk;v\n"].concat();
    let reason = "line 1: the value has 3145728 bytes, the most is 2097152 (2MiB)";
    assert_eq!(outcomes(&text, Format::Semicolon, 4096), [Err(reason.to_owned()), record(b"k", b"v")]);
}

#[test]
fn a_line_without_end_is_passed_over_in_bounded_memory() {
    for format in FORMATS {
        let text = vec![b'x'; format.line_bytes_max() + 1];
        let reason = "line 1: the line is too long for any record";
        assert_eq!(outcomes(&text, format, BUFFER_BYTES), [Err(reason.to_owned())]);
    }
}

#[test]
fn the_largest_record_fits_its_line_however_it_is_written() {
    for (format, byte) in [(Format::Tsv, 0xff), (Format::Semicolon, 0xff), (Format::Jsonl, 0x01)] {
        let records = [(vec![byte; 255], vec![byte; VALUE_BYTES_MAX])];
        let text = written(&records, format);
        assert!(text.len() <= format.line_bytes_max() + 1);
        assert!(text.len() > format.line_bytes_max() - 4096, "the limit is the worst case");
        let [Ok(found)] = &outcomes(&text, format, BUFFER_BYTES)[..] else { panic!("one record") };
        assert!(*found == records[0]);
    }
}

#[test]
fn a_key_that_looks_like_a_byte_order_mark_survives() {
    let records = [("\u{feff}a".as_bytes().to_vec(), b"v".to_vec())];
    for format in FORMATS {
        assert_eq!(outcomes(&written(&records, format), format, 16), [Ok(records[0].clone())]);
    }
}

proptest! {
    #[test]
    fn every_record_round_trips_in_every_format(
        records in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..40), any::<Vec<u8>>()), 0..8),
        capacity in 1_usize..64,
    ) {
        for format in FORMATS {
            let text = written(&records, format);
            let expected: Vec<_> = records.iter().cloned().map(Ok).collect();
            prop_assert_eq!(outcomes(&text, format, capacity), expected);
        }
    }

    #[test]
    fn no_text_makes_the_reader_fail_otherwise_than_by_line(text: Vec<u8>, format in 0_usize..3) {
        let newlines = text.iter().filter(|&&b| b == b'\n').count();
        prop_assert!(outcomes(&text, FORMATS[format], 7).len() <= newlines + 1);
    }
}
