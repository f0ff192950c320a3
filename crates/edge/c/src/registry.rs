// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handles: numbers that are given out once and look like pointers.

use crate::misuse::misuse;
use saker_handle::{Born, Class, Fault};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Once, PoisonError, RwLock, RwLockWriteGuard};

/// A kind of objects.
pub trait Kind: Any + Send + Sync {
    /// What C calls it.
    const NAME: &'static str;
}

/// What a handle stands for, of some kind.
type Object = Arc<dyn Any + Send + Sync>;

/// All that are open. Numbers are used once, so that a handle that was closed is never another one's.
#[derive(Default)]
struct Objects {
    last: usize,
    open: HashMap<usize, (Object, Born)>,
}

static OBJECTS: LazyLock<RwLock<Objects>> = LazyLock::new(|| {
    hold_while_forking();
    RwLock::default()
});

/// A number that looks like a pointer of the kind.
fn pointer<P>(number: usize) -> *mut P {
    std::ptr::without_provenance_mut(number)
}

/// The handle of a new object; null is none.
pub fn enter<T: Kind, P>(object: T) -> *mut P {
    let mut objects = OBJECTS.write().unwrap_or_else(PoisonError::into_inner);
    objects.last += 1;
    let number = objects.last;
    objects.open.insert(number, (Arc::new(object), Born::now()));
    pointer(number)
}

/// The object of a handle.
pub fn find<T: Kind, P>(handle: *mut P) -> Result<Arc<T>, Fault> {
    let objects = OBJECTS.read().unwrap_or_else(PoisonError::into_inner);
    let (object, born) = objects.open.get(&handle.addr()).cloned().ok_or_else(|| unknown::<T, P>(handle))?;
    drop(objects);
    born.check().map_err(Fault::from)?;
    object.downcast().map_err(|_| unknown::<T, P>(handle))
}

/// The same, and the handle is none any more; one of another process stays.
pub fn leave<T: Kind, P>(handle: *mut P) -> Result<Arc<T>, Fault> {
    let object = find(handle)?;
    let mut objects = OBJECTS.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been here first.
    objects.open.remove(&handle.addr()).map(|_| object).ok_or_else(|| unknown::<T, P>(handle))
}

fn unknown<T: Kind, P>(handle: *mut P) -> Fault {
    misuse(Class::Closed, &format!("{:#x} is no open {}", handle.addr(), T::NAME))
}

thread_local! {
    /// What a thread holds that forks.
    static HELD: RefCell<Option<RwLockWriteGuard<'static, Objects>>> = const { RefCell::new(None) };
}

extern "C" fn take() {
    let guard = OBJECTS.write().unwrap_or_else(PoisonError::into_inner);
    let _ = HELD.try_with(|held| held.replace(Some(guard)));
}

extern "C" fn give_back() {
    let _ = HELD.try_with(|held| held.replace(None));
}

/// A child of a fork has no other thread that could give the lock back; so the thread that forks takes it before, and gives it back on
/// both sides.
fn hold_while_forking() {
    static WATCHED: Once = Once::new();
    // SAFETY: the functions take and give back a lock, which is allowed there. That there is no memory for the entry is the only failure.
    WATCHED.call_once(|| unsafe {
        libc::pthread_atfork(Some(take), Some(give_back), Some(give_back));
    });
}
