// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Admin commands: queues are the store's; Format empties both trees; what else is asked the device below answers, but for sizes, which add
//! up, and for what this store can.

use super::Served;
use crate::main_tree::MainTree;
use saker_host::front::Admin;
use saker_host::{Driver, HostError};
use saker_link::{gather, prp_pieces, scatter};
use saker_nvme::admin::feature::{KvConfig, fid};
use saker_nvme::admin::{self, AdminCommand, GetLogPage, Identify};
use saker_nvme::identify::{KvNamespace, cns};
use saker_nvme::vendor_specific::{Capabilities, LID_CAPABILITIES, Methods};
use saker_nvme::{Sqe, Status, csi};
use zerocopy::{FromBytes, IntoBytes};

impl<T: Driver, M: MainTree> Served<T, M> {
    pub(super) fn admin(&mut self, sqe: &Sqe) {
        let (status, result) = match self.front.admin(sqe) {
            Admin::Done(status, result) => (status, result),
            Admin::DeleteQueue(qid) => {
                self.settle();
                self.end_ranges(Some(usize::from(qid)));
                (self.front.delete_queue(qid), 0)
            }
            Admin::Waits => return,
            Admin::Other => self.of_store(sqe),
        };
        self.front.complete(0, sqe, status, result);
    }

    fn of_store(&mut self, sqe: &Sqe) -> (Status, u64) {
        match AdminCommand::decode(sqe) {
            Ok(AdminCommand::Identify(identify)) => self.identify(sqe, &identify),
            Ok(AdminCommand::GetLogPage(log)) if log.lid == LID_CAPABILITIES => self.capabilities(sqe, &log),
            _ => match (sqe.opcode, sqe.cdw10.get() as u8) {
                (admin::opcode::SET_FEATURES, fid::KV_CONFIG) => {
                    self.delete_tells = KvConfig(sqe.cdw11.get()).delete_missing_is_error();
                    self.below(sqe)
                }
                (admin::opcode::FORMAT_NVM, _) if sqe.nsid.get() == self.made.pairs => (self.format(), 0),
                (admin::opcode::FORMAT_NVM, _) => (Status::INVALID_NAMESPACE_OR_FORMAT, 0),
                _ => self.below(sqe),
            },
        }
    }

    /// The device below answers.
    fn below(&mut self, sqe: &Sqe) -> (Status, u64) {
        // The admin queue has one command at a time, and an emptying of the device's tree is one.
        while self.store.returning.is_emptying() {
            self.go_on();
        }
        let (connection, driver) = self.connection();
        match connection.execute_admin(driver, *sqe) {
            Ok(cqe) => (Status::SUCCESS, cqe.result()),
            Err(HostError::Status(status)) => (status, 0),
            Err(HostError::Kv(error)) => (error.status(), 0),
            Err(_) => (Status::INTERNAL_ERROR, 0),
        }
    }

    fn identify(&mut self, sqe: &Sqe, identify: &Identify) -> (Status, u64) {
        let answer = self.below(sqe);
        let is_ours =
            identify.nsid == self.made.pairs && (identify.cns, identify.csi) == (cns::CSI_NAMESPACE, csi::KV);
        if !answer.0.is_success() || !is_ours {
            return answer;
        }
        let (live, capacity) = self.store.main().fill_bytes();
        let longest = self.store.value_bytes_max();
        let grown = self.rewritten(sqe, size_of::<KvNamespace>() as u32, &mut |page| {
            if let Ok((told, _)) = KvNamespace::mut_from_prefix(page) {
                told.nsze += capacity;
                told.nuse += live;
                let formats = told.kvf.iter_mut().filter(|format| format.key_max_bytes.get() > 0);
                formats.for_each(|format| format.value_max_bytes.set(longest));
            }
        });
        (grown.err().unwrap_or(answer.0), answer.1)
    }

    fn capabilities(&mut self, sqe: &Sqe, log: &GetLogPage) -> (Status, u64) {
        let methods = Methods::default().with_iterators(true).with_groups(true).with_groups_both_ways(true);
        let page = Capabilities::new(methods.with_transactions(true), 0, 0, 0);
        let page = page.with_group_bytes(self.group_bytes_max());
        let bytes = page.as_bytes();
        let (Ok(length), 0) = (u32::try_from(log.bytes), log.offset) else {
            return (Status::INVALID_FIELD, 0);
        };
        let told = self.rewritten(sqe, length, &mut |page| {
            page.fill(0);
            page.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        });
        (told.err().unwrap_or(Status::SUCCESS), 0)
    }

    /// What is in the host's buffer, changed.
    fn rewritten(&self, sqe: &Sqe, bytes: u32, change: &mut dyn FnMut(&mut [u8])) -> Result<(), Status> {
        let pieces = prp_pieces(sqe, bytes, self.front.space())?;
        let mut page = gather(&pieces, self.front.space())?;
        change(&mut page);
        scatter(&pieces, self.front.space(), &page)
    }
}
