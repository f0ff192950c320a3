// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups for engines that have no records of many pairs: one command, carried out by single operations. The payload is
//! checked as a whole before anything is done, each member is then applied or not as it is answered, and members that need
//! pages ask for them together.

use crate::answer::Version;
use crate::context::Context;
use crate::engine::Engine;
use crate::groups::{Answers, GroupError, GroupOp, GroupSource, Member};
use crate::kv::{Condition, KvError, Sink, SourceError};
use saker_segment_store::{Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};
use std::collections::{BTreeMap, VecDeque};

/// Longest payload of such a group, in bytes.
pub const SINGLY_BYTES_MAX: u32 = 1 << 20;

/// Members that may wait for pages together. Values found behind the first of them are held so long.
const WINDOW: usize = 64;

/// Bytes of a member that asks for a value by a key of the usual length; and for how many of them there is room beforehand at most.
const USUAL_BYTES: usize = 16;
const USUAL_MAX: usize = 4096;

/// A value that was found, as far as there is room for it.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its whole length in bytes.
    pub length: u32,
}

impl Sink for Value {
    fn room(&self) -> u32 {
        u32::MAX
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), SourceError> {
        Sink::write(&mut self.bytes, offset, bytes)
    }
}

/// A member as its operation sees it.
#[derive(Clone, Copy, Debug)]
pub struct Single<'p> {
    /// What it asks for.
    pub op: GroupOp,
    /// Its key.
    pub key: &'p [u8],
    /// The value of a store.
    pub value: &'p [u8],
}

impl Single<'_> {
    /// Carries it out by the engine's own operation.
    pub fn execute<E: Engine, M: SegmentStore, W: Meter>(
        &self,
        found: &mut Value,
        engine: &mut E,
        cx: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        match self.op {
            GroupOp::Store => {
                let put = engine.store(self.key, &mut &*self.value, Condition::Always, cx);
                put.map(|put| put.and_then(|put| put.wait(engine).map(|_| ())))
            }
            GroupOp::Delete => engine.delete(self.key, cx).map(|deleted| deleted.map(|_| ())),
            GroupOp::Exist => engine.exists(self.key, cx),
            GroupOp::Retrieve => {
                found.bytes.clear();
                let step = engine.retrieve(self.key, found, cx);
                step.map(|length| length.map(|length| found.length = length))
            }
        }
    }
}

type Ended = (Result<(), KvError>, Value);

/// How far a group is. Keep it, the payload and the answers between calls.
#[derive(Clone, Debug, Default)]
pub struct Singly {
    members: Vec<Member>,
    /// Whether the answers know how many there are.
    has_begun: bool,
    /// Members that were answered.
    answered: usize,
    /// The members behind them, as far as they were looked at, from one that waits on.
    window: VecDeque<Option<Ended>>,
    /// A value that is answered at once: the memory of the one before it.
    spare: Value,
    /// What is blocked does not go on, for that reason.
    given_up: Option<KvError>,
}

impl Singly {
    /// Checks a payload. Nothing is done yet.
    ///
    /// # Errors
    /// [`GroupError`] for a payload that is none, or that writes a key that appears again.
    pub fn new<G: GroupSource, W: Meter>(
        source: &G,
        payload: &[u8],
        w: &mut W,
    ) -> Result<Self, GroupError<G::Malformed>> {
        if source.bytes() > SINGLY_BYTES_MAX {
            return Err(GroupError::TooLong);
        }
        let mut members = Vec::with_capacity((payload.len() / USUAL_BYTES).min(USUAL_MAX));
        source.parse(payload, &mut |member| members.push(member)).map_err(GroupError::Malformed)?;
        if let Some(at) = duplicate(payload, &members) {
            return Err(GroupError::Duplicate(at));
        }
        w.work(Unit::Decode, members.len() as u64);
        w.work(Unit::CopyByte, if source.is_copied_by_core() { payload.len() as u64 } else { 0 });
        Ok(Self { members, ..Self::default() })
    }

    /// From now on what is blocked is refused for that reason. What was done is still answered as it was.
    pub fn give_up(&mut self, why: KvError) {
        self.given_up = Some(why);
    }

