// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What waits until everything acknowledged is where a power cut leaves it: switching the volatile write cache off
//! (NVMe Base 2.0, feature 06h), and a shutdown (section 3.6).

use super::Device;
use saker_nvme::Status;
use saker_nvme::admin::opcode::SET_FEATURES;
use saker_segment_store::Tag;
use saker_sim::Class;

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// The Set Features command of that identifier, which switches the write cache off.
    CacheOff(u16),
    /// The host's shutdown notification.
    Shutdown,
}

/// A wait for the cache of all namespaces.
#[derive(Clone, Debug)]
pub(crate) struct Drain {
    waiter: Waiter,
    /// The tag to wait for, by namespace; `None` for one that is not open.
    tags: Vec<Option<Tag>>,
}

impl<T> Device<T> {
    /// Everything acknowledged leaves the page buffer for flash; the waiter is told when it is there.
    pub(crate) fn begin_drain(&mut self, waiter: Waiter) {
        let mut tags = Vec::with_capacity(self.namespaces.len());
        for n in 0..self.namespaces.len() {
            let owner = self.namespaces[n].owner();
            tags.push(self.namespaces[n].flush(&mut self.flash.view(owner, Class::Foreground)));
        }
        self.settle();
        self.drains.push(Drain { waiter, tags });
    }

    /// Tells those whose wait is over. True if there was one.
    pub(crate) fn end_drains(&mut self) -> bool {
        if self.drains.is_empty() {
            return false;
        }
        let finished = self.flash.finished();
        let (over, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.drains).into_iter().partition(|d| self.drained(d, finished));
        self.drains = waiting;
        if over.is_empty() {
            return false;
        }
        let synced = self.sync_all();
        over.iter().for_each(|d| self.tell(d.waiter, synced));
        true
    }

    fn drained(&self, drain: &Drain, finished: Tag) -> bool {
        let is_flushed = |(n, tag): (usize, &Option<Tag>)| {
            tag.is_none_or(|tag| self.namespaces[n].is_flushed(tag, finished))
        };
        self.is_kept_by_ring() || drain.tags.iter().enumerate().all(is_flushed)
    }

    /// A sync of the medium and the page buffer. False if it failed.
    pub(crate) fn sync_all(&mut self) -> bool {
        let Some(owner) = self.namespaces.first().map(|ns| ns.owner()) else { return true };
        self.flash.sync_now(owner);
        let mut ok = true;
        while let Some((owner, done)) = self.flash.take_completion() {
            ok &= done.io != saker_segment_store::Io::Sync || done.result.is_ok();
            self.deliver(owner, &done);
        }
        ok
    }

    /// Failed programs cannot be made good: nobody goes on waiting.
    pub(crate) fn give_up_drains(&mut self) {
        for drain in std::mem::take(&mut self.drains) {
            self.tell(drain.waiter, false);
        }
    }

    fn tell(&mut self, waiter: Waiter, ok: bool) {
        match waiter {
            Waiter::CacheOff(cid) if ok => self.complete_admin(SET_FEATURES, cid, Status::SUCCESS, 0),
            Waiter::CacheOff(cid) => {
                self.write_through = false;
                self.controller.undo(&crate::controller::Action::SetWriteCache(false));
                self.complete_admin(SET_FEATURES, cid, self.not_flushed(), 0);
            }
            // CSTS has no word for a shutdown that could not save everything.
            Waiter::Shutdown => self.controller.shutdown_done(&self.host.registers),
        }
    }
}
