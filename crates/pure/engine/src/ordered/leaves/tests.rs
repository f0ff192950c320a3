// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Leaves beside a map of the standard library.

use super::*;
use saker_sim::{Free, Rng, Seed};
use std::collections::BTreeMap;

/// Few keys of few letters, a third of them with the same first word, some with the largest one, and enough of them for several leaves.
fn key(rng: &mut Rng) -> Key {
    let mut bytes = match rng.below(6) {
        0 | 1 => b"12345678".to_vec(),
        2 => vec![0xff; 8],
        _ => Vec::new(),
    };
    let letters = 1 + rng.below(5);
    bytes.extend((0..letters).map(|_| rng.below(6) as u8));
    Key::new(&bytes).expect("1 to 16 bytes")
}

fn bound(rng: &mut Rng) -> Bound<Key> {
    match rng.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key(rng)),
        _ => Bound::Excluded(key(rng)),
    }
}

#[test]
fn it_is_a_sorted_map() {
    for seed in 0..40 {
        let mut rng = Seed(seed).rng();
        let (mut leaves, mut model) = (Leaves::default(), BTreeMap::new());
        // Where a key belonged when others had not come yet, too.
        let mut nears = vec![Near::NOWHERE];
        // Some have several branches.
        for value in 0..rng.below(if seed % 8 == 0 { 8000 } else { 1500 }) {
            let key = key(&mut rng);
            nears.push(leaves.touch_leaf(&key, &mut Free));
            let near = nears[rng.below(nears.len() as u64) as usize];
            leaves.touch_place(&key, near, &mut Free);
            let old = match rng.below(3) {
                0 => leaves.insert(key, value),
                1 => leaves.insert_near(leaves.touch_leaf(&key, &mut Free), key, value),
                _ => leaves.insert_near(near, key, value),
            };
            assert_eq!(old, model.insert(key, value));
        }
        assert_eq!(
            (leaves.len(), leaves.is_empty(), leaves.check()),
            (model.len(), model.is_empty(), Ok(()))
        );
        for _ in 0..50 {
            let (key, end) = (key(&mut rng), bound(&mut rng));
            assert_eq!(leaves.get(&key), model.get(&key));
            let all: Vec<_> = leaves.range(end).collect();
            assert_eq!(all, model.range((end, Bound::Unbounded)).collect::<Vec<_>>(), "{end:?}");
            let last = model.range((Bound::Unbounded, end)).next_back().map(|(key, _)| *key);
            assert_eq!(leaves.last_key(end), last, "{end:?}");
        }
    }
}
