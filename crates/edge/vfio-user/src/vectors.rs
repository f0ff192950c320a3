// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: the event descriptors of a client, by vector.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// What a client is told by: the interrupts of one kind.
#[derive(Debug)]
pub(crate) struct Vectors(Vec<Option<OwnedFd>>);

impl Vectors {
    /// So many interrupts, none of which has a descriptor.
    pub fn new(count: u32) -> Self {
        Self((0..count).map(|_| None).collect())
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// Gives vectors from `start` on their descriptors; all of them exist.
    ///
    /// # Errors
    /// For a descriptor that is no eventfd: who writes to another one could wait for ever. None is taken then.
    pub fn set(&mut self, start: u32, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        for descriptor in &descriptors {
            check(descriptor)?;
        }
        let places = self.0.iter_mut().skip(start as usize);
        places.zip(descriptors).for_each(|(place, descriptor)| *place = Some(descriptor));
        Ok(())
    }

    /// Forgets `count` vectors from `start` on.
    pub fn forget(&mut self, start: u32, count: u32) {
        self.0.iter_mut().skip(start as usize).take(count as usize).for_each(|place| *place = None);
    }

    /// Tells an interrupt. False if there is nothing to tell it by.
    pub fn tell(&self, vector: u16) -> bool {
        let Some(Some(descriptor)) = self.0.get(usize::from(vector)) else { return false };
        // A counter that is full tells enough, and a write to it could wait.
        let mut events = [PollFd::new(descriptor, PollFlags::OUT)];
        if poll(&mut events, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
            // A client that has closed its end has nobody to tell.
            let _ = rustix::io::write(descriptor, &1_u64.to_ne_bytes());
        }
        true
    }
}

fn check(descriptor: &OwnedFd) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    if std::fs::read_link(path)?.to_str() != Some("anon_inode:[eventfd]") {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let flags = fcntl_getfl(descriptor.as_fd())?;
    Ok(fcntl_setfl(descriptor.as_fd(), flags | OFlags::NONBLOCK)?)
}
