// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Admin commands: what is answered here because the kernel owns the controller, and what it is asked.

use saker_nvme::admin::feature::{NumberOfQueues, fid};
use saker_nvme::admin::{self, AdminCommand};
use saker_nvme::identify::{ActiveNamespaces, cns};
use saker_nvme::{Sqe, Status};
use zerocopy::IntoBytes;

/// I/O queue pairs: the kernel has its own, one is as good as many.
pub(crate) const QUEUE_PAIRS: u16 = 16;

/// What to do with an admin command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Completes at once.
    Answer(Status, u64),
    /// Completes at once with data.
    Data(Vec<u8>),
    /// A completion queue: QID, base, entries.
    CreateCq(u16, u64, u32),
    /// A submission queue: QID, base, entries.
    CreateSq(u16, u64, u32),
    /// Both of a pair.
    DeleteSq(u16),
    /// Never completes: there are no events.
    Hold,
    /// The kernel carries it out.
    Relay,
}

/// Decides. `nsid` is the only namespace that the file gives access to.
pub(crate) fn decide(sqe: &Sqe, nsid: u32) -> Decision {
    match AdminCommand::decode(sqe) {
        Ok(AdminCommand::CreateCq(cq)) => Decision::CreateCq(cq.qid, cq.base, cq.entries),
        Ok(AdminCommand::CreateSq(sq)) => Decision::CreateSq(sq.qid, sq.base, sq.entries),
        Ok(AdminCommand::DeleteSq { qid }) => Decision::DeleteSq(qid),
        Ok(AdminCommand::DeleteCq { .. }) => Decision::Answer(Status::SUCCESS, 0),
        Ok(AdminCommand::Identify(command)) if command.cns == cns::ACTIVE_NAMESPACES => {
            active_namespaces(command.nsid, nsid)
        }
        _ => by_opcode(sqe),
    }
}

fn active_namespaces(after: u32, nsid: u32) -> Decision {
    match ActiveNamespaces::after(after, [nsid]) {
        Ok(list) => Decision::Data(list.as_bytes().to_vec()),
        Err(status) => Decision::Answer(status, 0),
    }
}

fn by_opcode(sqe: &Sqe) -> Decision {
    let feature = sqe.cdw10.get() as u8;
    match sqe.opcode {
        admin::opcode::ASYNC_EVENT_REQUEST => Decision::Hold,
        admin::opcode::KEEP_ALIVE => Decision::Answer(Status::SUCCESS, 0),
        // DW0 bit 0: not aborted, which is always allowed.
        admin::opcode::ABORT => Decision::Answer(Status::SUCCESS, 1),
        admin::opcode::SET_FEATURES if feature == fid::NUMBER_OF_QUEUES => {
            let granted =
                NumberOfQueues::default().with_submission(QUEUE_PAIRS - 1).with_completion(QUEUE_PAIRS - 1);
            Decision::Answer(Status::SUCCESS, u64::from(granted.0))
        }
        // The kernel chose when it enabled the controller, and would not notice another choice.
        admin::opcode::SET_FEATURES if feature == fid::COMMAND_SET_PROFILE => {
            Decision::Answer(Status::SUCCESS, 0)
        }
        _ => Decision::Relay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_nvme::admin::{Identify, SetFeatures, build};

    fn identify(cns: u8, nsid: u32) -> Sqe {
        build::identify(&Identify { nsid, cns, cntid: 0, specific_id: 0, csi: 0, uuid_index: 0 })
    }

    #[test]
    fn only_the_files_own_namespace_is_there() {
        let Decision::Data(list) = decide(&identify(cns::ACTIVE_NAMESPACES, 0), 5) else { panic!("a list") };
        assert_eq!((list.len(), &list[..8]), (4096, &[5, 0, 0, 0, 0, 0, 0, 0][..]));
        let Decision::Data(list) = decide(&identify(cns::ACTIVE_NAMESPACES, 5), 5) else { panic!("a list") };
        assert!(list.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn the_controller_is_the_kernels() {
        let set = |fid, cdw11| build::set_features(&SetFeatures { nsid: 0, fid, save: false, cdw11 });
        assert_eq!(decide(&set(0x07, 3), 1), Decision::Answer(Status::SUCCESS, 0x000F_000F));
        assert_eq!(decide(&set(0x19, 1), 1), Decision::Answer(Status::SUCCESS, 0));
        assert_eq!(decide(&set(0x20, 1), 1), Decision::Relay);
        assert_eq!(decide(&Sqe::new(admin::opcode::ASYNC_EVENT_REQUEST, 0), 1), Decision::Hold);
        assert_eq!(decide(&identify(cns::CONTROLLER, 0), 1), Decision::Relay);
    }
}
