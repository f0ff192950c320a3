// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gets that are queued, joined with all other calls of the same handle.

use saker::error::SubmitError;
use saker::{HostError, Kv, QueuedGet, WriteBatch};
use saker_sim::{Rng, Seed};
use std::collections::BTreeMap;

/// A get on its way, and all that it may see: what was there when it was queued, and what was written since.
struct Asked {
    get: QueuedGet,
    key: Vec<u8>,
    seen: Vec<Option<Vec<u8>>>,
}

struct History {
    kv: Kv,
    depth: usize,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    asked: Vec<Asked>,
    rng: Rng,
}

/// Keys of the device's own, two long ones, and one that looks like an envelope's.
fn key(n: u64) -> Vec<u8> {
    match n {
        0..8 => vec![n as u8; 1 + 2 * n as usize],
        8..10 => vec![n as u8; 40],
        _ => [&[0xFF, 0x4B][..], &[n as u8; 14]].concat(),
    }
}

impl History {
    fn pick(&mut self, below: usize) -> usize {
        self.rng.below(below as u64) as usize
    }

    /// What every get of this key that is on its way may see from now on, too.
    fn wrote(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        for asked in self.asked.iter_mut().filter(|asked| asked.key == key) {
            asked.seen.push(value.clone());
        }
        match value {
            Some(value) => self.model.insert(key.to_vec(), value),
            None => self.model.remove(key),
        };
    }

    fn write(&mut self, which: usize) {
        let key = key(self.pick(11) as u64);
        let bytes = [0, 3, 200, 4096, 4097, 9000][self.pick(6)];
        let value = vec![self.pick(256) as u8; bytes];
        match which {
            0 => self.kv.put(&key, &value).expect("stored"),
            1 => self.kv.put_queued(&key, &value).expect("queued"),
            2 => {
                assert_eq!(self.kv.delete(&key).expect("deleted"), self.model.contains_key(&key));
                return self.wrote(&key, None);
            }
            _ => {
                let mut batch = WriteBatch::new();
                batch.put(&key, &value).delete(&self::key(0));
                self.kv.write(&batch).expect("written");
                self.wrote(&self::key(0), None);
                if key == self::key(0) {
                    return;
                }
            }
        }
        self.wrote(&key, Some(value));
    }

    fn read(&mut self, which: usize) {
        let key = key(self.pick(11) as u64);
        let there = self.model.get(&key).cloned();
        match which {
            0 => assert_eq!(self.kv.get(&key), Ok(there)),
            1 => assert_eq!(self.kv.multi_get(&[&key, &self::key(3)]).expect("read")[0], there),
            2 => self.kv.drain().expect("stored"),
            3 => self.kv.flush().expect("flushed"),
            4 => assert_eq!(self.kv.list(None).count(), self.model.len()),
            _ => assert_eq!(self.kv.exists(&key), Ok(there.is_some())),
        }
    }

    fn ask(&mut self) {
        let key = key(self.pick(11) as u64);
        let seen = vec![self.model.get(&key).cloned()];
        match self.kv.get_queued(&key) {
            Ok(get) => self.asked.push(Asked { get, key, seen }),
            Err(error) => {
                let full = SubmitError::QueuedGets { gets_max: self.depth };
                assert_eq!((error, self.asked.len()), (full.into(), self.depth));
            }
        }
        assert!(self.asked.len() <= self.depth, "more than the bound");
    }

    /// Takes one out of the middle, the oldest, or whichever is answered.
    fn finish(&mut self) {
        let at = match self.pick(3) {
            _ if self.asked.is_empty() => return assert_eq!(self.kv.wait_any(&[]), Ok(None)),
            0 => 0,
            1 => {
                let gets: Vec<_> = self.asked.drain(..).collect();
                let (gets, rest): (Vec<_>, Vec<_>) =
                    gets.into_iter().map(|asked| (asked.get, (asked.key, asked.seen))).unzip();
                let at = self.kv.wait_any(&gets).expect("waited").expect("one of them");
                assert_eq!(self.kv.is_answered(&gets[at]), Ok(true));
                self.asked =
                    (gets.into_iter().zip(rest)).map(|(get, (key, seen))| Asked { get, key, seen }).collect();
                at
            }
            _ => self.pick(self.asked.len()),
        };
        let Asked { get, key, seen } = self.asked.remove(at);
        if self.pick(2) == 0 {
            let found = self.kv.finish_get(get).expect("read");
            assert!(seen.contains(&found), "{key:?}: {:?}", found.map(|found| found.len()));
            return;
        }
        let mut buffer = vec![0xEE; [0, 100, 4096, 10_000][self.pick(4)]];
        let found = self.kv.finish_get_into(get, &mut buffer).expect("read");
        let fits = found.unwrap_or(0).min(buffer.len());
        let agrees = |seen: &Option<Vec<u8>>| match (seen, found) {
            (Some(seen), Some(bytes)) => seen.len() == bytes && seen[..fits] == buffer[..fits],
            (seen, found) => seen.is_none() && found.is_none(),
        };
        assert!(seen.iter().any(agrees), "{key:?}: {found:?}");
    }

