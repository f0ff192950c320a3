// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way of one command through the stages.

mod executed;

use super::cores::Work;
use super::{ANSWER, Event, Id, Stage, Timed, Token};
use crate::device::{Device, FLUSH};
use crate::execute::Request;
use crate::immediate::failed;
use crate::methods;
use crate::trace::{Clockwork, Part};
use crate::vendor::{self, Routed};
use saker_duty::Duty;
use saker_engine::WriteCondition;
use saker_link::Sqe;
use saker_nvme::vendor_specific::cq_slots;
use saker_nvme::{Cqe, NSID_ALL, Status};
use saker_sim::Duration;

/// Longer than anything: all that has passed was service.
const ALL: Duration = Duration::from_nanos(u64::MAX);

impl Device<Timed> {
    pub(super) fn begin(&mut self, qid: u16, sqe: Sqe) {
        self.flights.begin(qid);
        self.prefetch_hints(&sqe);
        let behind = methods::comes_behind(sqe.opcode);
        let head = if behind { self.queues.take_inline(qid, &sqe) } else { None };
        let slots = head.as_ref().map_or(0, |h| u64::from(h.slots()));
        let held = head.as_ref().map_or(0, |h| h.bytes().len() as u32);
        self.queues.hold(qid, held);
        let t = &mut self.tempo;
        let clock = Clockwork::new(t.now, t.traces.is_some());
        let token = Token {
            qid,
            sqe,
            namespace: 0,
            erasures: 0,
            request: None,
            stage: Stage::Fetched,
            syncing: None,
            reply: failed(Status::SUCCESS),
            pages: None,
            head,
            held,
            clock,
            service: ALL,
            awaited: None,
            lane: 0,
            passes: false,
            counted: 0,
            stopped: WriteCondition::Normal,
            duty: Duty::new(ANSWER),
        };
        let id = t.free.pop().unwrap_or_else(|| {
            t.tokens.push(None);
            t.tokens.len() as Id - 1
        });
        t.tokens[id as usize] = Some(token);
        self.stats.traffic.sqe_fetches += 1;
        self.stats.traffic.inline_slots += slots;
        // The doorbell travels to the device, the read request to the host, the entries back.
        let length = self.tempo.costs.link_time(Sqe::BYTES as u64 * (1 + slots));
        let after = self.tempo.costs.link_latency * 3;
        self.through_link_in(id, length, after);
    }

    fn through_link_in(&mut self, id: Id, length: Duration, after: Duration) {
        self.token(id).service = length + after;
        let t = &mut self.tempo;
        t.link_in.request(t.now, (length, after), Event::Step(id), &mut t.events);
    }

    fn through_link_out(&mut self, id: Id, length: Duration, after: Duration) {
        self.token(id).service = length + after;
        let t = &mut self.tempo;
        t.link_out.request(t.now, (length, after), Event::Step(id), &mut t.events);
    }

    /// The dispatcher is busy with a command for that long; then comes `next`.
    fn through_dispatcher(&mut self, id: Id, length: Duration, next: Stage) {
        let token = self.token(id);
        (token.stage, token.service) = (next, length);
        let t = &mut self.tempo;
        t.dispatcher.request(t.now, (length, Duration::ZERO), Event::Step(id), &mut t.events);
    }

    pub(super) fn on_stage(&mut self, id: Id) {
        match self.token(id).stage {
            Stage::Fetched => {
                self.lap(id, Part::Fetch);
                let length = self.dispatch_time(id);
                self.through_dispatcher(id, length, Stage::Dispatched);
            }
            Stage::Dispatched => {
                self.lap(id, Part::Firmware);
                self.route(id);
            }
            Stage::SetUp => {
                self.lap(id, Part::Firmware);
                self.bring_data(id);
            }
            Stage::Ready => {
                self.lap(id, Part::Transfer);
                self.ready(id);
            }
            Stage::Executed => {
                self.lap(id, Part::Firmware);
                self.await_flash(id);
            }
            Stage::Awaiting => self.await_flash(id),
            Stage::Flushing => self.sync(id),
            Stage::SetUpOut => {
                self.lap(id, Part::Firmware);
                self.send_data(id);
            }
            Stage::Sent => {
                self.lap(id, Part::Transfer);
                self.post(id);
            }
            Stage::Part => {
                self.lap(id, Part::Firmware);
                self.post(id);
            }
            Stage::Posting => self.finish(id),
            Stage::Waiting => unreachable!("whoever waits is woken by a core"),
        }
    }

    /// Taking the command, what it carries, and handing it out.
    fn dispatch_time(&mut self, id: Id) -> Duration {
        let token = self.token(id);
        let slots = token.head.as_ref().map_or(0, |head| u64::from(head.slots()));
        let opcode = token.sqe.opcode;
        let costs = &self.tempo.costs;
        costs.fetch + costs.dispatch + costs.methods.carried(opcode, slots)
    }

