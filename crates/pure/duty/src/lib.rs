// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What has to be ended by a call, and must not just be dropped: a record that is being appended, pages that are held, a
//! command that is under way.
//!
//! Such a value has a [`Duty`]. While it is *owed*, dropping it panics, because somebody forgot the call. What ends the value
//! calls [`Duty::done`]. A value that rests where its owner finds it again may go with the owner: a store goes as a whole when
//! power is cut, and so does a fork of a run. [`Duty::rest`] and [`Duty::owe`] stand where it is put there and taken out.
//!
//! Without debug assertions a duty is nothing: it has no bytes, its functions do nothing, and it has no `Drop`.
#![forbid(unsafe_code)]

/// Owed from its making until it is done, or rests.
#[derive(Debug)]
pub struct Duty {
    /// What is owed; `None`: nothing.
    #[cfg(debug_assertions)]
    owed: Option<&'static str>,
    /// What it was made for.
    #[cfg(debug_assertions)]
    what: &'static str,
}

#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Duty>() == 0, "it costs nothing where nobody looks");

impl Duty {
    /// A duty that is owed. `what` says what should have been called.
    #[inline(always)]
    #[must_use]
    #[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "nobody looks"))]
    pub const fn new(what: &'static str) -> Self {
        Self {
            #[cfg(debug_assertions)]
            owed: Some(what),
            #[cfg(debug_assertions)]
            what,
        }
    }

    /// It is done.
    #[inline(always)]
    pub fn done(mut self) {
        self.rest();
    }

    /// What it belongs to is where its owner finds it again, or has ended: it may be dropped.
    #[inline(always)]
    pub fn rest(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.owed = None;
        }
    }

    /// What it belongs to is taken from there: it must not be dropped.
    #[inline(always)]
    pub fn owe(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.owed = Some(self.what);
        }
    }
}

/// A copy owes nothing: it belongs to a fork of a run, or to whoever only looks.
impl Clone for Duty {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self {
            #[cfg(debug_assertions)]
            owed: None,
            #[cfg(debug_assertions)]
            what: self.what,
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Duty {
    fn drop(&mut self) {
        if let Some(what) = self.owed
            && !std::thread::panicking()
        {
            panic!("dropped, but {what}");
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::Duty;

    const WHAT: &str = "a test ends it";

    #[test]
    #[should_panic(expected = "dropped, but a test ends it")]
    fn what_is_owed_is_not_dropped() {
        drop(Duty::new(WHAT));
    }

    #[test]
    #[should_panic(expected = "dropped, but a test ends it")]
    fn what_was_taken_out_again_is_owed() {
        let mut duty = Duty::new(WHAT);
        duty.rest();
        duty.owe();
    }

    #[test]
    fn what_is_done_rests_or_is_a_copy_may_go() {
        let duty = Duty::new(WHAT);
        drop(duty.clone());
        duty.done();
        let mut resting = Duty::new(WHAT);
        resting.rest();
    }

    #[test]
    fn a_panic_that_is_under_way_is_the_one_to_be_told() {
        let panicked = std::panic::catch_unwind(|| {
            let _duty = Duty::new(WHAT);
            panic!("something else");
        });
        let told = panicked.expect_err("it panics");
        assert_eq!(told.downcast_ref(), Some(&"something else"));
    }
}
