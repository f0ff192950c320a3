//! Messages that are changed on their way: whatever the change, one end at least is not satisfied, and it is the end that the
//! message was for.

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

/// The campaign of the must-hold: 5,000 at full counts, none accepted.
#[test]
fn no_change_is_accepted() {
    for seed in seeds(tier(400, 5000)) {
        let mut state = seed;
        let mut pick = |n| random(&mut state) % n;
        let (hash, is_mutual) = (HashId::ALL[pick(3)], pick(4) > 0);
        // The larger groups are of the same code, and take longer.
        let group = if pick(tier(16, 2)) == 0 { GroupId::Ffdhe2048 } else { GroupId::Null };
        let step = STEPS[pick(if is_mutual { 5 } else { 4 })];
        let change = match pick(8) {
            0 => Change::Set(pick(4096), pick(256) as u8),
            1 => Change::Cut(pick(4096)),
            2 => Change::Grow,
            // The fields before the long values, which most of the bits of a message are.
            3 | 4 => Change::Flip(pick(16 * 8)),
            _ => Change::Flip(pick(1 << 20)),
        };
        let is_hosts = matches!(step, Step::Negotiate | Step::Reply | Step::Success2);
        let (mut applied, mut has_meaning) = (0, true);
        let satisfied = Pair::new(hash, group, is_mutual, seed).run(|at, message| {
            if at == step {
                let before = message.clone();
                change.apply(message, is_hosts);
                has_meaning = is_mutual || step != Step::Reply || !is_of_sequence(&before, message);
                applied += 1;
            }
        });
        let accepted = if is_hosts { satisfied.controller } else { satisfied.host };
        assert!(
            applied == 1 && accepted != has_meaning,
            "seed {seed}: {step:?} {change:?} {hash:?} {group:?}: {satisfied:?}"
        );
    }
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
                let is_hosts = matches!(step, Step::Negotiate | Step::Reply | Step::Success2);
                let has_meaning = is_mutual || step != Step::Reply || !SEQUENCE.contains(&(n / 8));
                let accepted = if is_hosts { satisfied.controller } else { satisfied.host };
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
