// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Admin commands: queues are the dispatcher's; what is set is set in all shards, and what is asked the first tells, but for
//! sizes, counters, the health log and write stalls, which add up.

use crate::Sharded;
use crate::{counters, stalls};
use saker_host::Driver;
use saker_host::front::Admin;
use saker_link::{gather, prp_pieces, scatter};
use saker_nvme::admin::{self, AdminCommand, GetLogPage, Identify};
use saker_nvme::identify::{KvNamespace, NvmNamespace, cns};
use saker_nvme::log::{Smart, lid};
use saker_nvme::vendor_specific::{LID_COUNTERS, LID_WRITE_STALLS};
use saker_nvme::{Sqe, Status, csi};
use zerocopy::{FromBytes, Immutable, IntoBytes};

impl<T: Driver> Sharded<T> {
    pub(crate) fn admin(&mut self, sqe: &Sqe) {
        let (status, result) = match self.front.admin(sqe) {
            Admin::Done(status, result) => (status, result),
            Admin::DeleteQueue(qid) => (self.delete_queue(qid), 0),
            Admin::Waits => return,
            Admin::Other => self.of_shards(sqe),
        };
        self.front.complete(0, sqe, status, result);
    }

    fn of_shards(&mut self, sqe: &Sqe) -> (Status, u64) {
        match AdminCommand::decode(sqe) {
            Ok(AdminCommand::Identify(identify)) => (self.identify(sqe, &identify), 0),
            Ok(AdminCommand::GetLogPage(log)) if log.lid == lid::SMART => self.health(sqe, &log),
            Ok(AdminCommand::GetLogPage(log)) if log.lid == LID_WRITE_STALLS => {
                self.pages_merged(sqe, &log, stalls::merged)
            }
            Ok(AdminCommand::GetLogPage(log)) if log.lid == LID_COUNTERS => {
                self.pages_merged(sqe, &log, counters::merged)
            }
            _ if matches!(sqe.opcode, admin::opcode::SET_FEATURES | admin::opcode::FORMAT_NVM) => {
                self.settle();
                self.all(sqe)
            }
            _ => self.shards[0].admin(sqe),
        }
    }

    /// Every shard carries it out; the first answer, or the first failure.
    fn all(&mut self, sqe: &Sqe) -> (Status, u64) {
        let answers: Vec<_> = self.shards.iter_mut().map(|shard| shard.admin(sqe)).collect();
        answers.iter().find(|(status, _)| !status.is_success()).copied().unwrap_or(answers[0])
    }

    fn identify(&mut self, sqe: &Sqe, identify: &Identify) -> Status {
        let added = match (identify.cns, identify.csi) {
            (cns::CSI_NAMESPACE, csi::KV) => self.added(sqe, |sum: &mut KvNamespace, told| {
                sum.nsze += told.nsze;
                sum.nuse += told.nuse;
            }),
            (cns::NAMESPACE, _) => self.added(sqe, |sum: &mut NvmNamespace, told| {
                sum.nsze += told.nsze;
                sum.ncap += told.ncap;
                sum.nuse += told.nuse;
                sum.nvmcap += told.nvmcap;
            }),
            _ => return self.shards[0].admin(sqe).0,
        };
        added.err().unwrap_or(Status::SUCCESS)
    }

    /// The health log: what hosts had done, and errors, are all shards'. Data units are rounded up in each.
    fn health(&mut self, sqe: &Sqe, log: &GetLogPage) -> (Status, u64) {
        if (log.offset, log.bytes) != (0, size_of::<Smart>() as u64) {
            return self.shards[0].admin(sqe);
        }
        let added = self.added(sqe, |sum: &mut Smart, told| {
            sum.data_units_read += told.data_units_read;
            sum.data_units_written += told.data_units_written;
            sum.read_commands += told.read_commands;
            sum.write_commands += told.write_commands;
            sum.media_errors += told.media_errors;
            sum.error_entries += told.error_entries;
        });
        (added.err().unwrap_or(Status::SUCCESS), 0)
    }

    /// A page of which every shard has its own, put together by `merged`. A page that is asked for from its middle is the first shard's.
    fn pages_merged(
        &mut self,
        sqe: &Sqe,
        log: &GetLogPage,
        merged: fn(&[Vec<u8>], usize) -> Vec<u8>,
    ) -> (Status, u64) {
        let Some(bytes) = u32::try_from(log.bytes).ok().filter(|_| log.offset == 0) else {
            return self.shards[0].admin(sqe);
        };
        let mut pages = Vec::new();
        for n in 0..self.shards.len() {
            let (status, result) = self.shards[n].admin(sqe);
            if !status.is_success() {
                return (status, result);
            }
            match prp_pieces(sqe, bytes, self.front.space()).and_then(|p| gather(&p, self.front.space())) {
                Ok(page) => pages.push(page),
                Err(status) => return (status, 0),
            }
        }
        let page = merged(&pages, bytes as usize);
        let written = prp_pieces(sqe, bytes, self.front.space())
            .and_then(|pieces| scatter(&pieces, self.front.space(), &page));
        (written.err().unwrap_or(Status::SUCCESS), 0)
    }

    /// A structure that all shards tell in turn, added up where the host wants it.
    fn added<D>(&mut self, sqe: &Sqe, mut add: impl FnMut(&mut D, &D)) -> Result<(), Status>
    where
        D: FromBytes + IntoBytes + Immutable,
    {
        let pieces = prp_pieces(sqe, size_of::<D>() as u32, self.front.space())?;
        let mut sum: Option<D> = None;
        for shard in &mut self.shards {
            let (status, _) = shard.admin(sqe);
            if !status.is_success() {
                return Err(status);
            }
            let data = gather(&pieces, self.front.space())?;
            let told = D::read_from_bytes(&data).map_err(|_| Status::INTERNAL_ERROR)?;
            match &mut sum {
                Some(sum) => add(sum, &told),
                None => sum = Some(told),
            }
        }
        let sum = sum.ok_or(Status::INTERNAL_ERROR)?;
        scatter(&pieces, self.front.space(), sum.as_bytes())
    }

    fn delete_queue(&mut self, qid: u16) -> Status {
        self.settle();
        self.front.delete_queue(qid)
    }
}
