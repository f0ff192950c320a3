// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A group on its way.

use crate::shard::Ended;
use saker_nvme::group::Op;
use saker_nvme::group::results::{ResultsReader, ResultsWriter};
use saker_nvme::{Key, Status};

/// What became of an operation: its status, and of a value found its length and its bytes, if they had room.
pub(crate) type Outcome = (Status, Option<(u32, Option<Vec<u8>>)>);

/// Where results go.
#[derive(Debug)]
pub(crate) enum Results {
    /// The host only learns how many failed.
    Counted,
    /// They are kept under a name.
    Named(Key),
    /// Over the payload.
    Over(Vec<(u64, u32)>),
}

/// A group on its way.
#[derive(Debug)]
pub(crate) struct GroupFlight {
    pub results: Results,
    pub bytes_max: u32,
    pub ops: Vec<Op>,
    /// The members of each shard's part.
    pub members: Vec<Vec<usize>>,
    pub outcomes: Vec<Outcome>,
}

impl GroupFlight {
    /// A shard's part has ended.
    pub fn take(&mut self, shard: u16, ended: &Ended) {
        let members = &self.members[usize::from(shard)];
        if !ended.status.is_success() {
            members.iter().for_each(|n| self.outcomes[*n] = (ended.status, None));
            return;
        }
        let results = ResultsReader::new(&ended.data).into_iter().flatten();
        for (n, result) in members.iter().zip(results) {
            let found = self.ops[*n] == Op::Retrieve && result.status.is_success();
            let value = found.then(|| (result.bytes, result.value.map(<[u8]>::to_vec)));
            self.outcomes[*n] = (result.status, value);
        }
    }

    /// The results of all, and whether some operation found a value.
    pub fn write(self) -> (ResultsWriter, bool) {
        let mut writer = ResultsWriter::new(self.outcomes.len() as u32, self.bytes_max as usize);
        let mut reads = false;
        for (status, found) in self.outcomes {
            reads |= found.is_some();
            match found {
                None => writer.push(status),
                Some((bytes, None)) => writer.leave_out(bytes),
                Some((bytes, Some(value))) => {
                    if writer.begin_value(bytes) {
                        writer.value(&value);
                    }
                }
            }
        }
        (writer, reads)
    }
}
