// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that go to the answers of a group.

use saker_engine_api::{Answers, Sink, SourceError};

/// A value on its way to the answers.
pub struct ToAnswers<'a, A>(pub &'a mut A);

impl<A: Answers> Sink for ToAnswers<'_, A> {
    fn room(&self) -> u32 {
        u32::MAX
    }

    fn write(&mut self, _: u32, bytes: &[u8]) -> Result<(), SourceError> {
        self.0.value(bytes);
        Ok(())
    }
}
