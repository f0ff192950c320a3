// SPDX-License-Identifier: Apache-2.0 OR MIT
use saker_host::long_keys::envelope::{self, Directory, Entry};
use saker_host::{Condition, Driver, EnvelopeError, HostError, KeyDigest, KvError, KvStoreClient};
use saker_nvme::Key;

use crate::client::open;
use crate::fake::{Fake, key};

/// Every long key collides with every other.
pub struct Collide;

impl KeyDigest for Collide {
    fn digest(&self, _key: &[u8]) -> u128 {
        7
    }
}

fn collision_key() -> Key {
    key(&[0xFF, 0x4B, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
}

fn colliding() -> KvStoreClient<Fake, Collide> {
    KvStoreClient::with_digest(open(Fake::new()), Collide)
}

/// Two pairs: key of 17 `a` with value `xy`, key of 18 `b` with an empty value.
#[rustfmt::skip]
const GOLDEN: [u8; 8 + 5 + 17 + 5 + 18 + 2] = [
    b'S', b'K', b'L', b'K', 1, 0, 2, 0,
    17, 2, 0, 0, 0,
    b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a', b'a',
    18, 0, 0, 0, 0,
    b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b', b'b',
    b'x', b'y',
];

#[test]
fn an_envelope_has_these_bytes() {
    let mut written = Vec::new();
    let pairs: [(&[u8], &[u8]); 2] = [(&[b'a'; 17], b"xy"), (&[b'b'; 18], b"")];
    envelope::write(&pairs, &mut written).expect("few pairs");
    assert_eq!(written, GOLDEN);
    assert_eq!(envelope::bytes(&pairs), GOLDEN.len());
    let entries = vec![Entry { key: &[b'a'; 17], value: 53..55 }, Entry { key: &[b'b'; 18], value: 55..55 }];
    assert_eq!(Directory::parse(&GOLDEN, 55), Ok(Directory::Complete(entries.clone())));
    assert_eq!(Directory::parse(&GOLDEN[..53], 55), Ok(Directory::Complete(entries)));
    assert_eq!(Directory::parse(&GOLDEN[..52], 55), Ok(Directory::Incomplete));
}

#[test]
fn wrong_envelopes_are_errors() {
    let changed = |at: usize, byte: u8| {
        let mut bytes = GOLDEN;
        bytes[at] = byte;
        Directory::parse(&bytes, bytes.len()).unwrap_err()
    };
    assert_eq!(changed(0, b'X'), EnvelopeError::Magic);
    assert_eq!(changed(4, 2), EnvelopeError::Version(2));
    assert_eq!(changed(5, 1), EnvelopeError::Reserved);
    assert_eq!(changed(6, 0), EnvelopeError::Empty);
    assert_eq!(changed(6, 1), EnvelopeError::Length);
    assert_eq!(changed(6, 3), EnvelopeError::Length);
    assert_eq!(changed(9, 3), EnvelopeError::Length);
    assert_eq!(changed(12, 0xFF), EnvelopeError::Length);
    assert_eq!(changed(8, 16), EnvelopeError::Key(16));
    assert_eq!(changed(13, b'c'), EnvelopeError::Order);
    for bytes in 0..GOLDEN.len() {
        assert_eq!(Directory::parse(&GOLDEN[..bytes], bytes), Err(EnvelopeError::Length), "cut at {bytes}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes: Vec<u8>, flips in proptest::collection::vec((0..55_usize, 1..=255_u8), 0..4)) {
        drop(Directory::parse(&bytes, bytes.len()));
        let mut golden = GOLDEN;
        for (at, flip) in &flips {
            golden[*at] ^= flip;
        }
        if let Ok(Directory::Complete(entries)) = Directory::parse(&golden, golden.len()) {
            proptest::prop_assert!(entries.iter().all(|entry| entry.value.end <= golden.len()));
            proptest::prop_assert!(entries.is_sorted_by(|one, next| one.key < next.key && one.value.end == next.value.start));
        }
    }
}

#[test]
fn a_hostile_envelope_is_reported_with_its_key() {
    let mut store = colliding();
    let at = collision_key();
    let hostile = |store: &mut KvStoreClient<Fake, Collide>, bytes: &[u8], error| {
        store.native().driver_mut().pairs.insert(at, bytes.to_vec());
        let expected = HostError::Envelope { key: at, error };
        assert_eq!(store.get(&[b'a'; 17]), Err(expected.clone()));
        assert_eq!(store.put(&[b'a'; 17], b"v"), Err(expected.clone()));
        assert_eq!(store.delete(&[b'a'; 17]), Err(expected.clone()));
        assert_eq!(store.list(None).next(), Some(Err(expected)));
    };
    hostile(&mut store, b"", EnvelopeError::Length);
    hostile(&mut store, &[0; 5000], EnvelopeError::Magic);
    hostile(&mut store, &GOLDEN[..54], EnvelopeError::Length);
    // Claims a directory of more than there is.
    let mut endless = vec![0; 5000];
    endless[..8].copy_from_slice(&[b'S', b'K', b'L', b'K', 1, 0, 0xFF, 0xFF]);
    hostile(&mut store, &endless, EnvelopeError::Key(0));
    store.native().driver_mut().pairs.insert(at, GOLDEN.to_vec());
    assert_eq!(store.get(&[b'a'; 17]), Ok(Some(b"xy".to_vec())));
}

#[test]
fn an_envelope_under_another_device_key_is_an_error() {
    let mut store = KvStoreClient::new(open(Fake::new()));
    store.put(&[b'a'; 17], b"v").expect("stores");
    let fake = store.native().driver_mut();
    let (mine, value) = fake.pairs.pop_first().expect("one pair");
    let mut moved = *mine.padded();
    moved[15] ^= 1;
    fake.pairs.insert(key(&moved), value);
    let error = HostError::Envelope { key: key(&moved), error: EnvelopeError::Digest };
    assert_eq!(store.get(&[b'a'; 17]), Ok(None));
    assert_eq!(store.list(None).next(), Some(Err(error)));
}

#[test]
fn colliding_keys_share_an_envelope_and_leave_it_one_by_one() {
    let mut store = colliding();
    let names: Vec<Vec<u8>> = (0..40).map(|n| vec![n; 17 + usize::from(n) * 5]).collect();
    for (n, name) in names.iter().enumerate() {
        assert_eq!(
            store.put_if(name, &vec![n as u8; n * 50], Condition::MustExist),
            Err(KvError::NotFound.into())
        );
        store.put_if(name, &vec![n as u8; n * 50], Condition::MustNotExist).expect("stores");
        assert_eq!(store.put_if(name, b"", Condition::MustNotExist), Err(KvError::Exists.into()));
    }
    assert_eq!(store.native().driver_mut().pairs.keys().copied().collect::<Vec<_>>(), [collision_key()]);
    for (n, name) in names.iter().enumerate() {
        assert_eq!(store.get(name), Ok(Some(vec![n as u8; n * 50])));
        assert_eq!(store.exists(name), Ok(true));
    }
    let listed: Vec<_> = store.list(None).map(|name| name.expect("lists")).collect();
    assert_eq!(listed, names);
    let tail: Vec<_> = store.list(Some(&names[30])).map(|name| name.expect("lists")).collect();
    assert_eq!(tail, names[30..]);
    for name in &names {
        assert_eq!(
            (store.delete(name), store.delete(name), store.exists(name)),
            (Ok(true), Ok(false), Ok(false))
        );
    }
    assert!(store.native().driver_mut().pairs.is_empty());
}

#[test]
fn a_native_key_with_the_mark_is_enveloped_too() {
    let mut store = colliding();
    let marked = *collision_key().padded();
    store.put(&marked, b"mine").expect("stores");
    store.put(&[1; 200], b"other").expect("stores");
    assert_eq!(store.get(&marked), Ok(Some(b"mine".to_vec())));
    assert_eq!(store.native().driver_mut().pairs.len(), 1);
    store.put(&marked[..15], b"native").expect("stores");
    assert_eq!(store.native().driver_mut().pairs[&key(&marked[..15])], b"native");
}

#[test]
fn the_longest_value_fits_and_one_byte_more_does_not() {
    let mut store = colliding();
    let name = [9; 255];
    let bytes_max = store.long_value_bytes_max(name.len());
    assert_eq!(bytes_max, (2 << 20) - 8 - 5 - 255);
    let value = vec![0x5A; bytes_max];
    store.put(&name, &value).expect("fits");
    assert!(store.get(&name).expect("reads").expect("exists") == value);
    let limit = HostError::ValueLength { bytes: bytes_max + 1, bytes_max };
    assert_eq!(store.put(&name, &vec![0; bytes_max + 1]), Err(limit));
    assert!(matches!(store.put(&[1; 17], b""), Err(HostError::ValueLength { .. })));
    assert_eq!(store.list(None).count(), 1);
}

#[test]
fn key_lengths_are_checked() {
    let mut store = colliding();
    assert_eq!(store.put(&[], b""), Err(HostError::KeyLength(0)));
    assert_eq!(store.get(&[0; 256]), Err(HostError::KeyLength(256)));
    let mut listing = store.list(Some(&[0; 300]));
    assert_eq!((listing.next(), listing.next()), (Some(Err(HostError::KeyLength(300))), None));
    store.native().driver_mut().drive();
}
