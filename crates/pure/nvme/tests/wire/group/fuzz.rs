// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mutated payloads: the parsers neither panic nor accept what is not a payload, and every payload has one spelling.
//!
//! Inputs are bred from `corpus.txt`: what shows something new (another error, more entries before it) joins them for the
//! rest of the run. The corpus itself is replayed with its outcomes in every run; `write_corpus` makes it anew.

use super::{pack, unpack};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use saker_nvme::group::results::ResultsReader;
use saker_nvme::group::{
    Ask, Entry, Form, GroupMode, Malformed, Op, PairAddress, pack_transaction, parse, parse_mut, parse_part,
    parse_transaction, parse_vector, read_transaction_results, write_vector,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Mutants tried in the check tier, and how many times as many in the soak tier: ten minutes on one core, by the profile `soak` (`docs/figures.md`).
const MUTANTS: u64 = 200_000;
const SOAK_ROUNDS: u64 = 4_500;
/// Inputs that are bred from.
const POPULATION_MAX: usize = 2000;
const INPUT_BYTES_MAX: usize = 4096;

fn rounds() -> u64 {
    saker_testing::tier(1, SOAK_ROUNDS)
}

/// What reads the bytes: a payload of a form, that of a transaction, or a vector of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reader {
    Payload(u8),
    Transaction(u8),
    Vector,
}

const READERS: [Reader; 9] = [
    Reader::Payload(1),
    Reader::Payload(2),
    Reader::Payload(3),
    Reader::Payload(4),
    Reader::Payload(5),
    Reader::Transaction(1),
    Reader::Transaction(3),
    Reader::Transaction(5),
    Reader::Vector,
];

/// How the bytes were taken: entries seen, and the error with its place.
type Taken = (u32, Option<(String, u32)>);

/// Reads and checks what must hold for all bytes.
fn take(reader: Reader, bytes: &[u8]) -> Taken {
    // Whatever comes back from a device is read the same way.
    assert!(ResultsReader::new(bytes).into_iter().flatten().count() <= bytes.len());
    for has_versions in [false, true] {
        let read = read_transaction_results(GroupMode { is_transaction: true, has_versions }, bytes);
        assert!(read.is_none_or(|results| results.len() <= bytes.len()));
    }
    let wrong = |m: Malformed| {
        assert!(m.at as usize <= bytes.len() && !m.status().is_success());
        (format!("{:?}", m.reason), m.at)
    };
    if let Reader::Transaction(form) = reader {
        let (seen, error) = take_transaction(Form::from_number(form).unwrap(), bytes);
        return (seen, error.map(wrong));
    }
    let Reader::Payload(form) = reader else {
        let read = parse_vector(bytes);
        if let Ok(pairs) = &read {
            assert_eq!(write_vector(pairs), bytes, "two spellings of one vector");
        }
        return read.map_or_else(|m| (0, Some(wrong(m))), |pairs| (pairs.len() as u32, None));
    };
    let form = Form::from_number(form).unwrap();
    let mut seen = Vec::new();
    let read = parse(form, bytes, |e| {
        assert!(e.key.end as usize <= bytes.len() && !e.key.is_empty());
        assert!(e.value.end as usize <= bytes.len() && e.value.start <= e.value.end);
        seen.push(e);
    });
    if read.is_ok() {
        assert_eq!(pack(form, &unpack(form, bytes)), bytes, "two spellings of one group");
    }
    assert_eq!(take_marking(form, bytes, &seen), read, "readers that mark what they have read see the same");
    (seen.len() as u32, read.err().map(wrong))
}

/// Reads the payload of a transaction. One that is good has one spelling, and without conditions it is a group's.
fn take_transaction(form: Form, bytes: &[u8]) -> (u32, Option<Malformed>) {
    let mut seen = Vec::new();
    let part = |r: &std::ops::Range<u32>| &bytes[r.start as usize..r.end as usize];
    let read = parse_transaction(form, bytes, |e| {
        assert!(!e.key.is_empty() && e.value.start <= e.value.end);
        seen.push((e.ask, part(&e.key), part(&e.value)));
    });
    let has_conditions = seen.iter().any(|(ask, ..)| !matches!(ask, Ask::Op(_)));
    if let Ok(count) = read {
        let (packed_form, packed) = pack_transaction(seen.iter().copied()).unwrap();
        assert!(packed_form != form || packed == bytes, "two spellings of one transaction");
        let as_group = parse(form, bytes, |_| {});
        assert_eq!(as_group.is_ok(), !has_conditions, "a group has no conditions");
        assert_eq!(as_group.unwrap_or(count), count);
    }
    if form == Form::Mixed {
        let reads = seen.iter().any(|(ask, ..)| matches!(ask, Ask::Op(Op::Retrieve | Op::Exist)));
        let as_part = parse_part(bytes, |_| {});
        assert!(
            if reads { as_part.is_err() } else { as_part == read },
            "a part is a transaction that reads nothing"
        );
    }
    (seen.len() as u32, read.err())
}

