// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room: what may be stored, what is kept back, and finding out what has been replaced.
//!
//! A store does not look for the pair it replaces, so the log counts replaced records as live until the structure meets them.
//! When that would turn a store away, everything is merged and a manifest written, after which nothing is counted that is not
//! needed.

use super::Store;
use super::ample::{Coming, Crowded};
use super::inside::Inside;
use super::key::{Entry, Key};
use super::living::{Living, Replaced, is_near};
use super::reserve::{AHEAD_SEGMENTS, DELETE_SEGMENTS, FILL_PERCENT_MAX, LAST_RESORT_SEGMENTS};
use super::structure::{Content, Structure};
use saker_engine_api::KvError;
use saker_log::reserve::assert_collections_gain;
use saker_log::{Log, Segment, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, Step, Tag, ready};
use saker_sim::Meter;
use saker_value_log::record::record_bytes;

/// When a record may be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Admission {
    /// There is room, with or without what it replaces.
    Now(Replaced),
    /// There is room in the value log, in place of what is replaced there, but none for a value beside its key.
    Apart(Replaced),
    /// Background work will tell.
    Later,
}

/// Finding out what is not needed any more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reveal {
    stage: Stage,
    /// The version when the memtable was frozen the last time: what was written meanwhile may have replaced something too.
    done_at: Option<u64>,
    /// The version when the memtable was frozen.
    frozen_at: u64,
    /// Entries there were at most when all was merged, and those written since. What collections enter anew is not more.
    entries: Option<u64>,
    /// Bytes that collections had copied when the memtable was frozen.
    copied: u64,
    /// Bytes of a record that could be stored at most when all was merged. Collections do not change that.
    room: u64,
    /// Of a store that has values in its structure: what lives at most, once all was merged.
    living: Option<Living>,
    /// Of such a store: the last I/O that had begun when a quantum first found nothing that it could do.
    pub(super) rests_since: Option<Tag>,
    /// Bytes of records that writes have replaced since the memtable was frozen, at most.
    gone: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// The memtable must be frozen.
    Wanted,
    /// The structure takes everything in, where nothing counts that is not needed.
    Merging,
    /// The longest record is looked for.
    Measuring,
    /// A manifest must begin, and then end.
    Manifest,
    Ending,
}

impl Reveal {
    /// Something is to be stored for which there may be no room.
    pub fn want(&mut self) {
        if self.stage == Stage::Idle {
            self.stage = Stage::Wanted;
        }
    }

    /// Whether all is known since a version.
    pub fn is_done_at(&self, version: u64) -> bool {
        self.done_at == Some(version) && !self.is_running()
    }

    /// A write has added an entry.
    pub fn added(&mut self) {
        self.entries = self.entries.map(|n| n + 1);
    }

    /// What lives at most, if that is known.
    pub fn living(&self) -> Option<&Living> {
        self.living.as_ref()
    }

    /// The same, for what happens to it.
    pub fn living_mut(&mut self) -> Option<&mut Living> {
        self.living.as_mut()
    }

    /// A write knows what its entry replaces: there is one more, or one less, or as many.
    fn replaced(&mut self, e: &Entry, old: Replaced) {
        let one_more = u64::from(old.bytes().is_none() && !e.is_tombstone());
        let one_less = u64::from(old.bytes().is_some() && e.is_tombstone());
        self.entries = self.entries.map(|n| (n + one_more).saturating_sub(one_less));
    }

    /// Whether it is under way.
    pub fn is_running(&self) -> bool {
        self.stage != Stage::Idle
    }

    /// Whether the structure merges although nothing else asks for it.
    pub fn merges(&self) -> bool {
        self.stage == Stage::Merging
    }
}

/// The segment with the fewest live bytes in which a snapshot does not hold anything, as far as is known; before that, one
/// in which a program failed.
fn victim_but(log: &Log, held: &[SegmentId], lost: impl Fn(&Segment) -> u64) -> Option<SegmentId> {
    let first = log.victim_that_loses(&lost)?;
    if log.segment(first).evacuate || !held.contains(&first) {
        return Some(first);
    }
    let is_settled = |id: &SegmentId| {
        let s = log.segment(*id);
        let closed = s.state == SegmentState::Closed && s.stream().holds_records() && s.in_flight == 0;
        closed && !held.contains(id)
    };
    let all = (0..log.geometry().segments).map(SegmentId).filter(is_settled);
    all.min_by_key(|id| log.segment(*id).live_bytes + lost(log.segment(*id)))
}

