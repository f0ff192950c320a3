// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a store begins: new, or from what a cut has left in both trees. Each record of the device is compared with the main tree's of its
//! key; the older one does not count. Numbers of writes go on above all that were given before, since each opening has a number of its
//! own, which the main tree has under a key that is no user's.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use crate::device::{DeviceDone, DeviceLsm, QueueFull};
use crate::main_tree::MainTree;
use crate::metadata::{DeviceCopy, State};
use crate::options::Options;
use crate::planted::{self, Fault};
use crate::record::{EPOCH_KEY, EPOCHS_MAX, Opening, Stamp, Stamps};
use crate::store::Hybrid;
use crate::store::scan::behind;
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op, Outcome, Work};
use saker_nvme::group::pairs_of;
use saker_nvme::vendor_specific::NextAnswer;
use saker_nvme::{Key, Status};
use thiserror::Error;

/// Why a store cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The main tree cannot be asked, or not written.
    #[error("the tree at the host does not open: {0}; check the image")]
    Main(KvError),
    /// The device does not answer as it should.
    #[error("the tree in the device does not open (status {0:?}); check the image")]
    Device(Status),
    /// A record is none.
    #[error(
        "what is stored under `{}` is not of such a store: who opens a namespace alone must not write to it; delete it there, with nsid and without hybrid",
        .0.escape_ascii()
    )]
    Record(Vec<u8>),
    /// The main tree was made with another `min_blob_size`: its blocks were brought to a device that keeps another one for it.
    #[error(
        "the tree at the host was made with another min_blob_size; restore it to an image that was created with that"
    )]
    MinBlobSize,
    /// It was opened too often.
    #[error("the store was opened {EPOCHS_MAX} times; load its pairs into a new one")]
    Epochs,
    /// Nothing happens any more.
    #[error("the device does not answer")]
    Silent,
}

/// Asks a tree that nobody else asks.
pub(crate) fn ask(main: &mut impl MainTree, op: Op, wait: &mut impl FnMut()) -> Result<Outcome, OpenError> {
    let mut ended = main.submit(op, Work::Free).ok();
    for _ in 0..TURNS_MAX {
        if let Some(outcome) = ended {
            return Ok(outcome);
        }
        main.ring();
        wait();
        main.background(QUANTA, Work::Free);
        main.advance(Work::Free, &mut |_, outcome| ended = Some(outcome));
    }
    Err(OpenError::Silent)
}

/// Turns after which the device will not answer any more.
const TURNS_MAX: u32 = 10_000_000;
/// Quanta of background work for each turn: nothing else makes room in the main tree.
const QUANTA: u32 = 4;

impl<M: MainTree> Hybrid<M> {
    /// Opens the store over a main tree that is open, and what the device has. `wait` lets the device make progress.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        main: M,
        device: DeviceLsm,
        options: Options,
        mut wait: impl FnMut(),
    ) -> Result<Self, OpenError> {
        let mut store = Self::new(main, device, options);
        store.all_tombs_known = false;
        store.begin_epoch(&mut wait)?;
        store.survey_device(&mut wait)?;
        Ok(store)
    }

    pub(crate) fn begin_epoch(&mut self, wait: &mut impl FnMut()) -> Result<(), OpenError> {
        let foreign = || OpenError::Record(EPOCH_KEY.to_vec());
        let min_blob_size = self.main.made_with();
        let last = match self.await_main(Op::Get(EPOCH_KEY.to_vec()), wait)? {
            Ok(Answer::Value(bytes)) => Opening::split(&bytes).ok_or_else(foreign)?,
            Err(KvError::NotFound) => Opening { epoch: 0, min_blob_size },
            Ok(_) => return Err(foreign()),
            Err(why) => return Err(OpenError::Main(why)),
        };
        if last.min_blob_size != min_blob_size {
            return Err(OpenError::MinBlobSize);
        }
        let epoch =
            last.epoch.checked_add(1).filter(|epoch| *epoch <= EPOCHS_MAX).ok_or(OpenError::Epochs)?;
        for op in [Op::Put(EPOCH_KEY.to_vec(), Opening { epoch, min_blob_size }.record()), Op::Flush] {
            self.await_main(op, wait)?.map_err(OpenError::Main)?;
        }
        self.stamps = Stamps::of(epoch);
        Ok(())
    }

    fn survey_device(&mut self, wait: &mut impl FnMut()) -> Result<(), OpenError> {
        let opened = self.await_device(|device| device.open_iterator(0), wait)?;
        let iterator = opened.result.0;
        let (mut from, mut bytes) = (Some(vec![0]), self.options.buffer_bytes);
        while let Some(Ok(key)) = from.as_deref().map(Key::new) {
            let read =
                self.await_device(|device| device.read_iterator(0, iterator, (bytes, 0), false, key), wait)?;
            let answer = NextAnswer(read.result.1);
            if answer.bytes_needed() > bytes {
                bytes = answer.bytes_needed();
                continue;
            }
            let records = pairs_of(&read.data);
            for (key, record) in &records {
                self.enter_copy(key, record, wait)?;
            }
            from = records.last().filter(|_| !answer.ended()).and_then(|(key, _)| behind(key));
        }
        self.await_device(|device| device.close_iterator(0, iterator), wait).map(drop)
    }

    /// A record of the device counts if the main tree has none that is as new.
    fn enter_copy(&mut self, key: &[u8], record: &[u8], wait: &mut impl FnMut()) -> Result<(), OpenError> {
        let foreign = || OpenError::Record(key.to_vec());
        let (stamp, _) = Stamp::split(record).ok_or_else(foreign)?;
        let name = Key::new(key).map_err(|_| foreign())?;
        let of_main = match self.await_main(Op::Get(key.to_vec()), wait)? {
            Ok(Answer::Value(record)) => Some(Stamp::split(&record).ok_or_else(foreign)?.0),
            Ok(_) => return Err(foreign()),
            Err(KvError::NotFound) => None,
            Err(why) => return Err(OpenError::Main(why)),
        };
        let is_old = of_main.is_some_and(|main| main.sequence >= stamp.sequence);
        let is_old = is_old && !planted::is(Fault::OldValueBack);
        if of_main.is_some_and(|main| main.is_tombstone) {
            self.tombs.insert(name);
        }
        let state = match stamp.is_tombstone {
            _ if is_old => State::Superseded,
            true => State::Tombstone,
            false => State::Pair,
        };
        let bytes = record.len() as u32;
        self.metadata.insert(name, DeviceCopy { sequence: stamp.sequence, bytes, state });
        Ok(())
    }

    pub(crate) fn await_main(&mut self, op: Op, wait: &mut impl FnMut()) -> Result<Outcome, OpenError> {
        ask(&mut self.main, op, wait)
    }

    fn await_device(
        &mut self,
        send: impl FnOnce(&mut DeviceLsm) -> Result<(), QueueFull>,
        wait: &mut impl FnMut(),
    ) -> Result<DeviceDone, OpenError> {
        send(&mut self.device).map_err(|_| OpenError::Silent)?;
        for _ in 0..TURNS_MAX {
            self.device.ring();
            wait();
            if let Some(done) = self.device.poll() {
                return if done.status.is_success() { Ok(done) } else { Err(OpenError::Device(done.status)) };
            }
        }
        Err(OpenError::Silent)
    }
}
