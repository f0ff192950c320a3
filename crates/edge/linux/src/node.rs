// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device file and its ioctls.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl};
use saker_nvme::{Sqe, Status};

use crate::abi::{IOCTL_ADMIN64, IOCTL_ID, IOCTL_IO64, PassthroughCommand, UringCommand};
use crate::pauses::RETRY_PAUSE;

/// What became of a command that the kernel has carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub status: Status,
    /// DW0 and DW1.
    pub result: u64,
}

impl Outcome {
    /// The kernel has no connection to a controller.
    pub const WITHOUT_PATH: Self = Self { status: Status::HOST_PATHING_ERROR, result: 0 };

    /// What the kernel says, errors told as a status.
    pub fn of(answer: std::io::Result<Self>) -> Self {
        answer.unwrap_or_else(|error| Self { status: status_of_error(&error), result: 0 })
    }

    /// The kernel has no connection to the controller, or lost it while the command was on its way.
    pub fn is_without_path(self) -> bool {
        self.status.is(Status::HOST_PATHING_ERROR) || self.status.is(Status::ABORTED_BY_HOST)
    }
}

/// The opened file.
#[derive(Debug)]
pub(crate) struct Node {
    file: File,
    pub nsid: u32,
}

impl Node {
    /// Opens the file and asks for its NSID, for up to `patience` if no controller of the namespace is connected now.
    pub fn open(path: &Path, patience: Duration) -> std::io::Result<Self> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            // Reading commands need no more (Linux 6.2 and later).
            Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(path)?,
            other => other?,
        };
        let begun = Instant::now();
        loop {
            match namespace_id(&file) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < patience => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                nsid => return Ok(Self { nsid: nsid?, file }),
            }
        }
    }

    /// Whether the kernel has refused a command with this error because no controller of the namespace is connected: the command
    /// has gone nowhere. Of a namespace with several ways the kernel says so with EAGAIN, by io_uring with EINVAL, which can also
    /// mean the command.
    pub fn is_without_ways(&self, error: &Error) -> bool {
        let blocks = |error: &Error| error.kind() == ErrorKind::WouldBlock;
        blocks(error)
            || error.kind() == ErrorKind::InvalidInput
                && namespace_id(&self.file).is_err_and(|error| blocks(&error))
    }

    pub fn raw(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Carries out an admin command and waits.
    pub fn admin(&self, sqe: &Sqe, data: &mut [u8]) -> std::io::Result<Outcome> {
        self.execute::<IOCTL_ADMIN64>(sqe, data)
    }

    /// Carries out an I/O command and waits.
    pub fn io(&self, sqe: &Sqe, data: &mut [u8]) -> std::io::Result<Outcome> {
        self.execute::<IOCTL_IO64>(sqe, data)
    }

    fn execute<const NUMBER: u32>(&self, sqe: &Sqe, data: &mut [u8]) -> std::io::Result<Outcome> {
        let bytes = u32::try_from(data.len()).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
        let command = UringCommand::new(sqe, data.as_mut_ptr() as u64, bytes);
        let request = Passthru::<NUMBER>(PassthroughCommand { command, result: 0 });
        // SAFETY: the kernel reads and writes the structure of NUMBER, and `bytes` bytes at `addr`, which `data` lends
        // exclusively until the call has returned.
        let (returned, command) = unsafe { ioctl(&self.file, request) }?;
        Ok(Outcome { status: status_of(returned), result: command.result })
    }
}

/// The status field as the kernel returns it: without the phase tag.
pub(crate) fn status_of(returned: i32) -> Status {
    Status::from_shifted(returned as u16)
}

/// The status that tells what the kernel says by an error number: nothing has reached the device.
fn status_of_error(error: &Error) -> Status {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => Status::OPERATION_DENIED,
        Some(rustix::io::Errno::INVAL | rustix::io::Errno::FAULT) => Status::INVALID_FIELD,
        _ => Status::HOST_PATHING_ERROR,
    }
}

fn namespace_id(file: &File) -> std::io::Result<u32> {
    // SAFETY: NVME_IOCTL_ID takes no argument and returns a number; other devices refuse it.
    unsafe { ioctl(file, NamespaceId) }.map_err(Into::into)
}

struct NamespaceId;

// SAFETY: the ioctl takes no argument and its result is the NSID.
unsafe impl Ioctl for NamespaceId {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        Opcode::from(IOCTL_ID)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(out as u32)
    }
}

struct Passthru<const NUMBER: u32>(PassthroughCommand);

// SAFETY: the pointer is that of a structure of the size that NUMBER says, alive for the call and written by the kernel.
unsafe impl<const NUMBER: u32> Ioctl for Passthru<NUMBER> {
    type Output = (i32, PassthroughCommand);
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        Opcode::from(NUMBER)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, at: *mut c_void) -> rustix::io::Result<Self::Output> {
        // SAFETY: `at` is what `as_ptr` returned; the structure has not moved since.
        Ok((out, unsafe { at.cast::<PassthroughCommand>().read() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_namespaces_are_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = Node::open(file.path(), Duration::ZERO).expect_err("no namespace");
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()));
        assert_eq!(
            Node::open(Path::new("/dev/null"), Duration::ZERO).expect_err("none either").kind(),
            error.kind()
        );
    }

    #[test]
    fn statuses_and_error_numbers() {
        assert_eq!(status_of(0), Status::SUCCESS);
        assert!(status_of(0x4087).is(Status::KEY_DOES_NOT_EXIST));
        assert!(status_of(0x371).is(Status::ABORTED_BY_HOST));
        let of = |errno: rustix::io::Errno| status_of_error(&errno.into());
        assert_eq!(of(rustix::io::Errno::ACCESS), Status::OPERATION_DENIED);
        assert_eq!(of(rustix::io::Errno::INVAL), Status::INVALID_FIELD);
        assert_eq!(of(rustix::io::Errno::IO), Status::HOST_PATHING_ERROR);
    }
}
