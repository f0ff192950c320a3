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

/// How a command is answered, or a part of it.
#[derive(Clone, Copy, Debug)]
struct Said {
    answer: Answer,
    /// Where the command begins in the bytes of the connection.
    start: usize,
    /// The operation that it is answered by.
    entry: usize,
}

/// What is to be carried out together. `'i` is that of the bytes of the connection.
pub(crate) struct Run<'i> {
    entries: Vec<Entry<'i>>,
    said: Vec<Said>,
    several: Several,
    /// Where the first command begins whose answer the connection cannot take now.
    go_back: Option<usize>,
}

impl<'i> Run<'i> {
    pub fn new() -> Self {
        Self { entries: Vec::new(), said: Vec::new(), several: Several::default(), go_back: None }
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
        (answer, start): (Answer, usize),
        store: &mut Store,
        replies: &mut Replies,
    ) {
        let is_full = self.said.len() >= if entry.op == Op::Retrieve { store.reads_max() } else { RUN_MAX };
        let is_other = self
            .entries
            .first()
            .is_some_and(|first| (first.op == Op::Retrieve) != (entry.op == Op::Retrieve));
        let place = if entry.op == Op::Retrieve { None } else { store.written.get(entry.key) };
        if let (false, Some(place)) = (is_full || is_other, place)
            && self.replace(place, &entry)
        {
            return self.said.push(Said { answer, start, entry: place });
        }
        if is_full || is_other || place.is_some() {
            self.carry_out(store, replies);
        }
        if entry.op != Op::Retrieve {
            store.written.put(entry.key, self.entries.len());
        }
        self.said.push(Said { answer, start, entry: self.entries.len() });
        self.entries.push(entry);
    }

    /// A store takes the place of one of the same key: nobody could have seen the value before.
    fn replace(&mut self, place: usize, new: &Entry<'i>) -> bool {
        let old = self.entries.get_mut(place);
        let old = old.filter(|old| old.op == Op::Store && new.op == Op::Store && old.key == new.key);
        old.map(|old| old.value = new.value).is_some()
    }

    /// Carries out what has gathered.
    pub fn carry_out(&mut self, store: &mut Store, replies: &mut Replies) {
        if !self.entries.is_empty() && self.go_back.is_none() {
            self.carry_out_now(store, replies);
        }
        // What comes behind reads that are put off is put off too.
        self.entries.clear();
        self.said.clear();
        store.written.clear();
    }

    fn carry_out_now(&mut self, store: &mut Store, replies: &mut Replies) {
        let Self { entries, said, several, go_back, .. } = self;
        let before = replies.len();
        let mut teller =
            Teller { said, failed: Vec::new(), entry: 0, told: 0, answered: 0, several, go_back, replies };
        if let Err(error) = store.carry_out(entries, &mut |outcome| teller.tell(outcome.as_ref().copied())) {
            (teller.entry..entries.len()).for_each(|_| teller.tell(Err(&error)));
        }
        let answered = teller.answered;
        if entries.first().is_some_and(|first| first.op == Op::Retrieve) {
            store.has_read(answered, replies.len().saturating_sub(before));
        }
    }
}

type Outcome<'o> = Result<Option<&'o [u8]>, &'o HostError>;

/// Writes answers as operations end.
struct Teller<'r> {
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

impl Teller<'_> {
    /// The next operation has ended so.
    #[inline]
    fn tell(&mut self, outcome: Outcome<'_>) {
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

/// Which keys a run writes and where, as far as a hash tells: that one is taken for another only ends a run early.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The run in which a place was taken last, and the number of the operation.
    taken: Vec<(u32, u32)>,
    run: u32,
}

/// A run takes a sixteenth of the places at most.
const PLACES: usize = 16 * RUN_MAX;

impl Default for Keys {
    fn default() -> Self {
        Self { taken: vec![(0, 0); PLACES], run: 1 }
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

    fn put(&mut self, key: &[u8], operation: usize) {
        self.taken[Self::place(key)] = (self.run, operation as u32);
    }

    /// The operation of this key, or of another one with its hash.
    fn get(&self, key: &[u8]) -> Option<usize> {
        let (run, operation) = self.taken[Self::place(key)];
        (run == self.run).then_some(operation as usize)
    }

    fn clear(&mut self) {
        self.run = self.run.wrapping_add(1).max(1);
        if self.run == 1 {
            self.taken.fill((0, 0));
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