/// How many times a record beside its key counts at least if it takes the place of one in the value log: merges need room for it too.
const INSIDE_TIMES: u32 = 3;

impl<S: Structure> Store<S> {
    /// Live bytes of records in the value log, as far as is known.
    pub(crate) fn value_log_bytes(&self) -> u64 {
        self.log.live_bytes() - self.structure_live
    }

    /// What of that counts as content. Where values stay beside their keys records that only pass through the log do not: the structure
    /// keeps room for them ([`S::capacity_for`](super::structure::Room::capacity_for)).
    pub(crate) fn apart_bytes(&self) -> u64 {
        let passing = if self.settings.has_inside() { self.log.tombstone_bytes() } else { 0 };
        let found = self.value_log_bytes() - passing;
        self.reveal.living().map_or(found, |living| found.min(living.apart))
    }

    /// Entries whose values are beside them, those included that have been replaced as far as that is not known.
    pub(crate) fn inside(&self) -> Inside {
        if !self.settings.has_inside() {
            return Inside::NONE;
        }
        let found = self.own.inside().and(self.buffered_inside());
        self.reveal.living().map_or(found, |living| found.at_most(living.inside))
    }

    /// The same of memtables.
    pub(crate) fn buffered_inside(&self) -> Inside {
        self.own.frozen().fold(self.mem.inside(), |all, table| all.and(table.inside()))
    }

