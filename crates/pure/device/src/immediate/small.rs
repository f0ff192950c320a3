// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vendor commands without time.

use super::{Untimed, failed};
use crate::device::Device;
use crate::execute::{Reply, Request};
use crate::methods;
use crate::vendor::Routed;
use saker_link::Sqe;
use saker_nvme::Status;
use saker_nvme::vendor_specific::cq_slots;

impl Device<Untimed> {
    pub(super) fn serve_vendor(&mut self, qid: u16, sqe: &Sqe) {
        let behind = methods::comes_behind(sqe.opcode);
        let head = if behind { self.queues.take_inline(qid, sqe) } else { None };
        self.stats.traffic.inline_slots += head.as_ref().map_or(0, |head| u64::from(head.slots()));
        let routed = self.vendor_namespace(qid, sqe);
        let routed = routed.and_then(|n| Ok((n, self.route_vendor(qid, sqe, n, head)?)));
        let (cid, mut found) = (sqe.cid.get(), Vec::new());
        let reply = match routed {
            _ if !self.flash.is_powered() => failed(Status::INTERNAL_ERROR),
            Err(status) => failed(status),
            Ok((_, Routed::More(dw0))) => Reply { dw0, ..failed(Status::SUCCESS) },
            Ok((n, Routed::Request(mut request))) => {
                request.count_in(sqe, &mut self.stats.traffic);
                let reply = self.run(n, &mut request);
                self.count_out(&request, sqe, reply.bytes_out);
                request.count_work(&reply, &mut self.stats.work);
                match request {
                    Request::Small(_, bytes) => found = bytes,
                    request => self.recycle(qid, request),
                }
                reply
            }
        };
        self.count(qid, sqe, reply.status);
        let result = u64::from(reply.dw0) | u64::from(reply.dw1) << 32;
        if found.is_empty() || !reply.status.is_success() {
            self.queues.complete_later(qid, cid, reply.status, result);
            return;
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
