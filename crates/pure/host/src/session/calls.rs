// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that somebody waits for by name: reads, mostly. Whoever takes the completion leaves the answer here.

use saker_nvme::Status;

use super::wire::Answer;
use crate::error::HostError;

/// A command that was submitted for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallId(u32);

/// How a call ended.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: Status,
    /// DW0.
    pub dw0: u32,
    /// DW1.
    pub dw1: u32,
    /// What the device wrote.
    pub data: Vec<u8>,
}

#[derive(Debug)]
enum Call {
    Free,
    Waiting,
    /// Nobody waits any more.
    Abandoned,
    Done(Reply),
    Broken(HostError),
}

/// The calls of a lane.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Buffers of earlier answers.
    spare: Vec<Vec<u8>>,
}

impl Calls {
    pub fn begin(&mut self) -> CallId {
        let free = self.calls.iter().position(|call| matches!(call, Call::Free));
        let n = free.unwrap_or_else(|| {
            self.calls.push(Call::Free);
            self.calls.len() - 1
        });
        self.calls[n] = Call::Waiting;
        CallId(n as u32)
    }

    pub fn answered(&mut self, id: CallId, answer: &Answer<'_>) {
        let call = &mut self.calls[id.0 as usize];
        if matches!(call, Call::Abandoned) {
            *call = Call::Free;
            return;
        }
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        data.extend_from_slice(answer.data);
        *call = Call::Done(Reply { status: answer.status, dw0: answer.dw0, dw1: answer.dw1, data });
    }

    /// Shows the answer, if it is there, and forgets it.
    pub fn take<R>(&mut self, id: CallId, read: impl FnOnce(&Reply) -> R) -> Option<Result<R, HostError>> {
        let call = &mut self.calls[id.0 as usize];
        match std::mem::replace(call, Call::Free) {
            Call::Done(reply) => {
                let answer = read(&reply);
                self.spare.push(reply.data);
                Some(Ok(answer))
            }
            Call::Broken(error) => Some(Err(error)),
            other => {
                *call = other;
                None
            }
        }
    }

    /// Nobody will ask for the answer.
    pub fn abandon(&mut self, id: CallId) {
        let call = &mut self.calls[id.0 as usize];
        *call = if matches!(call, Call::Waiting) { Call::Abandoned } else { Call::Free };
    }

    /// There will be no answers.
    pub fn break_down(&mut self, error: &HostError) {
        for call in &mut self.calls {
            match call {
                Call::Waiting => *call = Call::Broken(error.clone()),
                Call::Abandoned => *call = Call::Free,
                Call::Free | Call::Done(_) | Call::Broken(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(data: &[u8]) -> Answer<'_> {
        Answer { slot: 0, status: Status::SUCCESS, dw0: data.len() as u32, dw1: 0, data }
    }

    #[test]
    fn answers_wait_for_those_who_asked() {
        let mut calls = Calls::default();
        let (a, b) = (calls.begin(), calls.begin());
        calls.answered(b, &answer(b"two"));
        assert!(calls.take(a, |_| ()).is_none());
        assert_eq!(calls.take(b, |r| r.data.clone()), Some(Ok(b"two".to_vec())));
        assert_eq!(calls.begin(), b, "its place is free again");
    }

    #[test]
    fn an_abandoned_call_gives_its_place_back_when_its_answer_comes() {
        let mut calls = Calls::default();
        let a = calls.begin();
        calls.abandon(a);
        assert_ne!(calls.begin(), a, "its command is still out");
        calls.answered(a, &answer(b""));
        assert_eq!(calls.begin(), a);
    }

    #[test]
    fn a_broken_lane_answers_everybody() {
        let mut calls = Calls::default();
        let a = calls.begin();
        let error = HostError::Timeout { turns: 1 };
        calls.break_down(&error);
        assert_eq!(calls.take(a, |_| ()), Some(Err(error)));
    }
}
