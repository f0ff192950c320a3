//! Scans over keys of any length.

use saker_long_keys::envelope::{Directory, EnvelopeError, check_digests};
use saker_long_keys::{DEVICE_KEY_BYTES, KeyDigest, MARK, is_marked};
use saker_nvme::Key;

use super::store::KvStoreClient;
use crate::client::{Course, KeyRange, Walk};
use crate::driver::Driver;
use crate::error::HostError;

/// Keys that are listed before their values are read, where the device has no iterators.
const PAGE_KEYS: usize = 256;

/// What to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions<'a> {
    /// Which keys.
    pub range: KeyRange<'a>,
    /// Values are left out: they are shown empty.
    pub keys_only: bool,
    /// In falling order: of devices that have iterators.
    pub backwards: bool,
    /// Pairs that are wanted at most, as far as is known: batches are not larger. 0: all.
    pub pairs_max: u32,
}

/// How a scan was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOrder {
    /// By the device's iterator: short keys in the order of their bytes, then long ones by their digests, all as of one moment.
    /// Backwards both in falling order.
    Bytes,
    /// So, but the connection to the device was lost on the way: what came behind is as of a later moment.
    Resumed,
    /// By List and Retrieve, in the device's order; what changes meanwhile may be seen or not.
    Device,
}

/// Who sees the pairs of a scan, and may end it.
struct Visit<'a> {
    /// Asked before each batch: whether to go on.
    goes_on: &'a mut dyn FnMut() -> bool,
    /// Sees a pair: whether to go on.
    pair: &'a mut dyn FnMut(&[u8], &[u8]) -> bool,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Shows each pair of a range once, while `visit` says so. Where the device has iterators, all as of one moment, with
    /// keys of up to 16 bytes in the order of their bytes, longer ones behind them. It goes on behind the last key when the
    /// connection to a device on the network was lost and made again.
    ///
    /// # Errors
    /// [`HostError`]; [`Unreachable`](crate::KvError::Unreachable) if it could not be made again;
    /// [`NoOrder`](HostError::NoOrder) backwards on a device without iterators.
    pub fn scan(
        &mut self,
        options: &ScanOptions<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.scan_while(options, || true, visit)
    }

    /// The same while `goes_on`, which is asked before each batch, whether it has pairs of the range or not, says so as well.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_while(
        &mut self,
        options: &ScanOptions<'_>,
        mut goes_on: impl FnMut() -> bool,
        mut pair: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        let mut visit = Visit { goes_on: &mut goes_on, pair: &mut pair };
        let ScanOptions { range, keys_only, backwards, .. } = *options;
        let Some(mut short) = self.client.open_walk(Course { range, keys_only, backwards }, None)? else {
            if backwards {
                return Err(HostError::NoOrder);
            }
            return self.scan_listed(options, &mut visit).map(|()| ScanOrder::Device);
        };
        let scanned = self.scan_walked(&mut short, options, &mut visit);
        let closed = self.client.close_walk(short);
        let has_resumed = scanned?;
        closed.map(|()| if has_resumed { ScanOrder::Resumed } else { ScanOrder::Bytes })
    }

    /// Whether a connection was lost on the way.
    fn scan_walked(
        &mut self,
        short: &mut Walk<'_>,
        options: &ScanOptions<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, HostError> {
        let goes_on = self.scan_short(short, options, visit)?;
        if goes_on { self.scan_long(short, options, visit) } else { Ok(short.has_resumed()) }
    }

    /// Whether to go on.
    fn scan_short(
        &mut self,
        walk: &mut Walk<'_>,
        options: &ScanOptions<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, HostError> {
        while (visit.goes_on)() {
            let batch = self.client.walk_on(walk, options.pairs_max)?;
            for (key, value) in batch.pairs() {
                if !is_marked(key) && options.range.contains(key) && !(visit.pair)(key, value) {
                    return Ok(false);
                }
            }
            if batch.is_last() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The pairs in envelopes, as of the same moment. Whether a connection was lost up to their end.
    fn scan_long(
        &mut self,
        beside: &Walk<'_>,
        options: &ScanOptions<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<bool, HostError> {
        let envelopes = KeyRange { prefix: &MARK, ..KeyRange::default() };
        let course = Course { range: envelopes, keys_only: false, backwards: options.backwards };
        let Some(mut walk) = self.client.open_walk(course, Some(beside))? else {
            return Ok(beside.has_resumed());
        };
        let scanned = self.scan_envelopes(&mut walk, options, visit);
        let has_resumed = walk.has_resumed();
        scanned.and(self.client.close_walk(walk)).map(|()| has_resumed)
    }

    fn scan_envelopes(
        &mut self,
        walk: &mut Walk<'_>,
        options: &ScanOptions<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), HostError> {
        while (visit.goes_on)() {
            let batch = self.client.walk_on(walk, options.pairs_max)?;
            for (at, envelope) in batch.pairs().filter(|(at, _)| at.len() == DEVICE_KEY_BYTES) {
                if !open_envelope(at, envelope, &self.digest, options, visit)? {
                    return Ok(());
                }
            }
            if batch.is_last() {
                break;
            }
        }
        Ok(())
    }

    /// Every key of the device, and the value of those that are wanted.
    fn scan_listed(&mut self, options: &ScanOptions<'_>, visit: &mut Visit<'_>) -> Result<(), HostError> {
        let mut from: Option<Vec<u8>> = None;
        while (visit.goes_on)() {
            let mut page = Vec::with_capacity(PAGE_KEYS + 1);
            for key in self.list(from.as_deref()).take(PAGE_KEYS + 1) {
                page.push(key?);
            }
            let is_last = page.len() <= PAGE_KEYS;
            from = page.last().cloned();
            page.truncate(PAGE_KEYS);
            for key in page.iter().filter(|key| options.range.contains(key)) {
                // Deleted meanwhile: passed over.
                let value = if options.keys_only { Some(Vec::new()) } else { self.get(key)? };
                if value.is_some_and(|value| !(visit.pair)(key, &value)) {
                    return Ok(());
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

/// Shows the pairs of an envelope that are wanted. Whether to go on.
fn open_envelope(
    at: &[u8],
    bytes: &[u8],
    digest: &impl KeyDigest,
    options: &ScanOptions<'_>,
    visit: &mut Visit<'_>,
) -> Result<bool, HostError> {
    let key = Key::new(at)?;
    let broken = |error| HostError::Envelope { key, error };
    let Directory::Complete(entries) = Directory::parse(bytes, bytes.len()).map_err(broken)? else {
        return Err(broken(EnvelopeError::Length));
    };
    check_digests(&entries, key.as_bytes(), digest).map_err(broken)?;
    for entry in entries.iter().filter(|entry| options.range.contains(entry.key)) {
        let value = bytes.get(entry.value.clone()).ok_or_else(|| broken(EnvelopeError::Length))?;
        if !(visit.pair)(entry.key, if options.keys_only { &[] } else { value }) {
            return Ok(false);
        }
    }
    Ok(true)
}
