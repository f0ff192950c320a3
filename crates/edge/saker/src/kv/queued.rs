// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gets that are not waited for.

use super::Kv;
use saker_host::{HostError, QueuedGet};

impl Kv {
    /// Asks for a value without waiting. [`Kv::finish_get`] or [`Kv::finish_get_into`] waits for it and brings it, in the order in which
    /// gets were queued or in any other; [`Kv::wait_any`] waits for whichever comes first, [`Kv::is_answered`] does not wait. All other calls may
    /// come in between. Over a network, or with a device on a thread of its own, many gets are under way at once.
    ///
    /// A get sees what this `Kv` has put before, queued puts included: it waits for one of the same key. It may also see what is put before it is
    /// finished. A get that is dropped leaves nothing behind. As many may be queued as `depth=` says (64 without it).
    ///
    /// A value of more than 4 KiB is read again when it is finished, so it gains nothing. So does a key of more than 16 bytes on a device that does
    /// not take such keys by pointer: it is read before this returns. The read cache answers what it has, and takes no queued get in.
    ///
    /// # Errors
    /// [`HostError`]; [`SubmitError::QueuedGets`](crate::error::SubmitError::QueuedGets) if `depth` gets wait to be finished.
    ///
    /// ```
    /// use saker::QueuedGet;
    /// use std::collections::VecDeque;
    /// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&depth=16")?; // or file:disk.img, tcp://HOST:PORT/NQN
    /// (0..100_u32).try_for_each(|n| kv.put(&n.to_be_bytes(), &[n as u8; 100]))?;
    /// let (mut gets, mut found) = (VecDeque::<QueuedGet>::new(), 0);
    /// for n in 0..200_u32 {
    ///     if gets.len() == 16 {
    ///         found += usize::from(kv.finish_get(gets.pop_front().expect("16"))?.is_some()); // the oldest
    ///     }
    ///     gets.push_back(kv.get_queued(&n.to_be_bytes())?);
    /// }
    /// for get in gets {
    ///     found += usize::from(kv.finish_get(get)?.is_some());
    /// }
    /// assert_eq!(found, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_queued(&mut self, key: &[u8]) -> Result<QueuedGet, HostError> {
        match self.cache.get(key, <[u8]>::to_vec) {
            Some(value) => self.store.native().get_known(key, Some(&value)),
            None => self.store.get_queued(key),
        }
    }

    /// Whether a queued get has been answered: then finishing it does not wait. The device makes some progress meanwhile.
    ///
    /// # Errors
    /// [`HostError`]; [`SubmitError::ForeignGet`](crate::error::SubmitError::ForeignGet) if another `Kv` has queued it.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"key", b"value")?;
    /// let get = kv.get_queued(b"key")?;
    /// while !kv.is_answered(&get)? {
    ///     kv.put(b"meanwhile", b"something else")?;
    /// }
    /// assert_eq!(kv.finish_get(get)?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_answered(&mut self, get: &QueuedGet) -> Result<bool, HostError> {
        self.store.native().is_answered(get)
    }

    /// Waits until one of these gets has been answered, and tells which: the first of them that was. `None` if there are none.
    ///
    /// # Errors
    /// As [`Kv::is_answered`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"one", b"1")?;
    /// let mut gets = vec![kv.get_queued(b"one")?, kv.get_queued(b"two")?];
    /// let mut values = Vec::new();
    /// while let Some(answered) = kv.wait_any(&gets)? {
    ///     values.extend(kv.finish_get(gets.swap_remove(answered))?);
    /// }
    /// assert_eq!(values, [b"1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_any(&mut self, gets: &[QueuedGet]) -> Result<Option<usize>, HostError> {
        self.store.native().wait_any(gets)
    }

    /// Waits for a queued get and brings its value; `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`] of the get, which is given up then.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// let before = kv.get_queued(b"key")?;
    /// assert_eq!(kv.finish_get(before)?, None);
    /// kv.put_queued(b"key", b"value")?;
    /// let after = kv.get_queued(b"key")?; // sees the put, which may still be under way
    /// assert_eq!(kv.finish_get(after)?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_get(&mut self, get: QueuedGet) -> Result<Option<Vec<u8>>, HostError> {
        self.store.native().finish_get(get)
    }

    /// Waits for a queued get and brings its value into the beginning of `buffer`; returns its full length, which may be more than the buffer's, or
    /// `None` if there is no such key.
    ///
    /// # Errors
    /// As [`Kv::finish_get`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"greeting", b"good morning")?;
    /// let (get, mut buffer) = (kv.get_queued(b"greeting")?, [0; 4]);
    /// assert_eq!(kv.finish_get_into(get, &mut buffer)?, Some(12));
    /// assert_eq!(&buffer, b"good");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_get_into(&mut self, get: QueuedGet, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        self.store.native().finish_get_into(get, buffer)
    }
}