    /// Decodes the command and brings its data.
    fn route(&mut self, id: Id) {
        let (n, request) = match self.decode(id) {
            Ok((n, Routed::Request(request))) => (n, request),
            Ok((_, Routed::More(dw0))) => {
                self.token(id).reply.dw0 = dw0;
                let length = self.tempo.costs.complete;
                return self.through_dispatcher(id, length, Stage::Part);
            }
            Err(status) => return self.refuse(id, status),
        };
        if let Some(status) = self.refusal(n, &request) {
            return self.refuse(id, status);
        }
        let token = self.tempo.tokens[id as usize].as_ref().expect("a command on its way");
        request.count_in(&token.sqe, &mut self.stats.traffic);
        let costs = &self.tempo.costs;
        let setup = costs.setup(request.pieces(), request.bytes_in()) + costs.setup_aside(&request.aside());
        self.hold(id, request.pieces().held_bytes());
        let erasures = self.namespaces[n].erasures;
        let token = self.token(id);
        (token.namespace, token.erasures, token.request) = (n, erasures, Some(request));
        self.deal(id);
        if setup > Duration::ZERO {
            return self.through_dispatcher(id, setup, Stage::SetUp);
        }
        self.bring_data(id);
    }

    fn decode(&mut self, id: Id) -> Result<(usize, Routed), Status> {
        let token = self.token(id);
        let (qid, sqe, head) = (token.qid, token.sqe, token.head.take());
        if sqe.opcode >= vendor::FIRST {
            let n = self.vendor_namespace(qid, &sqe)?;
            return Ok((n, self.route_vendor(qid, &sqe, n, head)?));
        }
        if self.queues.has_open_values() {
            self.queues.close_value(qid);
        }
        let all = sqe.nsid.get() == NSID_ALL && sqe.opcode == FLUSH;
        let n = if all { 0 } else { self.namespace_of(&sqe)? };
        let kind = &self.namespaces[n].config.kind;
        let request = Request::decode(&sqe, kind, &self.host.space, self.pointer_rule())?;
        Ok((n, Routed::Request(request)))
    }

    /// The command holds that much of its queue's gathering memory until it is executed.
    fn hold(&mut self, id: Id, bytes: u32) {
        let token = self.token(id);
        let (qid, before) = (token.qid, std::mem::replace(&mut token.held, bytes));
        self.queues.hold(qid, bytes);
        self.queues.release(qid, before);
    }

    fn bring_data(&mut self, id: Id) {
        let token = self.tempo.tokens[id as usize].as_ref().expect("a command on its way");
        let request = token.request.as_ref().expect("decoded");
        let (bytes, _) = request.pieces().link_bytes(request.bytes_in());
        let (aside, costs) = (request.aside(), &self.tempo.costs);
        let delay = costs.delay_of(request, &self.host.space);
        let rounds = u64::from(bytes > 0) + aside.rounds;
        let bytes = bytes + aside.link_bytes();
        let (length, round_trips) = (costs.link_time(bytes), costs.link_latency * (2 * rounds));
        self.token(id).stage = Stage::Ready;
        if bytes > 0 {
            self.through_link_in(id, length, round_trips + delay);
        } else if delay > Duration::ZERO {
            let at = self.tempo.now + delay;
            self.token(id).service = delay;
            self.tempo.events.push(at, Event::Step(id));
        } else {
            self.ready(id);
        }
    }

    fn after_execution(&mut self, id: Id) {
        let token = self.tempo.tokens[id as usize].as_mut().expect("a command on its way");
        if token.reply.flush.is_some() {
            token.stage = Stage::Flushing;
            return self.sync(id);
        }
        if token.reply.bytes_out == 0 {
            return self.post(id);
        }
        let pieces = token.request.as_ref().expect("decoded").pieces();
        let setup = self.tempo.costs.setup(pieces, token.reply.bytes_out);
        if setup > Duration::ZERO {
            return self.through_dispatcher(id, setup, Stage::SetUpOut);
        }
        self.send_data(id);
    }

    fn send_data(&mut self, id: Id) {
        let token = self.tempo.tokens[id as usize].as_mut().expect("a command on its way");
        let (request, bytes_out) = (token.request.as_ref().expect("decoded"), token.reply.bytes_out);
        request.pieces().count(bytes_out, &mut self.stats.traffic.to_host);
        request.count_list(&token.sqe, bytes_out, &mut self.stats.traffic);
        let (bytes, _) = request.pieces().link_bytes(bytes_out);
        token.stage = Stage::Sent;
        let (length, latency) = (self.tempo.costs.link_time(bytes), self.tempo.costs.link_latency);
        self.through_link_out(id, length, latency);
    }

