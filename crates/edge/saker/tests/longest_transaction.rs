// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The longest transaction that fits, to the byte: one byte more is refused by name and changes nothing. In one command, in parts, as an
//! atomic batch and as a compound command, over every engine. And what a device that is only read says to each of them.

use saker::{
    Compound, EngineKind, HostError, ImagePlan, Kv, KvError, SplitOutcome, TransactionEnd, TransactionId,
    WriteBatch,
};

const SMALL: &[u8] = b"small";
const LONG: &[u8] = b"a key that is longer than sixteen bytes";

/// Pairs of a transaction: all but the last are as long as each other.
const PAIRS: u32 = 16;
/// Bytes of the keys.
const KEY_BYTES: usize = 4;
/// Of each write its lengths and what fills key and value up to multiples of four; and of all their number.
const COUNT_BYTES: usize = 4;
const LENGTHS_BYTES: usize = 8;
/// What a transaction with an ID writes beside: lengths, a key of 16 bytes and 64 bytes.
const OUTCOME_BYTES: usize = LENGTHS_BYTES + 16 + 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Command,
    Parts,
    Batch,
    Compound,
}

const WAYS: [Way; 4] = [Way::Command, Way::Parts, Way::Batch, Way::Compound];

fn open(engine: EngineKind) -> Kv {
    Kv::open(&format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name())).expect("opens")
}

/// Transactions of one device, each with a fill and a number of its own.
struct Bench {
    kv: Kv,
    attempts: u64,
}

fn id(number: u64) -> TransactionId {
    TransactionId { host: *b"a host of a test", number }
}

impl Bench {
    /// Writes the pairs, the last of them with so many bytes.
    fn write(&mut self, way: Way, value_bytes: usize, last_bytes: usize) -> Result<(), HostError> {
        self.attempts += 1;
        let fill = self.attempts as u8;
        let bytes = |n: u32| if n + 1 < PAIRS { value_bytes } else { last_bytes };
        let pairs: Vec<_> = (0..PAIRS).map(|n| (n.to_be_bytes(), vec![fill; bytes(n)])).collect();
        match way {
            Way::Command | Way::Parts => {
                let mut txn = self.kv.begin_transaction()?;
                pairs.iter().try_for_each(|(key, value)| txn.put(key, value))?;
                if way == Way::Command {
                    return txn.commit();
                }
                txn.commit_as(id(self.attempts)).map(|end| assert_eq!(end, TransactionEnd::Done))
            }
            Way::Batch => {
                let mut batch = WriteBatch::new();
                batch.set_atomic(true);
                pairs.iter().for_each(|(key, value)| _ = batch.put(key, value));
                self.kv.write(&batch)
            }
            Way::Compound => {
                let mut handle = self.kv.begin_compound(Compound::Transaction);
                for (key, value) in &pairs {
                    handle.store(key, value)?;
                }
                handle.commit_with_keys().map(|done| {
                    let keys: Vec<_> = done.iter().map(|(key, _)| key.clone()).collect();
                    assert_eq!(keys, pairs.iter().map(|(key, _)| key.to_vec()).collect::<Vec<_>>());
                    assert!(done.iter().all(|(_, outcome)| *outcome == Ok(None)), "{done:?}");
                })
            }
        }
    }

    /// What is stored.
    fn all(&mut self) -> Vec<Option<Vec<u8>>> {
        (0..PAIRS).map(|n| self.kv.get(&n.to_be_bytes()).expect("reads")).collect()
    }

    /// Whether the transaction fits. One that does has written all, one that does not nothing.
    fn fits(&mut self, way: Way, value_bytes: usize, last_bytes: usize) -> bool {
        let before = self.all();
        match self.write(way, value_bytes, last_bytes) {
            Ok(()) => {
                let fill = self.attempts as u8;
                let after = self.all();
                let is_new = |value: &Option<Vec<u8>>| {
                    value.as_ref().is_some_and(|value| value.iter().all(|byte| *byte == fill))
                };
                assert!(after.iter().all(is_new), "{way:?}");
                assert_eq!(after[PAIRS as usize - 1].as_ref().map(Vec::len), Some(last_bytes));
                true
            }
            Err(HostError::TransactionLength { .. }) => {
                assert!(self.all() == before, "{way:?}: it was refused, and something has changed");
                if way == Way::Parts {
                    let outcome = self.kv.transaction_outcome(id(self.attempts));
                    assert_eq!(outcome, Ok(SplitOutcome::NotDone));
                }
                false
            }
            Err(other) => panic!("{way:?}, {last_bytes} bytes: {other}"),
        }
    }

    /// Bytes of the last value of the longest transaction that fits.
    fn longest(&mut self, way: Way, value_bytes: usize) -> usize {
        let (mut fits, mut too_long) = (1, value_bytes + 16_000);
        assert!(self.fits(way, value_bytes, fits) && !self.fits(way, value_bytes, too_long), "{way:?}");
        while too_long - fits > 1 {
            let middle = fits.midpoint(too_long);
            if self.fits(way, value_bytes, middle) { fits = middle } else { too_long = middle }
        }
        fits
    }
}

/// Bytes that an engine takes at once, as its refusal tells.
fn bytes_max(kv: &mut Kv) -> usize {
    let mut txn = kv.begin_transaction().expect("it has them");
    (0..PAIRS).try_for_each(|n| txn.put(&n.to_be_bytes(), &[1; 70_000])).expect("good keys");
    match txn.commit() {
        Err(HostError::TransactionLength { bytes_max, .. }) => bytes_max,
        other => panic!("more than a MiB: {other:?}"),
    }
}

