// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans over both trees, either way: each gives its records in the order of keys, and of two records of a key the newer one counts.
//!
//! The device ends a view when so much was written there since its last use: in a small tree that is soon. A user's snapshot is over then.
//! A scan of now begins again with a new view, and until it is over no write goes to the device, so that this happens seldom twice.

use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::planted::{self, Fault};
use crate::record::{EPOCH_KEY, Stamp};
use crate::store::flight::Flight;
use crate::store::views::View;
use crate::store::{Hybrid, charge, failure};
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op, Outcome, Work};
use saker_nvme::group::{PairList, pairs_of};
use saker_nvme::vendor_specific::NextAnswer;
use saker_nvme::{Key, Status};
use saker_sim::Unit;
use std::collections::VecDeque;

/// The least of all keys.
const LEAST: &[u8] = &[0];
/// The greatest of them.
const GREATEST: &[u8] = &[u8::MAX; Key::MAX_LEN];
/// Records that a tree is asked for at once, at most.
const RECORDS_MAX: u32 = 1024;

/// What a tree has shown and was not merged yet, and where it goes on.
#[derive(Debug)]
struct Side {
    records: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// `None`: it has no more.
    from: Option<Vec<u8>>,
    is_asked: bool,
    /// Records that it was asked for.
    count: u32,
}

/// What a scan is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Where it begins; empty: at the first key, or backwards at the last one.
    pub from: Vec<u8>,
    pub backwards: bool,
    /// Pairs at most.
    pub entries: u32,
    /// The user's snapshot it is of; otherwise its view is its own.
    pub snapshot: Option<u32>,
}

/// A scan on its way.
#[derive(Debug)]
pub(crate) struct Scanning {
    asked: Asked,
    view: View,
    is_opening: bool,
    /// The device has ended the view.
    is_view_over: bool,
    /// It has begun again, and no write goes to the device before it is over.
    keeps_device_shut: bool,
    main: Side,
    device: Side,
    buffer_bytes: u32,
    shown: PairList,
    failed: Option<KvError>,
}

impl Side {
    fn new(from: Option<Vec<u8>>) -> Self {
        Self { records: VecDeque::new(), from, is_asked: false, count: 0 }
    }

    /// Whether it has to be asked before it is known what comes next.
    fn is_needed(&self) -> bool {
        self.records.is_empty() && self.from.is_some()
    }

    fn head(&self) -> Option<&[u8]> {
        self.records.front().map(|(key, _)| key.as_slice())
    }

    fn take(&mut self, payload: &[u8]) {
        self.records
            .extend(pairs_of(payload).into_iter().map(|(key, record)| (key.to_vec(), record.to_vec())));
    }
}

/// The least of the keys behind one, if there are any.
pub(crate) fn behind(key: &[u8]) -> Option<Vec<u8>> {
    if key.len() < Key::MAX_LEN {
        return Some([key, LEAST].concat());
    }
    let most = key.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut next = key[..=most].to_vec();
    next[most] += 1;
    Some(next)
}

/// The greatest of the keys before one, if there are any.
pub(crate) fn before(key: &[u8]) -> Option<Vec<u8>> {
    let (last, rest) = key.split_last()?;
    if *last == 0 {
        return (!rest.is_empty()).then(|| rest.to_vec());
    }
    let mut before = [rest, &[*last - 1]].concat();
    before.resize(Key::MAX_LEN, u8::MAX);
    Some(before)
}

impl Asked {
    /// The next key of its way that may come when one has come.
    fn after(&self, key: &[u8]) -> Option<Vec<u8>> {
        if self.backwards { before(key) } else { behind(key) }
    }

    /// The key to begin at.
    fn first(&self) -> Vec<u8> {
        match (self.from.is_empty(), self.backwards) {
            (false, _) => self.from.clone(),
            (true, false) => LEAST.to_vec(),
            (true, true) => GREATEST.to_vec(),
        }
    }
}

