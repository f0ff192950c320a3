// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading a pair with its version by a command of its own.

use saker_link::STAGING_BYTES;
use saker_nvme::Key;
use saker_nvme::Status;
use saker_nvme::group::{PairVersion, VERSION_BYTES};

use super::ops::found;
use super::transactions::ENGINE;
use super::{KvClient, submitted};
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError};

/// The version of a pair, and its value where a staging page has room for it.
pub type VersionAndValue = (PairVersion, Option<Vec<u8>>);

impl<T: Driver> KvClient<T> {
    /// Whether the device has Retrieve Versioned.
    #[inline]
    pub fn has_versioned_retrieves(&self) -> bool {
        self.queue.available().methods.retrieve_versioned()
    }

    /// The version of a key and its value, whose place is empty if a staging page has no room for it; `None`: there is no such pair.
    ///
    /// # Errors
    /// [`HostError::NoTransactions`] if the engine has no versions; others.
    pub fn get_versioned(&mut self, key: &Key) -> Result<Option<VersionAndValue>, HostError> {
        self.settle(key)?;
        self.make_room()?;
        let ticket = submitted(self.queue.retrieve_versioned(key, STAGING_BYTES as u32))?;
        let read = self.wait(ticket, |done| {
            if !done.status.is_success() {
                return Err(done.status);
            }
            let (data, bytes) = (done.data(), done.result as usize);
            let Some((version, value)) = data.split_first_chunk::<VERSION_BYTES>() else { return Ok(None) };
            let is_whole = bytes == data.len();
            Ok(Some((PairVersion(*version), is_whole.then(|| value.to_vec()))))
        })?;
        match read {
            Err(status) if status.is(Status::NO_TRANSACTIONS) => Err(HostError::NoTransactions(ENGINE)),
            read => match found(read)? {
                Some(None) => Err(ProtocolError::Group.into()),
                found => Ok(found.flatten()),
            },
        }
    }
}
