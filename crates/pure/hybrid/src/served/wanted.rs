// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The range of an iterator, and where in it that stands.

use crate::store::scan::{before, behind};
use saker_nvme::Key;

/// The range that a host wants to go through.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    pub prefix: Vec<u8>,
    pub keys_only: bool,
}

/// Where an iterator stands: between two pairs.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Before the range.
    Begin,
    Before(Vec<u8>),
    Behind(Vec<u8>),
}

impl Wanted {
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.first()
            && key.starts_with(&self.prefix)
            && (self.to.is_empty() || key < self.to.as_slice())
    }

    /// The least key that it may have.
    fn first(&self) -> &[u8] {
        self.from.as_slice().max(&self.prefix)
    }

    /// The greatest key that it may have; `None`: there is none.
    fn last(&self) -> Option<Vec<u8>> {
        let behind_prefix = self.prefix.iter().rposition(|byte| *byte < u8::MAX).map(|most| {
            let mut behind = self.prefix[..=most].to_vec();
            behind[most] += 1;
            behind
        });
        let to = Some(self.to.clone()).filter(|to| !to.is_empty());
        match [to, behind_prefix].into_iter().flatten().min() {
            Some(end) => before(&end),
            None => Some(vec![u8::MAX; Key::MAX_LEN]),
        }
    }

    /// The key from which on a place's pairs come; `None`: there are none.
    pub fn next(&self, place: &Place, backwards: bool) -> Option<Vec<u8>> {
        if !backwards {
            let from = match place {
                Place::Begin => Some(Vec::new()),
                Place::Before(key) => Some(key.clone()),
                Place::Behind(key) => behind(key),
            };
            return from.map(|from| from.max(self.first().to_vec()));
        }
        let from = match place {
            Place::Begin => None,
            Place::Before(key) => before(key),
            Place::Behind(key) => Some(key.clone()),
        }?;
        self.last().map(|last| from.min(last))
    }
}
