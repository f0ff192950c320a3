//! Vendor commands without time. Values that come with one command take a short way: no request is built of them.

use super::{Quick, Untimed, failed};
use crate::device::Device;
use crate::execute::{Reply, Request, store_bytes};
use crate::vendor::Routed;
use crate::{NamespaceKind, vendor};
use saker_flash::Media;
use saker_link::Sqe;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor::{PIGGYBACK_BYTES, PiggybackStore, cq_slots, opcode};
use saker_nvme::{Key, Status};

impl<M: Media> Device<M, Untimed> {
    pub(super) fn serve_vendor(&mut self, qid: u16, sqe: &Sqe) {
        let reply = match sqe.opcode {
            opcode::STORE_PIGGYBACK if sqe.cdw10.get() as usize <= PIGGYBACK_BYTES => {
                self.store_piggyback(qid, sqe)
            }
            opcode::STORE_INLINE => self.store_inline(qid, sqe),
            _ => return self.serve_routed(qid, sqe),
        };
        let reply = reply.unwrap_or_else(failed);
        self.count(&reply);
        self.queues.complete(qid, sqe.cid.get(), reply.status, u64::from(reply.dw0));
    }

    #[inline]
    fn store_piggyback(&mut self, qid: u16, sqe: &Sqe) -> Result<Reply, Status> {
        let (n, value_bytes_max) = self.kv_namespace(qid, sqe)?;
        let PiggybackStore { key, value_bytes, options, payload, .. } = PiggybackStore::decode(sqe)?;
        if value_bytes > value_bytes_max {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        Ok(self.store(n, &key, &payload[..value_bytes as usize], options))
    }

    #[inline]
    fn store_inline(&mut self, qid: u16, sqe: &Sqe) -> Result<Reply, Status> {
        let head = self.queues.take_inline(qid);
        let slots = head.as_ref().map_or(0, |head| u64::from(head.slots()));
        self.stats.traffic.inline_slots += slots;
        let (n, value_bytes_max) = self.kv_namespace(qid, sqe)?;
        let mut head = head.ok_or(Status::INVALID_OPCODE)?;
        let store = head.finish(value_bytes_max)?;
        let reply = self.store(n, &store.key, head.bytes(), store.options);
        self.queues.recycle(qid, head);
        Ok(reply)
    }

    #[inline]
    fn store(&mut self, n: usize, key: &Key, value: &[u8], options: StoreOptions) -> Reply {
        self.run_with(n, true, |namespace, _, view| {
            store_bytes(namespace, key, value, options, view, &mut Quick)
        })
    }

    /// The namespace of a command that closes the open value and is none itself, and its largest value.
    #[inline]
    fn kv_namespace(&mut self, qid: u16, sqe: &Sqe) -> Result<(usize, u32), Status> {
        if self.queues.has_open_values() {
            self.queues.close_value(qid);
        }
        if !self.flash.is_powered() {
            return Err(Status::INTERNAL_ERROR);
        }
        let n = self.namespace_of(sqe)?;
        match self.namespaces[n].config.kind {
            NamespaceKind::Kv { value_bytes_max, .. }
                if vendor::is_known(self.config.methods, sqe.opcode) =>
            {
                Ok((n, value_bytes_max))
            }
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn serve_routed(&mut self, qid: u16, sqe: &Sqe) {
        let routed = self.vendor_namespace(qid, sqe);
        let routed = routed.and_then(|n| Ok((n, self.route_vendor(qid, sqe, n, None)?)));
        let (cid, mut found) = (sqe.cid.get(), Vec::new());
        let reply = match routed {
            _ if !self.flash.is_powered() => failed(Status::INTERNAL_ERROR),
            Err(status) => failed(status),
            Ok((_, Routed::More(dw0))) => Reply { dw0, ..failed(Status::SUCCESS) },
            Ok((n, Routed::Request(mut request))) => {
                request.count_in(sqe, &mut self.stats.traffic);
                let reply = self.run(n, &mut request);
                self.count_out(&request, sqe, reply.bytes_out);
                match request {
                    Request::Small(_, bytes) => found = bytes,
                    request => self.recycle(qid, request),
                }
                reply
            }
        };
        self.count(&reply);
        let result = u64::from(reply.dw0) | u64::from(reply.dw1) << 32;
        if found.is_empty() || !reply.status.is_success() {
            return self.queues.complete(qid, cid, reply.status, result);
        }
        self.stats.traffic.cq_slots += u64::from(cq_slots(found.len() as u32));
        self.queues.complete_with(qid, cid, reply.status, result, found);
    }

    fn recycle(&mut self, qid: u16, request: Request) {
        if let (Some(bytes), Some(gather)) = (request.into_buffer(), self.queues.gather(qid)) {
            gather.recycle(bytes);
        }
    }
}
