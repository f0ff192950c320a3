//! List and range scans: all sources merged, from any key on.

use super::LsmStore;
use super::block::Block;
use super::key::{Entry, Key};
use super::levels::LEVELS;
use super::lookup::Seen;
use super::memtable::{Memtable, Position};
use super::table::Table;
use crate::kv::KvError;
use saker_log::Bytes;
use saker_log::Spot;
use saker_medium::{Medium, Reads, Step, ready};
use saker_sim::{Meter, Unit};

/// A pair that a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanEntry {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

/// A source of entries in order.
enum Source<'a> {
    Memtable {
        table: &'a Memtable,
        head: Option<Entry>,
    },
    /// Tables of a level, or one of level 0: the next block to open, and the rest of the open one.
    Tables {
        tables: Vec<&'a Table>,
        table: usize,
        next: usize,
        open: Option<(Block<'a>, usize)>,
    },
}

impl<'a> Source<'a> {
    fn memtable(table: &'a Memtable, from: Position) -> Self {
        Self::Memtable { table, head: table.next(from) }
    }

    fn tables(tables: Vec<&'a Table>, from: Option<&Key>) -> Self {
        let next = match (tables.first(), from) {
            (Some(table), Some(key)) => table.block_of(key, u64::MAX),
            _ => 0,
        };
        Self::Tables { tables, table: 0, next, open: None }
    }

    fn head(&self) -> Option<Entry> {
        match self {
            Self::Memtable { head, .. } => *head,
            Self::Tables { open, .. } => open.as_ref().and_then(|(block, at)| block.get(*at)),
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Memtable { table, head } => {
                *head = head.and_then(|e| table.next(Position::Behind(e.key, e.version)));
            }
            Self::Tables { open, .. } => {
                if let Some((_, at)) = open {
                    *at += 1;
                }
            }
        }
    }

    /// The block it goes on with.
    fn wants(&self) -> Option<(&'a Table, usize)> {
        let Self::Tables { tables, table, next, open } = self else { return None };
        if open.as_ref().is_some_and(|(block, at)| *at < block.count()) {
            return None;
        }
        let here = *tables.get(*table)?;
        if *next < here.index.len() { Some((here, *next)) } else { tables.get(table + 1).map(|t| (*t, 0)) }
    }

    fn opened(&mut self, block: Block<'a>, from: Option<&Key>) {
        if let Self::Tables { tables, table, next, open } = self {
            if *next >= tables[*table].index.len() {
                (*table, *next) = (*table + 1, 0);
            }
            *next += 1;
            let at = from.map_or(0, |key| block.lower_bound(key, u64::MAX));
            *open = Some((block, at));
        }
    }
}

impl LsmStore {
    /// Visits the keys from `from` on (from the first one when empty) until `visit` says stop (false). With `Need`, what
    /// this call visited does not count.
    pub fn list<M: Medium, W: Meter>(
        &self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let start = match from {
            [] => None,
            key => match Key::new(key) {
                Some(key) => Some(key),
                None => return Step::Done(Err(KvError::KeySize)),
            },
        };
        let visit = |e: &Entry| visit(&e.key.padded()[..e.key.len()]);
        self.visit(start, u64::MAX, visit, m, w).map(|(done, _)| done)
    }

    /// Visits the pairs that a version sees, in the order of their keys. The second part: the pages looked at.
    fn visit<M: Medium, W: Meter>(
        &self,
        from: Option<Key>,
        version: u64,
        mut visit: impl FnMut(&Entry) -> bool,
        m: &M,
        w: &mut W,
    ) -> Step<(Result<(), KvError>, Reads)> {
        let mut sources = self.sources(from.as_ref());
        let mut looked = Reads::new();
        let mut last: Option<Key> = None;
        w.work(Unit::Probe, 2 * sources.len() as u64);
        loop {
            match ready!(self.open_blocks(&mut sources, from.as_ref(), &mut looked, m, w)) {
                Ok(()) => {}
                Err(e) => return Step::Done((Err(e), looked)),
            }
            let heads = sources.iter().enumerate().filter_map(|(n, s)| s.head().map(|e| (n, e)));
            let Some((n, e)) = heads.min_by(|(a, x), (b, y)| x.order(y).then(a.cmp(b))) else {
                return Step::Done((Ok(()), looked));
            };
            sources[n].advance();
            w.work(Unit::ListEntry, 1);
            if e.version > version || last == Some(e.key) {
                continue;
            }
            last = Some(e.key);
            if !e.is_tombstone() && !visit(&e) {
                return Step::Done((Ok(()), looked));
            }
        }
    }

