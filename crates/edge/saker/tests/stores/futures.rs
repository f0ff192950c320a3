// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Futures of a store, under an executor that sleeps until it is woken.

use super::store;
use saker::{AsyncStore, EngineKind, Spaces, StoreError, WriteBatch};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A future that wakes nobody would sleep here for ever.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn calls_are_carried_out_in_their_order() {
    for engine in EngineKind::ALL {
        let store = AsyncStore::new(store(engine));
        let all = block_on(async {
            let puts: Vec<_> =
                (0..300_u32).map(|n| store.put((n % 100).to_be_bytes(), n.to_be_bytes())).collect();
            drop(store.delete(7_u32.to_be_bytes()));
            for put in puts {
                put.await?;
            }
            let mut batch = WriteBatch::new();
            batch.put(b"a key of more than sixteen bytes", b"value");
            store.write(batch).await?;
            store.flush().await?;
            assert_eq!(store.get(99_u32.to_be_bytes()).await?, Some(299_u32.to_be_bytes().to_vec()));
            assert!(!store.exists(7_u32.to_be_bytes()).await?, "a call whose future was dropped took place");
            store.run(|store| Ok(store.iter()?.count())).await
        });
        assert_eq!(all.expect("read"), 100, "{}", engine.name());
    }
}

#[test]
fn threads_await_each_others_calls() {
    let spaces = Spaces::of(store(&EngineKind::default())).expect("it is empty");
    let store = AsyncStore::new(spaces.space("users").expect("made"));
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let store = store.clone();
            scope.spawn(move || {
                for n in 0..200_u32 {
                    let key = [thread, n].map(u32::to_be_bytes).concat();
                    block_on(store.put(key.clone(), key.clone())).expect("stored");
                    assert_eq!(block_on(store.get(key.clone())).expect("read"), Some(key));
                }
            });
        }
    });
    assert_eq!(block_on(store.run(|store| Ok(store.iter()?.count()))).expect("read"), 800);
}

/// What goes wrong is an answer, and nobody waits for ever.
#[test]
fn failures_are_answers() {
    let store = AsyncStore::new(store(&EngineKind::default()));
    let panicked =
        store.run(|_| -> Result<(), StoreError> { std::panic::resume_unwind(Box::new("a user's own")) });
    assert!(matches!(block_on(panicked), Err(StoreError::Broken)));
    block_on(store.put("key", "value")).expect("the device was not in that call");
    block_on(store.close()).expect("closes");
    assert!(matches!(block_on(store.get("key")), Err(StoreError::Closed)));
    let last = store.put("key", "value");
    drop(store);
    assert!(matches!(block_on(last), Err(StoreError::Closed)));
}
