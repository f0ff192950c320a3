// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How background work stands, as far as writes must know it.

use saker_engine_api::{JobKind, KvError};

/// Where background work stands. What it says holds until the next quantum, or until something happens that it tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It goes on, or nobody knows of anything that keeps it from doing so: what waits for it waits.
    #[default]
    GoesOn,
    /// It needs the segments that are free: writes wait until there are more.
    Short,
    /// There is nothing to do that could be done: what waits for room waits for ever, so it is refused.
    Stuck,
    /// It gave up for that reason: nothing is written any more.
    Failed(KvError),
}

/// Who goes first where several may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum First {
    #[default]
    Structure,
    Collections,
}

/// How background work stands, and whose turn it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Upkeep {
    state: State,
    turn: First,
    /// What the last piece that worked was for.
    pub(super) did: Option<JobKind>,
    /// The quantum leaves out what may be put off.
    pub(crate) is_urgent: bool,
}

impl Upkeep {
    /// A quantum begins; `short`: it needs the segments that are free.
    pub(super) fn begin(&mut self, short: bool) {
        self.state = match self.state {
            State::Failed(why) => State::Failed(why),
            _ if short => State::Short,
            _ => State::GoesOn,
        };
    }

    /// The quantum did something: the others go first in the next one.
    pub(super) fn worked(&mut self) {
        assert!(matches!(self.state, State::GoesOn | State::Short), "only what has begun works: {self:?}");
        self.turn = match self.turn {
            First::Structure => First::Collections,
            First::Collections => First::Structure,
        };
    }

    /// The quantum found nothing that it could do, and nothing is on its way.
    pub(super) fn stick(&mut self) {
        assert!(matches!(self.state, State::GoesOn | State::Short), "only what has begun ends: {self:?}");
        self.state = State::Stuck;
    }

    /// The quantum gave up.
    pub(super) fn fail(&mut self, why: KvError) {
        assert!(matches!(self.state, State::GoesOn | State::Short), "only what has begun fails: {self:?}");
        self.state = State::Failed(why);
    }

    /// A write was done: there may be something to do.
    pub(super) fn wrote(&mut self) {
        debug_assert!(self.error().is_none(), "nothing is written after a failure");
        self.unstick();
    }

    /// There is something to do that there was not: a snapshot was released, or what may have been replaced is to be found out.
    pub(super) fn unstick(&mut self) {
        if self.state == State::Stuck {
            self.state = State::GoesOn;
        }
    }

    /// Whether what waits for it waits for ever.
    pub(super) fn is_stuck(&self) -> bool {
        self.state == State::Stuck
    }

    /// Whether it needs the segments that are free.
    pub(super) fn is_short(&self) -> bool {
        self.state == State::Short
    }

    /// Why nothing is written any more.
    pub(crate) fn error(&self) -> Option<KvError> {
        if let State::Failed(why) = self.state { Some(why) } else { None }
    }

    /// Whether it is the turn of collections, and not of the structure.
    pub(crate) fn is_for_collections(&self) -> bool {
        self.turn == First::Collections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_forgets_all_but_a_failure() {
        let mut upkeep = Upkeep::default();
        upkeep.begin(true);
        assert!(upkeep.is_short() && !upkeep.is_stuck());
        upkeep.stick();
        assert!(upkeep.is_stuck() && !upkeep.is_short(), "who is stuck keeps nothing from others");
        upkeep.begin(false);
        assert!(!upkeep.is_stuck() && !upkeep.is_short());
        upkeep.fail(KvError::Corrupt);
        upkeep.unstick();
        upkeep.begin(true);
        assert_eq!((upkeep.error(), upkeep.is_short()), (Some(KvError::Corrupt), false));
    }

    #[test]
    fn turns_change_with_what_was_done() {
        let mut upkeep = Upkeep::default();
        assert!(!upkeep.is_for_collections());
        upkeep.begin(false);
        upkeep.worked();
        assert!(upkeep.is_for_collections());
        upkeep.worked();
        assert!(!upkeep.is_for_collections());
    }

    #[test]
    #[should_panic(expected = "only what has begun fails")]
    fn a_failure_is_not_followed_by_another() {
        let mut upkeep = Upkeep::default();
        upkeep.fail(KvError::Corrupt);
        upkeep.fail(KvError::Corrupt);
    }
}