impl Scanning {
    /// Shows what can be shown with what is here. False: a tree has to be asked.
    fn merge(&mut self) -> Result<bool, KvError> {
        while self.shown.len() < self.asked.entries {
            if self.main.is_needed() || self.device.is_needed() {
                return Ok(false);
            }
            let order = match (self.main.head(), self.device.head()) {
                (None, None) => return Ok(true),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(main), Some(device)) if self.asked.backwards && !planted::is(Fault::FallsAsItRises) => {
                    device.cmp(main)
                }
                (Some(main), Some(device)) => main.cmp(device),
            };
            let main = if order.is_le() { self.main.records.pop_front() } else { None };
            let device = if order.is_ge() { self.device.records.pop_front() } else { None };
            self.show(main, device)?;
        }
        Ok(true)
    }

    /// Shows the newer of two records of a key, unless it is a tombstone.
    fn show(
        &mut self,
        main: Option<(Vec<u8>, Vec<u8>)>,
        device: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<(), KvError> {
        let mut newest: Option<(Stamp, &[u8], &[u8])> = None;
        for (key, record) in main.iter().chain(&device) {
            if key.as_slice() == EPOCH_KEY {
                return Ok(());
            }
            let (stamp, value) = Stamp::split(record).ok_or(KvError::Corrupt)?;
            if newest.is_none_or(|(known, ..)| stamp.sequence > known.sequence) {
                newest = Some((stamp, key, value));
            }
        }
        if let Some((stamp, key, value)) = newest
            && !stamp.is_tombstone
        {
            self.shown.push(key, value);
        }
        Ok(())
    }
}

impl<M: MainTree> Hybrid<M> {
    pub(crate) fn begin_scan(&mut self, id: u64, asked: Asked, w: &mut Work<'_>) {
        if asked.from.len() > Key::MAX_LEN {
            return self.end(id, Err(KvError::KeySize));
        }
        self.scan_from(id, asked, false, w);
    }

    /// A scan begins, or begins again.
    pub(crate) fn scan_from(&mut self, id: u64, asked: Asked, is_again: bool, w: &mut Work<'_>) {
        if asked.snapshot.is_none() && self.puts_off_view(id, Some((&asked, is_again))) {
            return;
        }
        let (view, has_part) = match asked.snapshot {
            Some(number) => match self.views.share(number) {
                Some(view) => (view, view.device.is_some()),
                None => return self.end(id, Ok(Answer::NoSnapshot)),
            },
            None => match self.main_snapshot(id, w) {
                Ok(main) => (View { main, device: None }, self.has_device_part()),
                Err(why) => return self.end(id, Err(why)),
            },
        };
        let is_opening = has_part && asked.snapshot.is_none();
        self.views.opening += u32::from(is_opening);
        self.views.in_device += u32::from(is_opening);
        // As long as a view is being opened, no write goes to the device either.
        let keeps_device_shut = is_again && is_opening;
        self.views.opening += u32::from(keeps_device_shut);
        let first = asked.first();
        let scanning = Scanning {
            asked,
            view,
            is_opening,
            is_view_over: false,
            keeps_device_shut,
            main: Side::new(Some(first.clone())),
            device: Side::new(has_part.then_some(first)),
            buffer_bytes: self.options.buffer_bytes.min(64 << 10),
            shown: PairList::default(),
            failed: None,
        };
        self.go_on_scanning(id, Box::new(scanning), w);
    }

    pub(crate) fn go_on_scanning(&mut self, id: u64, mut scanning: Box<Scanning>, w: &mut Work<'_>) {
        if scanning.is_opening && scanning.view.device.is_none() && !scanning.device.is_asked {
            if self.device.open_iterator(id).is_err() {
                return self.hold(id, Flight::Scan(scanning));
            }
            scanning.device.is_asked = true;
        }
        loop {
            let merged = match scanning.failed {
                Some(_) => Ok(true),
                None => scanning.merge(),
            };
            match merged {
                Err(why) => scanning.failed = Some(why),
                Ok(true) => {
                    if scanning.main.is_asked || scanning.device.is_asked {
                        // What was asked for is awaited: the view is not to end under it.
                        _ = self.flights.insert(id, Flight::Scan(scanning));
                        return;
                    }
                    return self.finish_scan(id, &mut scanning, w);
                }
                Ok(false) => {
                    if scanning.device.is_needed()
                        && !scanning.device.is_asked
                        && !self.ask_device(id, &mut scanning)
                    {
                        return self.hold(id, Flight::Scan(scanning));
                    }
                    if !scanning.main.is_needed()
                        || scanning.main.is_asked
                        || !self.ask_main_side(id, &mut scanning, w)
                    {
                        _ = self.flights.insert(id, Flight::Scan(scanning));
                        return;
                    }
                }
            }
        }
    }

    /// Asks the main tree for its next records. Whether they are here.
    fn ask_main_side(&mut self, id: u64, scanning: &mut Scanning, w: &mut Work<'_>) -> bool {
        let count = (scanning.asked.entries - scanning.shown.len()).clamp(1, RECORDS_MAX);
        let from = scanning.main.from.clone().unwrap_or_default();
        let (backwards, snapshot) = (scanning.asked.backwards, Some(scanning.view.main));
        let op = Op::Scan { from, backwards, entries: count, snapshot };
        (scanning.main.is_asked, scanning.main.count) = (true, count);
        match self.ask_main(id, op, w) {
            Some(outcome) => {
                Self::take_main_side(scanning, outcome);
                true
            }
            None => false,
        }
    }

