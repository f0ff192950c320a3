// SPDX-License-Identifier: Apache-2.0 OR MIT
//! List.

use std::collections::BTreeMap;

use saker_nvme::Status;

use crate::session::{Checked, Session, demand};
use crate::subject::Broken;
use crate::verdict::Verdict;

/// Bytes of NRK.
const HEAD_BYTES: usize = 4;
/// Keys that these clauses store.
const OURS: usize = 50;
/// Pages of a device that never ends are too many.
const PAGES_MAX: usize = 100_000;

/// A List as it came: keys, and the offset at which each entry begins.
struct Listed {
    status: Status,
    entries: Vec<(usize, Vec<u8>)>,
    /// What is wrong with the layout.
    wrong: Option<String>,
}

impl Listed {
    fn keys(&self) -> Vec<Vec<u8>> {
        self.entries.iter().map(|(_, key)| key.clone()).collect()
    }
}

/// Takes the data apart, by the specification's figures alone.
fn parse(data: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, String> {
    let Some(count) = data.first_chunk::<HEAD_BYTES>() else { return Err("no NRK".into()) };
    let (mut entries, mut at) = (Vec::new(), HEAD_BYTES);
    for n in 0..u32::from_le_bytes(*count) {
        let length = data.get(at..at + 2).map(|kl| usize::from(kl[0]) | usize::from(kl[1]) << 8);
        let length = length.ok_or(format!("entry {n} lies behind the buffer"))?;
        if !(1..=16).contains(&length) {
            return Err(format!("entry {n} at byte {at} has a key length of {length}"));
        }
        let key = data.get(at + 2..at + 2 + length).ok_or(format!("the key of entry {n} is cut"))?;
        entries.push((at, key.to_vec()));
        at = (at + 2 + length).next_multiple_of(4);
    }
    Ok(entries)
}

fn list(session: &mut Session<'_>, from: &[u8], bytes: usize) -> Result<Listed, Broken> {
    let answer = session.list(from, bytes as u32)?;
    let (entries, wrong) = match parse(&answer.data) {
        Ok(entries) => (entries, None),
        Err(wrong) => (Vec::new(), Some(wrong)),
    };
    Ok(Listed { status: answer.status, entries, wrong })
}

/// Stores keys of all lengths.
fn fill(session: &mut Session<'_>) -> Result<Vec<Vec<u8>>, Broken> {
    let mut keys = Vec::new();
    for n in 0..OURS {
        if let Some(key) = session.free_key(n % session.key_bytes_max + 1)? {
            session.store(&key, b"listed", 0)?;
            keys.push(key);
        }
    }
    Ok(keys)
}

fn clear(session: &mut Session<'_>, keys: &[Vec<u8>]) -> Result<(), Broken> {
    keys.iter().try_for_each(|key| session.delete(key).map(drop))
}

/// Every key from `from` on, by paging as hosts do: again from the last key, which is dropped.
fn pages(
    session: &mut Session<'_>,
    from: &[u8],
    bytes: usize,
) -> Result<Result<Vec<Vec<u8>>, String>, Broken> {
    let (mut all, mut next): (Vec<Vec<u8>>, Vec<u8>) = (Vec::new(), from.to_vec());
    for _ in 0..PAGES_MAX {
        let page = list(session, &next, bytes)?;
        if let Some(wrong) = page.wrong {
            return Ok(Err(wrong));
        }
        if !page.status.is_success() {
            return Ok(Err(format!("List: {}", page.status)));
        }
        let mut keys = page.keys();
        if !all.is_empty() && keys.first() == Some(&next) {
            keys.remove(0);
        }
        let Some(last) = keys.last().cloned() else { return Ok(Ok(all)) };
        next = last;
        all.append(&mut keys);
    }
    Ok(Err(format!("{PAGES_MAX} pages and no end")))
}

/// Runs `check` with keys of ours on the device.
fn with_keys(
    session: &mut Session<'_>,
    check: impl FnOnce(&mut Session<'_>, &[Vec<u8>]) -> Checked,
) -> Checked {
    let keys = fill(session)?;
    let verdict = check(session, &keys)?;
    clear(session, &keys)?;
    Ok(verdict)
}

pub(super) fn all(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        for bytes in [200, 4096, 65_536] {
            let listed = match pages(session, &[], bytes)? {
                Ok(listed) => listed,
                Err(wrong) => return Ok(Verdict::Fail(format!("buffers of {bytes} bytes: {wrong}"))),
            };
            let mut seen: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
            listed.into_iter().for_each(|key| *seen.entry(key).or_default() += 1);
            let twice = seen.values().filter(|times| **times > 1).count();
            demand!(twice == 0, "buffers of {bytes} bytes: {twice} keys come twice");
            let absent = keys.iter().filter(|key| !seen.contains_key(*key)).count();
            demand!(absent == 0, "buffers of {bytes} bytes: {absent} of {} keys are not named", keys.len());
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn start(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        for key in keys {
            let page = list(session, key, 256)?;
            demand!(page.status.is_success(), "{}", page.status);
            demand!(
                page.keys().first() == Some(key),
                "a List from a key of {} bytes begins elsewhere",
                key.len()
            );
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn stable(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        let first = pages(session, &keys[0], 300)?;
        for bytes in [300, 4096] {
            demand!(pages(session, &keys[0], bytes)? == first, "another order with buffers of {bytes} bytes");
        }
        session.retrieve(&keys[keys.len() / 2], 64)?;
        demand!(pages(session, &keys[0], 4096)? == first, "another order after a Retrieve");
        Ok(Verdict::Pass)
    })
}

pub(super) fn missing_start(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, _| {
        for _ in 0..10 {
            let absent = session.key()?;
            let first = list(session, &absent, 1024)?;
            let again = list(session, &absent, 1024)?;
            demand!(first.status.is_success(), "{}", first.status);
            demand!(first.keys() == again.keys(), "two Lists from one key differ");
            demand!(!first.keys().contains(&absent), "a key that does not exist is listed");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn fits(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        let whole = list(session, &keys[0], 4096)?;
        let places: Vec<_> = whole.entries.iter().map(|(at, key)| (*at, key.len())).collect();
        for (n, (at, length)) in places.iter().copied().enumerate() {
            // The specification does not say whether the padding of the last key must fit.
            let least = at + 2 + length;
            let padded = least.next_multiple_of(4);
            let with = list(session, &keys[0], padded)?;
            demand!(
                with.entries.len() == n + 1,
                "{} keys in {padded} bytes for {}",
                with.entries.len(),
                n + 1
            );
            let without = list(session, &keys[0], least - 1)?;
            demand!(without.wrong.is_none(), "a buffer of {} bytes: {:?}", least - 1, without.wrong);
            demand!(
                without.entries.len() == n,
                "{} keys in {} bytes for {n}",
                without.entries.len(),
                least - 1
            );
            demand!(without.keys()[..] == whole.keys()[..n], "a shorter buffer has other keys");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn aligned(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        let page = list(session, &keys[0], 4096)?;
        demand!(page.wrong.is_none(), "{}", page.wrong.unwrap_or_default());
        demand!(!page.entries.is_empty(), "nothing is listed");
        // Entries that were not aligned would give keys that nobody stored.
        for (at, key) in &page.entries {
            let status = session.exist(key)?;
            demand!(status.is_success(), "the entry at byte {at} names a key that does not exist: {status}");
        }
        Ok(Verdict::Pass)
    })
}

pub(super) fn changes(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, keys| {
        let (gone, new) = (keys[keys.len() / 2].clone(), session.key()?);
        session.delete(&gone)?;
        session.store(&new, b"new", 0)?;
        let listed = pages(session, &[], 4096)?;
        session.delete(&new)?;
        let listed = match listed {
            Ok(listed) => listed,
            Err(wrong) => return Ok(Verdict::Fail(wrong)),
        };
        demand!(!listed.contains(&gone), "a deleted key is listed");
        demand!(listed.contains(&new), "a stored key is not listed");
        Ok(Verdict::Pass)
    })
}

pub(super) fn end(session: &mut Session<'_>) -> Checked {
    with_keys(session, |session, _| {
        let last = match pages(session, &[], 65_536)? {
            Ok(keys) => keys.last().cloned().unwrap_or_default(),
            Err(wrong) => return Ok(Verdict::Fail(wrong)),
        };
        let page = list(session, &last, 4096)?;
        demand!(page.status.is_success(), "{}", page.status);
        demand!(page.keys().first() == Some(&last), "it does not begin with that key");
        let more = page.entries.len() - 1;
        Ok(Verdict::Open(if more == 0 {
            "ends with it".into()
        } else {
            format!("{more} keys follow: it wraps")
        }))
    })
}

pub(super) fn tiny(session: &mut Session<'_>) -> Checked {
    let words: Result<Vec<_>, Broken> = [0, 1, 3]
        .into_iter()
        .map(|bytes| session.list(&[], bytes).map(|answer| format!("{bytes}: {:02X}h", answer.status.sc())))
        .collect();
    Ok(Verdict::Open(words?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart() {
        let two = [2, 0, 0, 0, 3, 0, b'a', b'b', b'c', 0, 0, 0, 1, 0, b'z', 0, 99];
        assert_eq!(parse(&two), Ok(vec![(4, b"abc".to_vec()), (12, b"z".to_vec())]));
        assert_eq!(parse(&[0; 4]), Ok(vec![]));
    }

    #[test]
    fn lists_that_make_no_sense_are_told() {
        for (data, wrong) in [
            (&[1, 0, 0][..], "no NRK"),
            (&[1, 0, 0, 0], "entry 0 lies behind"),
            (&[1, 0, 0, 0, 17, 0, 1, 2], "a key length of 17"),
            (&[1, 0, 0, 0, 0, 0, 1, 2], "a key length of 0"),
            (&[1, 0, 0, 0, 4, 0, 1, 2], "is cut"),
            (&[2, 0, 0, 0, 1, 0, 1, 2], "entry 1 lies behind"),
        ] {
            assert!(parse(data).expect_err(wrong).contains(wrong));
        }
    }
}
