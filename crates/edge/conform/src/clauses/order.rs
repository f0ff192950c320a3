// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several commands in flight.

use crate::session::{Checked, Session, demand, value};
use crate::verdict::Verdict;

/// Commands at once.
const AT_ONCE: u64 = 32;

/// A value in which every 8 bytes tell which one it is.
fn version(n: u64) -> Vec<u8> {
    n.to_le_bytes().repeat(1000)
}

pub(super) fn atomic(session: &mut Session<'_>) -> Checked {
    let key = session.key()?;
    session.store(&key, &version(0), 0)?;
    for round in 0..8 {
        let mut commands = Vec::new();
        for n in 1..=AT_ONCE {
            commands.push(session.store_command(&key, &version(round * AT_ONCE + n), 0));
            commands.push(session.retrieve_command(&key, 8000));
        }
        let answers = session.all(commands)?;
        demand!(answers.len() == 2 * AT_ONCE as usize, "{} answers", answers.len());
        for pair in answers.chunks(2) {
            let [stored, read] = pair else { continue };
            demand!(stored.status.is_success(), "Store: {}", stored.status);
            demand!(read.status.is_success() && read.dw0 == 8000, "Retrieve: {}", read.status);
            let is_whole = read.data.chunks(8).all(|word| word == &read.data[..8]);
            demand!(is_whole, "a Retrieve saw parts of two values");
        }
    }
    session.delete(&key)?;
    Ok(Verdict::Pass)
}

pub(super) fn many(session: &mut Session<'_>) -> Checked {
    let mut keys = Vec::new();
    for n in 0..100 {
        let key = session.key()?;
        let (sqe, data) = session.store_command(&key, &value(n, 100 + n as usize * 41), 0);
        keys.push((key, n, sqe, data));
    }
    let stores = keys.iter().map(|(.., sqe, data)| (*sqe, data.clone())).collect();
    for answer in session.all(stores)? {
        demand!(answer.status.is_success(), "Store: {}", answer.status);
    }
    let reads = keys.iter().map(|(key, ..)| session.retrieve_command(key, 5000)).collect();
    for (answer, (_, n, ..)) in session.all(reads)?.into_iter().zip(&keys) {
        let expected = value(*n, 100 + *n as usize * 41);
        demand!(answer.status.is_success(), "Retrieve: {}", answer.status);
        demand!(answer.data.starts_with(&expected), "a Retrieve has another's value");
    }
    for (key, ..) in &keys {
        session.delete(key)?;
    }
    Ok(Verdict::Pass)
}
