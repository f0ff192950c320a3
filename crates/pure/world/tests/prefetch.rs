// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prefetch groups in virtual time: how many pages are read, how long it takes, and that nothing stale is delivered.

use crate::clocked::opened;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_host::{Connection, KvClient};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_sim::{Rng, Seed};
use saker_testing::tier;
use saker_world::Clocked;

/// Keys read together, and groups of them.
const TOGETHER: u64 = 12;
const GROUPS: u64 = 40;

fn open(engine: EngineKind) -> (Connection, KvClient<Clocked>) {
    let profile = Profile::builtin("cosmos-plus").expect("built in");
    let build = Build::kv(&profile, 1 << 30, 1).expect("large enough").with_engine(engine);
    opened(&build)
}

fn key(n: u64) -> Key {
    Key::new(&n.to_be_bytes()).expect("eight bytes")
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; 900]
}

/// Pages read and nanoseconds for `reads` retrieves, after `bind` groups were told.
fn run(engine: EngineKind, bind: bool, mut which: impl FnMut(u64) -> u64) -> (u64, u64) {
    let (_connection, mut client) = open(engine);
    for n in 0..GROUPS * TOGETHER {
        client.put(&key(n), &value(n)).expect("room");
    }
    client.flush().expect("flushes");
    if bind {
        for g in 0..GROUPS {
            let keys: Vec<_> = (g * TOGETHER..(g + 1) * TOGETHER).map(key).collect();
            assert_eq!(client.prefetch_group(&key(g), &keys), Ok(true));
        }
    }
    let device = &mut client.driver_mut().0;
    let (before, begun) = (device.stats().flash.pages_read, device.now());
    for n in 0..800 {
        let n = which(n);
        assert_eq!(client.get(&key(n)), Ok(Some(value(n))));
    }
    let device = &mut client.driver_mut().0;
    (device.stats().flash.pages_read - before, device.now().since(begun).as_nanos())
}

/// One key of a group, then all of them.
fn together(n: u64) -> u64 {
    let visit = n / TOGETHER;
    visit * 7 % GROUPS * TOGETHER + n % TOGETHER
}

/// Pages and nanoseconds without groups and with them.
fn both<F: FnMut(u64) -> u64>(engine: EngineKind, which: impl Fn() -> F) -> [(u64, u64); 2] {
    let found = [run(engine, false, which()), run(engine, true, which())];
    let each =
        found.map(|(pages, ns)| format!("{:.2} pages, {:.1} us", pages as f64 / 800.0, ns as f64 / 8e5));
    println!("{}: a retrieve {}, and with groups {}", engine.name(), each[0], each[1]);
    found
}

#[test]
fn keys_that_are_read_together_need_fewer_pages() {
    for engine in EngineKind::ALL.iter().copied() {
        let [without, with] = both(engine, || together);
        // With the hash FTLs each key has a section and a record of its own to be read.
        let pages = if engine == EngineKind::HASH_STORE { 7 } else { 10 };
        assert!(with.0 * 10 <= without.0 * pages, "{engine:?}: fewer pages: {} and {}", without.0, with.0);
        assert!(with.1 < without.1, "{engine:?}: and less time: {} and {}", without.1, with.1);
    }
}

#[test]
fn keys_that_are_not_read_together_lose_little() {
    for engine in EngineKind::ALL.iter().copied() {
        let alone = || {
            let mut rng = Seed(5).rng();
            // Never two of one group.
            move |n: u64| n % GROUPS * TOGETHER + rng.below(2) * (n / GROUPS % 2)
        };
        let [without, with] = both(engine, alone);
        let most = without.1 * 102;
        assert!(with.1 * 100 <= most, "{engine:?}: 2 % slower at most: {} and {}", without.1, with.1);
    }
}

#[test]
fn what_has_changed_is_never_delivered_as_it_was() {
    EngineKind::ALL.iter().copied().for_each(nothing_stale);
}

fn nothing_stale(engine: EngineKind) {
    let (_connection, mut client) = open(engine);
    let keys: Vec<_> = (0..TOGETHER).map(key).collect();
    assert_eq!(client.prefetch_group(&key(1), &keys), Ok(true));
    let mut rng: Rng = Seed(3).rng();
    let mut model = vec![None; TOGETHER as usize];
    for step in 0..tier(1000_u64, 8000) {
        let n = rng.below(TOGETHER);
        match rng.below(4) {
            0 => {
                let new = vec![step as u8; 10 + rng.below(3) as usize];
                client.put(&key(n), &new).expect("room");
                model[n as usize] = Some(new);
            }
            1 => {
                let was = model[n as usize].take().is_some();
                assert_eq!(client.delete(&key(n)), Ok(was));
            }
            _ => assert_eq!(client.get(&key(n)), Ok(model[n as usize].clone())),
        }
        if step % 50 == 0 {
            client.flush().expect("flushes");
        }
    }
}
