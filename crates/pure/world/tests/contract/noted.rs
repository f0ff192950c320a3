// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Outcomes that whoever asked judges.

use crate::contract::suite::{Broken, Kept};
use saker_store::{Failure, Outcome, SnapshotId};
use std::cell::RefCell;
use std::rc::Rc;

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    Done,
    Value(Vec<u8>),
    Absent,
    Pairs(Vec<(Vec<u8>, Vec<u8>)>),
    Snapshot(SnapshotId),
    Group,
    Failed(Failure),
}

impl Noted {
    pub fn of(outcome: &Outcome<'_>) -> Self {
        match outcome {
            Outcome::Done { .. } => Self::Done,
            Outcome::Value { data, .. } => Self::Value(data.to_vec()),
            Outcome::Absent => Self::Absent,
            Outcome::Pairs { .. } => {
                let pairs = outcome.pairs();
                Self::Pairs(pairs.into_iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
            }
            Outcome::Snapshot(id) => Self::Snapshot(*id),
            Outcome::Failed(failure) => Self::Failed(*failure),
            _ => Self::Group,
        }
    }
}

/// Where an outcome is left for whoever asked.
pub type Note = Rc<RefCell<Option<Noted>>>;

/// What was noted of an operation that has ended.
pub fn ended(note: &Note) -> Kept<Noted> {
    let noted = note.borrow().clone();
    noted.ok_or_else(|| Broken { clause: "an outcome for each ticket", why: "none came".to_owned() })
}
