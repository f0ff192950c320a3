// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts that are lost, repeated, out of order, too many, of another queue or namespace: a model says what each is
//! answered, and values are only ever stored whole.

use crate::methods::rig::{Answer, Machine, Rig, build, key, value};
use crate::methods::tier;
use proptest::prelude::*;
use saker_host::{Pacing, RawData};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, Sqe, Status, vendor_specific};
use saker_world::{Clocked, Inline};
use std::collections::BTreeMap;

/// A command of the history. Sequences and namespaces are often wrong.
#[derive(Clone, Copy, Debug)]
enum Step {
    Piggyback { bytes: usize },
    Transfer { skip: u32, nsid: u32 },
    Tail { skip: u32, nsid: u32 },
    Hybrid { tail: usize },
    Exist,
}

/// The open value, as the specification of the commands has it.
#[derive(Clone, Debug)]
enum Open {
    Value { name: u32, whole: Vec<u8>, have: usize, next: u32 },
    Tails { bytes: Vec<u8>, next: u32 },
}

#[derive(Default)]
struct Model {
    open: [Option<Open>; 2],
    /// What was sent last as a whole, for the parts that come.
    source: [Vec<u8>; 2],
    stored: BTreeMap<u32, Vec<u8>>,
    names: u32,
}

const OK: Status = Status::SUCCESS;
const LOST: Status = Status::COMMAND_SEQUENCE_ERROR;

fn part(bytes: &[u8], at: usize) -> [u8; 56] {
    std::array::from_fn(|n| bytes.get(at + n).copied().unwrap_or(0xEE))
}

impl Model {
    /// The entry for a step, its data, and the answer that it must have.
    fn step(&mut self, q: usize, step: Step) -> (Sqe, Vec<u8>, Status, u32) {
        self.names += 1;
        let name = self.names;
        match step {
            Step::Piggyback { bytes } => {
                let whole = value(name, bytes);
                let sqe = vendor_specific::store_piggyback(1, &key(name), &whole, StoreOptions::NONE);
                self.source[q].clone_from(&whole);
                let missing = bytes.saturating_sub(35);
                self.open[q] = None;
                if bytes > 16 << 10 {
                    return (sqe, vec![], Status::INVALID_FIELD, 0);
                }
                if missing == 0 {
                    self.stored.insert(name, whole);
                } else {
                    self.open[q] = Some(Open::Value { name, whole, have: 35, next: 1 });
                }
                (sqe, vec![], OK, missing as u32)
            }
            Step::Transfer { skip, nsid } => self.transfer(q, skip, nsid),
            Step::Tail { skip, nsid } => self.tail(q, skip, nsid),
            Step::Hybrid { tail } => self.hybrid(q, name, tail),
            Step::Exist => {
                self.open[q] = None;
                (kv::exist(1, &key(u32::MAX)), vec![], Status::KEY_DOES_NOT_EXIST, 0)
            }
        }
    }

    fn transfer(&mut self, q: usize, skip: u32, nsid: u32) -> (Sqe, Vec<u8>, Status, u32) {
        let open = self.open[q].take();
        let (have, next) = match &open {
            Some(Open::Value { have, next, .. }) => (*have, *next),
            _ => (0, 1),
        };
        let sqe = vendor_specific::transfer(nsid, next + skip, &part(&self.source[q], have));
        let Some(Open::Value { name, whole, have, next }) = open else {
            return (sqe, vec![], if nsid == 1 { LOST } else { bad_nsid() }, 0);
        };
        if nsid != 1 {
            return (sqe, vec![], bad_nsid(), 0);
        }
        if !skip.is_multiple_of(16) {
            return (sqe, vec![], LOST, 0);
        }
        let have = (have + 56).min(whole.len());
        let missing = (whole.len() - have) as u32;
        if missing == 0 {
            self.stored.insert(name, whole);
        } else {
            self.open[q] = Some(Open::Value { name, whole, have, next: next + 1 });
        }
        (sqe, vec![], OK, missing)
    }

    fn tail(&mut self, q: usize, skip: u32, nsid: u32) -> (Sqe, Vec<u8>, Status, u32) {
        let next = match &self.open[q] {
            Some(Open::Tails { next, .. }) => *next,
            _ => 0,
        };
        let bytes = part(&value(self.names, 56), 0);
        let sqe = vendor_specific::tail(nsid, next + skip, &bytes);
        let open = self.open[q].take();
        if nsid != 1 {
            return (sqe, vec![], bad_nsid(), 0);
        }
        let sequence = (next + skip) % 16;
        let mut gathered = match open {
            Some(Open::Tails { bytes, .. }) if skip.is_multiple_of(16) => bytes,
            _ if sequence == 0 => Vec::new(),
            _ => return (sqe, vec![], LOST, 0),
        };
        let next = gathered.len() as u32 / 56;
        if next >= 74 {
            return (sqe, vec![], LOST, 0);
        }
        gathered.extend_from_slice(&bytes);
        let have = gathered.len() as u32;
        self.open[q] = Some(Open::Tails { bytes: gathered, next: next + 1 });
        (sqe, vec![], OK, have)
    }