    /// The newest first.
    fn sources(&self, from: Option<&Key>) -> Vec<Source<'_>> {
        let at = from.map_or(Position::Start, |key| Position::At(*key));
        let behind = |t: &&Table| from.is_none_or(|key| t.last >= *key);
        let mut sources = vec![Source::memtable(&self.mem, at)];
        sources.extend(self.imm.iter().map(|imm| Source::memtable(imm, at)));
        let young = self.levels.level(0).iter().map(AsRef::as_ref).filter(behind);
        sources.extend(young.map(|table| Source::tables(vec![table], from)));
        for level in 1..LEVELS {
            let tables: Vec<_> = self.levels.level(level).iter().map(AsRef::as_ref).filter(behind).collect();
            if !tables.is_empty() {
                sources.push(Source::tables(tables, from));
            }
        }
        sources
    }

    fn open_blocks<'a, M: Medium, W: Meter>(
        &'a self,
        sources: &mut [Source<'a>],
        from: Option<&Key>,
        looked: &mut Reads,
        m: &'a M,
        w: &mut W,
    ) -> Step<Result<(), KvError>> {
        let mut absent = false;
        for source in sources {
            while let Some((table, n)) = source.wants() {
                self.note_page(table, n, looked);
                match self.block(table, n, m) {
                    Seen::Here(block) => source.opened(block, from),
                    Seen::Bad(e) => return Step::Done(Err(e)),
                    Seen::Absent => {
                        absent = true;
                        break;
                    }
                }
                w.work(Unit::Decode, 1);
            }
        }
        if absent { Step::Need(std::mem::take(looked)) } else { Step::Done(Ok(())) }
    }

    /// Up to `pairs_max` pairs, and at most about `bytes_max` bytes, from `from` on while keys begin with `prefix`, as a
    /// snapshot sees them.
    pub fn scan<M: Medium, W: Meter>(
        &self,
        from: &[u8],
        prefix: &[u8],
        snapshot: super::Snapshot,
        (pairs_max, bytes_max): (usize, u64),
        m: &M,
        w: &mut W,
    ) -> Step<Result<Vec<ScanEntry>, KvError>> {
        let start = if from.is_empty() { prefix } else { from };
        let start = match start {
            [] => None,
            key => match Key::new(key) {
                Some(key) => Some(key),
                None => return Step::Done(Err(KvError::KeySize)),
            },
        };
        let (mut found, mut bytes) = (Vec::new(), 0);
        let take = |e: &Entry| {
            if !e.key.padded()[..e.key.len()].starts_with(prefix) || pairs_max == 0 {
                return false;
            }
            found.push(*e);
            bytes += u64::from(e.loc.bytes());
            found.len() < pairs_max && bytes < bytes_max
        };
        let (done, looked) = ready!(self.visit(start, snapshot.0, take, m, w));
        if let Err(e) = done {
            return Step::Done(Err(e));
        }
        self.values(&found, looked, m, w)
    }

    /// The values of entries.
    fn values<M: Medium, W: Meter>(
        &self,
        found: &[Entry],
        mut looked: Reads,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Vec<ScanEntry>, KvError>> {
        let mut absent = false;
        for e in found {
            let range = Bytes::new(Spot(e.loc.position()), e.loc.bytes());
            looked.extend(range.pages(&self.log));
            match range.resident(&self.log, m) {
                Step::Done(Err(e)) => return Step::Done(Err(e.into())),
                Step::Done(Ok(())) => {}
                _ => absent = true,
            }
        }
        if absent {
            looked.sort_unstable();
            looked.dedup();
            return Step::Need(looked);
        }
        let read = |e: &Entry| {
            let key = e.key.to_vec();
            let mut value = Vec::new();
            let (start, bytes) = self.records().check(&key, e.loc, self.config.owner, m)?;
            self.records().deliver(e.loc, start, bytes, &mut value, m)?;
            w.work(Unit::ChecksumByte, u64::from(e.loc.bytes()));
            w.work(Unit::CopyByte, u64::from(bytes));
            Ok(ScanEntry { key, value })
        };
        Step::Done(found.iter().map(read).collect())
    }
}
