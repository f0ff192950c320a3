//! Admin commands: queues are the dispatcher's; what is set is set in all shards, and what is asked the first tells, but for
//! sizes, which add up.

use crate::Sharded;
use crate::front::QUEUE_PAIRS;
use saker_host::Turn;
use saker_link::{PairPlace, RelayPair, gather, prp_pieces, scatter};
use saker_nvme::admin::feature::{NumberOfQueues, fid};
use saker_nvme::admin::{self, AdminCommand, Identify};
use saker_nvme::identify::{KvNamespace, cns};
use saker_nvme::{Sqe, Status, csi};
use zerocopy::{FromBytes, IntoBytes};

impl<T: Turn> Sharded<T> {
    pub(crate) fn admin(&mut self, sqe: &Sqe) {
        let (status, result) = match AdminCommand::decode(sqe) {
            Ok(AdminCommand::CreateCq(cq)) => {
                self.front.completion_queues.push((cq.qid, cq.base, cq.entries));
                (Status::SUCCESS, 0)
            }
            Ok(AdminCommand::CreateSq(sq)) => (self.create_queue(sq.qid, sq.base, sq.entries), 0),
            Ok(AdminCommand::DeleteSq { qid }) => (self.delete_queue(qid), 0),
            Ok(AdminCommand::DeleteCq { .. }) => (Status::SUCCESS, 0),
            Ok(AdminCommand::Identify(identify)) => (self.identify(sqe, &identify), 0),
            _ => match self.by_opcode(sqe) {
                Some(answer) => answer,
                // It waits for an event that never comes.
                None => return,
            },
        };
        self.front.complete(0, sqe, status, result);
    }

    fn by_opcode(&mut self, sqe: &Sqe) -> Option<(Status, u64)> {
        let feature = sqe.cdw10.get() as u8;
        Some(match sqe.opcode {
            admin::opcode::ASYNC_EVENT_REQUEST => return None,
            admin::opcode::KEEP_ALIVE => (Status::SUCCESS, 0),
            // DW0 bit 0: not aborted, which is always allowed.
            admin::opcode::ABORT => (Status::SUCCESS, 1),
            admin::opcode::SET_FEATURES if feature == fid::NUMBER_OF_QUEUES => {
                let last = QUEUE_PAIRS - 1;
                let granted = NumberOfQueues::default().with_submission(last).with_completion(last);
                (Status::SUCCESS, u64::from(granted.0))
            }
            // All shards have all command sets enabled.
            admin::opcode::SET_FEATURES if feature == fid::COMMAND_SET_PROFILE => (Status::SUCCESS, 0),
            admin::opcode::SET_FEATURES | admin::opcode::FORMAT_NVM => {
                self.settle();
                self.all(sqe)
            }
            _ => self.shards[0].admin(sqe),
        })
    }

    /// Every shard carries it out; the first answer, or the first failure.
    fn all(&mut self, sqe: &Sqe) -> (Status, u64) {
        let answers: Vec<_> = self.shards.iter_mut().map(|shard| shard.admin(sqe)).collect();
        answers.iter().find(|(status, _)| !status.is_success()).copied().unwrap_or(answers[0])
    }

    fn identify(&mut self, sqe: &Sqe, identify: &Identify) -> Status {
        if identify.cns != cns::CSI_NAMESPACE || identify.csi != csi::KV {
            return self.shards[0].admin(sqe).0;
        }
        self.sizes(sqe).err().unwrap_or(Status::SUCCESS)
    }

    /// Identify Namespace of all shards in turn, added up where the host wants it.
    fn sizes(&mut self, sqe: &Sqe) -> Result<(), Status> {
        let pieces = prp_pieces(sqe, size_of::<KvNamespace>() as u32, &self.front.space)?;
        let mut sum: Option<KvNamespace> = None;
        for shard in &mut self.shards {
            let (status, _) = shard.admin(sqe);
            if !status.is_success() {
                return Err(status);
            }
            let data = gather(&pieces, &self.front.space)?;
            let told = KvNamespace::read_from_bytes(&data).map_err(|_| Status::INTERNAL_ERROR)?;
            let sum = sum.get_or_insert(KvNamespace { nsze: 0.into(), nuse: 0.into(), ..told });
            sum.nsze += told.nsze;
            sum.nuse += told.nuse;
        }
        let Some(sum) = sum else { return Err(Status::INTERNAL_ERROR) };
        scatter(&pieces, &self.front.space, sum.as_bytes())
    }

    fn create_queue(&mut self, qid: u16, base: u64, entries: u32) -> Status {
        let front = &mut self.front;
        let Some(at) = front.completion_queues.iter().position(|(cqid, ..)| *cqid == qid) else {
            return Status::INVALID_QUEUE_ID;
        };
        let (_, cq_base, cq_entries) = front.completion_queues.remove(at);
        let place = PairPlace { qid, sq: (base, entries), cq: (cq_base, cq_entries) };
        let Ok(pair) = RelayPair::new(&front.space, &front.doorbells, place) else {
            return Status::PRP_OFFSET_INVALID;
        };
        let n = usize::from(qid);
        if front.queues.len() <= n {
            front.queues.resize_with(n + 1, || None);
        }
        front.queues[n] = Some(pair);
        Status::SUCCESS
    }

    fn delete_queue(&mut self, qid: u16) -> Status {
        self.settle();
        let slot = self.front.queues.get_mut(usize::from(qid)).filter(|_| qid > 0);
        slot.and_then(Option::take).map_or(Status::INVALID_QUEUE_ID, |_| Status::SUCCESS)
    }
}
