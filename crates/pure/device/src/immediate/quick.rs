// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores, retrieves and questions by the short way: decoded from the entry, executed at once, answered. Nothing is built of
//! them and nothing of them is copied but the value, from where it is to where it stays.
//!
//! Whatever is not plain (an error, a value in several pieces, an engine that needs room) is left to the long way, untouched.

use super::{Quick, Untimed};
use crate::NamespaceKind;
use crate::answer::{condition, kv_status};
use crate::device::Device;
use crate::execute::versioned;
use crate::methods::{self, Landing, Plain};
use crate::namespace::{Namespace, Store};
use crate::stats::HealthCounters;
use crate::transfer::{OnePiece, Pieces};
use saker_engine::{Context, Engine, KvError, Source};
use saker_flash::Flash;
use saker_link::Sqe;
use saker_nvme::group::VersionedRetrieve;
use saker_nvme::kv::StoreOptions;
use saker_nvme::kv::opcode::{EXIST, RETRIEVE, STORE};
use saker_nvme::vendor_specific::opcode::RETRIEVE_VERSIONED;
use saker_nvme::{Key, KvCommand, PointerRule, Status};
use saker_segment_store::Step;
use saker_sim::Class;

impl Device<Untimed> {
    /// Carries out and answers a plain command; true if it was the last that is known of its queue. `None` for anything
    /// else: nothing has happened then.
    #[inline(always)]
    pub(super) fn serve_quickly(&mut self, qid: u16, sqe: &Sqe) -> Option<bool> {
        match sqe.opcode {
            STORE | EXIST | RETRIEVE => {}
            RETRIEVE_VERSIONED if self.config.methods.retrieve_versioned() => {}
            opcode if methods::is_short(opcode) => {}
            _ => return None,
        }
        let (n, value_bytes_max) = self.plain_namespace(sqe)?;
        let answer = match sqe.opcode {
            STORE => told(self.store_page(n, value_bytes_max, sqe)),
            EXIST => told(self.exist(n, sqe)),
            RETRIEVE => self.retrieve(n, sqe),
            RETRIEVE_VERSIONED => self.retrieve_versioned(n, sqe),
            _ => told(self.store_by_method(qid, n, value_bytes_max, sqe)),
        };
        let (status, dw0) = answer?;
        let status = self.truthful(status);
        let is_write = !matches!(sqe.opcode, EXIST | RETRIEVE | RETRIEVE_VERSIONED);
        self.after_command(n, is_write);
        self.count(qid, sqe, status);
        Some(self.queues.complete_later(qid, sqe.cid.get(), status, u64::from(dw0)))
    }

