// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tree as operations that make it out of nothing.

use super::{Node, Tree};
use crate::inode::{InodeId, ROOT};
use crate::op::Op;
use std::collections::BTreeMap;

impl Tree {
    /// The operations that make this tree out of nothing.
    pub fn operations(&self) -> Vec<Op> {
        let (mut names, mut sets) = (Vec::new(), Vec::new());
        // Numbers grow in the order of the operations, so what a directory moved into may be newer than itself.
        let mut pending: BTreeMap<InodeId, Vec<(InodeId, &str)>> = BTreeMap::new();
        for (parent, node) in &self.nodes {
            let Node::Directory(directory) = node else { continue };
            for (name, inode) in &directory.entries {
                pending.entry(*inode).or_default().push((*parent, name));
            }
        }
        self.emit(&pending, &mut names);
        for (inode, file) in self.files().filter(|(_, file)| file.bytes > 0) {
            let runs = file.extents.iter().collect();
            sets.push(Op::Set { inode, bytes: file.bytes, time: file.time, kept: 0, runs });
        }
        names.extend(sets);
        names
    }

    /// Directories and files in the order of their numbers. A directory whose parent has a higher number is made in the root first,
    /// under its number, and moved when all are there.
    fn emit(&self, pending: &BTreeMap<InodeId, Vec<(InodeId, &str)>>, out: &mut Vec<Op>) {
        let mut moves = Vec::new();
        for (&inode, places) in pending {
            let Some((&(parent, name), others)) = places.split_first() else { continue };
            let is_ready = parent < inode;
            let at = if is_ready { (parent, name.to_owned()) } else { (ROOT, self.passing(inode)) };
            let time = self.stat(inode).map_or(0, |stat| stat.time);
            out.push(match self.file(inode) {
                Some(_) => Op::Create { parent: at.0, inode, time, name: at.1.clone() },
                None => Op::MakeDirectory { parent: at.0, inode, time, name: at.1.clone() },
            });
            if !is_ready {
                let (new_parent, new_name) = (parent, name.to_owned());
                moves.push(Op::Rename { parent: at.0, name: at.1, new_parent, new_name });
            }
            let link = |(parent, name): &(InodeId, &str)| Op::Link {
                parent: *parent,
                inode,
                name: (*name).to_owned(),
            };
            moves.extend(others.iter().map(link));
        }
        out.append(&mut moves);
    }

    /// A name in the root that nothing has.
    fn passing(&self, inode: InodeId) -> String {
        let mut name = format!("{:x}", inode.0);
        while self.lookup(ROOT, &name).is_some() {
            name.push('~');
        }
        name
    }
}
