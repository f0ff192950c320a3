use proptest::prelude::*;

use super::*;

fn pairs(set: &RecordSet) -> Vec<(&[u8], &[u8])> {
    set.iter().map(|r| (r.key, r.value)).collect()
}

/// Guesses the format, then parses.
fn read(input: &[u8]) -> Result<RecordSet, RecordError> {
    RecordSet::parse(input, RecordFormat::guess(input)?)
}

#[test]
fn semicolons_end_the_key_only_once() {
    let set = read(b"0041;LATIN CAPITAL LETTER A;Lu;0\n0042;B;;\r\n\n0043;").unwrap();
    let expected: [(&[u8], &[u8]); 3] =
        [(b"0041", b"LATIN CAPITAL LETTER A;Lu;0"), (b"0042", b"B;;"), (b"0043", b"")];
    assert_eq!(pairs(&set), expected);
}

#[test]
fn a_tab_goes_before_a_semicolon() {
    let set = read(b"\n\na;b\tc;d\n").unwrap();
    assert_eq!(pairs(&set), [(&b"a;b"[..], &b"c;d"[..])]);
}

#[test]
fn bytes_need_not_be_text() {
    let set = read(b"\xff\x00\t\xfe\n").unwrap();
    assert_eq!(pairs(&set), [(&b"\xff\x00"[..], &b"\xfe"[..])]);
}

#[test]
fn json_lines_take_strings_and_keep_other_values_as_json() {
    let text = "{\"key\":\"k\\u00e9\",\"value\":\"a\\nb\"}\n{\"value\": {\"n\": [1, 2]}, \"key\": \"x\", \"more\": 1}\n";
    let set = read(text.as_bytes()).unwrap();
    let expected: [(&[u8], &[u8]); 2] = [("k\u{e9}".as_bytes(), b"a\nb"), (b"x", b"{\"n\":[1,2]}")];
    assert_eq!(pairs(&set), expected);
}

#[test]
fn errors_name_their_line() {
    let cases: [(&[u8], usize, &str); 9] = [
        (b"", 0, "no records"),
        (b"\n\n\n", 0, "no records"),
        (b"no separator", 1, "expected"),
        (b"a\tb\nc", 2, "no separator"),
        (b"a\tb\n\n\tc", 3, "key is empty"),
        (b"{\"key\":\"a\",\"value\":\"b\"}\n{\"key\":1,\"value\":\"b\"}", 2, "`key`"),
        (b"{\"key\":\"a\"}", 1, "`value`"),
        (b"{\"key\":", 1, "not JSON"),
        (b"{\"key\":\"\",\"value\":\"b\"}", 1, "key is empty"),
    ];
    for (input, line, part) in cases {
        let error = read(input).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.reason.contains(part), "{error}");
    }
}

#[test]
fn keys_have_at_most_255_bytes() {
    let line = |n: usize| [&vec![b'k'; n][..], b"\tv"].concat();
    assert_eq!(read(&line(255)).unwrap().get(0).unwrap().key.len(), 255);
    assert!(read(&line(256)).unwrap_err().reason.contains("256"));
}

#[test]
fn classes_end_at_powers_of_two() {
    let sizes = [0, 1, 2, 3, 4, 5, 8, 9, 100, 128];
    let input: Vec<u8> = sizes.iter().flat_map(|&n| [&b"k\t"[..], &vec![b'v'; n], b"\n"].concat()).collect();
    let set = read(&input).unwrap();
    let classes: Vec<_> =
        set.size_classes().iter().map(|c| (c.bytes_min, c.bytes_max, c.records, c.value_bytes)).collect();
    let expected =
        [(0, 1, 2, 1), (2, 2, 1, 2), (3, 4, 2, 7), (5, 8, 2, 13), (9, 16, 1, 9), (65, 128, 2, 228)];
    assert_eq!(classes, expected);
    assert_eq!((set.len(), set.distinct_keys()), (10, 1));
    assert!(RecordSet::default().size_classes().is_empty());
}

/// The shipped sample: 34,924 lines, whose keys are code points of 4 to 6 digits.
#[test]
fn the_shipped_sample_reads_in_full() {
    let set = read(include_bytes!("../../../../../data/UnicodeData.txt")).unwrap();
    assert_eq!((set.len(), set.distinct_keys()), (34_924, 34_924));
    assert!(set.iter().all(|r| (4..=6).contains(&r.key.len())));
    assert_eq!(set.get(0x41).unwrap().key, b"0041");
    let grouped: usize = set.size_classes().iter().map(|c| c.records).sum();
    assert_eq!(grouped, 34_924);
}

proptest! {
    #[test]
    fn any_input_gives_records_or_an_error(input: Vec<u8>, separator: u8) {
        for format in [RecordFormat::Separated(separator), RecordFormat::JsonLines] {
            if let Ok(set) = RecordSet::parse(&input, format) {
                prop_assert!(set.iter().all(|r| (1..=255).contains(&r.key.len())));
            }
        }
    }

    #[test]
    fn written_records_read_back(records in prop::collection::vec(("[a-z]{1,20}", "[a-z;\t]{0,40}"), 1..50)) {
        let text: String = records.iter().map(|(k, v)| format!("{k}\t{v}\n")).collect();
        let set = RecordSet::parse(text.as_bytes(), RecordFormat::Separated(b'\t')).unwrap();
        let expected: Vec<(&[u8], &[u8])> = records.iter().map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect();
        prop_assert_eq!(pairs(&set), expected);
    }
}