    fn step(&mut self) {
        match self.pick(24) {
            which @ 0..4 => self.write(which),
            which @ 4..10 => self.read(which - 4),
            10..18 => self.ask(),
            18 if !self.asked.is_empty() => {
                let at = self.pick(self.asked.len());
                drop(self.asked.swap_remove(at));
            }
            19 if !self.asked.is_empty() => {
                let at = self.pick(self.asked.len());
                self.kv.is_answered(&self.asked[at].get).expect("asked");
            }
            _ => self.finish(),
        }
    }
}

/// A random history against a model, at a depth of its own.
pub fn agree_with_a_model(kv: Kv, depth: usize, seed: u64, steps: usize) -> Kv {
    let rng = Seed(seed).rng();
    let mut history = History { kv, depth, model: BTreeMap::new(), asked: Vec::new(), rng };
    (0..steps).for_each(|_| history.step());
    while !history.asked.is_empty() {
        history.finish();
    }
    history.kv
}

/// As many as the queue takes; others calls go on beside them, and what is dropped makes room.
pub fn are_bounded(kv: &mut Kv, depth: usize) {
    kv.put(b"key", b"value").expect("stored");
    for _ in 0..3 {
        let mut gets: Vec<_> = (0..depth).map(|_| kv.get_queued(b"key").expect("queued")).collect();
        let refused = kv.get_queued(b"key").expect_err("too many");
        assert_eq!(refused, SubmitError::QueuedGets { gets_max: depth }.into());
        assert!(refused.to_string().contains(&format!("{depth} gets are queued")), "{refused}");
        assert_eq!(kv.get(b"key"), Ok(Some(b"value".to_vec())));
        kv.put(b"other", b"1").expect("stored");
        drop(gets.pop());
        gets.push(kv.get_queued(b"other").expect("the place of one that was dropped"));
        for get in gets.drain(..depth - 1) {
            assert_eq!(kv.finish_get(get), Ok(Some(b"value".to_vec())));
        }
        assert_eq!(kv.finish_get(gets.remove(0)), Ok(Some(b"1".to_vec())));
    }
    for _ in 0..10 * depth {
        drop(kv.get_queued(b"key").expect("what is dropped takes no place"));
    }
}

/// Each sees the put before it, which may be held back.
pub fn see_queued_puts(kv: &mut Kv) {
    for round in 0..3_u8 {
        let mut gets = Vec::new();
        for n in 0..120_u32 {
            kv.put_queued(&n.to_be_bytes(), &[round; 100]).expect("queued");
            gets.push((n, kv.get_queued(&n.to_be_bytes()).expect("queued")));
            if gets.len() == 8 {
                for (n, get) in gets.drain(..) {
                    assert_eq!(kv.finish_get(get), Ok(Some(vec![round; 100])), "{n} of round {round}");
                }
            }
        }
    }
    kv.drain().expect("stored");
}

/// Of another handle they are refused, and stay.
pub fn are_of_one_handle(kv: &mut Kv, other: &mut Kv) {
    kv.put(b"key", b"value").expect("stored");
    let (first, second) = (kv.get_queued(b"key").expect("queued"), kv.get_queued(b"key").expect("queued"));
    let foreign = HostError::Submit(SubmitError::ForeignGet);
    for _ in 0..2 {
        assert_eq!(other.is_answered(&first), Err(foreign.clone()));
        assert_eq!(other.wait_any(std::slice::from_ref(&first)), Err(foreign.clone()));
        // Its own has the same number there.
        let own = other.get_queued(b"nothing").expect("queued");
        assert_eq!(other.finish_get(own), Ok(None));
    }
    assert_eq!(other.finish_get(first), Err(foreign));
    assert_eq!(kv.finish_get(second), Ok(Some(b"value".to_vec())));
    are_bounded(kv, 64);
}