    /// Goes on, with `each` for the operations. `Need` and `Blocked` leave what was done so far; answers are given in order, as
    /// soon as they can be.
    pub fn step<A: Answers>(
        &mut self,
        payload: &[u8],
        answers: &mut A,
        mut each: impl FnMut(Single<'_>, &mut Value) -> Step<Result<(), KvError>>,
    ) -> Step<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            // Each of its writes has a version of its own.
            answers.begin(self.members.len() as u32, Version::NONE);
        }
        while self.answered < self.members.len() {
            match self.pass(payload, answers, &mut each) {
                Step::Done(()) => {}
                other => return other,
            }
        }
        Step::Done(())
    }

    /// Looks at everything in the window that has not ended. What is first is answered at once, and what has waited behind it.
    fn pass<A: Answers>(
        &mut self,
        payload: &[u8],
        answers: &mut A,
        each: &mut impl FnMut(Single<'_>, &mut Value) -> Step<Result<(), KvError>>,
    ) -> Step<()> {
        let mut absent = Reads::new();
        let end = self.members.len().min(self.answered + WINDOW);
        let mut n = self.answered;
        while let Some(member) = self.members.get(n).filter(|_| n < end) {
            let place = n - self.answered;
            if self.window.get(place).is_some_and(Option::is_some) {
                n += 1;
                continue;
            }
            let mut found = if place == 0 { std::mem::take(&mut self.spare) } else { Value::default() };
            found.bytes.clear();
            let result = match (each(single(payload, member), &mut found), self.given_up) {
                (Step::Done(result), _) => Some(result),
                (Step::Need(reads), _) => {
                    absent.extend(reads);
                    None
                }
                (Step::Blocked(_), Some(why)) => Some(Err(why)),
                // What the others need can be brought meanwhile.
                (Step::Blocked(_), None) if !absent.is_empty() => break,
                (Step::Blocked(stall), None) => return Step::Blocked(stall),
            };
            match result {
                Some(result) if place == 0 => {
                    self.window.pop_front();
                    self.answer(answers, result, &found);
                    self.spare = found;
                    while let Some((result, found)) = self.next_ended() {
                        self.answer(answers, result, &found);
                    }
                }
                result => {
                    let behind = self.window.len().max(place + 1);
                    self.window.resize_with(behind, || None);
                    self.window[place] = result.map(|result| (result, found));
                }
            }
            n = self.answered.max(n + 1);
        }
        absent.sort_unstable();
        absent.dedup();
        if absent.is_empty() { Step::Done(()) } else { Step::Need(absent) }
    }

    /// The member that is to be answered next, if it has ended already.
    fn next_ended(&mut self) -> Option<Ended> {
        let ended = self.window.front_mut()?.take()?;
        self.window.pop_front();
        Some(ended)
    }

    fn answer<A: Answers>(&mut self, answers: &mut A, result: Result<(), KvError>, found: &Value) {
        let is_read = self.members[self.answered].op == GroupOp::Retrieve;
        match result {
            Ok(()) if is_read => {
                if answers.found(found.length) {
                    answers.value(&found.bytes);
                }
            }
            result => answers.done(result),
        }
        self.answered += 1;
    }
}

fn single<'p>(payload: &'p [u8], member: &Member) -> Single<'p> {
    let part = |r: &std::ops::Range<u32>| &payload[r.start as usize..r.end as usize];
    Single { op: member.op, key: part(&member.key), value: part(&member.value) }
}

