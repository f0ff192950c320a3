//! List: pairs in the order of the index, from any possible key on.

use super::HashStore;
use saker_engine_api::KvError;
use saker_sim::{Meter, Unit};

impl HashStore {
    /// Visits the keys from `from` on (from the first one when empty) until `visit` says stop (false). The order
    /// is total over all possible keys, so a page of results costs what it returns and a deleted resume key does
    /// no harm.
    pub fn list<W: Meter>(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8]) -> bool,
        w: &mut W,
    ) -> Result<(), KvError> {
        let start = match from {
            [] => None,
            key => Some(self.index.place(key).ok_or(KvError::KeySize)?),
        };
        self.enter_pending();
        w.work(Unit::Probe, 2);
        self.index.visit(start, |place, _| {
            w.work(Unit::ListEntry, 1);
            let (key, len) = self.index.key(place);
            visit(&key[..len])
        });
        Ok(())
    }
}
