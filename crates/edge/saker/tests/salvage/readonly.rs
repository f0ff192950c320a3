// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Images that are opened to read: nothing of them changes, several can read, and writes are refused.

use crate::salvage::rig::{Image, Recipe, TINY, answers, url};
use saker::image::{PageFlip, Patches, open_mended};
use saker::{Block, EngineKind, Kv};
use saker_segment_store::{Flip, PageAddr};

#[test]
fn readers_share_an_image_and_change_nothing() {
    for &engine in EngineKind::ALL {
        for closed in [true, false] {
            let image = Image::new(&Recipe { engine, closed, writes: 300, ..TINY });
            let before = std::fs::read(&image.path).expect("reads");
            for options in ["&readonly", "&readonly&threads=1", "&readonly&timing=real", "&readonly&salvage"]
            {
                let mut first = Kv::open(&url(&image.path, options)).expect("opens");
                let mut second = Kv::open(&url(&image.path, "&readonly")).expect("opens beside it");
                assert_eq!(answers(&mut first, &image.model), Ok(image.live()), "{engine:?} {options}");
                assert_eq!(answers(&mut second, &image.model), Ok(image.live()));
                assert!(Kv::open(&url(&image.path, "")).is_err(), "a writer wants it alone");
                for (n, refused) in [
                    first.put(b"new", &[1; 4000]).err(),
                    first.put(b"n", b"w").err(),
                    first.put(&[7; 40], b"w").err(),
                    first.delete(b"new").err(),
                    first.put_if_absent(b"new", b"w").err(),
                ]
                .into_iter()
                .enumerate()
                {
                    let text = refused.map(|e| e.to_string()).unwrap_or_default();
                    assert!(text.contains("write protected"), "{engine:?} {options}: write {n}: {text}");
                }
                first.close().expect("closes");
                second.close().expect("closes");
            }
            assert!(before == std::fs::read(&image.path).expect("reads"), "{engine:?}: it was written");
        }
    }
}

#[test]
fn blocks_are_not_written_either() {
    let image = Image::with_blocks(&Recipe { image_bytes: 64 << 20, ..TINY }, 1 << 20);
    let mut disk = Block::open(&url(&image.path, "&nsid=2&readonly")).expect("opens");
    let error = disk.write(0, &[1; 512]).expect_err("refused").to_string();
    assert!(error.to_lowercase().contains("write protected"), "{error}");
    let mut block = [1; 512];
    disk.read(0, &mut block).expect("reads");
    assert_eq!(block, [0; 512]);
}

/// Recovery can name any page that somebody wrote into an image.
#[test]
fn patches_of_pages_that_there_are_not_change_nothing() {
    let image = Image::new(&Recipe { writes: 50, ..TINY });
    let mut patches = Patches::default();
    for at in [PageAddr(1 << 20), PageAddr(u64::MAX)] {
        patches.torn.insert(at);
        patches.flips.insert(PageFlip { at, flip: Flip { at: 0, mask: 1 } });
    }
    let opened = open_mended(&image.path, &patches).expect("opens");
    assert_eq!((opened.mends.len(), opened.flips.len()), (0, 0));
}
