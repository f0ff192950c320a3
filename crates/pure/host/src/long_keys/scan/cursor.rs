// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scan that goes on a batch at a time, with other calls in between.

use saker_long_keys::{KeyDigest, MARK};

use super::listed::Listed;
use super::{ScanOptions, ScanOrder, Visit};
use crate::client::{Course, DeviceIterator, KeyRange, Limits, PairBatch, Walk};
use crate::driver::Driver;
use crate::error::HostError;
use crate::long_keys::KvStoreClient;

/// A scan that is under way. It ends when it is [closed](KvStoreClient::close_scan); one that is dropped ends when its client is asked
/// for iterators, pairs or a drain the next time. A device has 16 iterators a queue, and so many scans.
#[derive(Debug)]
pub struct ScanCursor {
    from: Vec<u8>,
    to: Vec<u8>,
    prefix: Vec<u8>,
    keys_only: bool,
    backwards: bool,
    pub(super) pairs_max: u32,
    pub(super) stage: Stage,
    /// The pairs that came last, and the envelopes: their memory is used again.
    pub(super) batch: PairBatch,
    pub(super) envelopes: PairBatch,
    /// All pairs of the batch are the caller's.
    pub(super) is_chosen: bool,
    /// The iterator of a stage that has ended was lost on the way.
    has_resumed: bool,
    is_listed: bool,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// All of it was shown, and there are more.
    More,
    /// All of the stage's last one was shown.
    Last,
    /// Who sees it wants no more.
    Stopped,
}

/// Where a scan is.
#[derive(Debug)]
pub(super) enum Stage {
    /// At the device's own keys.
    Short(Walk),
    /// At the pairs in envelopes, as of the same moment.
    Long(Walk),
    /// The device has no iterators.
    Listed(Listed),
    Ended,
}

impl ScanCursor {
    fn new(options: &ScanOptions<'_>, stage: Stage) -> Self {
        let ScanOptions { range, keys_only, backwards, pairs_max } = *options;
        let [from, to, prefix] = [range.from, range.to, range.prefix].map(<[u8]>::to_vec);
        let is_listed = matches!(stage, Stage::Listed(_));
        let (batch, envelopes) = Default::default();
        Self {
            from,
            to,
            prefix,
            keys_only,
            backwards,
            pairs_max,
            stage,
            batch,
            envelopes,
            is_chosen: false,
            has_resumed: false,
            is_listed,
        }
    }

    /// How the scan was carried out so far.
    #[must_use]
    pub fn order(&self) -> ScanOrder {
        let walking = matches!(&self.stage, Stage::Short(walk) | Stage::Long(walk) if walk.has_resumed());
        match (self.is_listed, walking || self.has_resumed) {
            (true, _) => ScanOrder::Device,
            (false, true) => ScanOrder::Resumed,
            (false, false) => ScanOrder::Bytes,
        }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// The envelopes of long keys, whose pairs are chosen when they are opened.
    pub(super) fn of_envelopes(&self) -> Course<'static> {
        let range = KeyRange { prefix: &MARK, ..KeyRange::default() };
        Course { range, keys_only: false, backwards: self.backwards }
    }

    pub(super) fn course(&self) -> Course<'_> {
        let range = KeyRange { from: &self.from, to: &self.to, prefix: &self.prefix };
        Course { range, keys_only: self.keys_only, backwards: self.backwards }
    }
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Begins a scan, as of now where the device has iterators.
    ///
    /// # Errors
    /// As [`scan`](Self::scan); [`ManyIterators`](crate::KvError::ManyIterators) with 16 open already.
    pub fn open_scan(&mut self, options: &ScanOptions<'_>) -> Result<ScanCursor, HostError> {
        let ScanOptions { range, keys_only, backwards, .. } = *options;
        let stage = match self.client.open_walk(Course { range, keys_only, backwards }, None)? {
            Some(walk) => Stage::Short(walk),
            None if backwards => return Err(HostError::NoOrder),
            None => Stage::Listed(Listed::default()),
        };
        let mut cursor = ScanCursor::new(options, stage);
        cursor.batch = std::mem::take(&mut self.spare);
        cursor.batch.empty();
        Ok(cursor)
    }

    /// The same as of the moment of an iterator. Nothing was shown yet when it turns out to be [`Resumed`](ScanOrder::Resumed): the device has
    /// given the moment up.
    pub(in crate::long_keys) fn open_scan_beside(
        &mut self,
        options: &ScanOptions<'_>,
        beside: &DeviceIterator,
    ) -> Result<ScanCursor, HostError> {
        let ScanOptions { range, keys_only, backwards, .. } = *options;
        let course = Course { range, keys_only, backwards };
        let stage = self.client.open_walk_beside(course, beside)?.map_or(Stage::Ended, Stage::Short);
        Ok(ScanCursor::new(options, stage))
    }

    /// Shows the next batch of a scan, of about 64 KiB or a pair, while `visit` says so; what it has not seen of a batch is not shown
    /// again. Whether to go on: false at the end, or if `visit` said so.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_on(
        &mut self,
        cursor: &mut ScanCursor,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool, HostError> {
        let mut stage = std::mem::replace(&mut cursor.stage, Stage::Ended);
        let outcome = self.scan_stage(cursor, &mut stage, visit);
        cursor.stage = stage;
        outcome
    }

    fn scan_stage(
        &mut self,
        cursor: &mut ScanCursor,
        stage: &mut Stage,
        visit: Visit<'_>,
    ) -> Result<bool, HostError> {
        let shown = match stage {
            Stage::Short(walk) => self.scan_short(walk, cursor, visit)?,
            Stage::Long(walk) => self.scan_long(walk, cursor, Limits::of(cursor.pairs_max), visit)?,
            Stage::Listed(listed) => self.scan_listed(listed, cursor.course(), visit)?,
            Stage::Ended => return Ok(false),
        };
        if shown == Shown::Last {
            self.go_behind(cursor, stage)?;
        }
        Ok(shown != Shown::Stopped && !matches!(stage, Stage::Ended))
    }

    /// A stage has ended: goes on to the next.
    pub(super) fn go_behind(&mut self, cursor: &mut ScanCursor, stage: &mut Stage) -> Result<(), HostError> {
        let ended = std::mem::replace(stage, Stage::Ended);
        *stage = self.stage_behind(cursor, ended)?;
        Ok(())
    }

    /// The stage that follows one that has ended.
    fn stage_behind(&mut self, cursor: &mut ScanCursor, ended: Stage) -> Result<Stage, HostError> {
        let (Stage::Short(walk) | Stage::Long(walk)) = &ended else { return Ok(Stage::Ended) };
        cursor.has_resumed |= walk.has_resumed();
        let next = match &ended {
            Stage::Short(walk) => self.client.open_walk(cursor.of_envelopes(), Some(walk))?,
            _ => None,
        };
        self.close_stage(ended)?;
        Ok(next.map_or(Stage::Ended, Stage::Long))
    }

    fn close_stage(&mut self, stage: Stage) -> Result<(), HostError> {
        match stage {
            Stage::Short(walk) | Stage::Long(walk) => self.client.close_walk(walk),
            Stage::Listed(_) | Stage::Ended => Ok(()),
        }
    }

    /// Ends a scan: until then the device keeps what it sees.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn close_scan(&mut self, cursor: ScanCursor) -> Result<(), HostError> {
        self.spare = cursor.batch;
        self.close_stage(cursor.stage)
    }
}