/// Reads a payload and overwrites each entry as soon as it is shown: those behind it are read as they came.
fn take_marking(form: Form, bytes: &[u8], entries: &[Entry]) -> Result<u32, Malformed> {
    let (mut payload, mut expected) = (bytes.to_vec(), entries.iter());
    let read = parse_mut(form, &mut payload, |e, shown| {
        let end = e.key.end.max(e.value.end).next_multiple_of(4);
        assert_eq!(shown, &bytes[e.key.start as usize - 4..end as usize]);
        assert_eq!(expected.next(), Some(&e));
        shown.fill(0xFF);
    });
    assert_eq!(expected.next(), None);
    read
}

/// Payloads to begin with, one of each form, and a vector.
fn seeds() -> Vec<(Reader, Vec<u8>)> {
    let key = |n: u8| vec![n; usize::from(n) % 40 + 1];
    let of = |number: u8, op: fn(u8) -> Op| {
        let entry =
            |n: u8| (op(n), key(n), if op(n) == Op::Store { vec![n; usize::from(n) * 3] } else { vec![] });
        let form = Form::from_number(number).unwrap();
        (Reader::Payload(number), pack(form, &(0..9).map(entry).collect::<Vec<_>>()))
    };
    let pair = |n: u32| PairAddress {
        key_address: u64::from(n) << 30,
        value_address: u64::MAX - u64::from(n),
        key_bytes: n + 1,
        value_bytes: n * 100,
    };
    vec![
        of(1, |_| Op::Store),
        of(2, |_| Op::Retrieve),
        of(3, |_| Op::Delete),
        of(4, |_| Op::Exist),
        of(5, |n| Op::from_number(u32::from(n) % 4 + 1).unwrap()),
        (Reader::Transaction(1), of(1, |_| Op::Store).1),
        (Reader::Transaction(5), transaction()),
        (Reader::Vector, write_vector(&(0..5).map(pair).collect::<Vec<_>>())),
    ]
}

/// Every type twice.
fn transaction() -> Vec<u8> {
    let asks = [1, 2, 3, 4, 16, 17, 18, 19].map(|n| Ask::from_number(n).unwrap());
    let entries: Vec<_> = (0..16_u8)
        .map(|n| {
            let ask = asks[usize::from(n) % 8];
            let bytes = if ask == Ask::Version { 24 } else { usize::from(n) * 3 };
            (ask, vec![n; usize::from(n) % 40 + 1], vec![n; if ask.has_value() { bytes } else { 0 }])
        })
        .collect();
    pack_transaction(entries.iter().map(|(ask, key, value)| (*ask, &key[..], &value[..]))).unwrap().1
}

/// Numbers that parsers get wrong.
const EDGES: [u32; 10] = [0, 1, 3, 4, 255, 256, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut TestRng) {
    let at = rng.next_u32() as usize % (bytes.len() + 1);
    match rng.next_u32() % 8 {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.next_u32() as u8),
        2 if at < bytes.len() => bytes[at] ^= 1 << (rng.next_u32() % 8),
        3 if at < bytes.len() => drop(bytes.remove(at)),
        4 => bytes.resize(bytes.len() + rng.next_u32() as usize % 16, 0),
        5 => {
            let from = rng.next_u32() as usize % (other.len() + 1);
            bytes.truncate(at / 4 * 4);
            bytes.extend_from_slice(&other[from / 4 * 4..]);
        }
        6 => {
            let at = at / 4 * 4;
            if let Some(word) = bytes.get_mut(at..at + 4) {
                let near = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                word.copy_from_slice(&near.wrapping_add(rng.next_u32() % 9).wrapping_sub(4).to_le_bytes());
            }
        }
        _ => {
            let at = at / 4 * 4;
            let edge = EDGES[rng.next_u32() as usize % EDGES.len()];
            if let Some(word) = bytes.get_mut(at..at + 4) {
                word.copy_from_slice(&edge.to_le_bytes());
            }
        }
    }
    bytes.truncate(INPUT_BYTES_MAX);
}

