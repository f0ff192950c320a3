// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a session reads: pairs that are buffered as well as those that are stored.

use super::{Session, native, natives};
use saker_host::{HostError, KeyRange};
use saker_nvme::Key;

impl Session {
    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?; // not sent yet, and seen all the same
    /// assert_eq!(session.get(b"key")?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        self.session.get(&native(key)?)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?;
    /// let mut buffer = [0; 16];
    /// let bytes = session.get_into(b"key", &mut buffer)?.expect("it is there");
    /// assert_eq!(&buffer[..bytes], b"value");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        self.session.get_into(&native(key)?, buffer)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// assert!(!session.exists(b"key")?);
    /// session.put(b"key", b"value")?;
    /// assert!(session.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.session.exists(&native(key)?)
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"a", b"1")?;
    /// assert_eq!(session.multi_get(&[b"a", b"b"])?, [Some(b"1".to_vec()), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        self.session.multi_get(&natives(keys)?)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// As [`multi_get`](Self::multi_get).
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"b", b"2")?;
    /// assert_eq!(session.multi_exist(&[b"a", b"b"])?, [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.session.multi_exist(&natives(keys)?)
    }

    /// Shows every pair whose key begins with `prefix`, buffered or stored, each once, in no order.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"user:1", b"Ada")?;
    /// session.put(b"visit:1", b"today")?;
    /// let mut names = Vec::new();
    /// session.scan(b"user:", &mut |_key, value| names.push(value))?;
    /// assert_eq!(names, [b"Ada"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(&mut self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], Vec<u8>)) -> Result<(), HostError> {
        let wanted = |key: &Key| key.as_bytes().starts_with(prefix);
        self.session.scan(wanted, |key, value| visit(key.as_bytes(), value))
    }

    /// Shows the pairs of a range, buffered or stored, to `visit` in the order of the bytes of their keys, until it returns
    /// false. Engines that keep keys in order have it read from a snapshot in the device; with others all pairs of the
    /// range are in memory first.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// for key in [b"c", b"a", b"b"] {
    ///     session.put(key, b"value")?;
    /// }
    /// let mut keys = Vec::new();
    /// let range = saker::KeyRange { to: b"c", ..saker::KeyRange::default() }; // before `c`
    /// session.scan_range(&range, &mut |key, _value| {
    ///     keys.push(key.to_vec());
    ///     true // go on
    /// })?;
    /// assert_eq!(keys, [b"a", b"b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_range(
        &mut self,
        range: &KeyRange<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), HostError> {
        self.session.scan_range(range, |key, value| visit(key.as_bytes(), value))
    }
}
