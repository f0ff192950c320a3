// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections in memory, the least recently used one last.

use super::section::Section;
use saker_log::ensure;

const NONE: u32 = u32::MAX;

/// A tombstone that is needed until its section is on flash as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Its hash index.
    pub slot: u64,
    /// What an entry keeps of its key's hash.
    pub tag: u8,
    /// Where it is.
    pub grain: u64,
}

/// A cached section.
#[derive(Clone, Debug)]
pub struct Cached {
    /// Which.
    pub id: u32,
    /// Its entries.
    pub section: Section,
    /// Whether flash has older ones.
    pub is_dirty: bool,
    /// Whether a user's command, and not only collection, has changed it since.
    pub by_user: bool,
    /// Whether it is written because the table doubles.
    pub by_rehash: bool,
    /// Whether it was read for an operation that has not ended: to find it here is no hit yet.
    pub is_awaited: bool,
    /// Tombstones in it.
    pub tombstones: Vec<Tombstone>,
    /// Memory it takes.
    bytes: u64,
    /// The last operation that used it.
    used_by: u64,
    newer: u32,
    older: u32,
}

impl Cached {
    /// Memory that is noted for it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Cached sections in the order of their last use.
#[derive(Clone, Debug)]
pub struct Cache {
    slab: Vec<Option<Cached>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    bytes: u64,
    limit: u64,
    len: u32,
}

impl Cache {
    /// An empty cache of that many bytes.
    pub fn new(limit: u64) -> Self {
        Self { slab: Vec::new(), free: Vec::new(), newest: NONE, oldest: NONE, bytes: 0, limit, len: 0 }
    }

    /// It may have so many bytes from now on: sections leave when somebody takes memory, or in the background.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Memory that sections take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sections in it.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether sections must go.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.bytes > self.limit
    }

    /// Whether sections will have to go soon.
    #[inline]
    pub fn is_nearly_full(&self) -> bool {
        self.bytes > self.limit - self.limit / 16
    }

    /// A cached section.
    #[inline]
    pub fn get(&self, at: u32) -> &Cached {
        self.slab[at as usize].as_ref().expect("a cached section")
    }

    /// The cached section of that place, if there is one.
    pub fn find(&self, at: u32) -> Option<&Cached> {
        self.slab.get(at as usize)?.as_ref()
    }

    /// Says what contradicts itself: every section is once in the order, which is the same in both directions.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let (mut at, mut older, mut len, mut bytes) = (self.oldest, NONE, 0, 0);
        while at != NONE {
            let cached = self.find(at).ok_or_else(|| format!("there is nothing in {at}"))?;
            ensure(cached.older == older, || {
                format!("behind {older} comes {at}, which follows {}", cached.older)
            })?;
            (len, bytes) = (len + 1, bytes + cached.bytes);
            ensure(len <= self.len, || {
                format!("more than {} sections, or they follow in a circle", self.len)
            })?;
            (older, at) = (at, cached.newer);
        }
        let found = (older, len, bytes);
        let noted = (self.newest, self.len, self.bytes);
        ensure(found == noted, || format!("the newest, sections and bytes are {found:?}, noted: {noted:?}"))?;
        let free = self.free.iter().all(|at| self.slab.get(*at as usize).is_some_and(Option::is_none));
        let all = self.free.len() + self.len as usize == self.slab.len();
        ensure(free && all, || format!("free places: {:?}", self.free))
    }

    /// A cached section. Its size is noted by [`Cache::resized`].
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> &mut Cached {
        self.slab[at as usize].as_mut().expect("a cached section")
    }

    /// A section takes that much memory now.
    pub fn resized(&mut self, at: u32, bytes: u64) {
        let old = std::mem::replace(&mut self.get_mut(at).bytes, bytes);
        self.bytes = self.bytes - old + bytes;
    }

    /// Enters a clean section as the newest one.
    pub fn insert(&mut self, id: u32, section: Section, bytes: u64, used_by: u64) -> u32 {
        let cached = Cached {
            id,
            section,
            is_dirty: false,
            by_user: false,
            by_rehash: false,
            is_awaited: false,
            tombstones: Vec::new(),
            bytes,
            used_by,
            newer: NONE,
            older: NONE,
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.slab.push(None);
            self.slab.len() as u32 - 1
        });
        self.slab[at as usize] = Some(cached);
        self.bytes += bytes;
        self.len += 1;
        self.link(at);
        at
    }

    /// An operation uses a section.
    #[inline]
    pub fn touch(&mut self, at: u32, used_by: u64) {
        self.get_mut(at).used_by = used_by;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
    }

    /// Takes a section out.
    pub fn remove(&mut self, at: u32) -> Cached {
        self.unlink(at);
        let cached = self.slab[at as usize].take().expect("a cached section");
        self.free.push(at);
        self.bytes -= cached.bytes;
        self.len -= 1;
        cached
    }

    /// The section that goes next: the least recently used one that operation `but` does not use.
    pub fn oldest(&self, but: u64) -> Option<u32> {
        self.from_oldest().find(|at| self.get(*at).used_by != but)
    }

    /// Sections from the least recently used one on.
    pub fn from_oldest(&self) -> impl Iterator<Item = u32> + '_ {
        let valid = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(valid(self.oldest), move |at| valid(self.get(*at).newer))
    }

    fn link(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        let cached = self.get_mut(at);
        (cached.older, cached.newer) = (before, NONE);
        match before {
            NONE => self.oldest = at,
            _ => self.get_mut(before).newer = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let (older, newer) = (self.get(at).older, self.get(at).newer);
        match older {
            NONE => self.oldest = newer,
            _ => self.get_mut(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.get_mut(newer).older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::config::Layout;

    #[test]
    fn the_least_recently_used_goes_unless_it_is_in_use() {
        let mut cache = Cache::new(250);
        let empty = || Section::new(Layout::Fixed, 4, &[]);
        let places: Vec<_> = (0..3).map(|id| cache.insert(id, empty(), 100, u64::from(id))).collect();
        assert!(cache.is_over() && cache.is_nearly_full());
        cache.touch(places[0], 7);
        let order = |cache: &Cache| cache.from_oldest().map(|at| cache.get(at).id).collect::<Vec<_>>();
        assert_eq!(order(&cache), [1, 2, 0]);
        assert_eq!(cache.oldest(1).map(|at| cache.get(at).id), Some(2));
        cache.remove(places[2]);
        assert_eq!((order(&cache), cache.bytes(), cache.len()), (vec![1, 0], 200, 2));
        cache.resized(places[1], 40);
        assert_eq!(cache.bytes(), 140);
        cache.remove(places[1]);
        cache.remove(places[0]);
        assert!(cache.oldest(99).is_none() && cache.is_empty() && cache.bytes() == 0);
    }
}
