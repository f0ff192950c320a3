//! From vendor commands to requests: parts are gathered here, whole values go on as any other store.

use crate::NamespaceKind;
use crate::device::Device;
use crate::execute::Request;
use crate::gather::{GATHER_BYTES_MAX, InlineHead, Taken};
use crate::groups::GroupRequest;
use crate::iterators::IteratorRequest;
use crate::long_keys::IndirectRequest;
use saker_engine::GROUP_BYTES_MAX;
use saker_link::{REGION_BYTES, Sqe};
use saker_nvme::Status;
use saker_nvme::group::is_group;
use saker_nvme::vendor::{
    Capabilities, InlineRetrieve, Methods, PIGGYBACK_BYTES, cq_slots, is_indirect, is_iterator, opcode,
};

/// The first vendor opcode.
pub const FIRST: u8 = 0xC0;
/// Most value bytes of a retrieve into the completion queue.
pub const RETRIEVE_BYTES_MAX: u32 = 1024;

/// What became of a command before its execution.
#[derive(Debug)]
pub enum Routed {
    /// It can be executed.
    Request(Request),
    /// It was a part; DW0 of its completion.
    More(u32),
}

/// The log page of a device with these methods.
pub fn capabilities(methods: Methods) -> Capabilities {
    let region = if methods.mmio() { REGION_BYTES } else { 0 };
    let groups = if methods.groups() { GROUP_BYTES_MAX } else { 0 };
    Capabilities::new(methods, GATHER_BYTES_MAX, region, RETRIEVE_BYTES_MAX).with_group_bytes(groups)
}

/// Whether a device with these methods knows a vendor opcode.
pub const fn is_known(methods: Methods, code: u8) -> bool {
    match code {
        opcode::STORE_PIGGYBACK | opcode::TRANSFER => methods.piggyback(),
        opcode::STORE_HYBRID | opcode::TAIL => methods.hybrid(),
        opcode::STORE_INLINE => methods.inline(),
        opcode::STORE_MMIO => methods.mmio(),
        opcode::RETRIEVE_TINY => methods.retrieve_tiny(),
        opcode::RETRIEVE_INLINE => methods.retrieve_inline(),
        opcode::GROUP | opcode::GROUP_RESULTS => methods.groups(),
        opcode::GROUP_BOTH_WAYS => methods.groups_both_ways(),
        opcode::GROUP_PREFETCH => methods.prefetch_groups(),
        opcode::GROUP_VECTOR | opcode::BULK_PUT => methods.group_comparators(),
        code if is_iterator(code) => methods.iterators(),
        code if is_indirect(code) => methods.indirect_keys(),
        _ => false,
    }
}

/// Whether a command may leave a value open.
#[inline]
fn is_part(sqe: &Sqe) -> bool {
    match sqe.opcode {
        opcode::STORE_PIGGYBACK => sqe.cdw10.get() as usize > PIGGYBACK_BYTES,
        opcode::TRANSFER | opcode::TAIL | opcode::STORE_HYBRID => true,
        _ => false,
    }
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
        let taken = if self.queues.has_open_values() || is_part(sqe) {
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

    fn take_indirect(&mut self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        match self.namespaces[n].config.kind {
            NamespaceKind::Kv { value_bytes_max, .. } if is_known(self.config.methods, sqe.opcode) => {
                let request = IndirectRequest::decode(sqe, value_bytes_max, &self.host.space)?;
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
        let request = IteratorRequest::decode(sqe, qid, &self.host.space)?;
        Ok(Request::Iterator(Box::new(request)))
    }

    fn take_group(&mut self, sqe: &Sqe, n: usize) -> Result<Request, Status> {
        let is_kv = matches!(self.namespaces[n].config.kind, NamespaceKind::Kv { .. });
        if !is_kv || !is_known(self.config.methods, sqe.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        let request = GroupRequest::decode(sqe, &self.host.space)?;
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
        let known = is_known(self.config.methods, sqe.opcode);
        let NamespaceKind::Kv { value_bytes_max, .. } = config.kind else {
            return Err(Status::INVALID_OPCODE);
        };
        let Some(gather) = self.queues.gather(qid) else { return Err(Status::INVALID_OPCODE) };
        if !known {
            gather.close();
            return Err(Status::INVALID_OPCODE);
        }
        match sqe.opcode {
            opcode::STORE_PIGGYBACK => gather.begin_piggyback(sqe, value_bytes_max),
            opcode::TRANSFER => gather.transfer(sqe),
            opcode::TAIL => gather.tail(sqe),
            opcode::STORE_HYBRID => gather.hybrid(sqe, value_bytes_max, &self.host.space),
            opcode::STORE_MMIO => gather.commit_mmio(sqe, value_bytes_max, &self.host.bar, qid),
            opcode::STORE_INLINE => {
                gather.close();
                head.ok_or(Status::INVALID_OPCODE)?.into_taken(value_bytes_max)
            }
            _ => {
                gather.close();
                let command = InlineRetrieve::decode(sqe)?;
                let fits = cq_slots(command.bytes_max) + 2 <= self.queues.cq_entries(qid);
                let good = command.bytes_max <= RETRIEVE_BYTES_MAX && fits;
                if good { Ok(Taken::Small(command)) } else { Err(Status::INVALID_FIELD) }
            }
        }
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
