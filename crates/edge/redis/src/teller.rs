// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Answers of the operations of a run, in the order of their commands.

use saker_host::{HostError, KvError};
use saker_resp::Replies;

use crate::errors;
use crate::pace::{ANSWER_BYTES_MAX, REPLIES_MAX};

/// What an operation is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// `OK`.
    Stored,
    /// The value.
    Value,
    /// One of several keys that are counted; the last has the answer.
    Counted { is_last: bool },
    /// One of several values of an array.
    Element { is_last: bool },
}

/// A command of several operations, under way.
#[derive(Debug, Default)]
pub(crate) struct Several {
    counted: i64,
    /// Where its answer begins.
    start: usize,
    failed: Option<HostError>,
}

impl Several {
    /// Its answer begins here.
    pub fn begin(replies: &Replies) -> Self {
        Self { start: replies.len(), ..Self::default() }
    }
}

/// How a command is answered, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub answer: Answer,
    /// Where the command begins in the bytes of the connection.
    pub start: usize,
    /// The operation that it is answered by.
    pub entry: usize,
}

/// How an operation has ended.
type Outcome<'o> = Result<Option<&'o [u8]>, &'o HostError>;

/// Writes answers as operations end.
pub(crate) struct Teller<'r> {
    said: &'r [Said],
    /// Operations that have failed, which later commands may be answered by.
    failed: Vec<(usize, HostError)>,
    /// The operation that ends next.
    entry: usize,
    /// Answers that were told, and those of them that the connection takes.
    told: usize,
    answered: usize,
    several: &'r mut Several,
    go_back: &'r mut Option<usize>,
    replies: &'r mut Replies,
}

impl<'r> Teller<'r> {
    /// For the answers of a run.
    pub fn new(
        said: &'r [Said],
        several: &'r mut Several,
        go_back: &'r mut Option<usize>,
        replies: &'r mut Replies,
    ) -> Self {
        Self { said, failed: Vec::new(), entry: 0, told: 0, answered: 0, several, go_back, replies }
    }

    /// Operations that have ended.
    pub fn ended(&self) -> usize {
        self.entry
    }

    /// Answers that the connection takes.
    pub fn answered(&self) -> usize {
        self.answered
    }

    /// The next operation has ended so.
    #[inline]
    pub fn tell(&mut self, outcome: Outcome<'_>) {
        let ended = self.entry;
        self.entry += 1;
        if let Err(error) = outcome {
            self.failed.push((ended, error.clone()));
        }
        while let Some(said) = self.said.get(self.told).filter(|said| said.entry <= ended) {
            self.told += 1;
            if said.entry == ended {
                say(*said, outcome, self.several, self.go_back, self.replies);
            } else {
                let earlier = self.failed.iter().find(|(entry, _)| *entry == said.entry);
                let outcome = earlier.map_or(Ok(None), |(_, error)| Err(error));
                say(*said, outcome, self.several, self.go_back, self.replies);
            }
            self.answered += usize::from(self.go_back.is_none());
        }
    }
}

/// Writes what became of an operation.
#[inline]
fn say(
    said: Said,
    outcome: Outcome<'_>,
    several: &mut Several,
    go_back: &mut Option<usize>,
    replies: &mut Replies,
) {
    match (said.answer, outcome) {
        _ if go_back.is_some() => {}
        (Answer::Value, _) if replies.len() > REPLIES_MAX => *go_back = Some(said.start),
        (Answer::Value, Ok(Some(value))) => replies.bulk(value),
        (Answer::Stored, Ok(_)) => replies.ok(),
        (Answer::Value, Ok(None) | Err(HostError::Kv(KvError::NotFound))) => replies.null(),
        (Answer::Stored | Answer::Value, Err(error)) => errors::write(error, replies),
        (Answer::Counted { is_last }, outcome) => several.count(outcome, is_last, replies),
        (Answer::Element { is_last }, outcome) => several.element(outcome, is_last, replies),
    }
}

impl Several {
    fn count(&mut self, outcome: Outcome<'_>, is_last: bool, replies: &mut Replies) {
        match outcome {
            Ok(_) => self.counted += 1,
            Err(HostError::Kv(KvError::NotFound)) => {}
            Err(error) => self.fail(error.clone()),
        }
        if is_last {
            match self.failed.take() {
                Some(error) => errors::write(&error, replies),
                None => replies.integer(self.counted),
            }
        }
    }

    fn element(&mut self, outcome: Outcome<'_>, is_last: bool, replies: &mut Replies) {
        match outcome {
            Ok(Some(value)) if self.failed.is_none() => {
                let bytes = replies.len() - self.start + value.len();
                if bytes > ANSWER_BYTES_MAX {
                    self.fail(HostError::ValueLength { bytes, bytes_max: ANSWER_BYTES_MAX });
                } else {
                    replies.bulk(value);
                }
            }
            Ok(_) | Err(HostError::Kv(KvError::NotFound)) => replies.null(),
            Err(error) => self.fail(error.clone()),
        }
        if is_last && let Some(error) = self.failed.take() {
            replies.truncate(self.start);
            errors::write(&error, replies);
        }
    }

    fn fail(&mut self, error: HostError) {
        self.failed.get_or_insert(error);
    }
}
