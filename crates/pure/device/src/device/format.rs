// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format NVM as it is carried out: the namespaces of one command are erased together, wholly or not at all
//! ([`saker_flash::Flash::begin_erasure`]). An erasure that an earlier run has begun is ended first of all.

use super::Device;
use crate::namespace::Namespace;
use saker_flash::Flash;
use saker_nvme::Status;
use saker_nvme::admin::opcode::FORMAT_NVM;
use saker_segment_store::{CellError, Completion, Io};
use std::collections::VecDeque;

/// Namespaces that are to be erased, or are being erased.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    namespaces: Vec<usize>,
    /// The admin command that waits for it, if its host is still there.
    cid: Option<u16>,
    /// It has begun, and so it will end.
    has_begun: bool,
    /// What has gone wrong with an erase.
    failed: Option<CellError>,
}

impl Format {
    /// What an admin command asks for.
    pub fn of(namespaces: Vec<usize>, cid: u16) -> Self {
        Self { namespaces, cid: Some(cid), has_begun: false, failed: None }
    }

    /// What an earlier run has begun: until it is over the namespaces hold nothing that anybody may see.
    pub fn left_behind(flash: &Flash, namespaces: &mut [Namespace]) -> VecDeque<Self> {
        let is_left = |ns: &Namespace| flash.erasing().contains(&ns.owner());
        let left: Vec<_> = (0..namespaces.len()).filter(|n| is_left(&namespaces[*n])).collect();
        if left.is_empty() || !flash.unclaimed().is_empty() {
            return VecDeque::new();
        }
        left.iter().for_each(|n| namespaces[*n].begin_erasure());
        VecDeque::from([Self { namespaces: left, cid: None, has_begun: false, failed: None }])
    }
}

impl<T> Device<T> {
    /// Whether a namespace is being erased, or is going to be.
    #[inline]
    pub(crate) fn is_formatting(&self, n: usize) -> bool {
        !self.formats.is_empty() && self.formats.iter().any(|format| format.namespaces.contains(&n))
    }

    /// The host is gone: what has not begun does not begin.
    pub(super) fn disown_formats(&mut self) {
        self.formats.retain(|format| format.has_begun || format.cid.is_none());
        self.formats.iter_mut().for_each(|format| format.cid = None);
    }

    /// An erase of a namespace that is erased as a whole has ended. One that failed costs its segment, no more, unless what is
    /// in that is still there.
    pub(super) fn note_erased(&mut self, n: usize, done: &Completion) {
        let Some(format) = self.formats.front_mut().filter(|format| format.namespaces.contains(&n)) else {
            return;
        };
        if let (Io::Erase(_), Err(error @ (CellError::HostFull | CellError::HostIo | CellError::Program))) =
            (done.io, done.result)
        {
            format.failed.get_or_insert(error);
        }
    }

    /// Begins and ends erasures as far as possible now: both wait until nothing of the namespaces is on its way. True if
    /// there was a step.
    pub(crate) fn advance_formats(&mut self) -> bool {
        let mut any = false;
        while self.flash.is_powered() && self.step_format() {
            any = true;
        }
        any
    }

    /// Without power nothing is begun or ended: who waits is told. True if somebody did.
    pub(crate) fn give_up_formats(&mut self) -> bool {
        if self.flash.is_powered() {
            return false;
        }
        let waiting: Vec<_> = self.formats.iter_mut().filter_map(|format| format.cid.take()).collect();
        waiting.iter().for_each(|cid| self.complete_admin(FORMAT_NVM, *cid, Status::INTERNAL_ERROR, 0));
        !waiting.is_empty()
    }

    /// Without power an erasure of an earlier run cannot be ended: the namespaces cannot be opened.
    pub(crate) fn fail_formats_without_power(&mut self) {
        if self.flash.is_powered() || self.booted {
            return;
        }
        for n in std::mem::take(&mut self.formats).into_iter().flat_map(|format| format.namespaces) {
            self.namespaces[n].fail_erasure(CellError::Erase);
        }
    }

    fn step_format(&mut self) -> bool {
        let Some(format) = self.formats.front() else { return false };
        let owners: Vec<u16> = format.namespaces.iter().map(|n| self.namespaces[*n].owner()).collect();
        self.settle();
        if !owners.iter().all(|owner| self.flash.is_quiet_for(*owner)) {
            return false;
        }
        let Some(mut format) = self.formats.pop_front() else { return false };
        if !format.has_begun && self.flash.is_read_only() {
            self.refuse_format(&format);
        } else if format.has_begun {
            self.end_format(format, &owners);
        } else {
            self.begin_format(&mut format, &owners);
            self.formats.push_front(format);
        }
        true
    }

    /// Nothing is written any more: what an earlier run has begun cannot be ended, and the rest does not begin.
    fn refuse_format(&mut self, format: &Format) {
        for n in &format.namespaces {
            let namespace = &mut self.namespaces[*n];
            if self.flash.erasing().contains(&namespace.owner()) {
                namespace.fail_erasure(CellError::HostIo);
            }
        }
        format.cid.into_iter().for_each(|cid| self.complete_admin(FORMAT_NVM, cid, Status::WRITE_FAULT, 0));
    }

    fn begin_format(&mut self, format: &mut Format, owners: &[u16]) {
        format.has_begun = true;
        format.namespaces.iter().for_each(|n| self.namespaces[*n].begin_erasure());
        format.failed = self.flash.begin_erasure(owners).err();
    }

    fn end_format(&mut self, format: Format, owners: &[u16]) {
        let ended = format.failed.map_or_else(|| self.flash.end_erasure(owners), Err);
        if !self.flash.is_powered() {
            // Whether it has ended, the next run knows.
            return self.formats.push_front(format);
        }
        for n in &format.namespaces {
            match ended {
                Ok(()) => self.namespaces[*n].end_erasure(&self.config, &mut self.flash),
                Err(error) => self.namespaces[*n].fail_erasure(error),
            }
        }
        let status = if ended.is_ok() { Status::SUCCESS } else { Status::INTERNAL_ERROR };
        if let Some(cid) = format.cid {
            self.complete_admin(FORMAT_NVM, cid, status, 0);
        }
    }
}
