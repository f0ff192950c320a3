// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device of a URL as a subject.

use saker::{Error, Raw};
use saker_host::{Done, RawData};
use saker_nvme::Sqe;

use crate::subject::{Answer, Broken, Data, Subject};

/// A device, opened.
#[derive(Debug)]
pub struct OpenedSubject {
    raw: Raw,
}

impl OpenedSubject {
    /// Opens the key-value namespace of a URL (see [`saker::url`]).
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn open(url: &str) -> Result<Self, Error> {
        Ok(Self { raw: Raw::open(url)? })
    }

    /// Closes the device in order.
    ///
    /// # Errors
    /// [`enum@Error`].
    pub fn close(self) -> Result<(), Error> {
        self.raw.close()
    }
}

impl Subject for OpenedSubject {
    fn nsid(&self) -> u32 {
        self.raw.nsid()
    }

    fn transfer_bytes_max(&self) -> u32 {
        self.raw.transfer_bytes_max()
    }

    fn is_direct(&self) -> bool {
        self.raw.is_direct()
    }

    fn admin(&mut self, sqe: &Sqe, room: u32) -> Result<Answer, Broken> {
        let (status, result, data) = self.raw.admin(*sqe, room).map_err(|error| Broken(error.to_string()))?;
        Ok(Answer { status, dw0: result as u32, data })
    }

    fn io(&mut self, commands: Vec<(Sqe, Data)>) -> Result<Vec<Answer>, Broken> {
        let each = commands.iter().map(|(sqe, data)| (*sqe, raw_data(data)));
        self.raw.io(each, answer).map_err(|error| Broken(error.to_string()))
    }
}

fn raw_data(data: &Data) -> RawData<'_> {
    match data {
        Data::None => RawData::Untouched,
        Data::Send(bytes) => RawData::ToDevice(bytes),
        Data::Receive(bytes) => RawData::FromDevice(*bytes),
    }
}

fn answer(done: Done<'_>) -> Answer {
    Answer { status: done.status, dw0: done.result, data: done.into_vec() }
}