#[test]
fn the_longest_transaction_fits_to_the_byte() {
    for engine in EngineKind::ALL.iter().copied() {
        let mut bench = Bench { kv: open(engine), attempts: 0 };
        let most = bytes_max(&mut bench.kv);
        let value_bytes = (most / PAIRS as usize - 600) & !3;
        let is_hash_ftl = ["hash_original", "hash_doubling", "hash_plus"].contains(&engine.name());
        for way in WAYS {
            let longest = bench.longest(way, value_bytes);
            let heads = PAIRS as usize * (LENGTHS_BYTES + KEY_BYTES) + COUNT_BYTES;
            let beside = heads + if way == Way::Parts { OUTCOME_BYTES } else { 0 };
            let bytes = beside + (PAIRS as usize - 1) * value_bytes + longest.next_multiple_of(4);
            println!("{}, {way:?}: {longest} bytes, {bytes} of {most}", engine.name());
            if is_hash_ftl {
                // Whole grains, and one before them.
                assert!(bytes <= most, "{engine:?}, {way:?}: {bytes} of {most}");
            } else {
                assert_eq!(bytes, most & !3, "{engine:?}, {way:?}");
            }
        }
        bench.kv.close().expect("closes");
    }
}

/// Many small writes fit a command; with the hash FTLs they are more grains than a record has, which has a name in every way to write them.
#[test]
fn many_small_writes_are_refused_by_the_same_name() {
    let mut by_grains = 0;
    for engine in EngineKind::ALL.iter().copied() {
        let mut kv = open(engine);
        let is_hash_ftl = ["hash_original", "hash_doubling", "hash_plus"].contains(&engine.name());
        let pairs =
            (bytes_max(&mut kv) / (LENGTHS_BYTES + KEY_BYTES + SMALL.len().next_multiple_of(4))) as u32 - 1;
        let (mut batch, mut ended) = (WriteBatch::new(), Vec::new());
        batch.set_atomic(true);
        let mut handle = kv.begin_compound(Compound::Transaction);
        for n in 0..pairs {
            batch.put(&n.to_be_bytes(), SMALL);
            handle.store(n.to_be_bytes(), SMALL).expect("of one type");
        }
        ended.push(handle.commit().map(drop));
        ended.push(kv.write(&batch));
        for ended in ended {
            match ended {
                Err(HostError::TransactionLength { .. }) => {
                    by_grains += 1;
                    assert!(is_hash_ftl && !kv.exists(&0_u32.to_be_bytes()).expect("looks"), "{engine:?}");
                }
                ended => assert_eq!(ended, Ok(()), "{engine:?}"),
            }
        }
        kv.close().expect("closes");
    }
    assert!(by_grains > 0, "nobody met the limit of grains");
}

/// A device that is only read takes transactions that only read, and refuses others by what it is.
#[test]
fn a_device_that_is_only_read_is_read_in_transactions() {
    for engine in EngineKind::ALL.iter().copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("creates");
        let mut kv = Kv::open(&format!("file:{}", path.display())).expect("opens");
        kv.put(b"a", b"1").expect("room");
        kv.put(LONG, b"2").expect("room");
        kv.close().expect("closes");
        let mut kv = Kv::open(&format!("file:{}?readonly", path.display())).expect("opens");
        let mut found = Vec::new();
        kv.read(&mut |read| {
            found = vec![read.get(b"a")?, read.get(LONG)?, read.get(b"none")?];
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{engine:?}: a read: {e}"));
        assert_eq!(found, [Some(b"1".to_vec()), Some(b"2".to_vec()), None], "{engine:?}");
        let mut txn = kv.begin_transaction().expect("it has them");
        assert_eq!((txn.get(b"a"), txn.get(b"none")), (Ok(Some(b"1".to_vec())), Ok(None)));
        assert_eq!(txn.commit(), Ok(()), "{engine:?}: it only read");
        let protected = HostError::Kv(KvError::WriteProtected);
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.get(b"a").expect("reads");
        txn.put(b"b", b"3").expect("a good key");
        assert_eq!(txn.commit(), Err(protected.clone()), "{engine:?}");
        let mut txn = kv.begin_transaction().expect("it has them");
        txn.put(b"b", b"3").expect("a good key");
        assert_eq!(txn.commit_as(id(1)), Err(protected.clone()), "{engine:?}");
        assert_eq!(kv.transaction_outcome(id(1)), Ok(SplitOutcome::NotDone), "{engine:?}");
        let mut batch = WriteBatch::new();
        batch.set_atomic(true).put(b"b", b"3").delete(b"none");
        assert_eq!(kv.write(&batch), Err(protected.clone()), "{engine:?}");
        let mut handle = kv.begin_compound(Compound::Transaction);
        handle.store(b"b", b"3").expect("of one type");
        assert_eq!(handle.commit(), Err(protected), "{engine:?}");
        let mut handle = kv.begin_compound(Compound::Transaction);
        handle.retrieve(b"a").expect("of one type").retrieve(b"none").expect("of one type");
        let none = Err(HostError::Kv(KvError::NotFound));
        assert_eq!(handle.commit(), Ok(vec![Ok(Some(b"1".to_vec())), none]), "{engine:?}");
        kv.close().expect("closes");
    }
}
