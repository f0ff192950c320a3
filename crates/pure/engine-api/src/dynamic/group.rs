// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups as trait objects. What is wrong with a payload stays with its source: the engine only learns that something is.

use crate::groups::{GroupFlags, GroupSource, Member};
use crate::kv::SourceError;
use std::cell::Cell;

/// The payload was refused; its source knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// The twin of [`GroupSource`] without type parameters.
pub trait DynGroupSource {
    /// [`GroupSource::bytes`].
    fn bytes(&self) -> u32;
    /// [`GroupSource::flags`].
    fn flags(&self) -> GroupFlags;
    /// [`GroupSource::lead_bytes`].
    fn lead_bytes(&self) -> u32;
    /// [`GroupSource::only_writes`].
    fn only_writes(&self) -> bool;
    /// [`GroupSource::only_stores`].
    fn only_stores(&self) -> bool;
    /// [`GroupSource::is_copied_by_core`].
    fn is_copied_by_core(&self) -> bool;
    /// [`GroupSource::read`].
    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError>;
    /// [`GroupSource::staged`].
    fn staged(&mut self) -> Result<&[u8], SourceError>;
    /// [`GroupSource::parse`].
    fn parse(&self, payload: &[u8], visit: &mut dyn FnMut(Member)) -> Result<(), Refused>;
    /// [`GroupSource::parse_mut`].
    fn parse_mut(&self, payload: &mut [u8], visit: &mut dyn FnMut(Member, &mut [u8])) -> Result<(), Refused>;
}

/// A group that keeps what was wrong with it.
pub struct Keeping<'a, G: GroupSource> {
    source: &'a mut G,
    malformed: Cell<Option<G::Malformed>>,
}

impl<'a, G: GroupSource> Keeping<'a, G> {
    pub fn new(source: &'a mut G) -> Self {
        Self { source, malformed: Cell::new(None) }
    }

    /// What was wrong when it was parsed last.
    pub fn malformed(&self) -> Option<G::Malformed> {
        self.malformed.take()
    }

    fn keep(&self, parsed: Result<(), G::Malformed>) -> Result<(), Refused> {
        parsed.map_err(|malformed| {
            self.malformed.set(Some(malformed));
            Refused
        })
    }
}

impl<G: GroupSource> DynGroupSource for Keeping<'_, G> {
    fn bytes(&self) -> u32 {
        self.source.bytes()
    }

    fn flags(&self) -> GroupFlags {
        self.source.flags()
    }

    fn lead_bytes(&self) -> u32 {
        self.source.lead_bytes()
    }

    fn only_writes(&self) -> bool {
        self.source.only_writes()
    }

    fn only_stores(&self) -> bool {
        self.source.only_stores()
    }

    fn is_copied_by_core(&self) -> bool {
        self.source.is_copied_by_core()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        self.source.read(out)
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        self.source.staged()
    }

    fn parse(&self, payload: &[u8], visit: &mut dyn FnMut(Member)) -> Result<(), Refused> {
        self.keep(self.source.parse(payload, &mut |member| visit(member)))
    }

    fn parse_mut(&self, payload: &mut [u8], visit: &mut dyn FnMut(Member, &mut [u8])) -> Result<(), Refused> {
        self.keep(self.source.parse_mut(payload, &mut |member, bytes: &mut [u8]| visit(member, bytes)))
    }
}

/// A lent group.
pub struct Group<'a>(pub &'a mut dyn DynGroupSource);

impl GroupSource for Group<'_> {
    type Malformed = Refused;

    fn bytes(&self) -> u32 {
        self.0.bytes()
    }

    fn flags(&self) -> GroupFlags {
        self.0.flags()
    }

    fn lead_bytes(&self) -> u32 {
        self.0.lead_bytes()
    }

    fn only_writes(&self) -> bool {
        self.0.only_writes()
    }

    fn only_stores(&self) -> bool {
        self.0.only_stores()
    }

    fn is_copied_by_core(&self) -> bool {
        self.0.is_copied_by_core()
    }

    fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
        self.0.read(out)
    }

    fn staged(&mut self) -> Result<&[u8], SourceError> {
        self.0.staged()
    }

    fn parse(&self, payload: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), Refused> {
        self.0.parse(payload, visit)
    }

    fn parse_mut(
        &self,
        payload: &mut [u8],
        visit: &mut impl FnMut(Member, &mut [u8]),
    ) -> Result<(), Refused> {
        self.0.parse_mut(payload, visit)
    }
}
