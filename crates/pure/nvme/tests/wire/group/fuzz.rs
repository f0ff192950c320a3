//! Mutated payloads: the parser neither panics nor accepts what is not a payload, and every payload has one spelling.

use super::{pack, unpack};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use saker_nvme::group::results::ResultsReader;
use saker_nvme::group::{Form, Op, parse};

/// Mutants tried in the check tier; the soak tier tries these many for each of its rounds.
const MUTANTS: u64 = 200_000;

#[expect(clippy::disallowed_methods, reason = "the tier is a setting of the test run")]
fn rounds() -> u64 {
    if std::env::var("SAKER_TIER").as_deref() == Ok("soak") { 6000 } else { 1 }
}

/// Payloads to begin with, one of each form.
fn corpus() -> Vec<(Form, Vec<u8>)> {
    let key = |n: u8| vec![n; usize::from(n) % 40 + 1];
    let of = |form: Form, op: fn(u8) -> Op| {
        let entry =
            |n: u8| (op(n), key(n), if op(n) == Op::Store { vec![n; usize::from(n) * 3] } else { vec![] });
        (form, pack(form, &(0..9).map(entry).collect::<Vec<_>>()))
    };
    vec![
        of(Form::All(Op::Store), |_| Op::Store),
        of(Form::All(Op::Retrieve), |_| Op::Retrieve),
        of(Form::All(Op::Delete), |_| Op::Delete),
        of(Form::All(Op::Exist), |_| Op::Exist),
        of(Form::Mixed, |n| Op::from_number(u32::from(n) % 4 + 1).unwrap()),
    ]
}

/// Numbers that parsers get wrong.
const EDGES: [u32; 10] = [0, 1, 3, 4, 255, 256, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF];

fn mutate(bytes: &mut Vec<u8>, rng: &mut TestRng) {
    let at = rng.next_u32() as usize % (bytes.len() + 1);
    match rng.next_u32() % 6 {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, rng.next_u32() as u8),
        2 if at < bytes.len() => bytes[at] ^= 1 << (rng.next_u32() % 8),
        3 if at < bytes.len() => drop(bytes.remove(at)),
        4 => bytes.resize(bytes.len() + rng.next_u32() as usize % 16, 0),
        _ => {
            let at = at / 4 * 4;
            let edge = EDGES[rng.next_u32() as usize % EDGES.len()];
            if let Some(word) = bytes.get_mut(at..at + 4) {
                word.copy_from_slice(&edge.to_le_bytes());
            }
        }
    }
}

#[test]
fn mutants_are_refused_or_are_payloads() {
    let corpus = corpus();
    let mut rng = TestRng::from_seed(RngAlgorithm::XorShift, &[7; 16]);
    let mut accepted = 0_u64;
    for n in 0..MUTANTS * rounds() {
        let (form, mut bytes) = corpus[n as usize % corpus.len()].clone();
        let form = if n % 7 == 0 { Form::from_number((n % 5) as u8 + 1).unwrap() } else { form };
        for _ in 0..=rng.next_u32() % 3 {
            mutate(&mut bytes, &mut rng);
        }
        if parse(form, &bytes, |e| assert!(e.key.end as usize <= bytes.len() && !e.key.is_empty())).is_ok() {
            assert_eq!(pack(form, &unpack(form, &bytes)), bytes, "two spellings of one group");
            accepted += 1;
        }
        // Whatever comes back from a device is read the same way.
        assert!(ResultsReader::new(&bytes).into_iter().flatten().count() <= bytes.len());
    }
    assert!(accepted > MUTANTS / 100, "the mutants must not all be nonsense: {accepted}");
}
