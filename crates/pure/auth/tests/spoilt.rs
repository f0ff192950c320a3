// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages that are changed on their way: whatever the change, one end at least is not satisfied, and it is the end that the
//! message was for.

use std::collections::BTreeSet;

use saker_auth::{GroupId, HashId};
use saker_testing::{seeds, tier};

use crate::exchange::{Pair, Satisfied, Step};

/// Where SEQNUM of a reply is: without a challenge it means nothing, and hosts fill it as they like.
const SEQUENCE: core::ops::Range<usize> = 12..16;

const STEPS: [Step; 5] = [Step::Negotiate, Step::Challenge, Step::Reply, Step::Success1, Step::Success2];

/// What a campaign does to one message.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// A bit, counted modulo the length.
    Flip(usize),
    /// A byte gets another value.
    Set(usize, u8),
    /// Bytes at its end are gone.
    Cut(usize),
    /// A message of the host is longer. (What follows a controller's is room that the host has offered.)
    Grow,
}

impl Change {
    fn apply(self, message: &mut Vec<u8>, is_hosts: bool) {
        let before = message.clone();
        let bytes = message.len();
        match self {
            Self::Flip(n) => message[n / 8 % bytes] ^= 1 << (n % 8),
            Self::Set(n, value) if message[n % bytes] == value => message[n % bytes] = !value,
            Self::Set(n, value) => message[n % bytes] = value,
            Self::Grow if is_hosts => message.push(0),
            Self::Grow | Self::Cut(0) => drop(message.pop()),
            Self::Cut(n) => message.truncate(n % bytes),
        }
        assert_ne!(*message, before);
    }
}

fn random(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// What run `n` is of: message, hash, group and direction, so that all of them meet.
fn run_of(n: u64) -> (Step, HashId, GroupId, bool) {
    let step = STEPS[n as usize % 5];
    // Success2 is there only where the controller has to prove who it is, too.
    let is_mutual = step == Step::Success2 || !(n / 90).is_multiple_of(3);
    (step, HashId::ALL[n as usize / 5 % 3], group_of(n as usize / 15), is_mutual)
}

/// In the check tier the larger groups are left out and the smallest one is rare: exponents take long without optimisation.
fn group_of(n: usize) -> GroupId {
    let few = if n.is_multiple_of(16) { GroupId::Ffdhe2048 } else { GroupId::Null };
    tier(few, GroupId::ALL[n % GroupId::ALL.len()])
}

fn change(pick: &mut impl FnMut(usize) -> usize) -> Change {
    match pick(8) {
        0 => Change::Set(pick(4096), pick(256) as u8),
        1 => Change::Cut(pick(4096)),
        2 => Change::Grow,
        // The fields before the long values, which most of the bits of a message are.
        3 | 4 => Change::Flip(pick(16 * 8)),
        _ => Change::Flip(pick(1 << 20)),
    }
}

/// 5,000 at full counts, none accepted: of each message, in each direction, with each hash and group.
#[test]
fn no_change_is_accepted() {
    let (mut runs, mut kinds, mut refused) = (0, BTreeSet::new(), 0);
    for (n, seed) in seeds(tier(400, 5000)).enumerate() {
        let (step, hash, group, is_mutual) = run_of(n as u64);
        kinds.insert(format!("{step:?} {hash:?} {group:?} {is_mutual}"));
        let mut state = seed;
        let change = change(&mut |n| random(&mut state) % n);
        let (mut applied, mut has_meaning) = (0, true);
        let satisfied = Pair::new(hash, group, is_mutual, seed).run(|at, message| {
            if at == step {
                let before = message.clone();
                change.apply(message, step.is_of_host());
                has_meaning = is_mutual || step != Step::Reply || !is_of_sequence(&before, message);
                applied += 1;
            }
        });
        let accepted = if step.is_of_host() { satisfied.controller } else { satisfied.host };
        assert!(
            applied == 1 && accepted != has_meaning,
            "seed {seed}: {step:?} {change:?} {hash:?} {group:?}: {satisfied:?}"
        );
        (runs, refused) = (runs + 1, refused + u64::from(!accepted));
    }
    println!("{runs} runs of {} kinds: {refused} refused, {} without a meaning", kinds.len(), runs - refused);
    // Messages, hashes, groups, directions.
    assert!(!saker_testing::is_soak() || runs < 5000 || kinds.len() == (4 * 2 + 1) * 3 * 6);
}

/// Whether nothing else has changed.
fn is_of_sequence(before: &[u8], after: &[u8]) -> bool {
    before.len() == after.len()
        && before.iter().zip(after).enumerate().all(|(n, (a, b))| a == b || SEQUENCE.contains(&n))
}

/// Every bit of every message without a group, in turn.
#[test]
fn no_bit_is_without_effect() {
    for is_mutual in [false, true] {
        let pair = Pair::new(HashId::Sha256, GroupId::Null, is_mutual, 77);
        for step in STEPS.into_iter().take(if is_mutual { 5 } else { 4 }) {
            let mut bits = 1;
            let mut n = 0;
            while n < bits {
                let satisfied = pair.run(|at, message| {
                    if at == step {
                        bits = 8 * message.len();
                        message[n / 8] ^= 1 << (n % 8);
                    }
                });
                let has_meaning = is_mutual || step != Step::Reply || !SEQUENCE.contains(&(n / 8));
                let accepted = if step.is_of_host() { satisfied.controller } else { satisfied.host };
                assert_eq!(accepted, !has_meaning, "{step:?} bit {n}");
                n += tier(7, 1);
            }
            assert!(bits >= 128, "{step:?}");
        }
    }
}

/// Bytes that no end has made, whatever comes of them.
#[test]
fn rubbish_does_no_harm() {
    for seed in seeds(tier(300, 20_000)) {
        let mut state = seed ^ 0xABCD;
        let step = STEPS[random(&mut state) % 5];
        let satisfied = Pair::new(HashId::Sha256, GroupId::Null, true, seed).run(|at, message| {
            if at == step {
                let (auth_type, auth_id) = (random(&mut state) as u8 % 3, random(&mut state) as u8 % 6);
                let length = random(&mut state) % 200;
                *message = (0..length).map(|_| random(&mut state) as u8).collect();
                message.splice(0..length.min(4), [auth_type, auth_id, 0, 0].into_iter().take(length.min(4)));
            }
        });
        assert!(!(satisfied.controller && satisfied.host), "seed {seed} {step:?}");
    }
}

/// Public values that make the shared secret known to everybody, and the controller's own.
#[test]
fn known_exponents_are_refused() {
    let pair = Pair::new(HashId::Sha256, GroupId::Ffdhe2048, true, 5);
    let mut own = Vec::new();
    pair.run(|step, message| {
        if step == Step::Challenge {
            own = message[message.len() - 256..].to_vec();
        }
    });
    let one: Vec<u8> = (0..256).map(|n| u8::from(n == 255)).collect();
    let to_both = [Step::Challenge, Step::Reply];
    let all: [(Vec<u8>, &[Step]); 4] =
        [(vec![0; 256], &to_both), (one, &to_both), (vec![0xFF; 256], &to_both), (own, &[Step::Reply])];
    for (value, steps) in all {
        for step in steps.iter().copied() {
            let satisfied = pair.run(|at, message| {
                if at == step {
                    let at = message.len() - 256;
                    message[at..].copy_from_slice(&value);
                }
            });
            assert_eq!(satisfied, Satisfied { controller: false, host: false }, "{step:?}");
        }
    }
}
