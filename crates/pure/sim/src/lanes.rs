// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who goes first when work of both classes waits for the same resource.

use std::collections::VecDeque;

/// Who goes first when a server becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Work that a command waits for.
    Foreground,
    /// Work nobody waits for: GC, checkpoints, eviction.
    Background,
}

/// Foreground jobs that may overtake one waiting background job: under any load, background work keeps at least
/// one turn in eight, or collections and checkpoints would never end.
pub const OVERTAKERS_MAX: u32 = 7;

/// Jobs that wait: foreground first, but not for ever; within a class in the order of arrival.
#[derive(Clone, Debug)]
pub struct Lanes<J> {
    foreground: VecDeque<J>,
    background: VecDeque<J>,
    /// Foreground jobs that went past the first waiting background job.
    overtakers: u32,
}

impl<J> Default for Lanes<J> {
    fn default() -> Self {
        Self { foreground: VecDeque::new(), background: VecDeque::new(), overtakers: 0 }
    }
}

impl<J> Lanes<J> {
    /// A job begins to wait.
    pub fn push(&mut self, job: J, class: Class) {
        match class {
            Class::Foreground => self.foreground.push_back(job),
            Class::Background => self.background.push_back(job),
        }
    }

    /// The job whose turn it is.
    pub fn pop(&mut self) -> Option<J> {
        if self.background.is_empty() {
            return self.foreground.pop_front();
        }
        if self.overtakers < OVERTAKERS_MAX
            && let Some(job) = self.foreground.pop_front()
        {
            self.overtakers += 1;
            return Some(job);
        }
        self.overtakers = 0;
        self.background.pop_front()
    }

    /// Jobs that wait.
    pub fn len(&self) -> usize {
        self.foreground.len() + self.background.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `n` jobs while foreground work never ends.
    fn turns(lanes: &mut Lanes<Class>, n: usize) -> Vec<Class> {
        let turn = |_| {
            lanes.push(Class::Foreground, Class::Foreground);
            lanes.pop().expect("one was just added")
        };
        (0..n).map(turn).collect()
    }

    #[test]
    fn background_work_has_one_turn_in_eight_however_much_foreground_work_comes() {
        let mut lanes = Lanes::default();
        for _ in 0..100 {
            lanes.push(Class::Background, Class::Background);
        }
        let taken = turns(&mut lanes, 80);
        let background: Vec<_> = (0..80).filter(|n| taken[*n] == Class::Background).collect();
        assert_eq!(background, [7, 15, 23, 31, 39, 47, 55, 63, 71, 79]);
    }

    #[test]
    fn foreground_work_that_nobody_waits_behind_is_not_counted() {
        let mut lanes = Lanes::default();
        turns(&mut lanes, 50);
        lanes.push(Class::Background, Class::Background);
        assert_eq!(turns(&mut lanes, 8).iter().position(|c| *c == Class::Background), Some(7));
    }

    #[test]
    fn a_class_keeps_its_order() {
        let mut lanes = Lanes::default();
        for n in 0..4 {
            lanes.push(n, if n % 2 == 0 { Class::Background } else { Class::Foreground });
        }
        assert_eq!(
            [lanes.pop(), lanes.pop(), lanes.pop(), lanes.pop()],
            [Some(1), Some(3), Some(0), Some(2)]
        );
        assert!(lanes.is_empty());
    }
}
