// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which of a group's keys appeared before.

/// Memory for looking, used again and again.
#[derive(Clone, Debug, Default)]
pub struct Seen(Vec<u32>);

impl Seen {
    /// The first of `members` whose key appeared before. `spread`: bits that differ between keys, `None` for who is no matter;
    /// `is_same`: whether two have one key that must not appear twice.
    #[inline]
    pub fn repeated<T>(
        &mut self,
        members: &[T],
        spread: impl Fn(&T) -> Option<usize>,
        is_same: impl Fn(&T, &T) -> bool,
    ) -> Option<usize> {
        // Sparse: a slot that is taken is seldom foreseen.
        let slots = (members.len() * 8).next_power_of_two();
        self.0.clear();
        self.0.resize(slots, 0);
        for (n, member) in members.iter().enumerate() {
            let Some(spread) = spread(member) else { continue };
            let mut at = spread & (slots - 1);
            while self.0[at] != 0 {
                if is_same(member, &members[self.0[at] as usize - 1]) {
                    return Some(n);
                }
                at = (at + 1) & (slots - 1);
            }
            self.0[at] = n as u32 + 1;
        }
        None
    }
}
