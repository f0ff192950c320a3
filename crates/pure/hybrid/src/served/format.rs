// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Format: both trees are emptied, and a cut leaves everything or nothing.
//!
//! Where the main tree has the number of the opening it gets a mark, and is flushed: from then on the store is empty, whatever an opening
//! finds. Then the device's tree is emptied, and the main tree last, with the mark. An opening that finds the mark goes on from there
//! ([`finish_format`]).

use super::Served;
use super::io::status_of;
use super::results::Kept;
use crate::OpenError;
use crate::main_tree::{Made, MainTree};
use crate::record::{BEING_FORMATTED, EPOCH_KEY};
use crate::recover::ask;
use saker_engine::KvError;
use saker_host::host_kv::{Answer, Op};
use saker_host::{Connection, Driver, HostError};
use saker_nvme::Status;

/// Whether a Format was cut: the store is empty, and both namespaces are to be emptied before it is used.
fn is_being_formatted(main: &mut impl MainTree, mut wait: impl FnMut()) -> Result<bool, OpenError> {
    match ask(main, Op::Get(EPOCH_KEY.to_vec()), &mut wait)? {
        Ok(Answer::Value(found)) => Ok(found == BEING_FORMATTED.to_le_bytes()),
        Ok(_) => Err(OpenError::Record(EPOCH_KEY.to_vec())),
        Err(KvError::NotFound) => Ok(false),
        Err(why) => Err(OpenError::Main(why)),
    }
}

/// Empties the namespace of pairs, then the main tree, which has the mark. If that fails the next opening goes on.
fn empty(
    main: &mut impl MainTree,
    connection: &mut Connection,
    driver: &mut impl Driver,
    made: &Made,
) -> Result<(), HostError> {
    connection.format(driver, made.pairs)?;
    main.empty(made, connection, driver)
}

/// Carries out what is left of a Format that was cut, if it was.
///
/// # Errors
/// [`OpenError`] if a tree does not answer, or is not emptied.
pub fn finish_format(
    main: &mut impl MainTree,
    made: &Made,
    connection: &mut Connection,
    driver: &mut impl Driver,
) -> Result<(), OpenError> {
    if is_being_formatted(main, || driver.drive())? {
        empty(main, connection, driver, made).map_err(|error| OpenError::Device(told(error)))?;
    }
    Ok(())
}

impl<T: Driver, M: MainTree> Served<T, M> {
    /// Empties both trees.
    pub(super) fn format(&mut self) -> Status {
        self.settle();
        self.end_ranges(None);
        while !self.store.is_quiet() {
            self.go_on();
        }
        self.formatted().err().unwrap_or(Status::SUCCESS)
    }

    fn formatted(&mut self) -> Result<(), Status> {
        let Self { store, driver, made, .. } = self;
        for op in [Op::Put(EPOCH_KEY.to_vec(), BEING_FORMATTED.to_le_bytes().to_vec()), Op::Flush] {
            let answered = store.await_main(op, &mut || driver.drive());
            answered.map_err(|_| Status::INTERNAL_ERROR)?.map_err(status_of)?;
        }
        empty(&mut store.main, store.device.connection_mut(), driver, made).map_err(told)?;
        store.forget_all();
        (self.life, self.kept) = (self.life.wrapping_add(1).max(1), Kept::default());
        store.begin_epoch(&mut || driver.drive()).map_err(|_| Status::INTERNAL_ERROR)
    }
}

fn told(error: HostError) -> Status {
    match error {
        HostError::Status(status) => status,
        HostError::Kv(error) => error.status(),
        _ => Status::INTERNAL_ERROR,
    }
}
