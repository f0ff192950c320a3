// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use saker_sim::Seed;
use std::collections::BTreeMap;

fn addr(n: u64, key_bytes: u8) -> RecordAddr {
    RecordAddr::new(n % 1000 * 8, 24, key_bytes)
}

/// Keys, made of random numbers, against a sorted map.
fn against_model(spread: bool, key_of: impl Fn(u64) -> u64) {
    // Not told what comes, told of a part, of all and of too much.
    for expected in [0, 500, 20_000, 100_000] {
        let mut table = Table::<u64>::default();
        table.reserve(expected);
        check_against_model(table, spread, &key_of);
    }
}

fn check_against_model(mut table: Table<u64>, spread: bool, key_of: impl Fn(u64) -> u64) {
    let (mut rng, mut model) = (Seed(5).rng(), BTreeMap::new());
    for n in 0..60_000u64 {
        let r = rng.next_u64();
        let key = key_of(r);
        let len = 1 + (r % 8) as u8;
        if rng.below(3) > 0 {
            assert_eq!(table.insert(key, addr(n, len)), model.insert((key, len), addr(n, len)));
        } else {
            assert_eq!(table.remove(key, len), model.remove(&(key, len)));
        }
    }
    assert_eq!(table.len(), model.len() as u64);
    assert_eq!(table.key_bytes, model.keys().map(|(_, len)| u64::from(*len)).sum::<u64>());
    let after = |from: Option<(u64, u8)>, most: usize| {
        let mut found = Vec::new();
        table.visit(from, |k, l| {
            found.push(((k, l.key_bytes()), l));
            found.len() < most
        });
        found
    };
    let all = after(None, usize::MAX);
    assert!(all.iter().copied().eq(model.iter().map(|(k, l)| (*k, *l))), "walked in order");
    for (n, ((key, len), l)) in model.iter().enumerate() {
        assert_eq!(table.get(*key, *len), Some(*l));
        // Each look sorts a cluster; clustered keys are all in three.
        if spread || n % 16 == 0 {
            assert_eq!(after(Some((*key, *len)), 1), [((*key, *len), *l)]);
            let between = after(Some((*key, *len + 1)), 3);
            assert!(between.iter().eq(all[n + 1..].iter().take(3)), "from keys that are not there");
        }
    }
}

#[test]
fn spread_keys() {
    against_model(true, |r| r & !0xffff_ffff);
}

#[test]
fn clustered_keys() {
    against_model(false, |r| ((r % 3) << 62) | ((r >> 8) % 5000));
}

#[test]
fn spread_keys_that_come_and_go() {
    against_model(true, |r| (r >> 8) % 2000 * 0x20_c49b_a5e3_53f7);
}

#[test]
fn long_keys_that_all_have_the_last_home() {
    let mut rng = Seed(6).rng();
    let (mut table, mut model) = (Table::<[u64; 2]>::default(), BTreeMap::new());
    for n in 0..3_000u64 {
        let key = [u64::MAX, rng.below(2_000)];
        if rng.below(4) > 0 {
            assert_eq!(table.insert(key, addr(n, 16)), model.insert(key, addr(n, 16)));
        } else {
            assert_eq!(table.remove(key, 16), model.remove(&key));
        }
    }
    let mut found = Vec::new();
    table.visit(None, |key, addr| {
        found.push((key, addr));
        true
    });
    assert!(found.into_iter().eq(model));
    assert!(table.entry_bytes() < 200 * 3_000, "{} bytes", table.entry_bytes());
}

#[test]
fn a_pair_costs_its_key_and_24_bytes() {
    for key_bytes in [4u8, 6, 8] {
        let mut table = Table::<u64>::default();
        let mut rng = Seed(u64::from(key_bytes)).rng();
        for n in 1..=200_000u64 {
            table.insert(rng.next_u64(), addr(n, key_bytes));
            if (n.is_power_of_two() && n > 1000) || n % 9_973 == 0 {
                let bytes = table.entry_bytes() + table.directory_bytes();
                assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
            }
        }
    }
}

/// Those that were expected are never moved; more may come then. They cost what others cost.
#[test]
fn expected_entries_stay_where_they_are() {
    const EXPECTED: u64 = 50_000;
    for key_bytes in [1u8, 4, 8] {
        let (mut table, mut rng) = (Table::<u64>::default(), Seed(7).rng());
        table.reserve(EXPECTED as usize);
        assert_eq!(table.entry_bytes(), 0, "laid out when the first one comes");
        let mut cost = None;
        for n in 1..=4 * EXPECTED {
            table.insert(rng.next_u64(), addr(n, key_bytes));
            let bytes = table.entry_bytes() + table.directory_bytes();
            if n <= EXPECTED {
                assert_eq!(*cost.get_or_insert(bytes), bytes, "a leaf grew for entry {n}");
            } else if n % 9_973 == 0 {
                assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
            }
        }
        assert!(cost.is_some_and(|bytes| bytes <= EXPECTED * (24 + u64::from(key_bytes))));
    }
}

#[test]
fn a_long_pair_costs_its_key_and_24_bytes() {
    for key_bytes in [9u8, 12, 16] {
        let mut table = Table::<[u64; 2]>::default();
        let mut rng = Seed(u64::from(key_bytes)).rng();
        for n in 1..=200_000u64 {
            table.insert([rng.next_u64(), n], addr(n, key_bytes));
            if (n.is_power_of_two() && n > 1000) || n % 9_973 == 0 {
                let bytes = table.entry_bytes() + table.directory_bytes();
                assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
            }
        }
    }
}

/// Each count, and what the directory and the arena say, corrupted one at a time.
#[test]
fn a_check_finds_what_contradicts_itself() {
    let mut table = Table::<u64>::default();
    let mut rng = Seed(3).rng();
    let keys: Vec<u64> = (0..20_000).map(|_| rng.next_u64()).collect();
    keys.iter().for_each(|key| _ = table.insert(*key, RecordAddr::new(64, 32, 8)));
    keys.iter().step_by(3).for_each(|key| _ = table.remove(*key, 8));
    assert_eq!(table.check(), Ok(()));
    let faults: [fn(&mut Table<u64>); 8] = [
        |t| t.len += 1,
        |t| t.slots -= 16,
        |t| t.key_bytes += 8,
        |t| t.depth += 1,
        |t| t.directory.swap(0, 1),
        |t| t.directory[1] = t.directory[0],
        |t| t.arena.release(t.directory[0].extent()),
        |t| {
            let extent = t.directory[0].extent();
            let used = t.arena.slots_mut(extent).iter_mut().find(|e| !e.addr.is_none()).expect("an entry");
            used.key = !used.key;
        },
    ];
    for (n, fault) in faults.into_iter().enumerate() {
        let mut bad = table.clone();
        fault(&mut bad);
        assert!(bad.check().is_err(), "fault {n}");
    }
}