    fn take_main_side(scanning: &mut Scanning, outcome: Outcome) {
        let (side, asked) = (&mut scanning.main, &scanning.asked);
        side.is_asked = false;
        match outcome {
            Ok(Answer::Pairs(payload)) => {
                let before = side.records.len();
                side.take(&payload);
                let is_all = side.records.len() - before < side.count as usize;
                side.from = side.records.back().filter(|_| !is_all).and_then(|(key, _)| asked.after(key));
            }
            Ok(_) => scanning.failed = Some(KvError::Corrupt),
            Err(why) => scanning.failed = Some(why),
        }
    }

    /// Asks the device for its next records. False: there is no room for the command.
    fn ask_device(&mut self, id: u64, scanning: &mut Scanning) -> bool {
        let Some(iterator) = scanning.view.device else { return true };
        let from = scanning.device.from.clone().unwrap_or_default();
        let Ok(key) = Key::new(&from) else { return true };
        let count = (scanning.asked.entries - scanning.shown.len()).clamp(1, RECORDS_MAX);
        let limits = (scanning.buffer_bytes, count);
        let asked = self.device.read_iterator(id, iterator, limits, scanning.asked.backwards, key);
        scanning.device.is_asked = asked.is_ok();
        asked.is_ok()
    }

    pub(crate) fn scanned_main(
        &mut self,
        id: u64,
        mut scanning: Box<Scanning>,
        outcome: Outcome,
        w: &mut Work<'_>,
    ) {
        Self::take_main_side(&mut scanning, outcome);
        self.go_on_scanning(id, scanning, w);
    }

    pub(crate) fn scanned_device(
        &mut self,
        id: u64,
        mut scanning: Box<Scanning>,
        done: &DeviceDone,
        w: &mut Work<'_>,
    ) {
        scanning.device.is_asked = false;
        if scanning.is_opening {
            scanning.is_opening = false;
            self.views.opening -= 1;
            if done.status.is_success() {
                scanning.view.device = Some(done.result.0);
            } else {
                self.views.in_device -= 1;
                scanning.failed = Some(failure(done.status));
            }
            return self.go_on_scanning(id, scanning, w);
        }
        if !done.status.is_success() {
            scanning.is_view_over = done.status.is(Status::KEY_DOES_NOT_EXIST);
            scanning.failed = Some(failure(done.status));
            return self.go_on_scanning(id, scanning, w);
        }
        let answer = NextAnswer(done.result.1);
        if answer.bytes_needed() > scanning.buffer_bytes {
            scanning.buffer_bytes = answer.bytes_needed();
            return self.go_on_scanning(id, scanning, w);
        }
        let side = &mut scanning.device;
        side.take(&done.data);
        let last = side.records.back().filter(|_| !answer.ended());
        side.from = last.and_then(|(key, _)| scanning.asked.after(key));
        charge(w, Unit::Decode, side.records.len() as u64);
        self.go_on_scanning(id, scanning, w);
    }

    fn finish_scan(&mut self, id: u64, scanning: &mut Scanning, w: &mut Work<'_>) {
        match scanning.asked.snapshot {
            Some(number) => self.unshare(number, w),
            None => self.end_view(scanning.view, w),
        }
        self.views.opening -= u32::from(scanning.keeps_device_shut);
        let is_own = scanning.asked.snapshot.is_none();
        if scanning.is_view_over && is_own && !planted::is(Fault::ViewOver) {
            self.stats.scans_again += 1;
            return self.scan_from(id, scanning.asked.clone(), true, w);
        }
        let shown = std::mem::take(&mut scanning.shown);
        charge(w, Unit::Compare, u64::from(shown.len()));
        let outcome = match scanning.failed {
            _ if scanning.is_view_over && !is_own => Ok(Answer::NoSnapshot),
            Some(why) => Err(why),
            None => Ok(Answer::Pairs(shown.finish())),
        };
        self.end(id, outcome);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_lies_between_a_key_and_the_one_behind_it() {
        assert_eq!(super::behind(b"a"), Some(b"a\0".to_vec()));
        assert_eq!(super::behind(&[7; 16]), Some([&[7; 15][..], &[8]].concat()));
        assert_eq!(super::behind(&[255; 16]), None);
        assert_eq!(super::before(b"a\0"), Some(b"a".to_vec()));
        assert_eq!(super::before(b"b"), Some([&b"a"[..], &[255; 15]].concat()));
        assert_eq!(super::before(&[7; 16]), Some([&[7; 15][..], &[6]].concat()));
        assert_eq!(super::before(&[0]), None);
    }
}
