// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: members that are all carried out or none, over any engine that has [`Capability::Transactions`]
//! (compound commands with `CC_TRANSACTION`, HotStorage'19, section 5).
//!
//! Every member is judged by the pairs as they are before the transaction. If all may be carried out, the writes go into the
//! log as one group with [`GroupFlags::ATOMIC`](crate::GroupFlags::ATOMIC), so index and log switch from one state to the other at once. A call that
//! answers `Need` or `Blocked` has done nothing, and the next one judges anew: nothing can come between a judgement and its writes.

mod of_engine;

pub use of_engine::{OfEngine, count_keys, read_pair, write_all};

use crate::answer::PairVersion;
use crate::capabilities::{Capability, Unsupported};
use crate::kv::KvError;
use saker_segment_store::{Reads, Step};
use std::collections::BTreeSet;

/// What a member of a transaction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask<'p> {
    /// Store a pair with that value.
    Store(&'p [u8]),
    /// Remove a pair. One that is not there refuses the transaction.
    Delete,
    /// Deliver a value. A pair that is not there is an answer.
    Retrieve,
    /// Tell whether there is such a pair.
    Exist,
    /// There is no such pair.
    Absent,
    /// There is such a pair.
    Present,
    /// The pair has that version; `None`: there is none.
    Version(Option<PairVersion>),
    /// The pair has that value.
    Value(&'p [u8]),
    /// From the key on, and before that other one if there is one, there are so many keys. Of engines that have
    /// [`Capability::Scan`].
    Range(u32, Option<&'p [u8]>),
}

impl Ask<'_> {
    /// Whether it changes what is stored.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Store(_) | Self::Delete)
    }
}

/// A member of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'p> {
    /// Its key.
    pub key: &'p [u8],
    /// What it asks for.
    pub ask: Ask<'p>,
}

/// What a member found before the transaction; nothing, if it did not look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The pair's version; `None`: there was none.
    pub version: Option<PairVersion>,
    /// The value, of a retrieve that found a pair.
    pub value: Option<Vec<u8>>,
    /// How many keys are in a range.
    pub count: u32,
}

/// Why a transaction was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// The condition of the member at that place does not hold.
    Condition(u32),
    /// The member at that place cannot be carried out.
    Member(u32, KvError),
    /// The member at that place writes a key that another one writes, too.
    WrittenTwice(u32),
    /// Its writes are more than the engine takes at once.
    TooLong,
    /// The store is full.
    CapacityExceeded,
    /// The engine has no transactions.
    Unsupported(Unsupported),
    /// The engine does not keep its keys in order, which the member at that place asks for.
    NoOrder(u32),
}

/// The version and the value of a pair; `None`: there is none.
pub type ReadPair = Option<(PairVersion, Vec<u8>)>;

/// What a transaction sees of a store and how it leaves it.
pub trait State {
    /// The version of a pair; `None`: there is none.
    fn version(&mut self, key: &[u8]) -> Step<Result<Option<PairVersion>, KvError>>;
    /// The version of a pair and its value; `None`: there is none.
    fn read(&mut self, key: &[u8]) -> Step<Result<ReadPair, KvError>>;
    /// How many keys there are from one on and before another; counting may end when there are more than `most`.
    fn count(&mut self, from: &[u8], to: Option<&[u8]>, most: u32) -> Step<Result<u32, KvError>>;
    /// Writes all or none: values, or `None` to delete pairs that are there. Each place is that of the member which writes.
    fn write(&mut self, writes: &[Write<'_>]) -> Step<Result<(), NotDone>>;
}

/// A write of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Write<'p> {
    /// The place of its member.
    pub place: u32,
    /// Its key.
    pub key: &'p [u8],
    /// The value; `None`: the pair is removed.
    pub value: Option<&'p [u8]>,
}

/// Carries a transaction out: what each member found, in their order. `pages`: what earlier calls needed, and may need again; keep them
/// between calls.
pub fn transact<S: State>(
    parts: &[Part<'_>],
    pages: &mut Reads,
    state: &mut S,
) -> Step<Result<Vec<Found>, NotDone>> {
    let twice = written_twice(parts);
    // One before it may refuse, and the first decides.
    let judged = twice.and_then(|place| parts.get(..place as usize)).unwrap_or(parts);
    let found = match look(judged, pages, state) {
        Step::Done(Ok(found)) => found,
        Step::Done(Err(refused)) => return Step::Done(Err(refused)),
        Step::Need(reads) => return Step::Need(reads),
        Step::Blocked(stall) => return Step::Blocked(stall),
    };
    if let Some(place) = twice {
        return Step::Done(Err(NotDone::WrittenTwice(place)));
    }
    let count = parts.iter().filter(|part| part.ask.is_write()).count();
    if count == 0 {
        return Step::Done(Ok(found));
    }
    let mut writes = Vec::with_capacity(count);
    writes.extend((0..).zip(parts).filter_map(|(place, part)| write_of(place, part)));
    match state.write(&writes) {
        Step::Done(done) => Step::Done(done.map(|()| found)),
        Step::Need(reads) => Step::Need(add(pages, reads)),
        Step::Blocked(stall) => Step::Blocked(stall),
    }
}

fn write_of<'p>(place: u32, part: &Part<'p>) -> Option<Write<'p>> {
    match part.ask {
        Ask::Store(value) => Some(Write { place, key: part.key, value: Some(value) }),
        Ask::Delete => Some(Write { place, key: part.key, value: None }),
        _ => None,
    }
}

