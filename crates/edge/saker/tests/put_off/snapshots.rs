// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots that are held while merges are put off, and while these are done late.

use crate::support::put_off::{
    Model, TRIGGER, WORDS, assert_has, counter, in_memory, level0, put_off, read_in_order, write_blindly,
};
use saker::{DeviceIterator, KeyRange, Kv, ScanCursor, ScanOptions};
use saker_sim::Seed;

/// A scan that has begun, what it has to show and what it has shown.
struct Held {
    scan: ScanCursor,
    seen: Model,
    shown: Model,
}

impl Held {
    fn open(kv: &mut Kv, model: &Model) -> Self {
        let scan = kv.open_scan(&ScanOptions::default()).expect("opens");
        Self { scan, seen: model.clone(), shown: Model::new() }
    }

    /// Shows one batch. Whether there is more.
    fn step(&mut self, kv: &mut Kv) -> bool {
        let shown = &mut self.shown;
        let mut visit = |key: &[u8], value: &[u8]| {
            assert!(shown.last_key_value().is_none_or(|(last, _)| last.as_slice() < key), "in order");
            shown.insert(key.to_vec(), value.to_vec());
            true
        };
        kv.scan_next(&mut self.scan, &mut visit).expect("shows")
    }

    fn end(mut self, kv: &mut Kv, what: &str) {
        while self.step(kv) {}
        assert!(self.shown == self.seen, "{what}: {} pairs, not {}", self.shown.len(), self.seen.len());
        kv.close_scan(self.scan).expect("closes");
    }
}

/// Every other pair goes, and every third of the others has another value.
fn change(kv: &mut Kv, model: &mut Model) {
    let keys: Vec<_> = model.keys().cloned().collect();
    for (n, key) in keys.into_iter().enumerate() {
        if n % 2 == 0 {
            assert!(kv.delete(&key).expect("deletes"));
            model.remove(&key);
        } else if n % 3 == 0 {
            kv.put(&key, b"changed").expect("stores");
            model.insert(key, b"changed".to_vec());
        }
    }
}

#[test]
fn scans_show_their_moment_when_merges_come_late() {
    for word in WORDS {
        let mut kv = Kv::open(&in_memory(word)).expect("opens");
        let (mut rng, mut model, mut held) = (Seed(3).rng(), Model::new(), Vec::new());
        for _ in 0..4 {
            put_off(&mut kv, &mut rng, &mut model);
            let mut scan = Held::open(&mut kv, &model);
            assert!(scan.step(&mut kv), "there is more than a batch");
            held.push(scan);
            assert!(level0(&mut kv) >= TRIGGER, "{word}: a scan's batch is no time to merge all");
            change(&mut kv, &mut model);
            write_blindly(&mut kv, &mut rng, &mut model, 1000);
        }
        put_off(&mut kv, &mut rng, &mut model);
        assert_eq!(counter(&mut kv, "num_snapshots"), 4, "{word}");
        // Nobody reads under the first two before all is merged; the others go on meanwhile.
        let before = counter(&mut kv, "compactions");
        for scan in &mut held[2..] {
            scan.step(&mut kv);
        }
        read_in_order(&mut kv, &model);
        assert!(counter(&mut kv, "compactions") > before, "{word}: reads have merged");
        for n in [1, 2, 0, 0] {
            held.remove(n).end(&mut kv, &format!("{word}: scan {n}"));
            assert_has(&mut kv, &model, word);
        }
        assert_eq!(counter(&mut kv, "num_snapshots"), 0, "{word}");
        read_in_order(&mut kv, &model);
        kv.close().expect("closes");
    }
}

/// What an iterator shows from where it is put, either way.
fn shown(
    kv: &mut Kv,
    iterator: &mut DeviceIterator,
    backwards: bool,
    seek: &[u8],
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut seek) = (Vec::new(), Some(seek));
    loop {
        let batch = kv.next_pairs(iterator, 0, backwards, seek.take()).expect("shows");
        all.extend(batch.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        if batch.is_last() {
            return all;
        }
    }
}

