// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images that earlier versions have written open, with all they have. `versions/` has two for each format version and engine, as text:
//! the bytes of the file, and where those lie that are not zero. They are never written anew: a version that cannot open one
//! any more breaks the promise of `docs/image-format.md`. Here are those with little in them; `versions_joined` has the others.

use super::versions_joined;
use crate::support::{key, value};
use saker::{Block, EngineKind, ImagePlan, Kv, NamespacePlan, ScanOptions, verify_image};
use saker_segment_store::header::crc32c;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The format version that this program writes.
pub const VERSION: u32 = 1;

const LINE_BYTES: usize = 64;
/// Header bytes that its checksum covers, and where it has the number of streams.
const HEADER_COVERED: usize = 4092;
const STREAMS_AT: usize = 102;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/image/versions")
}

fn fixture(version: u32, engine: EngineKind) -> PathBuf {
    folder().join(format!("v{version}-{}.hex", engine.name()))
}

/// The bytes as text: a line for each 64 that are not zero, without zeros at its end; `*N` when N such lines follow each other.
pub fn to_text(bytes: &[u8]) -> String {
    let chunks: Vec<&[u8]> = bytes.chunks(LINE_BYTES).collect();
    let mut text = format!("bytes {}\n", bytes.len());
    let mut line = 0;
    for equal in chunks.chunk_by(|a, b| a == b) {
        if let Some(end) = equal[0].iter().rposition(|byte| *byte != 0) {
            let hex: String = equal[0][..=end].iter().map(|byte| format!("{byte:02x}")).collect();
            let times = if equal.len() > 1 { format!("*{}", equal.len()) } else { String::new() };
            writeln!(text, "{:x} {hex}{times}", line * LINE_BYTES).expect("text grows");
        }
        line += equal.len();
    }
    text
}

pub fn from_text(text: &str) -> Vec<u8> {
    let (head, lines) = text.split_once('\n').expect("a first line");
    let mut bytes = vec![0; head.strip_prefix("bytes ").expect("a length").parse().expect("a number")];
    for line in lines.lines() {
        let (at, what) = line.split_once(' ').expect("a place and bytes");
        let at = usize::from_str_radix(at, 16).expect("a place");
        let (hex, times) = what.split_once('*').unwrap_or((what, "1"));
        for n in 0..times.parse().expect("a number") {
            for (nth, digits) in hex.as_bytes().chunks(2).enumerate() {
                let digits = std::str::from_utf8(digits).expect("digits");
                bytes[at + n * LINE_BYTES + nth] = u8::from_str_radix(digits, 16).expect("a byte");
            }
        }
    }
    bytes
}

/// Pairs of a fixture, after all that was done to it.
fn expected() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pairs = (0..30u32).filter(|n| n % 7 != 3);
    pairs.map(|n| (key(n), value(n, if n < 10 { 2 } else { 1 }, n * 5 % 120))).collect()
}

/// An image as this version writes it: replaced pairs, deleted ones, long keys, blocks, several openings.
fn write(path: &Path, engine: EngineKind) {
    let namespaces = vec![
        NamespacePlan::Kv { flash_bytes: None },
        NamespacePlan::Block { bytes: Some(64 << 10), block_bytes: 512 },
    ];
    ImagePlan { engine, namespaces, ..ImagePlan::kv(4 << 20, "tiny", 7) }.create(path).expect("creates");
    let url = format!("file:{}", path.display());
    // So that there are tables and nodes, not only a log.
    let small = [EngineKind::LSM, EngineKind::TREE].contains(&engine);
    let pairs = if small { format!("{url}?write_buffer_size=1KiB") } else { url.clone() };
    let mut kv = Kv::open(&pairs).expect("opens");
    (0..30).for_each(|n| kv.put(&key(n), &value(n, 1, n * 5 % 120)).expect("stores"));
    kv.close().expect("closes");
    let mut kv = Kv::open(&pairs).expect("opens");
    (0..10).for_each(|n| kv.put(&key(n), &value(n, 2, n * 5 % 120)).expect("stores"));
    (0..30).filter(|n| n % 7 == 3).for_each(|n| assert!(kv.delete(&key(n)).expect("deletes")));
    kv.close().expect("closes");
    let mut disk = Block::open(&url).expect("opens");
    disk.write(5, &[0xb5; 1024]).expect("writes");
    disk.close().expect("closes");
}