/// The first member that writes a key which one before it writes.
fn written_twice(parts: &[Part<'_>]) -> Option<u32> {
    let mut written = BTreeSet::new();
    parts.iter().position(|part| part.ask.is_write() && !written.insert(part.key)).map(|n| n as u32)
}

/// `more` and everything that was needed before: all pages that the next call will look at.
fn add(pages: &mut Reads, more: Reads) -> Reads {
    pages.extend(more);
    pages.sort_unstable();
    pages.dedup();
    pages.clone()
}

/// Looks at what all members name, then judges them in their order.
fn look<S: State>(parts: &[Part<'_>], pages: &mut Reads, state: &mut S) -> Step<Result<Vec<Found>, NotDone>> {
    let (mut looked, mut absent) = (Vec::with_capacity(parts.len()), Reads::new());
    for part in parts {
        match look_at(part, state) {
            Step::Done(found) => looked.push(found),
            Step::Need(reads) => absent.extend(reads),
            Step::Blocked(stall) => return Step::Blocked(stall),
        }
    }
    if !absent.is_empty() {
        return Step::Need(add(pages, absent));
    }
    // In this form the answers take the place of what was looked at.
    let judged = looked.into_iter().enumerate();
    Step::Done(judged.map(|(place, found)| judge(place as u32, &parts[place], found)).collect())
}

fn look_at<S: State>(part: &Part<'_>, state: &mut S) -> Step<Result<Found, KvError>> {
    if matches!(part.ask, Ask::Store(_)) {
        return Step::Done(Ok(Found::default()));
    }
    if let Ask::Range(count, to) = part.ask {
        let counted = state.count(part.key, to, count);
        return counted.map(|count| count.map(|count| Found { count, ..Found::default() }));
    }
    if matches!(part.ask, Ask::Retrieve | Ask::Value(_)) {
        let pair = |(version, value)| Found { version: Some(version), value: Some(value), count: 0 };
        return state.read(part.key).map(|read| read.map(|read| read.map(pair).unwrap_or_default()));
    }
    let found = |version| Found { version, ..Found::default() };
    state.version(part.key).map(|version| version.map(found))
}

fn judge(place: u32, part: &Part<'_>, found: Result<Found, KvError>) -> Result<Found, NotDone> {
    let found = found.map_err(|e| match e {
        KvError::Unsupported(Unsupported(Capability::Scan)) => NotDone::NoOrder(place),
        e => NotDone::Member(place, e),
    })?;
    let holds = match part.ask {
        Ask::Store(_) | Ask::Retrieve | Ask::Exist => true,
        Ask::Delete if found.version.is_none() => return Err(NotDone::Member(place, KvError::NotFound)),
        Ask::Delete => true,
        Ask::Absent => found.version.is_none(),
        Ask::Present => found.version.is_some(),
        Ask::Version(wanted) => found.version == wanted,
        Ask::Value(wanted) => found.value.as_deref() == Some(wanted),
        Ask::Range(wanted, _) => found.count == wanted,
    };
    if holds { Ok(found) } else { Err(NotDone::Condition(place)) }
}
