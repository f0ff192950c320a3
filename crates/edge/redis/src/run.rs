//! Operations that become one group.
//!
//! A group carries out its operations as if they came one behind the other, as long as no key that it writes is named twice. So a run
//! ends before such a command. Reads and writes do not share a run: what a connection cannot take of the answers of reads is read again later.

use saker_host::group::Op;
use saker_host::{Entry, HostError, KvError};
use saker_resp::Replies;

use crate::errors;
use crate::store::Store;

/// Operations of a group at most.
pub(crate) const RUN_MAX: usize = 256;
/// Values of at least this length go alone.
pub(crate) const GROUPED_BYTES_MAX: usize = 4096;
/// Bytes of answers that a run of reads aims at.
const READ_BYTES: usize = 256 << 10;
/// Bytes of unsent answers with which a connection stops being served until it has read.
pub(crate) const REPLIES_MAX: usize = 1 << 20;
/// Bytes of the answer of one command at most.
const ANSWER_BYTES_MAX: usize = 32 << 20;

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

/// What is to be carried out together. `'i` is that of the bytes of the connection.
pub(crate) struct Run<'i> {
    entries: Vec<Entry<'i>>,
    /// How each is answered, and where its command begins in the bytes.
    answers: Vec<(Answer, usize)>,
    several: Several,
    /// Where the first command begins whose answer the connection cannot take now.
    go_back: Option<usize>,
}

impl<'i> Run<'i> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), answers: Vec::new(), several: Several::default(), go_back: None }
    }

    /// Where to go on later, if the connection has to read first.
    pub fn go_back(&self) -> Option<usize> {
        self.go_back
    }

    /// A command of several operations begins. What has gathered before is carried out.
    pub fn begin_several(&mut self, store: &mut Store, replies: &mut Replies) {
        self.carry_out(store, replies);
        self.several = Several { start: replies.len(), ..Several::default() };
    }

    /// Adds an operation. What cannot stand beside it is carried out before.
    #[inline]
    pub fn add(
        &mut self,
        entry: Entry<'i>,
        answer: (Answer, usize),
        store: &mut Store,
        replies: &mut Replies,
    ) {
        if !self.fits(&entry, store) {
            self.carry_out(store, replies);
        }
        if entry.op != Op::Retrieve {
            store.written.add(entry.key);
        }
        self.entries.push(entry);
        self.answers.push(answer);
    }

    fn fits(&self, entry: &Entry<'i>, store: &Store) -> bool {
        let Some(first) = self.entries.first() else { return true };
        let reads = entry.op == Op::Retrieve;
        if reads != (first.op == Op::Retrieve) {
            return false;
        }
        let is_full = self.entries.len() >= if reads { store.reads_max() } else { RUN_MAX };
        !is_full && (reads || !store.written.has(entry.key))
    }

    /// Carries out what has gathered.
    pub fn carry_out(&mut self, store: &mut Store, replies: &mut Replies) {
        if self.entries.is_empty() {
            return;
        }
        let Self { entries, answers, several, go_back, .. } = self;
        let (mut told, mut answered) = (0, 0);
        let before = replies.len();
        let outcome = store.carry_out(entries, &mut |outcome| {
            let Some(answer) = answers.get(told) else { return };
            told += 1;
            say(*answer, outcome, several, go_back, replies);
            answered += usize::from(go_back.is_none());
        });
        if let Err(error) = outcome {
            answers
                .iter()
                .skip(told)
                .for_each(|answer| say(*answer, Err(error.clone()), several, go_back, replies));
        }
        if entries.first().is_some_and(|first| first.op == Op::Retrieve) {
            store.has_read(answered, replies.len().saturating_sub(before));
        }
        self.entries.clear();
        self.answers.clear();
        store.written.clear();
    }
}

/// Writes what became of an operation.
#[inline]
fn say(
    (answer, start): (Answer, usize),
    outcome: Result<Option<&[u8]>, HostError>,
    several: &mut Several,
    go_back: &mut Option<usize>,
    replies: &mut Replies,
) {
    match (answer, outcome) {
        _ if go_back.is_some() => {}
        (Answer::Value, _) if replies.len() > REPLIES_MAX => *go_back = Some(start),
        (Answer::Value, Ok(Some(value))) => replies.bulk(value),
        (Answer::Stored, Ok(_)) => replies.ok(),
        (Answer::Value, Err(HostError::Kv(KvError::NotFound))) => replies.null(),
        (Answer::Stored | Answer::Value, Err(error)) => errors::write(&error, replies),
        (Answer::Value, Ok(None)) => replies.null(),
        (Answer::Counted { is_last }, outcome) => several.count(outcome, is_last, replies),
        (Answer::Element { is_last }, outcome) => several.element(outcome, is_last, replies),
    }
}

impl Several {
    fn count(&mut self, outcome: Result<Option<&[u8]>, HostError>, is_last: bool, replies: &mut Replies) {
        match outcome {
            Ok(_) => self.counted += 1,
            Err(HostError::Kv(KvError::NotFound)) => {}
            Err(error) => self.fail(error),
        }
        if is_last {
            match self.failed.take() {
                Some(error) => errors::write(&error, replies),
                None => replies.integer(self.counted),
            }
        }
    }

    fn element(&mut self, outcome: Result<Option<&[u8]>, HostError>, is_last: bool, replies: &mut Replies) {
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
            Err(error) => self.fail(error),
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

/// Which keys are in a run, as far as a hash tells: that one is taken for another only ends a run early.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The run in which a place was taken last.
    taken: Vec<u32>,
    run: u32,
}

/// A run takes a sixteenth of the places at most.
const PLACES: usize = 16 * RUN_MAX;

impl Default for Keys {
    fn default() -> Self {
        Self { taken: vec![0; PLACES], run: 1 }
    }
}

impl Keys {
    fn place(key: &[u8]) -> usize {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for part in key.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 29;
        }
        (hash >> 40) as usize % PLACES
    }

    pub fn add(&mut self, key: &[u8]) {
        self.taken[Self::place(key)] = self.run;
    }

    pub fn has(&self, key: &[u8]) -> bool {
        self.taken[Self::place(key)] == self.run
    }

    pub fn clear(&mut self) {
        self.run = self.run.wrapping_add(1).max(1);
        if self.run == 1 {
            self.taken.fill(0);
        }
    }
}

/// How many values of that length a run of reads may have.
pub(crate) const fn reads_of(value_bytes: usize) -> usize {
    let reads = READ_BYTES / if value_bytes == 0 { 1 } else { value_bytes };
    if reads == 0 {
        1
    } else if reads > RUN_MAX {
        RUN_MAX
    } else {
        reads
    }
}
