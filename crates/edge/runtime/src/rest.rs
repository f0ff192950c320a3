// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a device has had nothing to do for a while: then it does what would be in the way of commands.

use std::time::{Duration, Instant};

/// A pause between two commands of a client is shorter, as a rule.
const WHILE: Duration = Duration::from_millis(100);

/// Since when a device has had nothing to do.
///
/// ```
/// use std::time::{Duration, Instant};
/// let (mut rest, begun) = (saker_runtime::Rest::default(), Instant::now());
/// assert!(!rest.is_long(begun) && rest.is_long(begun + Duration::from_millis(100)));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rest(Option<Instant>);

impl Rest {
    /// It has something to do.
    #[inline]
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// It has nothing to do now. Whether that has been so for a while.
    pub fn is_long(&mut self, now: Instant) -> bool {
        now.duration_since(*self.0.get_or_insert(now)) >= WHILE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_long_after_a_while_and_begins_again_after_work() {
        let (begun, mut rest) = (Instant::now(), Rest::default());
        assert!(!rest.is_long(begun) && !rest.is_long(begun + WHILE - Duration::from_nanos(1)));
        assert!(rest.is_long(begun + WHILE) && rest.is_long(begun + 2 * WHILE));
        rest.end();
        assert!(!rest.is_long(begun + 3 * WHILE) && rest.is_long(begun + 4 * WHILE));
    }
}
