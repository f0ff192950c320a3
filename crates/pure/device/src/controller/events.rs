// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asynchronous events (Base 2.0, section 5.2): a namespace changed, the access to namespaces changed.

use std::collections::BTreeSet;

use saker_nvme::Status;
use saker_nvme::admin::event::{EventType, NOTICE_ACCESS_CHANGED, NOTICE_NAMESPACE_CHANGED, dw0};
use saker_nvme::log::lid;

use super::outcome::{Action, Decision, Outcome};

/// Asynchronous Event Requests that may be held at once; AERL is one less.
pub(super) const REQUESTS_MAX: u8 = 4;

/// NSIDs that log page 04h lists one by one.
const CHANGED_MAX: usize = 1024;

const NAMESPACE_CHANGED: u32 = dw0(EventType::Notice, NOTICE_NAMESPACE_CHANGED, lid::CHANGED_NAMESPACES);

const ACCESS_CHANGED: u32 = dw0(EventType::Notice, NOTICE_ACCESS_CHANGED, lid::ASYMMETRIC_ACCESS);

/// One kind of event.
#[derive(Debug, Default)]
struct Notice {
    /// An event waits for a request.
    pending: bool,
    /// An event has been told; until the host reads the log page it is not told again.
    masked: bool,
}

impl Notice {
    const fn note(&mut self, enabled: bool) {
        self.pending |= enabled && !self.masked;
    }

    /// Whether there is one to tell, which it is then.
    const fn take(&mut self) -> bool {
        let is_told = self.pending;
        if is_told {
            *self = Self { pending: false, masked: true };
        }
        is_told
    }
}

/// Requests held by the device, and the events to tell.
#[derive(Debug, Default)]
pub(super) struct Events {
    held: u8,
    /// Namespaces changed since the host last read log page 04h.
    changed: BTreeSet<u32>,
    namespaces: Notice,
    access: Notice,
}

impl Events {
    /// Asynchronous Event Request: completes at once if an event waits, else is held.
    pub fn request(&mut self) -> Decision {
        if self.held == REQUESTS_MAX {
            return Err(Status::AER_LIMIT_EXCEEDED);
        }
        self.held += 1;
        Ok(self.next().map_or(Outcome::act(Action::HoldAsyncEvent), Outcome::dw0))
    }

    /// A held request is gone without an event.
    pub fn withdraw(&mut self) {
        self.held = self.held.saturating_sub(1);
    }

    /// Notes a changed namespace; `enabled` is what the host configured.
    pub fn namespace_changed(&mut self, nsid: u32, enabled: bool) {
        self.changed.insert(nsid);
        self.namespaces.note(enabled);
    }

    /// Notes that the access to namespaces changed.
    pub const fn access_changed(&mut self, enabled: bool) {
        self.access.note(enabled);
    }

    /// DW0 of the event to complete a held request with, if there are both.
    pub fn next(&mut self) -> Option<u32> {
        if self.held == 0 {
            return None;
        }
        // The access first: a host that knows of it can still ask about namespaces.
        let event = if self.access.take() {
            ACCESS_CHANGED
        } else if self.namespaces.take() {
            NAMESPACE_CHANGED
        } else {
            return None;
        };
        self.held -= 1;
        Some(event)
    }

    /// Log page 04h: the changed namespaces, or FFFFFFFFh alone if they are too many.
    pub fn changed_page(&self) -> Vec<u8> {
        let too_many = self.changed.len() > CHANGED_MAX;
        let nsids = if too_many { vec![u32::MAX] } else { self.changed.iter().copied().collect() };
        let mut page: Vec<u8> = nsids.into_iter().flat_map(u32::to_le_bytes).collect();
        page.resize(CHANGED_MAX * size_of::<u32>(), 0);
        page
    }

    /// The host has read log page 04h without RAE.
    pub fn changes_read(&mut self) {
        self.changed.clear();
        self.namespaces = Notice::default();
    }

    /// The host has read log page 0Ch without RAE.
    pub fn access_read(&mut self) {
        self.access = Notice::default();
    }
}
