// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an operator is told: events of [`tracing`], each of a kind that has a limit.
//!
//! Without a subscriber nothing is told and hardly anything paid: the macro asks for interest first. What hosts have named is escaped
//! and cut ([`shown`]). No line has data of hosts, keys or secrets.

mod limit;
mod why;

pub(crate) use limit::Limits;
pub(crate) use why::{Ended, refusal};

use std::fmt::Write as _;

/// Kinds of events that strangers or hosts cause, each with a limit of its own: a flood of one hides no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A socket that never connected a queue.
    Stranger,
    /// A queue was connected.
    Connect,
    /// Connect was refused.
    Refuse,
    /// A connected queue has ended.
    Disconnect,
    /// A host has not been heard of.
    KeepAlive,
    /// A controller was enabled, reset or shut down.
    Reset,
    /// Namespaces were formatted.
    Format,
    /// A command failed through the medium or through us.
    Fault,
    /// The medium failed.
    Medium,
    /// A command took long.
    Slow,
    /// A host waits for a limit.
    Limit,
    /// An authentication failed.
    Authentication,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Stranger,
        Self::Connect,
        Self::Refuse,
        Self::Disconnect,
        Self::KeepAlive,
        Self::Reset,
        Self::Format,
        Self::Fault,
        Self::Medium,
        Self::Slow,
        Self::Limit,
        Self::Authentication,
    ];

    /// As summaries name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stranger => "sockets that connected no queue",
            Self::Connect => "connected queues",
            Self::Refuse => "refused hosts",
            Self::Disconnect => "ended connections",
            Self::KeepAlive => "hosts not heard of",
            Self::Reset => "controllers enabled, reset or shut down",
            Self::Format => "formatted namespaces",
            Self::Fault => "faults",
            Self::Medium => "failures of the medium",
            Self::Slow => "slow commands",
            Self::Limit => "hosts at their limits",
            Self::Authentication => "failed authentications",
        }
    }
}

/// Tells of an event unless nobody listens or its kind has had its lines: `told!(limits, WARN, Refuse, fields, "what")`.
macro_rules! told {
    ($limits:expr, $level:ident, $kind:ident, $($what:tt)+) => {
        if tracing::enabled!(tracing::Level::$level) && $limits.admit($crate::logs::Kind::$kind) {
            tracing::event!(tracing::Level::$level, $($what)+);
        }
    };
}
pub(crate) use told;

/// Characters of a stranger's name that are shown.
const SHOWN_MAX: usize = 120;

/// A name that somebody else has chosen: escaped, and cut where it is long.
pub(crate) fn shown(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name.chars();
    for c in rest.by_ref().take(SHOWN_MAX) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", c.escape_default());
    }
    if rest.next().is_some() {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_strangers_are_one_short_line_of_plain_text() {
        assert_eq!(shown("nqn.2014-08.org.example:a"), "nqn.2014-08.org.example:a");
        assert_eq!(shown("a\n\u{1b}[31m\"b\\\u{202e}"), "a\\n\\u{1b}[31m\\\"b\\\\\\u{202e}");
        let long = shown(&"\u{10ffff}".repeat(10_000));
        assert!(long.ends_with("...") && long.len() <= 10 * SHOWN_MAX + 3 && long.is_ascii(), "{long}");
    }

    #[test]
    fn every_kind_has_a_place_and_a_name_of_its_own() {
        for (n, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, n);
            assert!(Kind::ALL.iter().all(|other| *other == kind || other.name() != kind.name()));
        }
    }
}