    /// A Flush: once its programs are done, the sync.
    fn sync(&mut self, id: Id) {
        let token = self.token(id);
        let (tag, n) = (token.reply.flush.expect("a Flush names its tag"), token.namespace);
        let is_syncing = token.syncing.is_some();
        let finished = self.flash.finished();
        if !is_syncing && !self.namespaces[n].is_flushed(tag, finished) && !self.is_kept_by_ring() {
            if tag <= finished || self.flash.is_held() {
                // Programs failed, and the worker makes that good; or it finds that they cannot be made now.
                self.start_worker(n);
            }
            return self.tempo.flushing.push(id);
        }
        self.token(id).service = ALL;
        self.lap(id, Part::Flash);
        let everybody = self.token(id).sqe.nsid.get() == NSID_ALL;
        let next = n + 1;
        if everybody && next < self.namespaces.len() {
            // The next namespace's turn. It may have another command set.
            let (sqe, rule) = (self.token(id).sqe, self.pointer_rule());
            let kind = &self.namespaces[next].config.kind;
            let request = match Request::decode(&sqe, kind, &self.host.space, rule) {
                Ok(request) => request,
                Err(status) => return self.refuse(id, status),
            };
            let erasures = self.namespaces[next].erasures;
            let token = self.token(id);
            (token.namespace, token.erasures) = (next, erasures);
            (token.request, token.stage) = (Some(request), Stage::Ready);
            return self.want_core(Work::Command(id));
        }
        match self.synced(id) {
            None => self.tempo.flushing.push(id),
            Some(true) => {
                self.token(id).reply.flush = None;
                self.post(id);
            }
            Some(false) => {
                let status = self.not_flushed();
                self.refuse(id, status);
            }
        }
    }

    /// The sync at the end of a Flush. Whether it succeeded; `None`: it goes on beside other commands.
    fn synced(&mut self, id: Id) -> Option<bool> {
        if !self.flash.has_syncs_beside() {
            return Some(self.sync_all());
        }
        let number = match self.token(id).syncing {
            Some(number) => number,
            None => self.flash.begin_sync(),
        };
        self.token(id).syncing = Some(number);
        self.flash.sync_result(number).map(|result| result.is_ok())
    }

    /// The command ends with an error.
    pub(super) fn refuse(&mut self, id: Id, status: Status) {
        self.token(id).reply = failed(status);
        self.post(id);
    }

    /// The token's reply goes to the host.
    fn post(&mut self, id: Id) {
        self.make_way(id);
        self.let_go(id);
        let token = self.token(id);
        token.stage = Stage::Posting;
        let slots = match &token.request {
            Some(Request::Small(_, found)) if token.reply.status.is_success() => cq_slots(found.len() as u32),
            _ => 0,
        };
        self.stats.traffic.cqes += 1;
        self.stats.traffic.cq_slots += u64::from(slots);
        let entries = Cqe::BYTES as u64 * (1 + u64::from(slots));
        let (length, latency) = (self.tempo.costs.link_time(entries), self.tempo.costs.link_latency);
        self.through_link_out(id, length, latency);
    }

    fn finish(&mut self, id: Id) {
        self.lap(id, Part::Completion);
        let slot = &mut self.tempo.tokens[id as usize];
        let token = slot.as_mut().expect("a command on its way");
        let (reply, qid, cid, held) = (token.reply, token.qid, token.sqe.cid.get(), token.held);
        if let Some(traces) = &mut self.tempo.traces
            && let Some(trace) = token.clock.finish(qid, cid, token.sqe.opcode, reply.status)
        {
            traces.push(trace);
        }
        if let Some(request) = &token.request {
            request.count_work(&reply, &mut self.stats.work);
        }
        let has_failed = !reply.status.is_success();
        let asked = if has_failed { token.request.as_ref().map_or(0, Request::user_bytes) } else { 0 };
        let n = token.namespace;
        let (sqe, took) = (token.sqe, self.tempo.now.since(token.clock.begun()));
        let found = match &mut token.request {
            Some(Request::Small(_, found)) if reply.status.is_success() => std::mem::take(found),
            _ => Vec::new(),
        };
        debug_assert!(token.pages.is_none(), "a command that is answered holds no pages");
        token.duty.rest();
        // Dropped where it is: moving it out would copy some hundred bytes.
        *slot = None;
        self.tempo.free.push(id);
        self.stats.commands += 1;
        self.count_opcode(&sqe, reply.status, Some(took));
        if has_failed {
            self.note_failure(qid, &sqe, reply.status);
            self.note_refused(n, asked, reply.status);
        }
        let result = u64::from(reply.dw0) | u64::from(reply.dw1) << 32;
        if found.is_empty() {
            self.queues.complete(qid, cid, reply.status, result);
        } else {
            self.queues.complete_with(qid, cid, reply.status, result, found);
        }
        self.end_flight(qid);
        if self.queues.release(qid, held) | self.flights.take_full() {
            let at = self.tempo.now;
            self.tempo.events.push(at, Event::Look);
        }
    }
}