fn look(path: &Path, what: &str) {
    assert!(verify_image(path, &mut |_| {}).expect(what).report.is_sound(), "{what}");
    let url = format!("file:{}", path.display());
    for round in 0..2 {
        let mut kv = Kv::open(&url).unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut found = BTreeMap::new();
        kv.scan(&ScanOptions::default(), &mut |key, value| {
            found.insert(key.to_vec(), value.to_vec());
            true
        })
        .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(found == expected(), "{what}: round {round}");
        // It is written by this version, and opened again.
        kv.put(b"new", b"value").expect(what);
        assert!(kv.delete(b"new").expect(what), "{what}");
        kv.close().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let mut disk = Block::open(&url).expect(what);
    let mut blocks = [0; 4 * 512];
    disk.read(4, &mut blocks).expect(what);
    let is_written = |at: usize| (512..1536).contains(&at);
    assert!(
        blocks.iter().enumerate().all(|(at, byte)| *byte == if is_written(at) { 0xb5 } else { 0 }),
        "{what}"
    );
    disk.close().expect(what);
}

#[test]
#[ignore = "it writes the fixtures of a new format version or engine; those that are there stay"]
fn fixtures_of_this_version() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL {
        let (path, fixture) = (dir.path().join(engine.name()), fixture(VERSION, *engine));
        write(&path, *engine);
        if !fixture.exists() {
            std::fs::create_dir_all(folder()).expect("makes the folder");
            std::fs::write(fixture, to_text(&std::fs::read(path).expect("reads"))).expect("writes");
        }
    }
}

#[test]
fn images_of_every_version_open() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for version in 1..=VERSION {
        for engine in EngineKind::ALL {
            let fixture = fixture(version, *engine);
            let what = format!("version {version}, {}", engine.name());
            let text = std::fs::read_to_string(&fixture).unwrap_or_else(|error| panic!("{what}: {error}"));
            let path = dir.path().join(format!("{version}-{}.img", engine.name()));
            std::fs::write(&path, from_text(&text)).expect("writes");
            look(&path, &what);
        }
    }
}

#[test]
fn every_fixture_is_looked_at() {
    let names = |version| EngineKind::ALL.iter().map(move |engine| (version, *engine));
    let all = (1..=VERSION).flat_map(names);
    let mut known: Vec<_> =
        all.flat_map(|(v, engine)| [fixture(v, engine), versions_joined::fixture(v, engine)]).collect();
    let mut there: Vec<_> =
        std::fs::read_dir(folder()).expect("lists").map(|entry| entry.expect("an entry").path()).collect();
    known.sort();
    there.sort();
    assert_eq!(there, known);
}

/// Images of development versions had fewer streams; nothing else of them differs.
#[test]
fn images_with_fewer_streams_open() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in EngineKind::ALL {
        let text = std::fs::read_to_string(fixture(1, *engine)).expect("there is one");
        for streams in 3..=6u16 {
            let mut bytes = from_text(&text);
            for copy in [0, 4096] {
                let header = &mut bytes[copy..copy + 4096];
                header[STREAMS_AT..STREAMS_AT + 2].copy_from_slice(&streams.to_le_bytes());
                let sum = crc32c(&header[..HEADER_COVERED]);
                header[HEADER_COVERED..].copy_from_slice(&sum.to_le_bytes());
            }
            let path = dir.path().join(format!("{}-{streams}.img", engine.name()));
            std::fs::write(&path, bytes).expect("writes");
            look(&path, &format!("{streams} streams, {}", engine.name()));
        }
    }
}

#[test]
fn text_and_bytes_are_the_same() {
    let mut bytes = vec![0; 1000];
    (bytes[0], bytes[63], bytes[64], bytes[999]) = (1, 2, 3, 4);
    bytes[320..576].fill(9);
    assert_eq!(from_text(&to_text(&bytes)), bytes);
    assert!(to_text(&bytes).contains("\n140 0909") && to_text(&bytes).contains("09*4\n"));
    assert_eq!(to_text(&[0; 200]), "bytes 200\n");
}
