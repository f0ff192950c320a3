// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a queue knows of the value behind the command fetched last.

use super::super::{GATHER_BYTES_MAX, comes_behind};
use super::InlineHead;
use saker_link::{DeviceSq, DoorbellError};
use saker_nvme::Sqe;
use saker_nvme::vendor_specific::{Methods, inline_slots};

/// The value behind a command.
#[derive(Debug, Default)]
pub struct Behind {
    /// Namespaces for which an inline store brings its value behind it: all but these. `None`: for none.
    except: Option<Box<[u32]>>,
    /// Entries in the ring with the value of the inline store fetched last, all of them announced.
    slots: u32,
    /// An inline store whose value is not complete, or has just become it.
    head: Option<Box<InlineHead>>,
}

impl Behind {
    /// Of a queue of a device with those methods and those block namespaces: other command sets may give the opcode
    /// another meaning, or none.
    pub fn new(methods: Methods, blocks: impl Iterator<Item = u32>) -> Self {
        Self { except: methods.inline().then(|| blocks.collect()), ..Self::default() }
    }

    /// Whether a value is still to come, or has not been taken yet.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.head.is_some()
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.head.as_ref().map_or(0, |head| head.bytes().len())
    }

    /// Whether the value is still in the ring, all of it.
    #[inline]
    pub fn is_in_ring(&self) -> bool {
        self.slots > 0
    }

    /// The next entry. True if a command was fetched, with its value if that comes behind it.
    #[inline(always)]
    pub fn fetch(&mut self, sq: &mut DeviceSq, into: &mut Sqe) -> Result<bool, DoorbellError> {
        debug_assert_eq!(self.slots, 0, "whoever fetched an inline store takes its value");
        let fetched = sq.fetch_into(into)?;
        if fetched && comes_behind(into.opcode) { self.fetch_value(sq, into) } else { Ok(fetched) }
    }

    /// An inline store whose value is announced leaves it in the ring, to be copied from there to where it stays. Any other
    /// counts as fetched when its value is complete.
    #[inline(never)]
    fn fetch_value(&mut self, sq: &mut DeviceSq, sqe: &Sqe) -> Result<bool, DoorbellError> {
        if self.except.as_ref().is_none_or(|except| except.contains(&sqe.nsid.get())) {
            return Ok(true);
        }
        let (value_bytes, entries) = (sqe.cdw10.get(), sq.entries());
        let slots = inline_slots(value_bytes);
        let fits = slots > 0 && slots + 2 <= entries && value_bytes <= GATHER_BYTES_MAX;
        if fits && sq.has_announced(slots)? {
            self.slots = slots;
            return Ok(true);
        }
        self.begin(sq, sqe)
    }

    /// Fetches the value of an inline store as far as it is announced. True if that is all of it.
    fn begin(&mut self, sq: &mut DeviceSq, sqe: &Sqe) -> Result<bool, DoorbellError> {
        let mut head = Box::<InlineHead>::default();
        head.begin(sqe, sq)?;
        let complete = head.feed(sq);
        self.head = Some(head);
        complete
    }

    /// The next command of a queue whose command waits for its value.
    #[cold]
    pub fn fetch_rest(&mut self, sq: &mut DeviceSq, into: &mut Sqe) -> Result<bool, DoorbellError> {
        let Some(head) = &mut self.head else { return Ok(false) };
        if !head.feed(sq)? {
            return Ok(false);
        }
        if head.is_aborted() {
            self.head = None;
            return self.fetch(sq, into);
        }
        *into = *head.sqe();
        Ok(true)
    }

    /// The value of the command `sqe`, which has just been fetched; gathered from the ring if it is still there.
    #[inline]
    pub fn take(&mut self, sq: &mut DeviceSq, sqe: &Sqe) -> Option<Box<InlineHead>> {
        if std::mem::take(&mut self.slots) > 0 {
            let complete = self.begin(sq, sqe);
            debug_assert_eq!(complete, Ok(true), "all of it is announced");
        }
        self.head.take()
    }

    /// The value has been taken from the ring; the number of its entries.
    #[inline]
    pub fn pass(&mut self, sq: &mut DeviceSq) -> u32 {
        let slots = std::mem::take(&mut self.slots);
        sq.skip_payload(slots);
        slots
    }

    /// Aborts a command that waits for its value. True if it is the one with that identifier.
    pub fn abort(&mut self, cid: u16) -> bool {
        match &mut self.head {
            Some(head) if head.sqe().cid.get() == cid && !head.is_aborted() => {
                head.abort();
                true
            }
            _ => false,
        }
    }
}
