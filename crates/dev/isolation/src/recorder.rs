// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What clients asked for, and what came of it.

use adya::check::{Opts, Valid, Workload};
use adya::history::{History, Id, Interner, Mop, Op, OpType, ReadValue, Scalar};
use std::time::Duration;

use crate::attempt::Attempt;
use crate::plan::{Plan, Step};

/// Longest search for a cycle. A search that is given up counts as a failure, so this only has to be long.
const SEARCH: Duration = Duration::from_secs(60);

/// Writes a history down. Calls come in the order of real time: [`invoke`](Self::invoke) before a transaction does anything, its end
/// behind all that it did.
#[derive(Debug, Default)]
pub struct Recorder {
    ops: Vec<Op>,
    interner: Interner,
    /// The process that each client is: another one after each transaction whose outcome is not known.
    processes: Vec<i64>,
    next_process: i64,
    committed: u64,
    unknown: u64,
}

impl Recorder {
    /// For so many clients.
    pub fn new(clients: usize) -> Self {
        let processes: Vec<i64> = (0..).take(clients).collect();
        let next_process = processes.len() as i64;
        Self { processes, next_process, ..Self::default() }
    }

    /// Transactions that were carried out.
    pub const fn committed(&self) -> u64 {
        self.committed
    }

    /// Transactions without an answer.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    fn id(&mut self, number: u64) -> Id {
        self.interner.intern(Scalar::Int(number as i64))
    }

    fn push(&mut self, client: usize, kind: OpType, plan: &Plan, reads: Option<&[Vec<u64>]>) {
        let mut reads = reads.map(<[Vec<u64>]>::iter);
        let mut value = Vec::new();
        for step in &plan.0 {
            value.push(match *step {
                Step::Append(key, element) => Mop::Append { key: self.id(key), value: self.id(element) },
                Step::Read(key) => {
                    let list = reads.as_mut().map(|reads| reads.next().expect("a list for each read"));
                    let value = list.map_or(ReadValue::Nil, |list| {
                        ReadValue::List(list.iter().map(|element| self.id(*element)).collect())
                    });
                    Mop::Read { key: self.id(key), value }
                }
            });
        }
        let (index, process) = (self.ops.len() as u64, Some(self.processes[client]));
        self.ops.push(Op { index, kind, process, value, time: None });
    }

    /// A client begins a transaction.
    pub fn invoke(&mut self, client: usize, plan: &Plan) {
        self.push(client, OpType::Invoke, plan, None);
    }

    /// The client was told that its transaction was carried out.
    pub fn commit(&mut self, client: usize, attempt: &Attempt) {
        self.commit_with(client, attempt.plan(), attempt.reads());
    }

    /// The same with what its reads returned.
    pub fn commit_with(&mut self, client: usize, plan: &Plan, reads: &[Vec<u64>]) {
        self.committed += 1;
        self.push(client, OpType::Ok, plan, Some(reads));
    }

    /// The client was told that nothing was done.
    pub fn refuse(&mut self, client: usize, plan: &Plan) {
        self.push(client, OpType::Fail, plan, None);
    }

    /// The client was told nothing: all was done or nothing, at any time from the begin on.
    pub fn lose(&mut self, client: usize, plan: &Plan) {
        self.unknown += 1;
        self.push(client, OpType::Info, plan, None);
        self.processes[client] = self.next_process;
        self.next_process += 1;
    }

    /// What forbids that the history is strictly serializable: nothing, or a sentence for each anomaly that begins with its name.
    pub fn anomalies(self) -> Vec<String> {
        let history = History::from_ops(self.ops, self.interner);
        let report =
            adya::check(&history, Workload::ListAppend, &Opts { timeout: SEARCH, ..Opts::default() });
        let told = report.anomalies.values().flatten();
        let mut told: Vec<String> = told.map(|a| format!("{}: {}", a.kind, a.explanation)).collect();
        if told.is_empty() && report.valid != Valid::True {
            told.push(format!("unknown: {:?}", report.anomaly_types));
        }
        told
    }
}