/// Where the second of two members with one key has its key's length, if one of them writes.
fn duplicate(payload: &[u8], members: &[Member]) -> Option<u32> {
    if members.iter().all(|member| !member.op.is_write()) {
        return None;
    }
    let mut seen: BTreeMap<&[u8], bool> = BTreeMap::new();
    members.iter().find_map(|member| {
        let writes = member.op.is_write();
        let wrote = seen.insert(single(payload, member).key, writes);
        wrote.is_some_and(|wrote| wrote || writes).then_some(member.key.start - 4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::{PageAddr, Stall};
    use saker_sim::Free;

    /// Stores of one-byte keys, each as a member of 8 bytes behind a count.
    struct Keys(Vec<u8>, Vec<GroupOp>);

    impl Keys {
        fn of(members: &[(GroupOp, u8)]) -> Self {
            let mut bytes = vec![0; 4];
            members.iter().for_each(|(_, key)| bytes.extend([1, 0, 0, 0, *key, 0, 0, 0]));
            Self(bytes, members.iter().map(|(op, _)| *op).collect())
        }
    }

    impl GroupSource for Keys {
        type Malformed = ();
        fn bytes(&self) -> u32 {
            self.0.len() as u32
        }
        fn lead_bytes(&self) -> u32 {
            0
        }
        fn only_writes(&self) -> bool {
            false
        }
        fn read(&mut self, out: &mut [u8]) -> Result<(), SourceError> {
            out.copy_from_slice(&self.0);
            Ok(())
        }
        fn staged(&mut self) -> Result<&[u8], SourceError> {
            Ok(&self.0)
        }
        fn parse(&self, _: &[u8], visit: &mut impl FnMut(Member)) -> Result<(), ()> {
            for (n, op) in (0..).zip(&self.1) {
                visit(Member { op: *op, key: 8 + n * 8..9 + n * 8, value: 0..0 });
            }
            Ok(())
        }
    }

    #[derive(Debug, Default, PartialEq)]
    struct Told(Vec<(bool, Vec<u8>)>);

    impl Answers for Told {
        fn begin(&mut self, members: u32, _: Version) {
            assert!(self.0.is_empty());
            self.0.reserve(members as usize);
        }
        fn done(&mut self, result: Result<(), KvError>) {
            self.0.push((result.is_ok(), Vec::new()));
        }
        fn found(&mut self, _: u32) -> bool {
            self.0.push((true, Vec::new()));
            true
        }
        fn value(&mut self, bytes: &[u8]) {
            self.0.last_mut().expect("found").1.extend(bytes);
        }
    }

    #[test]
    fn members_wait_for_pages_together_and_are_answered_in_order() {
        let keys = Keys::of(&[(GroupOp::Retrieve, 1), (GroupOp::Retrieve, 2), (GroupOp::Delete, 3)]);
        let mut group = Singly::new(&keys, &keys.0, &mut Free).expect("good");
        let (mut told, mut asked) = (Told::default(), Vec::new());
        let (mut resident, mut stalled) = (false, true);
        let mut step = |group: &mut Singly, told: &mut Told, resident: bool, stalled: bool| {
            group.step(&keys.0, told, |single, found| {
                let key = single.key[0];
                asked.push(key);
                match key {
                    3 if stalled => Step::Blocked(Stall::Debt),
                    3 => Step::Done(Ok(())),
                    key if resident => {
                        (found.bytes, found.length) = (vec![key], 1);
                        Step::Done(Ok(()))
                    }
                    key => Step::Need(vec![PageAddr(u64::from(key)), PageAddr(9)]),
                }
            })
        };
        let Step::Need(pages) = step(&mut group, &mut told, resident, stalled) else { panic!("absent") };
        assert_eq!(pages, [PageAddr(1), PageAddr(2), PageAddr(9)]);
        resident = true;
        assert!(matches!(step(&mut group, &mut told, resident, stalled), Step::Blocked(Stall::Debt)));
        assert_eq!(told.0.len(), 2, "what has ended is answered");
        stalled = false;
        assert!(matches!(step(&mut group, &mut told, resident, stalled), Step::Done(())));
        assert_eq!(asked, [1, 2, 3, 1, 2, 3, 3], "nothing is done twice");
        assert_eq!(told.0, [(true, vec![1]), (true, vec![2]), (true, vec![])]);
    }

    #[test]
    fn what_stays_blocked_is_refused_and_what_was_done_is_answered() {
        let keys = Keys::of(&[(GroupOp::Delete, 1), (GroupOp::Delete, 2), (GroupOp::Delete, 3)]);
        let mut group = Singly::new(&keys, &keys.0, &mut Free).expect("good");
        let mut told = Told::default();
        let each = |single: Single<'_>, _: &mut Value| match single.key[0] {
            2 => Step::Blocked(Stall::NoSegment),
            _ => Step::Done(Ok(())),
        };
        assert!(matches!(group.step(&keys.0, &mut told, each), Step::Blocked(Stall::NoSegment)));
        group.give_up(KvError::CapacityExceeded);
        assert!(matches!(group.step(&keys.0, &mut told, each), Step::Done(())));
        assert_eq!(told.0, [(true, vec![]), (false, vec![]), (true, vec![])]);
    }

    #[test]
    fn a_written_key_appears_once() {
        let refused = |members: &[(GroupOp, u8)]| {
            let keys = Keys::of(members);
            Singly::new(&keys, &keys.0, &mut Free).err()
        };
        let (read, write) = (GroupOp::Exist, GroupOp::Delete);
        assert_eq!(refused(&[(read, 1), (read, 1), (write, 2)]), None);
        assert_eq!(refused(&[(read, 1), (write, 2), (write, 1)]), Some(GroupError::Duplicate(20)));
        assert_eq!(refused(&[(write, 1), (read, 1)]), Some(GroupError::Duplicate(12)));
    }
}
