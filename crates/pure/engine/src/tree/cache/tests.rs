// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;

#[test]
fn the_least_recently_used_page_leaves() {
    let mut cache = Cache::new(2);
    cache.insert(PageAddr(1), &[1]);
    cache.insert(PageAddr(2), &[2]);
    cache.touch(PageAddr(1));
    cache.insert(PageAddr(3), &[3]);
    let has = |cache: &Cache| [1, 2, 3].map(|n| cache.get(PageAddr(n)).is_some());
    assert_eq!(has(&cache), [true, false, true]);
    cache.insert(PageAddr(1), &[9]);
    cache.insert(PageAddr(2), &[2]);
    assert_eq!(has(&cache), [true, true, false]);
    assert_eq!((cache.get(PageAddr(1)), cache.len(), cache.check()), (Some(&[9][..]), 2, Ok(())));
}

#[test]
fn pages_leave_when_the_room_shrinks_and_enter_when_it_grows() {
    let mut cache = Cache::new(3);
    (1..4).for_each(|n| cache.insert(PageAddr(n), &[n as u8]));
    cache.touch(PageAddr(1));
    cache.resize(1);
    let has = |cache: &Cache| [1, 2, 3].map(|n| cache.get(PageAddr(n)).is_some());
    assert_eq!((has(&cache), cache.check()), ([true, false, false], Ok(())));
    cache.resize(2);
    cache.insert(PageAddr(3), &[3]);
    assert_eq!((has(&cache), cache.check()), ([true, false, true], Ok(())));
    cache.resize(0);
    assert_eq!((cache.len(), cache.is_used(), cache.check()), (0, false, Ok(())));
}

#[test]
fn without_room_nothing_enters() {
    let mut cache = Cache::new(0);
    cache.insert(PageAddr(1), &[1]);
    cache.touch(PageAddr(1));
    assert_eq!((cache.len(), cache.get(PageAddr(1)), cache.is_used()), (0, None, false));
}

/// A list in the order of use is the model.
#[test]
fn it_is_a_list_in_the_order_of_use() {
    let (mut cache, mut model, mut dice) = (Cache::new(5), Vec::<(u64, u8)>::new(), 1_u64);
    for n in 0..20_000_u32 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (page, what) = (dice >> 33 & 15, dice >> 40 & 63);
        let at = model.iter().position(|(held, _)| *held == page);
        match what {
            0 => {
                let most = (dice >> 50) as usize & 7;
                cache.resize(most);
                model.drain(..model.len().saturating_sub(most));
            }
            1..20 => {
                cache.touch(PageAddr(page));
                if let Some(used) = at.map(|at| model.remove(at)) {
                    model.push(used);
                }
            }
            _ if cache.pages_max > 0 => {
                cache.insert(PageAddr(page), &[n as u8]);
                at.map(|at| model.remove(at));
                model.push((page, n as u8));
                model.drain(..model.len().saturating_sub(cache.pages_max));
            }
            _ => cache.insert(PageAddr(page), &[n as u8]),
        }
        assert_eq!((cache.check(), cache.len()), (Ok(()), model.len()), "step {n}");
        for (page, byte) in &model {
            assert_eq!(cache.get(PageAddr(*page)), Some(&[*byte][..]), "step {n}");
        }
    }
}
