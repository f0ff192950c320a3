// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All records of a file at once, by the rules of `saker load`.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use saker_workload::RecordSet;

use super::format::is_stream;
use super::{BUFFER_BYTES, Format, ReadError, Reader, Record};
use crate::error::CliError;

/// The records of `path`; `-` is standard input.
///
/// # Errors
/// `File`; `Failed` for the first line that is no record.
pub fn read(path: &Path, format: Format, raw: bool, input: &mut dyn Read) -> Result<RecordSet, CliError> {
    if is_stream(path) {
        return all(input, path, format, raw);
    }
    all(File::open(path).map_err(CliError::file("open", path))?, path, format, raw)
}

fn all(input: impl Read, path: &Path, format: Format, raw: bool) -> Result<RecordSet, CliError> {
    let mut reader = Reader::new(BufReader::with_capacity(BUFFER_BYTES, input), format, raw);
    let (mut set, mut record) = (RecordSet::default(), Record::default());
    loop {
        match reader.next(&mut record) {
            Ok(true) => set.push(&record.key, &record.value),
            Ok(false) => return Ok(set),
            Err(ReadError::Bad(bad)) => {
                let todo = "mend it, or name the format with --format";
                return Err(CliError::failed(format!("{} {bad}", path.display()), todo));
            }
            Err(ReadError::Stream(error)) => return Err(CliError::file("read", path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn of(text: &[u8], format: Format) -> Result<Pairs, String> {
        let set = all(text, Path::new("in"), format, false).map_err(|e| e.to_string())?;
        Ok(set.iter().map(|r| (r.key.to_vec(), r.value.to_vec())).collect())
    }

    #[test]
    fn records_are_read_as_load_reads_them() {
        let pair = |k: &[u8], v: &[u8]| Ok(vec![(k.to_vec(), v.to_vec())]);
        assert_eq!(
            of(b"{\"key_base64\":\"AP8=\",\"value\":\"xx\"}\n", Format::Jsonl),
            pair(b"\0\xff", b"xx")
        );
        assert_eq!(of(b"a\\tb\tv\\n\n", Format::Tsv), pair(b"a\tb", b"v\n"));
        let refused = of(b"{\"key\":\"a\",\"value\":5}", Format::Jsonl).unwrap_err();
        assert!(refused.starts_with("in line 1: "), "{refused}");
        assert!(of(b"a\t1\nb", Format::Tsv).unwrap_err().starts_with("in line 2: no tab"));
    }

    /// The shipped sample: 34,924 lines, whose keys are code points of 4 to 6 digits.
    #[test]
    fn the_shipped_sample_reads_in_full() {
        let text = include_bytes!("../../../../../data/UnicodeData.txt");
        let set = all(&text[..], Path::new("in"), Format::Semicolon, false).unwrap();
        assert_eq!((set.len(), set.distinct_keys()), (34_924, 34_924));
        assert!(set.iter().all(|r| (4..=6).contains(&r.key.len())));
        assert_eq!(set.get(0x41).unwrap().key, b"0041");
        let grouped: usize = set.size_classes().iter().map(|c| c.records).sum();
        assert_eq!(grouped, 34_924);
    }
}
