// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Does a device do what the NVM Express Key Value Command Set Specification says? A verdict for each clause.
//!
//! The suite talks to a [`Subject`] in queue entries, so that it sees what an application would not: any device of
//! [`saker`]'s URLs is one, of ours, behind Linux, or at another target. Clauses cite the Key Value Command Set
//! Specification 1.0d ("KV") and the Base Specification 2.0 ("Base"). Where these leave a choice, the verdict is
//! [`Verdict::Open`] and tells what the device chose.
//!
//! The suite stores and deletes pairs under keys that it has found to be free, and leaves others alone.
//!
//! | module | clauses about |
//! |---|---|
//! | `clauses::identify` | what the device says of itself |
//! | `clauses::values` | Store and Retrieve, sizes, options |
//! | `clauses::keys` | lengths of keys |
//! | `clauses::removal` | Exist, Delete, EDNEK |
//! | `clauses::listing` | List |
//! | `clauses::malformed` | commands that make no sense, reserved fields |
//! | `clauses::order` | several commands in flight |
#![forbid(unsafe_code)]

mod clauses;
mod opened;
mod report;
mod session;
mod subject;
mod verdict;

pub use opened::OpenedSubject;
pub use report::{Finding, Report};
pub use subject::{Answer, Broken, Data, Subject};
pub use verdict::Verdict;

/// Runs every clause. `heard` is told each finding as it comes.
///
/// # Errors
/// [`Broken`] if the device stops answering: clauses that were not reached are not in any report then.
pub fn run(subject: &mut dyn Subject, mut heard: impl FnMut(&Finding)) -> Result<Report, Broken> {
    let mut session = session::Session::begin(subject)?;
    let mut findings = Vec::new();
    for clause in clauses::ALL {
        let verdict = (clause.check)(&mut session)?;
        let finding = Finding::new(clause, verdict);
        heard(&finding);
        findings.push(finding);
    }
    session.end()?;
    Ok(Report { findings })
}
