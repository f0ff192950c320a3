// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands for transactions in parts.

use super::super::source::GroupReach;
use super::super::transaction::{Keys, not_done, part};
use super::super::{Kept, refusal};
use super::{Moment, Splits, written_bytes};
use crate::answer::{Outcome, Reach, Reply, Timing, key_hash, kv_status};
use crate::config::TRANSFER_BYTES_MAX;
use crate::transfer::Pieces;
use saker_engine::transaction::{Ask, Part, State};
use saker_engine::{AnyEngine, Capability, Engine, GroupError, Groups, KvError, transact};
use saker_link::{DmaSpace, Sqe};
use saker_long_keys::{KeyDigest, NarrowDigest};
use saker_nvme::group::outcomes::{Known, Outcomes};
use saker_nvme::group::{
    Asked, COUNT_BYTES, Form, Malformed, OUTCOME_MARK, Reason, SPLIT_BYTES_MAX, SplitAction, SplitCommand,
    SplitOutcome, TransactionId, parse_part, parse_transaction,
};
use saker_nvme::{Key, PointerRule, Status};
use saker_profile::TimedOp;
use saker_segment_store::{Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

/// A command for a transaction in parts on its way.
#[derive(Clone, Debug)]
pub struct SplitRequest {
    command: SplitCommand,
    pieces: Pieces,
    /// Its part is among the others, and the commit is what remains.
    is_taken: bool,
    /// Pages that the commit needed.
    pages: Reads,
}

impl SplitRequest {
    /// Decodes a command and resolves its data pointer, of a kind that `rule` admits.
    ///
    /// # Errors
    /// As for [`SplitCommand`]; 02h for more data than a command can move.
    pub fn decode(sqe: &Sqe, rule: PointerRule, space: &DmaSpace) -> Result<Self, Status> {
        let command = SplitCommand::decode_with(sqe, rule)?;
        if command.data_bytes() > TRANSFER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        let pieces = Pieces::of(sqe, command.data_bytes(), space)?;
        Ok(Self { command, pieces, is_taken: false, pages: Reads::new() })
    }

    /// Bytes that the host sends.
    pub fn bytes_in(&self) -> u32 {
        self.command.data_bytes()
    }

    /// Where its data is.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Whether it is about a change of what is stored: all but the question for an outcome.
    pub fn is_write(&self) -> bool {
        !matches!(self.command, SplitCommand::Control { action: SplitAction::Outcome, .. })
    }

    /// Which transaction it is of, hashed: its commands are carried out in their order.
    pub fn lane(&self) -> u64 {
        let id = self.command.id();
        key_hash(&id.host) ^ id.number
    }

    /// What a latency table looks at: a part counts as a group of stores.
    pub fn timing(&self, space: &DmaSpace) -> Timing {
        let SplitCommand::Part { bytes, .. } = self.command else { return Timing::Nothing };
        let mut count = [0; COUNT_BYTES];
        let is_known = bytes >= 4 && self.pieces.read(space, 0, &mut count).is_ok();
        // A count that is not true is refused later; until then it must not take longer than any true one.
        let pairs = if is_known { u32::from_le_bytes(count).min(bytes / 8) } else { 0 };
        Timing::Group(TimedOp::Store, pairs, bytes)
    }

    /// Executes it.
    #[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
    pub fn execute<M: SegmentStore, W: Meter>(
        &mut self,
        store: &mut AnyEngine,
        splits: &mut Splits,
        kept: &Kept,
        long_keys: Option<NarrowDigest>,
        reach: Reach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Outcome {
        if !store.capabilities().has(Capability::Transactions) {
            return Outcome::Done(Reply::status(Status::NO_TRANSACTIONS));
        }
        let reach = GroupReach { reach, long_keys };
        let now = splits.tick(store.stats().user_bytes_written, store.capacity_bytes(m));
        let commits = match self.command {
            SplitCommand::Part { id, begins, commits, .. } => {
                if !self.is_taken {
                    match self.take(id, begins, splits, now, reach, w) {
                        Err(reply) => {
                            // Without it the others are not what the host wants carried out.
                            splits.end(id);
                            return Outcome::Done(reply);
                        }
                        Ok(entries) if !commits => return Outcome::Done(done(entries)),
                        Ok(_) => self.is_taken = true,
                    }
                }
                id
            }
            SplitCommand::Control { id, action: SplitAction::Begin } => {
                let begun = splits.begin(id, now);
                return Outcome::Done(Reply::status(begun.err().unwrap_or(Status::SUCCESS)));
            }
            SplitCommand::Control { id, action: SplitAction::Abort } => {
                splits.end(id);
                return Outcome::Done(done(0));
            }
            SplitCommand::Control { id, action: SplitAction::Outcome } => {
                let mut keys = Keys { store, digest: None, m, w };
                let known = known(id, &mut keys).map(|found| found.map(|(_, known)| known));
                return outcome(known.map(|known| told(id, known, splits)));
            }
            SplitCommand::Control { id, action: SplitAction::Commit } => id,
        };
        let step = self.commit(commits, store, splits, kept, reach, m, w);
        if let Step::Done(_) = step {
            splits.end(commits);
        }
        outcome(step)
    }

    /// Checks a part and puts its entries behind the others; how many there are then. One that is refused ends the transaction.
    fn take<W: Meter>(
        &self,
        id: TransactionId,
        begins: bool,
        splits: &mut Splits,
        now: Moment,
        reach: GroupReach<'_>,
        w: &mut W,
    ) -> Result<u32, Reply> {
        let bytes = self.pieces.bytes() as usize;
        // Before memory is taken for it: a host that asks for more than there may be gets none.
        if bytes > SPLIT_BYTES_MAX {
            return Err(Reply::status(Status::INVALID_FIELD));
        }
        w.work(Unit::CopyByte, if reach.reach.dma_engine { 0 } else { bytes as u64 });
        let mut payload = vec![0; bytes];
        if self.pieces.read(reach.reach.space, 0, &mut payload).is_err() {
            return Err(Reply::status(Status::DATA_TRANSFER_ERROR));
        }
        let mut long = None;
        let takes_long = |e: &Asked| reach.long_keys.is_some() && e.ask != saker_nvme::group::Ask::Range;
        let entries = parse_part(&payload, |e| {
            if e.key.len() > Key::MAX_LEN && !takes_long(&e) {
                long.get_or_insert(e.key.start - 4);
            }
        });
        let wrong = |malformed| refusal(GroupError::Malformed(malformed));
        let entries = entries.map_err(wrong)?;
        if let Some(at) = long {
            return Err(wrong(Malformed { at, reason: Reason::KeySize }));
        }
        w.work(Unit::Decode, u64::from(entries));
        if begins {
            splits.begin(id, now).map_err(Reply::status)?;
        }
        splits.add(id, &payload, entries, now).map_err(Reply::status)
    }

    /// Judges all entries and writes, with what tells that it was done.
    #[expect(clippy::too_many_arguments, reason = "an engine call takes its medium and meter")]
    fn commit<M: SegmentStore, W: Meter>(
        &mut self,
        id: TransactionId,
        store: &mut AnyEngine,
        splits: &Splits,
        kept: &Kept,
        reach: GroupReach<'_>,
        m: &mut M,
        w: &mut W,
    ) -> Step<Reply> {
        let bytes_max = store.group_bytes_max() as usize;
        let mut keys = Keys { store, digest: reach.long_keys, m, w };
        let (pair, known) = match known(id, &mut keys) {
            Step::Done(Ok(found)) => found,
            Step::Done(Err(e)) => return Step::Done(Reply::status(kv_status(e))),
            Step::Need(reads) => return Step::Need(self.and_before(reads)),
            Step::Blocked(stall) => return Step::Blocked(stall),
        };
        let Some(open) = splits.find(id).filter(|_| known == Known::NotDone) else {
            let none = Reply::status(Status::NO_SUCH_TRANSACTION);
            return Step::Done(if known == Known::NotDone { none } else { told(id, Ok(known), splits) });
        };
        let mut entries = Vec::with_capacity(open.entries as usize);
        if open.entries > 0 && parse_transaction(Form::Mixed, &open.payload, |e| entries.push(e)).is_err() {
            return Step::Done(Reply::status(Status::INTERNAL_ERROR));
        }
        let (key, after) = (outcome_key(id), Outcomes::with(&pair, id));
        let outcome_bytes = size_of::<Outcomes>() + OUTCOME_ENTRY_BYTES;
        let bytes = COUNT_BYTES + entries.iter().map(written_bytes).sum::<usize>() + outcome_bytes;
        if bytes > bytes_max {
            return Step::Done(Reply::status(Status::WRITES_TOO_LONG));
        }
        let mut parts: Vec<_> = entries.iter().map(|e| part(&open.payload, e, kept.life)).collect();
        parts.push(Part { key: &key, ask: Ask::Store(zerocopy::IntoBytes::as_bytes(&after)) });
        keys.w.work(Unit::Decode, parts.len() as u64);
        Step::Done(match ready!(transact(&parts, &mut self.pages, &mut keys)) {
            Ok(_) => done(SplitOutcome::Done as u32),
            Err(refused) => not_done(refused, keys.m),
        })
    }

    /// All pages that the commit will look at.
    fn and_before(&mut self, reads: Reads) -> Reads {
        self.pages.extend(reads);
        self.pages.sort_unstable();
        self.pages.dedup();
        self.pages.clone()
    }
}

/// Lengths of key and value, and the key.
const OUTCOME_ENTRY_BYTES: usize = 4 + Key::MAX_LEN + 4;

/// The device key of the pair that tells of a transaction.
fn outcome_key(id: TransactionId) -> [u8; Key::MAX_LEN] {
    let mut named = [0; saker_nvme::group::HOST_ID_BYTES + 1];
    let (host, place) = named.split_at_mut(id.host.len());
    host.copy_from_slice(&id.host);
    place[0] = Outcomes::place(id);
    let mut key = [0; Key::MAX_LEN];
    let (mark, digest) = key.split_at_mut(OUTCOME_MARK.len());
    mark.copy_from_slice(&OUTCOME_MARK);
    let bytes = NarrowDigest::default().digest(&named).to_le_bytes();
    digest.copy_from_slice(&bytes[..digest.len()]);
    key
}

/// The pair that tells of a transaction, empty if there is none, and what it says.
fn known<M: SegmentStore, W: Meter>(
    id: TransactionId,
    keys: &mut Keys<'_, M, W>,
) -> Step<Result<(Vec<u8>, Known), KvError>> {
    let pair = match ready!(keys.read(&outcome_key(id))) {
        Ok(pair) => pair.map(|(_, value)| value).unwrap_or_default(),
        Err(e) => return Step::Done(Err(e)),
    };
    let known = Outcomes::look(&pair, id);
    Step::Done(Ok((pair, known)))
}

/// What is answered of a transaction that is not to be carried out now.
fn told(id: TransactionId, known: Result<Known, KvError>, splits: &Splits) -> Reply {
    match known {
        Ok(Known::Done) => done(SplitOutcome::DoneBefore as u32),
        Ok(Known::NotDone) if splits.find(id).is_some() => done(SplitOutcome::Open as u32),
        Ok(Known::NotDone) => done(SplitOutcome::NotDone as u32),
        Ok(Known::TooOld | Known::Strange) => Reply::status(Status::OUTCOME_UNKNOWN),
        Err(e) => Reply::status(kv_status(e)),
    }
}

fn done(dw0: u32) -> Reply {
    Reply { dw0, ..Reply::status(Status::SUCCESS) }
}

fn outcome(step: Step<Reply>) -> Outcome {
    match step {
        Step::Done(reply) => Outcome::Done(reply),
        Step::Need(reads) => Outcome::Need(reads),
        Step::Blocked(stall) => Outcome::Blocked(stall),
    }
}