    /// Live bytes of records, wherever their values are.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.apart_bytes() + self.inside().bytes
    }

    /// What is in the store, with `more` entries, these among them, and one of `longest` bytes. Where the store decides by itself which
    /// values are beside their keys, all are taken for such: any may be the next time that it is written.
    pub(crate) fn content_with(&self, more: u64, inside: Inside, longest: u32) -> Content {
        let (entries, longest) = (self.entries_at_most(), self.longest.bytes().max(longest));
        let is_auto = self.settings.is_auto();
        let found = if is_auto { Inside::of(entries, self.content_bytes()) } else { self.inside() };
        Content { entries: entries + more, inside: found.and(inside), longest }
    }

    /// What an entry with such a record counts with of those whose values are beside them, if its value is to be, or was.
    pub(crate) fn inside_of(&self, is_inside: bool, record_bytes: u32) -> Inside {
        if is_inside || self.settings.is_auto() {
            Inside::of(1, u64::from(record_bytes))
        } else {
            Inside::NONE
        }
    }

    /// Bytes of a record that may take the place of an entry's; `inside`: its value is to be beside its key.
    pub(crate) fn replaceable_bytes(&self, e: &Entry, inside: bool) -> u32 {
        let moves_in = inside && !e.is_inside() && !self.settings.is_auto();
        e.addr.record_bytes() / if moves_in { INSIDE_TIMES } else { 1 }
    }

    /// Entries, those included that the structure does not know to be replaced.
    pub(crate) fn entries_at_most(&self) -> u64 {
        let found = self.own.entries() + self.buffered();
        self.reveal.entries.map_or(found, |known| known.min(found))
    }

    /// Bytes of records in what is not kept for anything else: whole segments, and bytes of pages. Pages are counted as they are,
    /// or one more could cost a segment of records, and what may be stored would depend on how the structure came about.
    pub(crate) fn fill<M: SegmentStore>(
        &self,
        kept_segments: u32,
        kept_bytes: u64,
        longest: u32,
        m: &M,
    ) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        let segments = u64::from(m.quota_segments().saturating_sub(kept_segments));
        let usable = (segments * segment_bytes).saturating_sub(kept_bytes);
        let held = segment_bytes - self.lost_in_segment(longest);
        (u128::from(usable) * u128::from(held) / u128::from(segment_bytes)) as u64 * FILL_PERCENT_MAX / 100
    }

    /// The segment to collect.
    pub(super) fn victim(&self) -> Option<SegmentId> {
        victim_but(&self.log, self.own.held(), |s| self.lost_by(s))
    }

    /// Bytes of a segment that a collection can leave unused.
    pub(crate) fn lost_in_segment(&self, longest: u32) -> u64 {
        let geometry = self.log.geometry();
        let sealed = if self.settings.ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
        (u64::from(longest) + sealed).min(geometry.segment_bytes() / 2)
    }

    /// A collection of the emptiest segment gains more than it loses and what it makes the structure write, whatever is stored.
    pub(super) fn assert_gain(&self) {
        let segment_bytes = self.log.geometry().segment_bytes();
        let lost = self.lost_in_segment(record_bytes(16, self.settings.value_bytes_max));
        assert_collections_gain(segment_bytes, lost, FILL_PERCENT_MAX, S::owed_at_most(segment_bytes, lost));
    }

    /// Free segments that new pairs leave.
    pub(crate) fn for_pairs<M: SegmentStore>(&self, m: &M) -> u32 {
        S::for_deletes(self, m) + DELETE_SEGMENTS
    }

    /// Free segments that a delete leaves: fewer if background work is stuck, since only deletes make room then.
    pub(crate) fn for_delete<M: SegmentStore>(&self, m: &M) -> u32 {
        S::for_deletes(self, m).saturating_sub(if self.upkeep.is_stuck() { LAST_RESORT_SEGMENTS } else { 0 })
    }

    /// Free segments below which collections start.
    pub(crate) fn free_low<M: SegmentStore>(&self, m: &M) -> u32 {
        self.for_pairs(m) + AHEAD_SEGMENTS + m.quota_segments() / 50
    }

    /// Whether writes are close to waiting for background work.
    pub fn is_pressed<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() <= self.for_pairs(m)
    }

    /// Whether a record may be stored. Near the capacity what it replaces is looked up.
    pub(crate) fn admit<M: SegmentStore, W: Meter>(
        &mut self,
        key: &Key,
        (bytes, value_bytes): (u32, u32),
        m: &M,
        w: &mut W,
    ) -> Step<Result<Admission, KvError>> {
        let goes_inside = self.goes_inside(value_bytes);
        let inside = self.inside_of(goes_inside, bytes);
        let coming = Coming { entries: 1, inside, bytes: u64::from(bytes), longest: bytes };
        let Err(Crowded { content, all, capacity }) = self.fits_unseen(&coming, m) else {
            return Step::Done(Ok(Admission::Now(Replaced::Unknown)));
        };
        let old = match ready!(self.find_pair(key, m, w)) {
            Ok(old) => old,
            Err(_) if all <= capacity => return Step::Done(Ok(Admission::Now(Replaced::Unknown))),
            Err(e) => return Step::Done(Err(e)),
        };
        let replaced = self.replaced_by(old);
        // A pair may always be replaced by one that is not longer.
        let fits = all <= capacity || self.fits_instead_of(replaced, &content, bytes, m);
        if fits || old.is_some_and(|e| bytes <= self.replaceable_bytes(&e, goes_inside)) {
            return Step::Done(Ok(Admission::Now(replaced)));
        }
        if old.is_some_and(|e| bytes <= e.addr.record_bytes()) {
            return Step::Done(Ok(Admission::Apart(replaced)));
        }
        if self.knows_that_none_is_left(u64::from(bytes)) || self.is_known(u64::from(bytes), capacity, m) {
            return Step::Done(Err(KvError::CapacityExceeded));
        }
        self.want_reveal();
        Step::Done(Ok(Admission::Later))
    }

    /// Whether a write is to look up what it replaces, although it fits; `all`: bytes of records with its own.
    pub(super) fn tells(&self, all: u64, capacity: u64) -> bool {
        self.reveal.living().is_some() && is_near(all, capacity)
    }

    /// Whether a record fits in the place of another, as far as it is known what lives. What a snapshot may see keeps its place.
    fn fits_instead_of<M: SegmentStore>(&self, old: Replaced, content: &Content, bytes: u32, m: &M) -> bool {
        let tells = self.reveal.living().is_some() && !self.own.has_snapshots();
        let Some(replaced) = old.bytes().filter(|_| tells) else { return false };
        let Content { entries, inside, longest } = *content;
        let gone = self.inside_of(old.is_inside(), replaced);
        let content = Content { entries: entries.saturating_sub(1), inside: inside.but(gone), longest };
        let all = (self.content_bytes() + u64::from(bytes)).saturating_sub(u64::from(replaced));
        all <= S::capacity_for(self, &content, m)
    }

    /// What a write replaces that has looked. Without values in the structure nobody asks.
    pub(super) fn replaced_by(&self, old: Option<Entry>) -> Replaced {
        if self.settings.has_inside() { Replaced::found(old) } else { Replaced::Unknown }
    }

    /// Whether writes have told what lives since all was merged, so that merging it again would find little.
    pub(super) fn is_known<M: SegmentStore>(&self, bytes: u64, capacity: u64, m: &M) -> bool {
        let is_known = self.reveal.living().is_some_and(|living| living.is_known(capacity));
        let rests = !self.reveal.is_running() && !self.own.keeps_for_released();
        is_known && rests && !self.may_look_for_longest(bytes, m)
    }

    /// A write has entered an entry. The memtable has one more now, or not.
    pub(super) fn note_replaced(&mut self, e: &Entry, replaced: Replaced, one_more: bool) {
        let (held, longest) = (self.own.has_snapshots(), self.replaced_bytes_max());
        if !held && !matches!(replaced, Replaced::Unknown) {
            self.reveal.replaced(e, replaced);
        } else if one_more {
            self.reveal.added();
        }
        if let Some(bytes) = replaced.bytes() {
            self.longest.forget(bytes);
        }
        self.reveal.gone += u64::from(replaced.bytes_at_most(longest));
        if let Some(living) = self.reveal.living_mut() {
            living.entered(e, replaced, held, longest);
        }
    }

    /// No record that a write replaces is longer. Of those whose values are in the structure only the setting says how long they are.
    fn replaced_bytes_max(&self) -> u32 {
        let inside = self.settings.value_bytes_max.min(self.settings.min_blob_size);
        self.longest.bytes().max(record_bytes(16, inside))
    }

    /// All is merged: what lives is counted.
    fn know_living(&mut self) {
        if !self.settings.has_inside() {
            return;
        }
        let before = self.reveal.living.take();
        let unknown = self.reveal.gone + self.kv.gc_bytes_copied - self.reveal.copied;
        // Pages of what was merged count until the manifest lets go of them.
        let (apart, inside, structure) =
            (self.apart_bytes(), self.inside(), self.own.structure_bytes(self.page_bytes()));
        let found = Living { apart, inside, structure, merged: inside.bytes, unknown };
        self.reveal.living = Some(Living::merged(before, found));
    }

    /// Whether there is something to find out although nothing has been written since that was last done.
    fn has_unknown(&self) -> bool {
        let copies = self.own.entries() + self.buffered() - self.entries_at_most();
        self.own.has_unknown(&self.mem, copies)
    }

    /// Whether nothing that goes on in the background will make room: snapshots hold it.
    pub(super) fn is_exhausted<M: SegmentStore>(&self, m: &M) -> bool {
        let is_quiet = self.gc.is_none() && self.own.is_quiet();
        let is_merged = self.own.frozen().next().is_none() && self.mem.is_empty();
        self.reveal.is_done_at(self.version)
            && is_quiet
            && is_merged
            && self.own.has_snapshots()
            && !self.own.keeps_for_released()
            && self.log.releasing() == 0
            && !self.log.must_evacuate()
            && !self.manifest_has_work(m)
            && !S::can_be_packed(self, m)
            && !self.may_gain()
    }

    /// Whether nothing is counted that is not needed. What collections entered anew since then is, with its tables.
    fn knows_all(&self) -> bool {
        self.reveal.is_done_at(self.version) && !self.has_unknown() && !self.own.keeps_for_released()
    }

    /// Whether so many bytes for which there is no room now will not have any when all is merged: if they had none when it was, they
    /// do not wait until collections, which go on where a store is full, give it time to be merged again.
    pub(super) fn knows_that_none_is_left(&self, bytes: u64) -> bool {
        let had_none = || bytes > self.reveal.room && !self.own.keeps_for_released();
        self.knows_all() || self.reveal.is_done_at(self.version) && had_none()
    }

    /// Bytes that can be stored at most now that all is merged: tombstones go with the manifest, and what was copied meanwhile may be
    /// counted twice.
    fn room_at_most<M: SegmentStore>(&self, m: &M) -> u64 {
        let copied = self.kv.gc_bytes_copied - self.reveal.copied;
        let capacity = S::capacity_for(self, &self.content_with(1, Inside::NONE, 0), m);
        (capacity + self.log.tombstone_bytes() + copied).saturating_sub(self.content_bytes())
    }

    /// Something is to be stored for which there may be no room: background work that had nothing to do has this to do now.
    pub(crate) fn want_reveal(&mut self) {
        if !self.reveal.is_running() {
            self.upkeep.unstick();
        }
        self.reveal.want();
    }

    /// Whether all can be merged. If only what collections entered anew is not known, they end first: a manifest for each piece of one
    /// would seal so many of its pages that there is always one that gains something.
    fn may_merge(&self) -> bool {
        let is_known = self.reveal.done_at == Some(self.version);
        self.own.frozen().next().is_none() && (self.gc.is_none() || !is_known)
    }

    /// Collections find nothing to gain, although writes wait: much must have been replaced.
    fn must_reveal<M: SegmentStore>(&self, m: &M) -> bool {
        let stuck = self.gc.is_none() && self.log.releasing() == 0 && self.is_pressed(m);
        stuck && !self.knows_all()
    }

    /// Whether nothing can be done although all I/O has ended that was on its way when that began. Others may have I/O on its way for ever.
    pub(super) fn rests<M: SegmentStore>(&mut self, finished: Tag, m: &M) -> bool {
        self.settings.has_inside() && finished >= *self.reveal.rests_since.get_or_insert(m.last_tag())
    }

    /// Where values are in the structure all of it is merged only if room is short and nothing else goes on. True if that begins.
    pub(super) fn reveal_at_last<M: SegmentStore>(&mut self, m: &M) -> bool {
        let begins = self.settings.has_inside() && !self.reveal.is_running() && self.must_reveal(m);
        if begins {
            self.reveal.want();
        }
        begins
    }

    /// Goes on finding out what is not needed. True if anything happened.
    pub(crate) fn reveal_step<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        let next = match self.reveal.stage {
            Stage::Idle if !self.settings.has_inside() && self.must_reveal(m) => Stage::Wanted,
            Stage::Wanted if self.may_merge() && !self.manifest.is_running() => {
                if !self.mem.is_empty() && S::must_cut(self, m) {
                    self.freeze_full(m);
                } else {
                    self.freeze();
                }
                (self.reveal.frozen_at, self.reveal.copied) = (self.version, self.kv.gc_bytes_copied);
                self.reveal.gone = 0;
                Stage::Merging
            }
            Stage::Merging
                if self.own.frozen().next().is_none()
                    && self.own.is_merged(&self.config, self.page_bytes()) =>
            {
                // Without writes since, memtables have nothing but what collections entered anew.
                let new = if self.version == self.reveal.frozen_at { 0 } else { self.buffered() };
                self.reveal.entries = Some(self.own.entries() + new);
                self.know_living();
                self.look_for_longest(m);
                Stage::Measuring
            }
            Stage::Measuring if !self.longest.is_walking() => {
                self.reveal.room = self.room_at_most(m);
                self.manifest.wanted = true;
                Stage::Manifest
            }
            Stage::Manifest if self.manifest.is_running() => Stage::Ending,
            Stage::Ending if !self.manifest.is_running() && !self.manifest.wanted => {
                self.reveal.done_at = Some(self.reveal.frozen_at);
                Stage::Idle
            }
            _ => return false,
        };
        self.reveal.stage = next;
        true
    }
}