fn pairs<'m>(model: impl Iterator<Item = (&'m Vec<u8>, &'m Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    model.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// An iterator of a moment in which much was put off, from the same places before, while and after it is merged.
#[test]
fn iterators_go_both_ways_while_merges_come_late() {
    for word in WORDS {
        let mut kv = Kv::open(&in_memory(word)).expect("opens");
        let (mut rng, mut model) = (Seed(4).rng(), Model::new());
        put_off(&mut kv, &mut rng, &mut model);
        let mut iterator = kv.open_iterator(&KeyRange::default()).expect("opens").expect("it has them");
        let (seen, middle) = (model.clone(), b"key 05".to_vec());
        let same = |kv: &mut Kv, iterator: &mut DeviceIterator, when: &str| {
            let rising = shown(kv, iterator, false, &middle);
            assert!(rising == pairs(seen.range(middle.clone()..)), "{word}: {when}, {} pairs", rising.len());
            let falling = shown(kv, iterator, true, &middle);
            assert!(falling == pairs(seen.range(..=middle.clone()).rev()), "{word}: {when}, falling");
        };
        same(&mut kv, &mut iterator, "put off");
        change(&mut kv, &mut model);
        put_off(&mut kv, &mut rng, &mut model);
        let mut looks = 0;
        while level0(&mut kv) >= TRIGGER {
            same(&mut kv, &mut iterator, "while it is merged");
            for key in model.keys().skip(looks).step_by(model.len() / 200) {
                assert_eq!(kv.get(key).expect("reads").as_ref(), model.get(key));
            }
            looks += 1;
            assert!(looks < 2000, "{word}: level 0 has {} files", level0(&mut kv));
        }
        assert!(looks > 1, "{word}: it was merged between looks");
        same(&mut kv, &mut iterator, "merged");
        change(&mut kv, &mut model);
        same(&mut kv, &mut iterator, "changed again");
        kv.close_iterator(iterator).expect("closes");
        assert_has(&mut kv, &model, word);
    }
}

/// The flash in use behind rounds of changes, all of which are merged late, with a scan that is held over all of them or without.
fn in_use(word: &str, is_held: bool) -> (u64, u64) {
    let mut kv = Kv::open(&in_memory(word)).expect("opens");
    let (mut rng, mut model) = (Seed(5).rng(), Model::new());
    put_off(&mut kv, &mut rng, &mut model);
    let scan = is_held.then(|| Held::open(&mut kv, &model));
    for _ in 0..4 {
        let keys: Vec<_> = model.keys().cloned().collect();
        for key in keys {
            kv.put(&key, b"again").expect("stores");
            model.insert(key, b"again".to_vec());
        }
        put_off(&mut kv, &mut rng, &mut model);
    }
    let tables = |kv: &mut Kv| {
        read_in_order(kv, &model);
        counter(kv, "flash_in_use_bytes")
    };
    let before = tables(&mut kv);
    scan.into_iter().for_each(|scan| scan.end(&mut kv, word));
    // What it alone saw goes with the next merges.
    let mut after = model.clone();
    for _ in 0..3 {
        put_off(&mut kv, &mut rng, &mut after);
        read_in_order(&mut kv, &after);
    }
    assert_has(&mut kv, &after, word);
    (before, counter(&mut kv, "flash_in_use_bytes"))
}

#[test]
fn space_comes_back_when_a_snapshot_goes() {
    for word in WORDS {
        let (held, without) = (in_use(word, true), in_use(word, false));
        println!("{word}: in use before and behind its end {held:?}, without a snapshot {without:?}");
        assert!(held.0 > without.0, "{word}: a snapshot holds nothing: {held:?}, {without:?}");
        assert!(held.1 <= without.1 + without.1 / 10, "{word}: {held:?}, without a snapshot {without:?}");
    }
}
