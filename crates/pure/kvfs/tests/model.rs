// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a file system should show: as its users see it, and as its records say.

use saker_kvfs::{Disk, Fs, FsError, Kind};
use std::collections::BTreeMap;

/// What a path leads to; files by a number of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    Directory,
    File(u64),
}

/// A tree of names with the bytes of files: each path, a directory without bytes.
pub type Shown = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Clone, Debug, Default)]
pub struct Model {
    names: BTreeMap<String, Node>,
    seen: BTreeMap<u64, Vec<u8>>,
    recorded: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// What records can say after each change, the oldest first.
    pub history: Vec<Shown>,
    /// The first of them that a cut can leave.
    pub durable: usize,
    /// The first of them that the death of the program can leave.
    pub flushed: usize,
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Model {
    pub fn new() -> Self {
        let mut model = Self::default();
        model.changed();
        model
    }

    fn changed(&mut self) {
        self.history.push(self.show(&self.recorded));
    }

    fn show(&self, contents: &BTreeMap<u64, Vec<u8>>) -> Shown {
        let show = |(path, node): (&String, &Node)| match node {
            Node::Directory => (path.clone(), None),
            Node::File(id) => (path.clone(), Some(contents[id].clone())),
        };
        self.names.iter().map(show).collect()
    }

    /// As users see it.
    pub fn seen(&self) -> Shown {
        self.show(&self.seen)
    }

    /// After a cut that left this.
    pub fn restart(&mut self, shown: &Shown, links: &BTreeMap<String, u64>) {
        *self = Self::default();
        for (path, bytes) in shown {
            let node = match bytes {
                None => Node::Directory,
                Some(bytes) => {
                    let id = links[path];
                    self.seen.insert(id, bytes.clone());
                    Node::File(id)
                }
            };
            self.names.insert(path.clone(), node);
        }
        self.next = links.values().max().map_or(0, |id| id + 1);
        self.recorded = self.seen.clone();
        self.changed();
    }

    fn has_parent(&self, path: &str) -> bool {
        parent(path).is_empty() || self.names.get(parent(path)) == Some(&Node::Directory)
    }

    pub fn file(&self, path: &str) -> Option<u64> {
        match self.names.get(path) {
            Some(Node::File(id)) => Some(*id),
            _ => None,
        }
    }

    /// Whether it is done.
    pub fn create(&mut self, path: &str) -> bool {
        if !self.has_parent(path) || self.names.get(path) == Some(&Node::Directory) {
            return false;
        }
        if let Some(id) = self.file(path) {
            self.truncate(id, 0);
            return true;
        }
        self.next += 1;
        self.names.insert(path.to_owned(), Node::File(self.next));
        self.seen.insert(self.next, Vec::new());
        self.recorded.insert(self.next, Vec::new());
        self.changed();
        true
    }

    pub fn make_directory(&mut self, path: &str) -> bool {
        let done = self.has_parent(path) && !self.names.contains_key(path);
        if done {
            self.names.insert(path.to_owned(), Node::Directory);
            self.changed();
        }
        done
    }

    fn is_empty(&self, path: &str) -> bool {
        !self.names.keys().any(|other| other.starts_with(&format!("{path}/")))
    }

    pub fn remove(&mut self, path: &str, directory: bool) -> bool {
        let done = match self.names.get(path) {
            Some(Node::Directory) => directory && self.is_empty(path),
            Some(Node::File(_)) => !directory,
            None => false,
        };
        if done {
            self.names.remove(path);
            self.changed();
        }
        done
    }

    pub fn rename(&mut self, path: &str, new: &str) -> bool {
        let Some(node) = self.names.get(path).copied() else { return false };
        let moves_below = node == Node::Directory && (new == path || new.starts_with(&format!("{path}/")));
        if !self.has_parent(new) || moves_below && new != path {
            return false;
        }
        let replaced = self.names.get(new).copied();
        match (node, replaced) {
            _ if path == new => return true,
            (Node::File(a), Some(Node::File(b))) if a == b => return true,
            (Node::File(_), Some(Node::Directory)) | (Node::Directory, Some(Node::File(_))) => return false,
            (Node::Directory, Some(Node::Directory)) if !self.is_empty(new) => return false,
            _ => {}
        }
        let moved: Vec<String> =
            self.names.keys().filter(|p| *p == path || p.starts_with(&format!("{path}/"))).cloned().collect();
        for old in moved {
            let node = self.names.remove(&old).expect("it is there");
            self.names.insert(format!("{new}{}", &old[path.len()..]), node);
        }
        self.changed();
        true
    }

    pub fn link(&mut self, path: &str, new: &str) -> bool {
        let (Some(id), true, false) = (self.file(path), self.has_parent(new), self.names.contains_key(new))
        else {
            return false;
        };
        self.names.insert(new.to_owned(), Node::File(id));
        self.changed();
        true
    }

    pub fn append(&mut self, id: u64, bytes: &[u8]) {
        self.seen.get_mut(&id).expect("it is there").extend_from_slice(bytes);
    }

    pub fn truncate(&mut self, id: u64, bytes: usize) {
        self.seen.get_mut(&id).expect("it is there").resize(bytes, 0);
        let recorded = self.recorded.get_mut(&id).expect("it is there");
        if bytes < recorded.len() {
            recorded.truncate(bytes);
            self.changed();
        }
    }

    /// A file's bytes are recorded now.
    pub fn record(&mut self, id: u64) {
        self.recorded.insert(id, self.seen[&id].clone());
        self.changed();
    }

    pub fn record_all(&mut self) {
        let all: Vec<u64> = self.seen.keys().copied().collect();
        all.into_iter().for_each(|id| self.record(id));
    }

    /// A sync has returned.
    pub fn is_durable(&mut self) {
        self.durable = self.history.len() - 1;
        self.is_flushed();
    }

    /// A flush has returned.
    pub fn is_flushed(&mut self) {
        self.flushed = self.history.len() - 1;
    }

    pub fn bytes(&self, id: u64) -> &[u8] {
        &self.seen[&id]
    }

    /// The root, and those in it that are near it.
    pub fn directories(&self) -> Vec<String> {
        let near = self
            .names
            .iter()
            .filter(|(path, node)| **node == Node::Directory && path.matches('/').count() < 2);
        std::iter::once(String::new()).chain(near.map(|(path, _)| path.clone())).collect()
    }

    pub fn paths(&self) -> Vec<String> {
        self.names.keys().cloned().collect()
    }
}

/// What a file system shows, and the numbers of its files.
pub fn shown<D: Disk>(fs: &mut Fs<D>) -> Result<(Shown, BTreeMap<String, u64>), FsError> {
    let (mut shown, mut links) = (Shown::new(), BTreeMap::new());
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        for (name, stat) in fs.list(&directory)? {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if stat.kind == Kind::Directory {
                shown.insert(path.clone(), None);
                directories.push(path);
                continue;
            }
            let file = fs.open(&path)?;
            let mut bytes = vec![0; stat.bytes as usize + 7];
            let read = fs.read_at(file, 0, &mut bytes)?;
            assert_eq!((read as u64, fs.bytes(file)?), (stat.bytes, stat.bytes), "{path}");
            bytes.truncate(read);
            fs.close(file)?;
            links.insert(path.clone(), stat.inode.0);
            shown.insert(path, Some(bytes));
        }
    }
    Ok((shown, links))
}