    fn hybrid(&mut self, q: usize, name: u32, tail: usize) -> (Sqe, Vec<u8>, Status, u32) {
        let page = value(name, 4096);
        let open = self.open[q].take();
        // The tail that is there, if it is one.
        let rest: Vec<u8> = match &open {
            Some(Open::Tails { bytes, .. }) => bytes.iter().copied().take(tail).collect(),
            _ => Vec::new(),
        };
        let sqe = vendor_specific::store_hybrid(1, &key(name), 4096 + tail as u32, &rest, StoreOptions::NONE);
        if tail == 0 {
            return (sqe, page, Status::INVALID_FIELD, 0);
        }
        match open {
            Some(Open::Tails { bytes, next }) if next == (tail as u32).div_ceil(56) => {
                self.stored.insert(name, [&page, &bytes[..tail]].concat());
                (sqe, page, OK, 0)
            }
            _ => (sqe, page, LOST, 0),
        }
    }
}

const fn bad_nsid() -> Status {
    Status::INVALID_NAMESPACE_OR_FORMAT
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let nsid = prop_oneof![12 => Just(1u32), 1 => Just(3u32)];
    let skip = || prop_oneof![14 => Just(0u32), 1 => 1u32..16, 1 => Just(16)];
    let step = prop_oneof![
        3 => prop_oneof![0usize..400, Just(16 << 10), Just((16 << 10) + 1)]
            .prop_map(|bytes| Step::Piggyback { bytes }),
        8 => (skip(), nsid.clone()).prop_map(|(skip, nsid)| Step::Transfer { skip, nsid }),
        5 => (skip(), nsid).prop_map(|(skip, nsid)| Step::Tail { skip, nsid }),
        3 => (0usize..170).prop_map(|tail| Step::Hybrid { tail }),
        1 => Just(Step::Exist),
    ];
    prop::collection::vec((0usize..2, step), 1..120)
}

fn send<D: Machine>(rig: &mut Rig<D>, q: usize, sqe: Sqe, data: &[u8]) -> Answer {
    let data = if data.is_empty() { RawData::Untouched } else { RawData::ToDevice(data) };
    let ticket = rig.queues[q].raw(sqe, data).expect("room");
    rig.wait(q, ticket)
}

fn hold<D: Machine>(steps: &[(usize, Step)]) -> Result<(), TestCaseError> {
    let mut rig = Rig::<D>::new(&build(), &[(20, 4), (9, 4)]);
    let mut model = Model::default();
    for (q, step) in steps {
        let (sqe, data, status, dw0) = model.step(*q, *step);
        let answer = send(&mut rig, *q, sqe, &data);
        prop_assert_eq!((answer.status, answer.dw0), (status, dw0), "{:?} on queue {}", step, q);
        prop_assert!(rig.machine.gathered() <= 2 * ((16 << 10) + 56), "{}", rig.machine.gathered());
    }
    for name in 1..=model.names {
        let answer = rig.get(0, &key(name));
        match model.stored.get(&name) {
            Some(whole) => prop_assert!(answer.data == *whole, "key {} has other bytes", name),
            None => prop_assert_eq!(answer.status, Status::KEY_DOES_NOT_EXIST),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier(64, 3000), ..ProptestConfig::default() })]

    #[test]
    fn a_model_without_time(steps in steps()) {
        hold::<Inline>(&steps)?;
    }

    #[test]
    fn a_model_in_virtual_time(steps in steps()) {
        hold::<Clocked>(&steps)?;
    }
}

/// An error that only the store itself shows is the value's answer, however many commands carried it.
#[test]
fn the_first_error_of_a_part_is_the_answer() {
    let mut rig = Rig::<Clocked>::new(&build(), &[(200, 100)]);
    for pacing in [Pacing::Pipelined, Pacing::Passthrough] {
        rig.choose(0, saker_host::Method::Piggyback, pacing);
        let options = StoreOptions::MUST_EXIST;
        let ticket = rig.queues[0].store(&key(1), &value(1, 500), options).expect("room");
        assert_eq!(rig.wait(0, ticket).status, Status::KEY_DOES_NOT_EXIST, "{pacing:?}");
        let too_long = Key::new(b"k").expect("a key");
        let ticket = rig.queues[0].store(&too_long, &value(1, 500), StoreOptions::NONE).expect("room");
        assert_eq!(rig.wait(0, ticket).status, Status::SUCCESS, "{pacing:?}");
    }
}
