// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations that become one group.
//!
//! A group carries out its operations as if they came one behind the other, as long as no key that it writes is named twice. So a run
//! ends before such a command. Reads and writes do not share a run: what a connection cannot take of the answers of reads is read again later.

use saker_host::Entry;
use saker_host::group::Op;
use saker_resp::Replies;

use crate::pace::RUN_MAX;
use crate::store::Store;
use crate::teller::{Answer, Said, Several, Teller};

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
        self.several = Several::begin(replies);
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
        let mut teller = Teller::new(said, several, go_back, replies);
        if let Err(error) = store.carry_out(entries, &mut |outcome| teller.tell(outcome.as_ref().copied())) {
            (teller.ended()..entries.len()).for_each(|_| teller.tell(Err(&error)));
        }
        let answered = teller.answered();
        if entries.first().is_some_and(|first| first.op == Op::Retrieve) {
            store.has_read(answered, replies.len().saturating_sub(before));
        }
    }
}
