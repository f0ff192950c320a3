// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the device refuses, in Redis's words: its clients know the first word and act by it.

use saker_host::{HostError, KvError};
use saker_resp::Replies;

/// Writes an error as the answer of a command.
#[cold]
pub(crate) fn write(error: &HostError, replies: &mut Replies) {
    let error = cause(error);
    match code(error) {
        Some(code) => replies.error(format_args!("{code} {error}")),
        None => other(error, replies),
    }
}

/// What went wrong with one write of several.
fn cause(error: &HostError) -> &HostError {
    match error {
        HostError::Batch { error, .. } | HostError::Queued { error, .. } => cause(error),
        other => other,
    }
}

const fn code(error: &HostError) -> Option<&'static str> {
    let error = match error {
        HostError::Kv(error) => error,
        // Whether it took place is not known.
        HostError::Timeout { .. } => return Some("MASTERDOWN"),
        HostError::Conflict { .. } => return Some("TRYAGAIN"),
        _ => return None,
    };
    match error {
        KvError::Full => Some("OOM"),
        KvError::WriteProtected | KvError::Reserved => Some("READONLY"),
        KvError::WriteFault | KvError::NotReady => Some("MISCONF"),
        KvError::Formatting => Some("LOADING"),
        KvError::ManyIterators => Some("TRYAGAIN"),
        KvError::Unreachable | KvError::OutcomeUnknown | KvError::IteratorLost => Some("MASTERDOWN"),
        _ => None,
    }
}

fn other(error: &HostError, replies: &mut Replies) {
    match error {
        HostError::NoTransactions(why) => {
            replies.error(format_args!("ERR this command needs transactions: {why}"));
        }
        error => replies.error(format_args!("ERR {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_does_not_answer_and_a_conflict_have_words() {
        let conflict = HostError::Conflict { key: b"k".to_vec() };
        for (error, word) in [(HostError::Timeout { turns: 7 }, "-MASTERDOWN "), (conflict, "-TRYAGAIN ")] {
            let mut replies = Replies::default();
            write(&error, &mut replies);
            assert!(replies.bytes().starts_with(word.as_bytes()), "{error:?}");
        }
    }

    #[test]
    fn clients_find_the_words_they_know() {
        let words = [
            (KvError::Full, "-OOM "),
            (KvError::WriteProtected, "-READONLY "),
            (KvError::WriteFault, "-MISCONF "),
            (KvError::NotReady, "-MISCONF "),
            (KvError::Formatting, "-LOADING "),
            (KvError::Unreachable, "-MASTERDOWN "),
            (KvError::ManyIterators, "-TRYAGAIN "),
            (KvError::Damaged, "-ERR "),
        ];
        for (error, word) in words {
            let of_batch = HostError::Batch { key: b"k".to_vec(), error: Box::new(error.into()) };
            for error in [HostError::Kv(error), of_batch] {
                let mut replies = Replies::default();
                write(&error, &mut replies);
                assert!(replies.bytes().starts_with(word.as_bytes()), "{error:?}");
                assert!(replies.bytes().ends_with(b"\r\n"));
            }
        }
    }
}
