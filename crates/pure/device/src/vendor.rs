// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From vendor commands to requests: parts are gathered here, whole values go on as any other store.

use crate::NamespaceKind;
use crate::config::TRANSFER_BYTES_MAX;
use crate::device::{Attachment, Device};
use crate::execute::Request;
use crate::groups::{GroupRequest, SplitRequest};
use crate::iterators::IteratorRequest;
use crate::long_keys::IndirectRequest;
use crate::methods::{self, Arrival, InlineHead, Taken, is_known};
use crate::transfer::Pieces;
use saker_link::Sqe;
use saker_nvme::Status;
use saker_nvme::group::{VersionedRetrieve, is_group, is_split};
use saker_nvme::vendor_specific::opcode::RETRIEVE_VERSIONED;
use saker_nvme::vendor_specific::{is_indirect, is_iterator};

/// The first vendor opcode.
pub const FIRST: u8 = 0xC0;

/// What became of a command before its execution.
#[derive(Debug)]
pub enum Routed {
    /// It can be executed.
    Request(Request),
    /// It was a part; DW0 of its completion.
    More(u32),
}

impl<T> Device<T> {
    /// Decodes a command of queue `qid` for namespace `n`; `head` is its value if it is an inline store.
    ///
    /// # Errors
    /// The status to complete it with.
    #[inline]
    pub(crate) fn route_vendor(
        &mut self,
        qid: u16,
        sqe: &Sqe,
        n: usize,
        head: Option<Box<InlineHead>>,
    ) -> Result<Routed, Status> {
        if is_group(sqe.opcode) {
            self.queues.close_value(qid);
            return self.take_group(sqe, n).map(Routed::Request);
        }
        if is_indirect(sqe.opcode) {
            self.queues.close_value(qid);
            return self.take_indirect(sqe, n).map(Routed::Request);
        }
        if is_iterator(sqe.opcode) {
            self.queues.close_value(qid);
            return self.take_iterator(qid, sqe, n).map(Routed::Request);
        }
        if is_split(sqe.opcode) {
            self.queues.close_value(qid);
            return self.take_split(sqe, n).map(Routed::Request);
        }
        if sqe.opcode == RETRIEVE_VERSIONED {
            self.queues.close_value(qid);
            return self.take_versioned(sqe, n).map(Routed::Request);
        }
        let taken = if self.queues.has_open_values() || methods::is_part(sqe) {
            let was_open = self.queues.is_value_open(qid);
            let taken = self.take_part(qid, sqe, n, head);
            self.queues.note_open(qid, was_open);
            taken
        } else {
            self.take_part(qid, sqe, n, head)
        };
        Ok(match taken? {
            Taken::Whole(command, pieces) => Routed::Request(Request::Kv(command, pieces)),
            Taken::More(dw0) => Routed::More(dw0),
            Taken::Small(command) => Routed::Request(Request::Small(command, Vec::new())),
        })
    }

    fn take_versioned(&self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        let is_kv = matches!(self.namespaces[n].config.kind, NamespaceKind::Kv { .. });
        if !is_kv || !is_known(self.config.methods, sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        let command = VersionedRetrieve::decode(sqe, self.pointer_rule())?;
        if command.buffer_bytes > TRANSFER_BYTES_MAX {
            return Err(Status::INVALID_FIELD);
        }
        Ok(Request::Versioned(command, Pieces::of(sqe, command.buffer_bytes, &self.host.space)?))
    }

    fn take_indirect(&mut self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        match self.namespaces[n].config.kind {
            NamespaceKind::Kv { value_bytes_max, .. } if is_known(self.config.methods, sqe.opcode) => {
                let request =
                    IndirectRequest::decode(sqe, self.pointer_rule(), value_bytes_max, &self.host.space)?;
                Ok(Request::Indirect(Box::new(request)))
            }
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn take_iterator(&mut self, qid: u16, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        let is_kv = matches!(self.namespaces[n].config.kind, NamespaceKind::Kv { .. });
        let takes = is_kv && self.namespaces[n].takes_iterators();
        if !takes || !is_known(self.config.methods, sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        let request = IteratorRequest::decode(sqe, self.pointer_rule(), qid, &self.host.space)?;
        Ok(Request::Iterator(Box::new(request)))
    }

    fn take_split(&mut self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        let is_kv = matches!(self.namespaces[n].config.kind, NamespaceKind::Kv { .. });
        if !is_kv || !is_known(self.config.methods, sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        let request = SplitRequest::decode(sqe, self.pointer_rule(), &self.host.space)?;
        Ok(Request::Split(Box::new(request)))
    }

    fn take_group(&mut self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        let is_kv = matches!(self.namespaces[n].config.kind, NamespaceKind::Kv { .. });
        if !is_kv || !is_known(self.config.methods, sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        let request = GroupRequest::decode(sqe, self.pointer_rule(), self.config.methods, &self.host.space)?;
        Ok(Request::Group(Box::new(request)))
    }

    #[inline]
    fn take_part(
        &mut self,
        qid: u16,
        sqe: &Sqe,
        n: usize,
        head: Option<Box<InlineHead>>,
    ) -> Result<Taken, Status> {
        let config = &self.namespaces[n].config;
        let (known, rule) = (is_known(self.config.methods, sqe.opcode), self.pointer_rule());
        let NamespaceKind::Kv { value_bytes_max, .. } = config.kind else {
            return Err(Status::INVALID_OPCODE);
        };
        let cq_entries = self.queues.cq_entries(qid);
        let Some(gather) = self.queues.gather(qid) else { return Err(Status::INVALID_OPCODE) };
        if !known {
            gather.close();
            return Err(Status::INVALID_OPCODE);
        }
        let Attachment { space, bar, .. } = &self.host;
        methods::take(gather, Arrival { sqe, rule, qid, cq_entries, value_bytes_max, space, bar, head })
    }

    /// The namespace that a part or a vendor command is for; without one, the queue's open value is closed.
    ///
    /// # Errors
    /// The status to complete it with.
    pub(crate) fn vendor_namespace(&mut self, qid: u16, sqe: &Sqe) -> Result<usize, Status> {
        self.namespace_of(sqe).inspect_err(|_| self.queues.close_value(qid))
    }

    /// The namespace that a command is for.
    ///
    /// # Errors
    /// The status to complete it with.
    pub(crate) fn namespace_of(&self, sqe: &Sqe) -> Result<usize, Status> {
        let nsid = sqe.nsid.get();
        let Some(n) = self.namespace_index(nsid) else {
            let broadcast = nsid == saker_nvme::NSID_ALL;
            return Err(if broadcast { Status::INVALID_FIELD } else { Status::INVALID_NAMESPACE_OR_FORMAT });
        };
        if self.is_formatting(n) { Err(Status::FORMAT_IN_PROGRESS) } else { Ok(n) }
    }

    /// Bytes of values that are gathered or wait for their execution: bounded for each queue.
    pub fn gathered_bytes(&self) -> usize {
        self.queues.gathered_bytes()
    }
}
