// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which keys a group names, before it is executed.

use super::GroupRequest;
use crate::answer::key_hash;
use saker_link::DmaSpace;
use saker_nvme::group::{Form, GroupCommand, Op, parse, parse_transaction};

impl GroupRequest {
    /// Whether its data names keys that it reads or writes.
    pub fn names_keys(&self) -> bool {
        !matches!(self.command, GroupCommand::Results { .. } | GroupCommand::Prefetch { .. })
    }

    /// The keys of the payload, hashed, as far as it is one. It is copied for that, and not fetched again.
    pub fn learn_keys(&mut self, space: &DmaSpace) -> Vec<u64> {
        let Some(form) = self.stage(space) else { return Vec::new() };
        let (payload, mut keys) = (self.staged.as_deref().unwrap_or_default(), Vec::new());
        // What is wrong with it shows when it is executed.
        if self.mode.is_transaction {
            let _ = parse_transaction(form, payload, |asked| {
                keys.push(key_hash(&payload[asked.key.start as usize..asked.key.end as usize]));
            });
            return keys;
        }
        let _ = parse(form, payload, |e| {
            keys.push(key_hash(&payload[e.key.start as usize..e.key.end as usize]));
        });
        keys
    }

    /// Copies the payload; its form.
    fn stage(&mut self, space: &DmaSpace) -> Option<Form> {
        match self.command {
            GroupCommand::OneWay { form, bytes, .. } | GroupCommand::BothWays { form, bytes, .. } => {
                let mut payload = vec![0; bytes as usize];
                if bytes > 0 {
                    self.pieces.read(space, 0, &mut payload).ok()?;
                }
                self.staged = Some(payload);
                Some(form)
            }
            GroupCommand::Vector { .. } => self.gather(space).ok().map(|(form, _)| form),
            GroupCommand::Bulk { bytes } => {
                self.fetch_bulk(bytes, space).ok()?;
                Some(Form::All(Op::Store))
            }
            GroupCommand::Results { .. } | GroupCommand::Prefetch { .. } => None,
        }
    }
}