/// What tells outcomes apart: the reader, the error, and about how far it got.
type Novelty = (Reader, Option<String>, u32);

fn novelty(reader: Reader, (seen, error): &Taken) -> Novelty {
    (reader, error.as_ref().map(|(reason, _)| reason.clone()), u32::BITS - seen.leading_zeros())
}

/// Breeds `mutants` inputs; returns the first of each kind, and how many were accepted.
fn breed(begin: &[(Reader, Vec<u8>)], mutants: u64) -> (BTreeMap<Novelty, Vec<u8>>, u64) {
    let mut rng = TestRng::from_seed(RngAlgorithm::XorShift, &[7; 16]);
    let (mut found, mut accepted) = (BTreeMap::new(), 0);
    let mut population = begin.to_vec();
    for (reader, bytes) in begin {
        found.entry(novelty(*reader, &take(*reader, bytes))).or_insert_with(|| bytes.clone());
    }
    for n in 0..mutants {
        let pick = |rng: &mut TestRng, from: &[(Reader, Vec<u8>)]| rng.next_u32() as usize % from.len();
        let (reader, mut bytes) = population[pick(&mut rng, &population)].clone();
        let reader = if n % 7 == 0 { READERS[n as usize / 7 % READERS.len()] } else { reader };
        for _ in 0..=rng.next_u32() % 3 {
            let other = pick(&mut rng, &population);
            mutate(&mut bytes, &population[other].1, &mut rng);
        }
        let taken = take(reader, &bytes);
        accepted += u64::from(taken.1.is_none());
        let kind = novelty(reader, &taken);
        if !found.contains_key(&kind) && population.len() < POPULATION_MAX {
            population.push((reader, bytes.clone()));
            found.insert(kind, bytes);
        }
    }
    (found, accepted)
}

fn line(reader: Reader, bytes: &[u8]) -> String {
    let name = match reader {
        Reader::Payload(form) => form.to_string(),
        Reader::Transaction(form) => format!("t{form}"),
        Reader::Vector => "vector".to_owned(),
    };
    let (seen, error) = take(reader, bytes);
    let outcome = error.map_or_else(|| "good".to_owned(), |(reason, at)| format!("{reason}@{at}"));
    let mut line = format!("{name} {seen} {outcome} ");
    bytes.iter().for_each(|b| write!(line, "{b:02x}").unwrap());
    line
}

fn read_line(line: &str) -> (Reader, Vec<u8>) {
    let mut words = line.split(' ');
    let name = words.next().unwrap();
    let reader = match name.strip_prefix('t') {
        Some(form) => Reader::Transaction(form.parse().unwrap()),
        None => name.parse().map_or(Reader::Vector, Reader::Payload),
    };
    let hex = words.nth(2).unwrap_or_default();
    let byte = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).unwrap();
    (reader, (0..hex.len()).step_by(2).map(byte).collect())
}

fn corpus() -> Vec<(Reader, Vec<u8>)> {
    include_str!("corpus.txt").lines().map(read_line).collect()
}

#[test]
fn the_corpus_is_taken_as_it_says() {
    let lines: Vec<&str> = include_str!("corpus.txt").lines().collect();
    assert!(lines.len() >= 60, "a corpus of {}", lines.len());
    for text in lines {
        let (reader, bytes) = read_line(text);
        assert_eq!(line(reader, &bytes), text);
    }
}

#[test]
fn mutants_are_refused_or_are_payloads() {
    let (found, accepted) = breed(&corpus(), MUTANTS * rounds());
    println!("{} mutants, {accepted} accepted, {} kinds", MUTANTS * rounds(), found.len());
    assert!(accepted > MUTANTS / 100, "the mutants must not all be nonsense: {accepted}");
    for reason in ["Empty", "Truncated", "Trailing", "KeySize", "Padding", "Type", "Version", "Range"] {
        assert!(found.keys().any(|(_, error, _)| error.as_deref() == Some(reason)), "never {reason}");
    }
}

/// `cargo test -p saker-nvme --test wire -- --ignored write_corpus --nocapture | grep -E '^(vector|t?[1-5]) '`
#[test]
#[ignore = "prints a new corpus"]
fn write_corpus() {
    let (found, _) = breed(&seeds(), 10 * MUTANTS);
    for ((reader, ..), bytes) in found.iter().filter(|(_, bytes)| bytes.len() <= 400) {
        println!("{}", line(*reader, bytes));
    }
}
