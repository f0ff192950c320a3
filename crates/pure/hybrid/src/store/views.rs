// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Snapshots of both trees. That of the main tree is taken at once, when no write is on its way to the device: a read would not see it yet,
//! and the device's part would. That is an iterator which a command opens; until it is open no write goes to the device, so that both are of
//! one moment.

use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use crate::planted::{self, Fault};
use crate::store::flight::Flight;
use crate::store::scan::Asked;
use crate::store::{Hybrid, failure};
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op, Work};
use std::collections::BTreeMap;

/// A view of both trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The main tree's snapshot.
    pub main: u32,
    /// The iterator in the device, if that had anything.
    pub device: Option<u32>,
}

/// A view that a user took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    view: View,
    /// Scans that use it.
    users: u32,
    /// It is not needed any more.
    released: bool,
}

/// All views.
#[derive(Debug, Default)]
pub(crate) struct Views {
    taken: BTreeMap<u32, Taken>,
    next: u32,
    /// Iterators that are being opened, and scans that have begun again: as long as there are any, no write goes to the device.
    pub opening: u32,
    /// Views with a part in the device: it is not emptied before they end.
    pub in_device: u32,
}

impl Views {
    /// The view of that number, for a scan.
    pub fn share(&mut self, number: u32) -> Option<View> {
        let taken = self.taken.get_mut(&number).filter(|taken| !taken.released)?;
        taken.users += 1;
        Some(taken.view)
    }
}

impl<M: MainTree> Hybrid<M> {
    /// Whether a view of now needs a part in the device. While that is being emptied everything counts in the main tree.
    pub(crate) fn has_device_part(&self) -> bool {
        (self.metadata.keys() > 0 || self.device_writes > 0) && !self.returning.is_emptying()
    }

    /// A snapshot of the main tree.
    pub(crate) fn main_snapshot(&mut self, id: u64, w: &mut Work<'_>) -> Result<u32, KvError> {
        match self.ask_main(id, Op::Snapshot, w) {
            Some(Ok(Answer::Snapshot(number))) => Ok(number),
            Some(Err(why)) => Err(why),
            _ => Err(KvError::Corrupt),
        }
    }

    /// Whether a view of now has to wait for writes that are on their way to the device.
    fn view_waits(&self) -> bool {
        self.device_writes > 0 && !planted::is(Fault::ViewAmidWrites)
    }

    /// Whether a view has to wait before it begins; if so it will go on by itself, and no further write goes to the device meanwhile.
    pub(crate) fn puts_off_view(&mut self, id: u64, of: Option<(&Asked, bool)>) -> bool {
        let waits = self.view_waits();
        if waits {
            self.views.opening += 1;
            self.hold(id, Flight::View(of.map(|(asked, is_again)| (asked.clone(), is_again))));
        }
        waits
    }

    pub(crate) fn go_on_with_view(&mut self, id: u64, of: Option<(Asked, bool)>, w: &mut Work<'_>) {
        if self.view_waits() {
            return self.hold(id, Flight::View(of));
        }
        self.views.opening -= 1;
        match of {
            Some((asked, is_again)) => self.scan_from(id, asked, is_again, w),
            None => self.begin_snapshot(id, w),
        }
    }

    pub(crate) fn begin_snapshot(&mut self, id: u64, w: &mut Work<'_>) {
        if self.puts_off_view(id, None) {
            return;
        }
        let main = match self.main_snapshot(id, w) {
            Ok(main) => main,
            Err(why) => return self.end(id, Err(why)),
        };
        if !self.has_device_part() {
            return self.take_view(id, View { main, device: None });
        }
        // Counted until it is open, whether the queue has room for the command or not.
        self.views.opening += 1;
        self.views.in_device += 1;
        self.open_snapshot(id, main, w);
    }

    pub(crate) fn open_snapshot(&mut self, id: u64, main: u32, _: &mut Work<'_>) {
        match self.device.open_iterator(id) {
            Ok(()) => _ = self.flights.insert(id, Flight::Snapshot { main }),
            Err(_) => self.hold(id, Flight::Snapshot { main }),
        }
    }

    pub(crate) fn snapshot_opened(&mut self, id: u64, main: u32, done: &DeviceDone, w: &mut Work<'_>) {
        self.views.opening -= 1;
        if done.status.is_success() {
            return self.take_view(id, View { main, device: Some(done.result.0) });
        }
        self.views.in_device -= 1;
        self.ask_main(id, Op::Release(main), w);
        self.end(id, Err(failure(done.status)));
    }

    fn take_view(&mut self, id: u64, view: View) {
        let number = self.views.next;
        self.views.next = number.wrapping_add(1);
        self.views.taken.insert(number, Taken { view, users: 0, released: false });
        self.end(id, Ok(Answer::Snapshot(number)));
    }

    pub(crate) fn release(&mut self, id: u64, number: u32, w: &mut Work<'_>) {
        let Some(taken) = self.views.taken.get_mut(&number).filter(|taken| !taken.released) else {
            return self.end(id, Ok(Answer::NoSnapshot));
        };
        taken.released = true;
        self.end(id, Ok(Answer::Done));
        self.end_if_unused(number, w);
    }

    /// A scan does not use a user's view any more.
    pub(crate) fn unshare(&mut self, number: u32, w: &mut Work<'_>) {
        if let Some(taken) = self.views.taken.get_mut(&number) {
            taken.users -= 1;
        }
        self.end_if_unused(number, w);
    }

    fn end_if_unused(&mut self, number: u32, w: &mut Work<'_>) {
        let Some(taken) = self.views.taken.get(&number).filter(|taken| taken.released && taken.users == 0)
        else {
            return;
        };
        let view = taken.view;
        self.views.taken.remove(&number);
        self.end_view(view, w);
    }

    /// A view is over in both trees.
    pub(crate) fn end_view(&mut self, view: View, w: &mut Work<'_>) {
        let id = self.take_number();
        self.ask_main(id, Op::Release(view.main), w);
        if let Some(iterator) = view.device {
            self.views.in_device -= 1;
            self.close_later(iterator);
        }
    }

    /// An iterator is to be closed, when the queue has room for the command.
    pub(crate) fn close_later(&mut self, iterator: u32) {
        let id = self.take_number();
        self.flights.insert(id, Flight::Nobody);
        if self.device.close_iterator(id, iterator).is_err() {
            self.flights.remove(&id);
            self.returning.to_close.push(iterator);
        }
    }
}
