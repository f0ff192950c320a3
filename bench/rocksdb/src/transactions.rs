// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimistic transactions without conflicts, ours and those of RocksDB's `OptimisticTransactionDB`: each reads four pairs and writes two of
//! them. Both stores are filled with the same pairs first; both validate at the commit what was read.

use crate::clock::{Took, time};
use crate::store::Fault;
use crate::work::{Shape, Work, key};
use saker::Kv;
use saker_sim::Rng;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Pairs that a transaction reads.
const READS: usize = 4;
/// Pairs of these that it writes.
const WRITES: usize = 2;

/// A store with transactions.
trait Transactional {
    fn options(&self) -> String;
    fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault>;
    /// Nothing is left to be done in the background.
    fn settle(&mut self) -> Result<(), Fault>;
    /// Reads all keys, whose values have so many bytes, and gives the first of them another value.
    fn transact(&mut self, keys: &[[u8; 16]; READS], value: &[u8]) -> Result<(), Fault>;
}

struct Ours {
    kv: Kv,
    url: String,
}

impl Ours {
    fn open(engine: &str, shape: Shape) -> Result<Self, Fault> {
        let pairs = shape.pairs + shape.reads * WRITES as u64;
        let bytes = crate::ours::flash_bytes(pairs, u64::from(shape.value_bytes) + 16);
        let url = format!("mem:?engine={engine}&size={bytes}");
        Ok(Self { kv: Kv::open(&url)?, url })
    }
}

impl Transactional for Ours {
    fn options(&self) -> String {
        format!("{} timing=off, on the caller's thread", self.url)
    }

    fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault> {
        Ok(self.kv.put(key, value)?)
    }

    fn settle(&mut self) -> Result<(), Fault> {
        // Hash engines count reads among their counters: what is programmed and erased tells of work.
        let done = |kv: &mut Kv| kv.stats().map(|s| (s.flash.pages_programmed, s.flash.segments_erased));
        let mut before = done(&mut self.kv);
        loop {
            (0..1024).try_for_each(|_| self.kv.exists(b"nothing").map(drop))?;
            let after = done(&mut self.kv);
            if after == before {
                return Ok(());
            }
            before = after;
        }
    }

    fn transact(&mut self, keys: &[[u8; 16]; READS], value: &[u8]) -> Result<(), Fault> {
        let mut txn = self.kv.begin_transaction()?;
        for key in keys {
            let found = txn.get(key)?.ok_or("a pair is missing")?;
            if found.len() != value.len() {
                return Err("a value of another length".into());
            }
        }
        for key in &keys[..WRITES] {
            txn.put(key, value)?;
        }
        Ok(txn.commit()?)
    }
}

#[cfg(feature = "rocksdb")]
mod rocks {
    use super::{READS, Transactional, WRITES};
    use crate::rocks::{self, Fault};
    use rocksdb::{
        OptimisticTransactionDB, OptimisticTransactionOptions, WaitForCompactOptions, WriteOptions,
    };
    use std::path::Path;

    pub struct Rocks {
        db: OptimisticTransactionDB,
        write: WriteOptions,
        options: String,
        _dir: tempfile::TempDir,
    }

    impl Rocks {
        pub fn open(dir: &Path, cache_bytes: u64) -> Result<Self, Fault> {
            let dir = tempfile::tempdir_in(dir)?;
            let db = OptimisticTransactionDB::open(&rocks::options(cache_bytes), dir.path())?;
            let options = format!("OptimisticTransactionDB; {}", rocks::told(true, cache_bytes));
            Ok(Self { db, write: WriteOptions::default(), options, _dir: dir })
        }
    }

    impl Transactional for Rocks {
        fn options(&self) -> String {
            self.options.clone()
        }

        fn put(&mut self, key: &[u8; 16], value: &[u8]) -> Result<(), Fault> {
            Ok(self.db.put_opt(key, value, &self.write)?)
        }

        fn settle(&mut self) -> Result<(), Fault> {
            self.db.flush()?;
            Ok(self.db.wait_for_compact(&WaitForCompactOptions::default())?)
        }

        fn transact(&mut self, keys: &[[u8; 16]; READS], value: &[u8]) -> Result<(), Fault> {
            let txn = self.db.transaction_opt(&self.write, &OptimisticTransactionOptions::default());
            for key in keys {
                // What is only got is not validated at the commit.
                let found = txn.get_pinned_for_update(key, true)?.ok_or("a pair is missing")?;
                if std::hint::black_box(&found[..]).len() != value.len() {
                    return Err("a value of another length".into());
                }
            }
            for key in &keys[..WRITES] {
                txn.put(key, value)?;
            }
            Ok(txn.commit()?)
        }
    }
}

/// What transactions of one store took.
struct Side {
    name: String,
    options: String,
    took: Vec<Took>,
}

impl Side {
    fn median(&self, pick: fn(&Took) -> f64) -> f64 {
        crate::report::median(self.took.iter().map(pick).collect()).unwrap_or(f64::NAN)
    }
}

/// The run.
pub struct Compared {
    shape: Shape,
    sides: Vec<Side>,
}

