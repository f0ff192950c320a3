// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use proptest::prelude::*;
use saker_nvme::group::parse;
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a device reads in a payload.
fn read(form: Form, payload: &[u8]) -> Model {
    let mut read = Model::new();
    let part = |at: std::ops::Range<u32>| payload[at.start as usize..at.end as usize].to_vec();
    parse(form, payload, |entry| {
        let value = (entry.op == Op::Store).then(|| part(entry.value));
        assert!(read.insert(part(entry.key), value).is_none(), "a key twice");
    })
    .expect("a good payload");
    read
}

fn agrees(batch: &WriteBatch, model: &Model) {
    assert_eq!((batch.len(), batch.is_empty()), (model.len(), model.is_empty()));
    let held = |(key, value): Write<'_>| (key.to_vec(), value.map(<[u8]>::to_vec));
    let listed: Vec<_> = batch.iter().map(held).collect();
    assert!(listed.iter().map(|(k, v)| (k, v)).eq(model), "in the order of the keys");
    assert_eq!(batch.writes().map(held).collect::<Model>(), *model);
    if model.is_empty() {
        return;
    }
    let (form, payload) = batch.pack().expect("good keys");
    assert_eq!(form == Form::Mixed, model.values().any(Option::is_none));
    assert_eq!(read(form, &payload), *model);
    if let Some((form, payload)) = batch.packed() {
        assert_eq!(read(form, payload), *model);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, usize),
    Delete(u8),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..40_u8, 0..700_usize).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        3 => (0..40_u8).prop_map(Step::Delete),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..200)
}

/// Keys of all lengths, among them some that differ in their last byte alone.
fn key(n: u8) -> Vec<u8> {
    let bytes = [1, 3, 4, 8, 16, 17, 200, 255][usize::from(n % 8)];
    let mut key = vec![7; bytes];
    key[bytes - 1] = n;
    key
}

proptest! {
    #[test]
    fn a_batch_is_a_map(steps in steps()) {
        let (mut batch, mut model) = (WriteBatch::new(), Model::new());
        for step in steps {
            match step {
                Step::Put(n, bytes) => {
                    let value = vec![n; bytes];
                    batch.put(&key(n), &value);
                    model.insert(key(n), Some(value));
                }
                Step::Delete(n) => {
                    batch.delete(&key(n));
                    model.insert(key(n), None);
                }
                Step::Clear => {
                    batch.clear();
                    model.clear();
                }
            }
        }
        agrees(&batch, &model);
        let mut again = WriteBatch::new();
        for (key, value) in model.iter().rev() {
            match value {
                Some(value) => again.put(key, value),
                None => again.delete(key),
            };
        }
        prop_assert_eq!(&again, &batch, "the order of writing does not matter");
        again.set_atomic(true);
        prop_assert_ne!(&again, &batch);
    }
}

/// A key that is written again and again takes the room of a few writes.
#[test]
fn what_was_replaced_does_not_pile_up() {
    let mut batch = WriteBatch::new();
    batch.put(b"other", b"stays");
    for n in 0..10_000_u32 {
        batch.put(b"key", &[n.to_le_bytes(); 25].concat());
        assert!(batch.payload.len() < 3 * DEAD_BYTES_MAX, "{} bytes after {n}", batch.payload.len());
    }
    assert_eq!(batch.len(), 2);
    batch.delete(b"key");
    let model = Model::from([(b"key".to_vec(), None), (b"other".to_vec(), Some(b"stays".to_vec()))]);
    agrees(&batch, &model);
    assert!(batch.packed().is_none(), "the key is in it twice");
}

#[test]
fn what_holds_for_all_keys_is_known() {
    let keys_of = |keys: &[&[u8]]| {
        let mut batch = WriteBatch::new();
        keys.iter().for_each(|key| _ = batch.put(key, b""));
        (batch.keys().are_native, batch.keys().are_tellable)
    };
    let mut marked = [0; 16];
    marked[..2].copy_from_slice(&[0xFF, 0x4B]);
    assert_eq!(keys_of(&[b"a", &[1; 16]]), (true, true));
    assert_eq!(keys_of(&[b"a", &[1; 17], &[1; 255]]), (false, true));
    // Keys of the device's length that stand for others, and such as no device takes, go another way.
    for other in [&marked[..], &[], &[1; 256]] {
        assert_eq!(keys_of(&[b"a", other]), (false, false));
    }
}
