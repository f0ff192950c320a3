// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is read to save what can be saved: what is damaged, what is refused, what is lost.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::Device;
use crate::execute::Request;
use crate::namespace::{Namespace, Store};
use saker_engine::Inspect;
use saker_flash::nand::Cell;
use saker_flash::{AnyCells, Cells};
use saker_log::LogFlip;
use saker_log::recover::Damage;
use saker_long_keys::device_key;
use saker_nvme::Status;
use saker_segment_store::header::page_crc;
use saker_segment_store::{PageAddr, PageBuffer, PageHeader, SegmentStore, SlotId, SlotView};
use saker_sim::Class;

impl<T> Device<T> {
    /// Damage that keeps namespaces from being opened, by namespace.
    pub fn damages(&self) -> Vec<(u32, Damage)> {
        let damaged = |ns: &Namespace| match &ns.store {
            Store::Damaged(damage) => Some((ns.config.nsid, damage.clone())),
            _ => None,
        };
        self.namespaces.iter().filter_map(damaged).collect()
    }

    /// The page that keeps the pair of a key from being read, or the first one that it is in; in words.
    pub fn page_of(&mut self, nsid: u32, key: &[u8]) -> Option<String> {
        let n = self.index_of(nsid)?;
        let namespace = self.namespaces.get_mut(n)?;
        let enveloped = namespace.long_keys.filter(|_| key.len() > 16).map(|digest| device_key(key, &digest));
        let key = enveloped.as_ref().map_or(key, |key| &key[..]);
        let owner = namespace.owner();
        let Store::Kv(store) = &mut namespace.store else { return None };
        let mut view = self.flash.view(owner, Class::Foreground);
        let (position, bytes) = store.place_of(key, &mut view)?;
        let geometry = view.geometry();
        let page_bytes = u64::from(geometry.page_bytes);
        let pages = position / page_bytes..=(position + u64::from(bytes.max(1)) - 1) / page_bytes;
        let damaged = pages.clone().map(PageAddr).find(|at| is_damaged(self.flash.media(), *at));
        let at = damaged.unwrap_or(PageAddr(*pages.start()));
        let (segment, index) = (geometry.segment_of(at).0, geometry.index_of(at));
        Some(format!("page {} (segment {segment}, index {index})", at.0))
    }

    /// From here on nothing of a namespace is given out: every read of it is answered with an error.
    pub fn withhold(&mut self, nsid: u32) {
        self.namespaces.iter_mut().filter(|ns| ns.config.nsid == nsid).for_each(|ns| ns.uncertain = true);
    }

    /// Why a command is refused that names no fault of its own.
    #[inline]
    pub(crate) fn refusal(&self, n: usize, request: &Request) -> Option<Status> {
        if !self.config.read_only {
            return None;
        }
        if request.is_write() {
            return Some(Status::NAMESPACE_WRITE_PROTECTED);
        }
        let namespace = self.namespaces.get(n)?;
        let is_block = matches!(namespace.store, Store::Block(_));
        let unread = if is_block { Status::UNRECOVERED_READ_ERROR } else { Status::UNRECOVERED_ERROR };
        (namespace.uncertain && !request.is_flush()).then_some(unread)
    }

    /// Makes what a changed byte belongs to unreadable again, after recovery was helped over it: the byte was only guessed.
    /// What recovery made of pages that lead to records stays, because the records vouch for it.
    pub fn spoil(&mut self, wrong: LogFlip) {
        let LogFlip { page, flip } = wrong;
        if flip.at >= u64::from(self.flash.shape().geometry.page_bytes) {
            return;
        }
        let slot = slot_of(self.flash.page_buffer(), wrong);
        let header = match self.flash.media().cell(page) {
            Cell::Programmed { oob, .. } => PageHeader::decode(oob, page).ok().flatten(),
            Cell::Erased | Cell::Torn => None,
        };
        let of_slot = slot.map(|(_, view)| (view.owner, view.stream));
        let of_page = header.map(|h| (h.owner, h.stream));
        let Some((owner, stream)) = of_slot.or(of_page) else { return };
        if stream.holds_records()
            && let Some(n) = self.index_of(u32::from(owner))
        {
            self.spoil_record(n, owner, wrong);
        }
    }

    fn spoil_record(&mut self, n: usize, owner: u16, wrong: LogFlip) {
        let view = self.flash.view(owner, Class::Foreground);
        let spoilt = match self.namespaces.get(n).map(|ns| &ns.store) {
            Some(Store::Kv(store)) => store.spoils(wrong, &view),
            _ => Some(wrong),
        };
        if let Some(spoilt) = spoilt {
            self.change(spoilt);
        }
    }

    /// Changes a byte wherever its page is.
    fn change(&mut self, LogFlip { page, flip }: LogFlip) {
        if let Some((slot, _)) = slot_of(self.flash.page_buffer(), LogFlip { page, flip }) {
            let owner = self.namespaces.first().map_or(0, Namespace::owner);
            let mut view = self.flash.view(owner, Class::Foreground);
            flip.apply(view.page_buffer_mut().data_mut(slot));
        }
        let Cell::Programmed { data, oob } = self.flash.media().cell(page) else { return };
        let (mut data, oob) = (data.to_vec(), oob.to_vec());
        flip.apply(&mut data);
        // In memory, or over a file that is only read: it cannot fail.
        let _ = self.flash.media_mut().program(page, &data, &oob);
    }
}

/// Whether a page does not match its header.
fn is_damaged(media: &AnyCells, at: PageAddr) -> bool {
    let Cell::Programmed { data, oob } = media.cell(at) else { return false };
    let header = PageHeader::decode(oob, at).ok().flatten();
    header.is_none_or(|h| h.data_crc != page_crc(data, PageHeader::owner_oob(oob)))
}

/// The slot of the page buffer that a page is in.
fn slot_of(page_buffer: &PageBuffer, wrong: LogFlip) -> Option<(SlotId, SlotView)> {
    page_buffer.survey().unwrap_or_default().into_iter().find(|(_, view)| view.addr == wrong.page)
}
