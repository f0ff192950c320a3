// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A packing policy of one's own: a value that comes by DMA stays where DMA puts it while the hole before it is small, and
//! is copied to the write pointer when the hole would be larger than the value's last, partly filled memory page.
//!
//! `cargo run -p saker-lab --example own_packing_policy`

use saker_flash::packing::{All, Arrival, BufferShape, Packing, Placed, Selective, pack};
use saker_workload::{Suite, SuiteOptions};

const STORES: u64 = 20_000;
/// Values below this size travel in commands.
const THRESHOLD_BYTES: u32 = 128;
const SHAPE: BufferShape = BufferShape { page_bytes: 16_384, unit_bytes: 4096, pages: 64 };

/// The write pointer is all it remembers.
struct SmallHoles {
    write_pointer: u64,
}

impl Packing for SmallHoles {
    fn place(&mut self, value: Arrival) -> Placed {
        let aligned = SHAPE.aligned(self.write_pointer);
        let hole = aligned - self.write_pointer;
        let (at, copied_bytes) = match value {
            Arrival::Dma(bytes) if hole <= u64::from(bytes % SHAPE.unit_bytes) => (aligned, 0),
            Arrival::Dma(bytes) | Arrival::Piggybacked(bytes) => (self.write_pointer, bytes),
        };
        self.write_pointer = at + u64::from(value.bytes());
        Placed { at, copied_bytes }
    }

    fn end(&self) -> u64 {
        self.write_pointer
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for suite in [Suite::B, Suite::C, Suite::D] {
        let options = SuiteOptions { operations: STORES, value_bytes: 0, key_bytes: None, seed: 1 };
        let sizes = suite.plan(&options)?.operations()?.map(|o| o.size);
        let arrive = |n| if n < THRESHOLD_BYTES { Arrival::Piggybacked(n) } else { Arrival::Dma(n) };
        let values: Vec<Arrival> = sizes.map(arrive).collect();
        let policies: [(&str, &mut dyn Packing); 3] = [
            ("all", &mut All::new(SHAPE)),
            ("select", &mut Selective::new(SHAPE)),
            ("own", &mut SmallHoles { write_pointer: 0 }),
        ];
        let letter = suite.name().to_uppercase();
        let mut packed = Vec::new();
        for (name, policy) in policies {
            let it = pack(&SHAPE, policy, values.iter().copied());
            println!("W({letter}) {name:<6} {:6} pages, {:9} bytes of DMA copied", it.pages, it.copied_dma);
            packed.push(it);
        }
        // What it is for: between the two in pages and in copies.
        assert!(packed[0].pages <= packed[2].pages && packed[2].pages <= packed[1].pages);
        assert!(packed[1].copied_dma <= packed[2].copied_dma && packed[2].copied_dma <= packed[0].copied_dma);
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