/// Transactions of each engine and of RocksDB, in turn, as many times as asked. `shape.reads` is how many transactions there are.
///
/// # Errors
/// Those of the stores.
pub fn measure(cli: &crate::Cli, shape: Shape) -> Result<Compared, Fault> {
    let mut names = cli.engines.clone();
    if !cli.ours_only {
        names.push("rocksdb".to_owned());
    }
    let mut sides: Vec<_> = names
        .iter()
        .map(|name| Side { name: name.clone(), options: String::new(), took: Vec::new() })
        .collect();
    let work = Work::new(shape, cli.seed);
    for repetition in 0..cli.repetitions as usize {
        let count = sides.len();
        for n in 0..count {
            // Who begins changes, so that nobody always finds the machine as the same other left it.
            let side = &mut sides[(n + repetition) % count];
            let mut store = open(cli, &side.name, shape)?;
            side.options = store.options();
            side.took.push(one(store.as_mut(), &work, shape)?);
        }
    }
    Ok(Compared { shape, sides })
}

fn open(cli: &crate::Cli, name: &str, shape: Shape) -> Result<Box<dyn Transactional>, Fault> {
    if name != "rocksdb" {
        return Ok(Box::new(Ours::open(name, shape)?));
    }
    #[cfg(feature = "rocksdb")]
    return Ok(Box::new(rocks::Rocks::open(&cli.dir, cli.dram_mib << 20)?));
    #[cfg(not(feature = "rocksdb"))]
    Err(format!("RocksDB was not built for {}: say --ours-only", cli.dir.display()).into())
}

fn one(store: &mut dyn Transactional, work: &Work, shape: Shape) -> Result<Took, Fault> {
    (0..shape.pairs).try_for_each(|n| store.put(&key(work.order.map(n)), work.value(n)))?;
    store.settle()?;
    let mut rng = work.rng("transactions");
    time(shape.reads, || {
        (0..shape.reads).try_for_each(|n| store.transact(&different(&mut rng, shape.pairs), work.value(n)))
    })
}

/// Keys of a transaction.
fn different(rng: &mut Rng, pairs: u64) -> [[u8; 16]; READS] {
    let mut numbers = [0; READS];
    for n in 0..READS {
        numbers[n] = loop {
            let number = rng.below(pairs);
            if !numbers[..n].contains(&number) {
                break number;
            }
        };
    }
    numbers.map(key)
}

impl Compared {
    fn heading(&self) -> String {
        let Shape { pairs, reads, value_bytes, .. } = self.shape;
        format!(
            "{reads} transactions of {READS} reads and {WRITES} writes without conflicts, {pairs} pairs of 16 + {value_bytes} bytes, one thread; \
             medians of {} alternated repetitions",
            self.sides.first().map_or(0, |side| side.took.len())
        )
    }

    /// How many times as fast as RocksDB a side is.
    fn ratio(&self, side: &Side, pick: fn(&Took) -> f64) -> Option<f64> {
        let rocksdb = self.sides.iter().find(|other| other.name == "rocksdb")?;
        Some(rocksdb.median(pick) / side.median(pick))
    }

    /// A table for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.heading());
        for side in &self.sides {
            let _ = writeln!(text, "  {}: {}", side.name, side.options);
        }
        let _ = writeln!(text, "  {:<16}{:>10}{:>10}{:>10}{:>10}", "", "us", "ratio", "cpu us", "ratio");
        for side in &self.sides {
            let _ = write!(text, "  {:<16}", side.name);
            for pick in [|took: &Took| took.wall_us, |took: &Took| took.cpu_us] {
                let ratio = self.ratio(side, pick).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
                let _ = write!(text, "{:>10.3}{ratio:>10}", side.median(pick));
            }
            text.push('\n');
        }
        text
    }

    /// The same as one document.
    pub fn json(&self) -> Value {
        let sides = self.sides.iter().map(|side| {
            let of = |pick: fn(&Took) -> f64| {
                json!({"us": side.median(pick), "ratio": self.ratio(side, pick),
                       "us_of_each": side.took.iter().map(pick).collect::<Vec<_>>()})
            };
            json!({"name": side.name, "options": side.options,
                   "wall": of(|took| took.wall_us), "cpu": of(|took| took.cpu_us)})
        });
        json!({"version": 1, "what": self.heading(), "sides": sides.collect::<Vec<_>>()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn a_transaction_reads_different_keys() {
        let mut rng = Seed(1).rng();
        for _ in 0..200 {
            let mut keys = different(&mut rng, READS as u64 + 1).to_vec();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), READS);
        }
    }

    #[test]
    fn what_is_written_is_there_afterwards() {
        let shape = Shape { pairs: 100, reads: 50, scans: 0, scan_pairs: 0, value_bytes: 20 };
        let work = Work::new(shape, 1);
        let mut ours = Ours::open("hash_store", shape).unwrap();
        one(&mut ours, &work, shape).unwrap();
        let mut rng = work.rng("transactions");
        let all: Vec<_> = (0..50).map(|_| different(&mut rng, 100)).collect();
        let last = all[49];
        for key in &last[..WRITES] {
            assert_eq!(ours.kv.get(key).unwrap().unwrap(), work.value(49));
        }
    }
}