    /// The KV namespace of a command and its largest value, if a command to it is nothing but that now.
    #[inline(always)]
    fn plain_namespace(&self, sqe: &Sqe) -> Option<(usize, u32)> {
        let is_writable = self.flash.is_powered() && !self.flash.is_read_only() && !self.config.read_only;
        let is_plain = is_writable && !self.write_through && self.formats.is_empty();
        let n = self.namespace_index(sqe.nsid.get())?;
        match self.namespaces.get(n)?.config.kind {
            NamespaceKind::Kv { value_bytes_max, .. } if is_plain && !self.queues.has_open_values() => {
                Some((n, value_bytes_max))
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn exist(&mut self, n: usize, sqe: &Sqe) -> Option<Status> {
        let Ok(KvCommand::Exist { key }) = KvCommand::decode(sqe) else { return None };
        let owner = self.namespaces[n].owner();
        let Store::Kv(store) = &mut self.namespaces[n].store else { return None };
        let mut view = self.flash.view(owner, Class::Foreground);
        match store.exists(key.as_bytes(), &mut Context::new(&mut view, &mut Quick)) {
            Step::Done(found) => Some(found.map_or_else(kv_status, |()| Status::SUCCESS)),
            Step::Need(_) | Step::Blocked(_) => None,
        }
    }

    /// A retrieve into one piece of host memory; with it the size of the value.
    #[inline(always)]
    fn retrieve(&mut self, n: usize, sqe: &Sqe) -> Option<(Status, u32)> {
        let Ok(KvCommand::Retrieve { key, buffer_bytes, .. }) = KvCommand::decode(sqe) else { return None };
        let at = Pieces::one_piece(sqe, buffer_bytes)?;
        let owner = self.namespaces[n].owner();
        let Store::Kv(store) = &mut self.namespaces[n].store else { return None };
        let mut room = OnePiece { space: &self.host.space, at, bytes: buffer_bytes };
        let mut view = self.flash.view(owner, Class::Foreground);
        match store.retrieve(key.as_bytes(), &mut room, &mut Context::new(&mut view, &mut Quick)) {
            Step::Done(Ok(bytes)) => {
                self.count_given(bytes.min(buffer_bytes));
                Some((Status::SUCCESS, bytes))
            }
            Step::Done(Err(error)) => told(Some(kv_status(error))),
            Step::Need(_) | Step::Blocked(_) => None,
        }
    }

    /// The same behind the version of the pair.
    fn retrieve_versioned(&mut self, n: usize, sqe: &Sqe) -> Option<(Status, u32)> {
        let Ok(command) = VersionedRetrieve::decode(sqe, PointerRule::Prp) else { return None };
        let at = Pieces::one_piece(sqe, command.buffer_bytes)?;
        let owner = self.namespaces[n].owner();
        let Namespace { store: Store::Kv(store), kept, .. } = &mut self.namespaces[n] else { return None };
        let mut room = OnePiece { space: &self.host.space, at, bytes: command.buffer_bytes };
        let mut view = self.flash.view(owner, Class::Foreground);
        match versioned::deliver(&command, &mut room, store, kept, &mut Context::new(&mut view, &mut Quick)) {
            Step::Done(Ok(bytes)) => {
                self.count_given(bytes.min(command.buffer_bytes));
                Some((Status::SUCCESS, bytes))
            }
            Step::Done(Err(status)) => told(Some(status)),
            Step::Need(_) | Step::Blocked(_) => None,
        }
    }

    /// So many bytes of a value went to the host.
    #[inline(always)]
    fn count_given(&mut self, bytes: u32) {
        self.stats.traffic.to_host.add_pages(Pieces::pages(bytes));
        self.stats.work.read(bytes);
    }

    /// A value in one piece of host memory.
    #[inline(always)]
    fn store_page(&mut self, n: usize, value_bytes_max: u32, sqe: &Sqe) -> Option<Status> {
        let Ok(KvCommand::Store { key, value_bytes, options }) = KvCommand::decode(sqe) else { return None };
        let at = Pieces::one_piece(sqe, value_bytes).filter(|_| value_bytes <= value_bytes_max)?;
        let mut value = OnePiece { space: &self.host.space, at, bytes: value_bytes };
        let status = store(&mut self.namespaces[n], &mut self.flash, &key, &mut value, options)?;
        self.stats.traffic.to_device.add_pages(Pieces::pages(value_bytes));
        if status.is_success() {
            self.stats.work.wrote(value_bytes);
        }
        Some(status)
    }

    /// A value that came by one of the methods.
    #[inline(always)]
    fn store_by_method(&mut self, qid: u16, n: usize, value_bytes_max: u32, sqe: &Sqe) -> Option<Status> {
        let plain = Plain { sqe, value_bytes_max, methods: self.config.methods };
        let (namespace, flash) = (&mut self.namespaces[n], &mut self.flash);
        let landing = Into { namespace, flash, work: &mut self.stats.work };
        let queues = &self.queues;
        let status = methods::shortly(plain, || queues.value_behind(qid), landing)?;
        if methods::comes_behind(sqe.opcode) {
            self.stats.traffic.inline_slots += u64::from(self.queues.pass_value_behind(qid));
        }
        Some(status)
    }
}

/// An answer whose first dword tells nothing.
#[inline(always)]
fn told(status: Option<Status>) -> Option<(Status, u32)> {
    status.map(|status| (status, 0))
}

/// `None`: the engine has to be asked again, and nothing has changed.
#[inline(always)]
fn store<S: Source>(
    namespace: &mut Namespace,
    flash: &mut Flash,
    key: &Key,
    value: &mut S,
    options: StoreOptions,
) -> Option<Status> {
    let mut view = flash.view(namespace.owner(), Class::Foreground);
    let Store::Kv(store) = &mut namespace.store else { return None };
    match store.store(key.as_bytes(), value, condition(options), &mut Context::new(&mut view, &mut Quick)) {
        // The long way is told the same, and notes it.
        Step::Done(Err(KvError::CapacityExceeded)) => None,
        Step::Done(stored) => {
            Some(stored.and_then(|put| put.wait(store)).map_or_else(kv_status, |_| Status::SUCCESS))
        }
        Step::Need(_) | Step::Blocked(_) => None,
    }
}

/// A namespace to store in, and where that is counted for the health log.
struct Into<'a> {
    namespace: &'a mut Namespace,
    flash: &'a mut Flash,
    work: &'a mut HealthCounters,
}

impl Landing for Into<'_> {
    #[inline(always)]
    fn store<S: Source>(self, key: &Key, value: &mut S, options: StoreOptions) -> Option<Status> {
        let status = store(self.namespace, self.flash, key, value, options)?;
        if status.is_success() {
            self.work.wrote(value.bytes());
        }
        Some(status)
    }
}
